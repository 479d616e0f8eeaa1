//! Reads programs and writes stages.

use crate::simulate::chosen_topology;
use crate::text::{self, Text};
use crate::{Source, out};
use shardwise_base::file;
use shardwise_base::{Account, Diagnostic, Diagnostics, Loc, Reservation};
use shardwise_ir::text::{self as mlir, PrintOptions};
use shardwise_ir::{Attr, Module, verify};
use shardwise_ops::OPS;
use shardwise_sim::{Topology, rates_on};
use shardwise_spmd::{Context, Options, Partitioned, partition, run_until, warnings};
use std::ops::Range;
use std::path::Path;

/// The line that separates the programs of a file.
pub const SPLIT: &str = "// -----\n";

/// A text, and the programs that it consists of.
pub struct Parts {
    /// The name of the text in locations.
    pub name: String,
    source: Text,
    parts: Vec<Part>,
}

/// A program of a text.
pub struct Part {
    /// The number, in the whole text and from 1, of the first line of the part that is not blank and does not begin
    /// with `//`. 0 if there is none.
    pub line: usize,
    /// The number of lines that precede the part in the whole text.
    before: usize,
    bytes: Range<usize>,
}

impl Parts {
    pub fn iter(&self) -> std::slice::Iter<'_, Part> {
        self.parts.iter()
    }

    /// Returns the text of a part after as many blank lines as precede it in the whole text, so that locations refer to
    /// the whole text.
    pub fn text(&self, part: &Part) -> String {
        "\n".repeat(part.before) + &self.source.text[part.bytes.clone()]
    }
}

impl Source {
    /// Returns the same source with the folder for the stages of one of its programs: `DIR/02` for the second one.
    /// `index` counts programs from 0.
    pub fn part(&self, index: usize) -> Source {
        let dump = self.dump.as_ref().map(|dir| dir.join(format!("{:02}", index + 1)));
        Source { file: self.file.clone(), dump }
    }

    /// Reads and verifies the program, and prints the warnings that it contains. Fails if the text cannot be read or is
    /// not a valid program.
    pub fn read(&self) -> Result<Module, Diagnostics> {
        let (name, source) = self.named_text()?;
        let module = parse(&name, &source.text)?;
        out::warn(&warnings::read(&module));
        Ok(module)
    }

    /// Reads and verifies the programs that lines `// -----` separate if `is_split` is true. Parts that are only
    /// comments are left out. The warnings of the programs are not printed. Otherwise, reads the only program as
    /// [`Source::read`] does. Fails if the text cannot be read, or if a program is not valid.
    pub fn read_all(&self, is_split: bool) -> Result<Vec<Module>, Diagnostics> {
        if !is_split {
            return Ok(vec![self.read()?]);
        }
        let parts = self.parts()?;
        let programs = parts.iter().filter(|part| part.line > 0);
        programs.map(|part| parse(&parts.name, &parts.text(part))).collect()
    }

    /// Reads the text, and separates its parts, which are not parsed. Parts without any text are left out. Fails if the
    /// text cannot be read.
    pub fn parts(&self) -> Result<Parts, Diagnostics> {
        let (name, source) = self.named_text()?;
        let parts = split(&source.text);
        Ok(Parts { name, source, parts })
    }

    fn named_text(&self) -> Result<(String, Text), Diagnostics> {
        let path = (self.file != Path::new("-")).then_some(&*self.file);
        let name = path.map_or("<stdin>".into(), |p| p.display().to_string());
        let source = text::read(path, &name)?;
        Ok((name, source))
    }

    /// Returns the text of the program, or `None` if it came from standard input, which cannot be read twice. Fails if
    /// the file cannot be read.
    pub fn text_again(&self) -> Result<Option<Text>, Diagnostics> {
        if self.file == Path::new("-") {
            return Ok(None);
        }
        Ok(Some(self.named_text()?.1))
    }

    /// Partitions the program for a topology, or else for the one that its mesh states, prints its warnings, and writes
    /// its stages if `--dump` is set. Fails if the topology of the mesh is not known, if a pass fails, or if a stage
    /// cannot be written.
    pub fn partition(&self, module: &Module, topology: Option<Topology>) -> Result<Partitioned, Diagnostics> {
        let topology = chosen_topology(topology, module)?;
        let mut dumper = self.dumper()?;
        let context = Context::with_rates(rates_on(topology));
        let partitioned =
            partition(module, &mut Options { dump: Some(&mut dumper.hook()), context, ..Options::default() })?;
        dumper.finish()?;
        out::warn(partitioned.warnings.iter());
        Ok(partitioned)
    }

    /// Runs the passes up to and including the one with this name, and writes their stages if `--dump` is set. Fails if
    /// there is no such pass, if a pass fails, or if a stage cannot be written.
    pub fn run_until(&self, pass: &str, module: &Module) -> Result<Module, Diagnostics> {
        let mut dumper = self.dumper()?;
        let made = run_until(pass, module, &mut Options { dump: Some(&mut dumper.hook()), ..Options::default() })?;
        dumper.finish()?;
        Ok(made)
    }

    /// Returns the writer of each pass's result, which writes nothing unless `--dump` is set. The folder is created at
    /// once, so that a mistake is found early. Fails if the folder cannot be created.
    pub fn dumper(&self) -> Result<Dumper<'_>, Diagnostics> {
        let dir = self.dump.as_deref();
        if let Some(dir) = dir {
            std::fs::create_dir_all(dir).map_err(|e| Diagnostics::from(unwritable(dir, &e)))?;
        }
        Ok(Dumper { dir, found: Diagnostics::default() })
    }
}

/// The text of a module, and the memory that is reserved for the constants in it.
pub struct Printed {
    text: String,
    _reserved: Reservation,
}

impl std::ops::Deref for Printed {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// Prints a module. Stops the command if there is not enough memory for the text of its constants.
pub fn printed(module: &Module, options: &PrintOptions) -> Printed {
    let reserved = Account::current().reserve_or_stop(text_bytes(module));
    Printed { text: mlir::print(module, options), _reserved: reserved }
}

/// Estimates the bytes that the elements of all constants take in text, as two digits for each byte that is stored.
fn text_bytes(module: &Module) -> usize {
    let of_attr = |attr: &Attr| attr.as_dense().map_or(0, |x| x.raw_bytes().len().saturating_mul(2));
    let ops = module.funcs.iter().flat_map(|f| f.body.walk().into_iter().map(|op| f.body.op(op)));
    ops.flat_map(|op| op.attrs.iter().map(|(_, attr)| of_attr(attr))).fold(0, usize::saturating_add)
}

/// Writes each pass's result to a file such as `DIR/09_reshard.mlir`, until one cannot be written. Writes nothing if
/// there is no folder.
pub struct Dumper<'a> {
    dir: Option<&'a Path>,
    found: Diagnostics,
}

impl Dumper<'_> {
    /// Returns the function that passes call with their numbers and results. After a failure, it writes nothing more.
    pub fn hook(&mut self) -> impl FnMut(usize, &str, &Module) + '_ {
        |index, pass, module| {
            let Some(dir) = self.dir.filter(|_| self.found.is_empty()) else { return };
            let path = dir.join(format!("{index:02}_{pass}.mlir"));
            if let Err(e) = file::write(&path, &*printed(module, &PrintOptions::default())) {
                self.found.push(unwritable(&path, &e));
            }
        }
    }

    /// Returns an error if a stage could not be written.
    pub fn finish(self) -> Result<(), Diagnostics> {
        self.found.or(())
    }
}

fn split(text: &str) -> Vec<Part> {
    let mut parts = vec![Part { line: 0, before: 0, bytes: 0..0 }];
    let mut end = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        end += line.len();
        if line.trim_end() == SPLIT.trim_end() {
            parts.push(Part { line: 0, before: i + 1, bytes: end..end });
            continue;
        }
        let part = parts.last_mut().expect("never empty");
        if part.line == 0 && !line.trim().is_empty() && !line.starts_with("//") {
            part.line = i + 1;
        }
        part.bytes.end = end;
    }
    parts.retain(|p| !text[p.bytes.clone()].trim().is_empty());
    parts
}

/// Parses and verifies a program. Fails if the text cannot be parsed or the module is not valid.
pub fn parse(name: &str, text: &str) -> Result<Module, Diagnostics> {
    let module = mlir::parse(name, text, &OPS)?;
    verify(&module).or(module)
}

fn unwritable(path: &Path, e: &std::io::Error) -> Diagnostic {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    Diagnostic::error("dump-unwritable", &loc, format!("cannot write the stages of the program: {e}"))
        .help("choose a writable folder for --dump")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{Budget, CancelToken, Stop};

    #[test]
    fn the_text_of_constants_is_counted() {
        let elements: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
        let constant = format!("%c = stablehlo.constant dense<[{}]> : tensor<1000xi64>", elements.join(", "));
        let text = format!("func.func @main() -> tensor<1000xi64> {{\n{constant}\nreturn %c : tensor<1000xi64>\n}}");
        let module = parse("constant.mlir", &text).unwrap();
        assert_eq!(text_bytes(&module), 16_000);
        let budget = Budget::new(Account::with_limit(15_999), None, CancelToken::default());
        assert!(matches!(budget.run(|| printed(&module, &PrintOptions::default()).len()), Err(Stop::Memory(_))));
    }

    #[test]
    fn a_stage_that_cannot_be_written_is_an_error() {
        let dir = std::env::temp_dir().join(format!("shardwise-dump-{}", std::process::id()));
        let source = Source { file: "-".into(), dump: Some(dir.clone()) };
        let module = parse("empty.mlir", "func.func @main() {\nreturn\n}").unwrap();
        for (n, is_good) in [(0, true), (1, false), (5, false)] {
            file::fail_at(n);
            assert_eq!(source.partition(&module, None).is_ok(), is_good, "{n}");
            file::fail_at(0);
        }
        let stages = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path());
        assert!(stages.inspect(|path| assert!(path.extension().is_some_and(|e| e == "mlir"))).count() > 3);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn parts_keep_their_lines() {
        let text = "// RUN\n\nfunc\n// -----\n\n// a\nmore\n// -----\n";
        let parts = split(text);
        assert_eq!(parts.iter().map(|p| p.line).collect::<Vec<_>>(), [3, 7]);
        assert_eq!((parts[1].before, &text[parts[1].bytes.clone()]), (4, "\n// a\nmore\n"));
    }
}
