//! Reading programs and writing stages.

use crate::Source;
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;
use std::io::Read;
use std::path::Path;

impl Source {
    /// The verified program.
    pub fn read(&self) -> Result<Module, Diagnostics> {
        let name = if self.is_stdin() { "<stdin>".into() } else { self.file.display().to_string() };
        let text = self.text().map_err(|e| unreadable(&name, &e))?;
        let module = text::parse(&name, &text, &OPS)?;
        verify(&module).or(module)
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
