//! Reading programs and writing stages.

use crate::Source;
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;
use std::io::Read;
use std::path::Path;

/// What stands between the programs of a file.
pub const SPLIT: &str = "// -----\n";

impl Source {
    /// The verified program.
    pub fn read(&self) -> Result<Module, Diagnostics> {
        let (name, text) = self.named_text()?;
        parse(&name, &text)
    }

    /// The programs between lines `// -----`, or the only one.
    pub fn read_all(&self, is_split: bool) -> Result<Vec<Module>, Diagnostics> {
        if !is_split {
            return Ok(vec![self.read()?]);
        }
        let (name, text) = self.named_text()?;
        // Blank lines stand for the programs before, so that places are those of the file.
        let mut programs = vec![String::new()];
        for (i, line) in text.lines().enumerate() {
            if line.trim_end() == SPLIT.trim_end() {
                programs.push("\n".repeat(i + 1));
            } else {
                let program = programs.last_mut().expect("never empty");
                program.push_str(line);
                program.push('\n');
            }
        }
        programs.iter().filter(|p| !p.trim().is_empty()).map(|p| parse(&name, p)).collect()
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

fn parse(name: &str, text: &str) -> Result<Module, Diagnostics> {
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
