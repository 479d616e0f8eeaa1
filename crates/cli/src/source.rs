//! Reading programs and writing stages.

use crate::{Source, out};
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;
use shardwise_spmd::warnings;
use std::io::Read;
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
        let (name, text) = self.named_text()?;
        let module = parse(&name, &text)?;
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
        let (name, text) = self.named_text()?;
        Ok((name, split(&text)))
    }

    fn named_text(&self) -> Result<(String, String), Diagnostics> {
        let name = if self.is_stdin() { "<stdin>".into() } else { self.file.display().to_string() };
        let text = self.text().map_err(|e| unreadable(&name, &e))?;
        Ok((name, text))
    }

    fn is_stdin(&self) -> bool {
        self.file == Path::new("-")
    }

    fn text(&self) -> std::io::Result<String> {
        if !self.is_stdin() {
            return std::fs::read_to_string(&self.file);
        }
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        Ok(text)
    }

    /// Where each pass's result goes: `DIR/03_reshard.mlir`, if asked for.
    pub fn dumper(&self) -> impl FnMut(usize, &str, &Module) + '_ {
        move |index, pass, module| {
            let Some(dir) = &self.dump else { return };
            let path = dir.join(format!("{index:02}_{pass}.mlir"));
            let written = std::fs::create_dir_all(dir)
                .and_then(|()| std::fs::write(&path, text::print(module, &text::PrintOptions::default())));
            if let Err(e) = written {
                eprintln!("{}", unwritable(&path, &e));
            }
        }
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
    let module = text::parse(name, text, &OPS)?;
    verify(&module).or(module)
}

fn unreadable(name: &str, e: &std::io::Error) -> Diagnostic {
    Diagnostic::error("file-unreadable", &Loc::file(name, 1, 1), format!("cannot read the program: {e}"))
        .help("give a file of StableHLO text, or `-` for standard input")
}

fn unwritable(path: &Path, e: &std::io::Error) -> Diagnostic {
    Diagnostic::warning(
        "dump-unwritable",
        &Loc::file(path.display().to_string(), 1, 1),
        format!("cannot write a stage: {e}"),
    )
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
