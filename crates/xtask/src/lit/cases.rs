//! Splits MLIR's kind of test files: their RUN lines, and the programs in them.
//!
//! A file is one program, or several with `-split-input-file`. A program of many functions is split further by
//! functions, so that a function that a tool cannot read does not fail the others: a *case* is a function with
//! everything that it refers to, and with its own CHECK lines.

use std::collections::BTreeSet;

/// A RUN line: `sdy_opt %s <passes> | FileCheck %s`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The passes, such as `sdy-basic-propagate{conservative-propagation=true}`.
    pub passes: Vec<String>,
    pub splits: bool,
    pub prefixes: Vec<String>,
}

/// Returns the RUN lines of a file that check the output of passes, and the number of other RUN lines. Lines that are
/// joined by a `\` at the end count as one.
pub fn runs(text: &str) -> (Vec<Run>, usize) {
    let mut commands = vec![String::new()];
    for line in text.lines().filter_map(|l| l.trim_start().strip_prefix("// RUN:")) {
        let last = commands.last_mut().expect("never empty");
        match line.trim().strip_suffix('\\') {
            Some(start) => last.push_str(start),
            None => {
                last.push_str(line.trim());
                commands.push(String::new());
            }
        }
    }
    commands.retain(|c| !c.is_empty());
    let runs: Vec<Run> = commands.iter().filter_map(|c| translate(c)).collect();
    let others = commands.len() - runs.len();
    (runs, others)
}

fn translate(command: &str) -> Option<Run> {
    let (run, check) = command.split_once('|')?;
    let words = shell_words(run);
    if words.first()? != "sdy_opt" || !check.trim_start().starts_with("FileCheck") || !words.iter().any(|w| w == "%s") {
        return None;
    }
    let mut out = Run { passes: vec![], splits: false, prefixes: vec!["CHECK".into()] };
    for word in words.iter().skip(1).filter(|w| !["%s", "2>&1"].contains(&w.as_str())) {
        match word.trim_start_matches('-') {
            "split-input-file" => out.splits = true,
            "verify-diagnostics" | "allow-unregistered-dialect" | "" => {}
            pass => out.passes.push(match pass.split_once('=') {
                Some((name, options)) => format!("{name}{{{options}}}"),
                None => pass.to_string(),
            }),
        }
    }
    for word in shell_words(check) {
        if let Some(list) = word.strip_prefix("--check-prefixes=").or(word.strip_prefix("--check-prefix=")) {
            out.prefixes = list.split(',').map(str::to_string).collect();
        }
    }
    Some(out)
}

/// Splits a command into words at spaces. Quotes group words and are removed.
fn shell_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_open) = (vec![], String::new(), None, false);
    for c in text.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '"' || c == '\'' => (quote, is_open) = (Some(c), true),
            None if c.is_whitespace() => {
                if is_open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            _ => word.push(c),
        }
    }
    if is_open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// A function to check: alone, and as a part of its program.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    /// The function with its comments, and what it refers to and the lines between functions, both without comments. Or
    /// the whole program.
    pub text: String,
    /// The index of the program with the function among those that [`cases`] returns.
    pub program: usize,
    /// True if the text is the whole program, because it is inside a `module`, or because at most one function of it
    /// has CHECK lines.
    pub is_whole: bool,
}

/// Returns the programs of a file and the cases in them. If `splits` is true, lines `// -----` separate programs, and
/// RUN lines and parts without the text `func` are left out. Otherwise, the file is one program.
pub fn cases(text: &str, splits: bool) -> (Vec<String>, Vec<Case>) {
    let programs: Vec<String> = match splits {
        true => split_input(text).into_iter().filter(|p| p.contains("func")).collect(),
        false => vec![text.to_string()],
    };
    let cases = programs.iter().enumerate().flat_map(|(i, p)| cases_of(i, p)).collect();
    (programs, cases)
}

fn split_input(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "// -----" {
            parts.push(String::new());
        } else if !line.trim_start().starts_with("// RUN:") {
            let last = parts.last_mut().expect("never empty");
            last.push_str(line);
            last.push('\n');
        }
    }
    parts
}

fn cases_of(program: usize, text: &str) -> Vec<Case> {
    let Some(parts) = Parts::of(text) else {
        return vec![Case { name: first_label(text), text: text.to_string(), program, is_whole: true }];
    };
    let checked: Vec<&Function> = parts.functions.iter().filter(|f| f.is_checked()).collect();
    if checked.len() < 2 {
        let name = checked.first().map_or_else(|| first_label(text), |f| f.name.clone());
        return vec![Case { name, text: text.to_string(), program, is_whole: true }];
    }
    checked.iter().map(|f| Case { name: f.name.clone(), text: parts.alone(f), program, is_whole: false }).collect()
}

fn first_label(text: &str) -> String {
    let at = text.find("@").map_or("", |i| &text[i + 1..]);
    at.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_string()
}

struct Function {
    name: String,
    /// The comment lines before the function, and its own lines.
    text: String,
}

impl Function {
    fn is_checked(&self) -> bool {
        self.text.lines().any(|l| l.trim_start().starts_with("//") && l.contains("CHECK"))
    }

    fn without_comments(&self) -> String {
        self.text.lines().filter(|l| !l.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect()
    }
}

/// A program's functions, and the text between them.
struct Parts {
    frame: String,
    functions: Vec<Function>,
}

impl Parts {
    /// Splits a program. Returns `None` for programs that are inside a `module`.
    fn of(text: &str) -> Option<Parts> {
        let mut parts = Parts { frame: String::new(), functions: vec![] };
        let (mut comments, mut open): (String, Option<Function>) = (String::new(), None);
        for line in text.lines() {
            if let Some(function) = &mut open {
                function.text.push_str(line);
                function.text.push('\n');
                if line == "}" {
                    parts.functions.extend(open.take());
                }
            } else if line.starts_with("func.func") {
                let name = line.split_once('@').map_or("", |(_, rest)| rest);
                let name = name.split(|c: char| !c.is_alphanumeric() && !"_.$-".contains(c)).next().unwrap_or("");
                let text = format!("{}{line}\n", std::mem::take(&mut comments));
                let function = Function { name: name.to_string(), text };
                if line.ends_with('}') && line.contains('{') && line.matches('{').count() == line.matches('}').count() {
                    parts.functions.push(function);
                } else {
                    open = Some(function);
                }
            } else if line.starts_with("//") {
                comments.push_str(line);
                comments.push('\n');
            } else if line.trim_start().starts_with("module") {
                return None;
            } else {
                comments.clear();
                parts.frame.push_str(line);
                parts.frame.push('\n');
            }
        }
        Some(parts)
    }

    /// Returns a program of the function, the functions that it refers to directly or through others, and the lines
    /// between functions. Only the function itself keeps its comments.
    fn alone(&self, function: &Function) -> String {
        let mut needed = BTreeSet::new();
        let mut pending = vec![function.name.as_str()];
        while let Some(name) = pending.pop() {
            let Some(f) = self.functions.iter().find(|f| f.name == name) else { continue };
            if needed.insert(name) {
                let code = f.without_comments();
                let names = |g: &&Function| {
                    code.match_indices(&format!("@{}", g.name)).any(|(at, found)| {
                        !code[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || "_.$-".contains(c))
                    })
                };
                pending.extend(self.functions.iter().filter(names).map(|g| g.name.as_str()));
            }
        }
        let mut text = self.frame.clone();
        for f in self.functions.iter().filter(|f| needed.contains(f.name.as_str())) {
            text.push_str(&if f.name == function.name { f.text.clone() } else { f.without_comments() });
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_lines_are_translated() {
        let text = "// RUN: sdy_opt %s -split-input-file -sdy-a=x=true \\\n// RUN:   --sdy-b=\"y=1 z=2\" 2>&1 | FileCheck %s\n// RUN: sdy_opt %s -verify-diagnostics\n";
        let (found, others) = runs(text);
        let passes = vec!["sdy-a{x=true}".to_string(), "sdy-b{y=1 z=2}".to_string()];
        assert_eq!(found, [Run { passes, splits: true, prefixes: vec!["CHECK".into()] }]);
        assert_eq!(others, 1);
    }

    #[test]
    fn functions_come_with_what_they_name() {
        let text = "mesh\n\n// CHECK-LABEL: f\nfunc.func @f() {\n  call @h()\n}\n// CHECK-LABEL: g\nfunc.func @g() {\n}\n\n// CHECK: h\nfunc.func @h() {\n}\n";
        let (programs, cases) = cases(text, false);
        assert_eq!(programs.len(), 1);
        let alone: Vec<&str> = cases.iter().map(|c| c.text.as_str()).collect();
        let f = "mesh\n\n\n// CHECK-LABEL: f\nfunc.func @f() {\n  call @h()\n}\nfunc.func @h() {\n}\n";
        assert_eq!(alone[0], f);
        assert_eq!(alone[1], "mesh\n\n\n// CHECK-LABEL: g\nfunc.func @g() {\n}\n");
        assert!(cases.iter().all(|c| !c.is_whole));
    }

    #[test]
    fn split_files_have_several_programs() {
        let (programs, cases) = cases("func.func @a() {\n}\n// -----\nfunc.func @b() {\n}\n", true);
        assert_eq!(programs, ["func.func @a() {\n}\n", "func.func @b() {\n}\n"]);
        assert!(cases.iter().all(|c| c.is_whole));
    }
}
