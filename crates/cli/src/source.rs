//! Reading programs and writing stages.

use crate::text::{self, Text};
use crate::{Source, out};
use shardwise_base::file;
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Module, text as mlir, verify};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, Partitioned, partition, warnings};
use std::path::Path;

/// What stands between the programs of a file.
pub const SPLIT: &str = "// -----\n";

/// One program of a text.
pub struct Part {
    /// Its first line that is neither empty nor a comment, from 1; of a part without one, 0.
    pub line: usize,
    /// Behind as many blank lines as stand before it in the whole text, so that places are those of the whole.
    pub text: String,
}

impl Source {
    /// The verified program; the warnings that it carries are printed.
    pub fn read(&self) -> Result<Module, Diagnostics> {
        let (name, source) = self.named_text()?;
        let module = parse(&name, &source.text)?;
        out::warn(&warnings::read(&module));
        Ok(module)
    }

    /// The programs between lines `// -----`, or the only one.
    pub fn read_all(&self, is_split: bool) -> Result<Vec<Module>, Diagnostics> {
        if !is_split {
            return Ok(vec![self.read()?]);
        }
        let (name, parts) = self.parts()?;
        parts.iter().map(|part| parse(&name, &part.text)).collect()
    }

    /// What locations call the text, and the programs between lines `// -----` that are not empty.
    pub fn parts(&self) -> Result<(String, Vec<Part>), Diagnostics> {
        let (name, source) = self.named_text()?;
        Ok((name, split(&source.text)))
    }

    fn named_text(&self) -> Result<(String, Text), Diagnostics> {
        let path = (self.file != Path::new("-")).then_some(&*self.file);
        let name = path.map_or("<stdin>".into(), |p| p.display().to_string());
        let source = text::read(path, &name)?;
        Ok((name, source))
    }

    /// The program of one device; its warnings are printed, its stages written if asked for.
    pub fn partition(&self, module: &Module) -> Result<Partitioned, Diagnostics> {
        let mut dumper = self.dumper()?;
        let partitioned = partition(module, &mut Options { dump: Some(&mut dumper.hook()), ..Options::default() })?;
        dumper.finish()?;
        out::warn(partitioned.warnings.iter());
        Ok(partitioned)
    }

    /// What writes each pass's result, if asked for. The folder is made at once, so that a mistake shows early.
    pub fn dumper(&self) -> Result<Dumper<'_>, Diagnostics> {
        let dir = self.dump.as_deref();
        if let Some(dir) = dir {
            std::fs::create_dir_all(dir).map_err(|e| Diagnostics::from(unwritable(dir, &e)))?;
        }
        Ok(Dumper { dir, found: Diagnostics::default() })
    }
}

/// Writes each pass's result to `DIR/03_reshard.mlir`, and keeps what goes wrong.
pub struct Dumper<'a> {
    dir: Option<&'a Path>,
    found: Diagnostics,
}

impl Dumper<'_> {
    /// What passes call.
    pub fn hook(&mut self) -> impl FnMut(usize, &str, &Module) + '_ {
        |index, pass, module| {
            let Some(dir) = self.dir.filter(|_| self.found.is_empty()) else { return };
            let path = dir.join(format!("{index:02}_{pass}.mlir"));
            if let Err(e) = file::write(&path, mlir::print(module, &mlir::PrintOptions::default())) {
                self.found.push(unwritable(&path, &e));
            }
        }
    }

    /// An error if a stage could not be written.
    pub fn finish(self) -> Result<(), Diagnostics> {
        self.found.or(())
    }
}

fn split(text: &str) -> Vec<Part> {
    let mut parts = vec![Part { line: 0, text: String::new() }];
    for (i, line) in text.lines().enumerate() {
        if line.trim_end() == SPLIT.trim_end() {
            parts.push(Part { line: 0, text: "\n".repeat(i + 1) });
            continue;
        }
        let part = parts.last_mut().expect("never empty");
        if part.line == 0 && !line.trim().is_empty() && !line.starts_with("//") {
            part.line = i + 1;
        }
        part.text.push_str(line);
        part.text.push('\n');
    }
    parts.retain(|p| !p.text.trim().is_empty());
    parts
}

/// A verified program of this text.
pub fn parse(name: &str, text: &str) -> Result<Module, Diagnostics> {
    let module = mlir::parse(name, text, &OPS)?;
    verify(&module).or(module)
}

fn unwritable(path: &Path, e: &std::io::Error) -> Diagnostic {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    Diagnostic::error("dump-unwritable", &loc, format!("cannot write a stage: {e}"))
        .help("give --dump a folder that can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_lines() {
        let parts = split("// RUN\n\nfunc\n// -----\n\n// a\nmore\n// -----\n");
        assert_eq!(parts.iter().map(|p| p.line).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(parts[1].text.lines().nth(6), Some("more"));
    }
}
