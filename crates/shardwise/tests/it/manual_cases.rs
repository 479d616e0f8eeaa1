//! Compares collectives with JAX's, case by case: `testdata/manual/cases.txt`, which `oracle/manual.py` makes.
//!
//! Either our type is JAX's, or both refuse the case and our message names the axes, numbers and types that JAX's
//! message names. All other cases are in `testdata/manual/differences.txt` with their reasons.

use shardwise::prelude::*;
use shardwise::{AxisName, DimSpec};
use std::collections::BTreeMap;
use std::sync::Mutex;

const CASES: &str = include_str!("../../../../testdata/manual/cases.txt");
const DIFFERENCES: &str = include_str!("../../../../testdata/manual/differences.txt");

/// The classes of JAX's errors that correspond to our codes.
const CLASSES: [(&str, &[&str]); 17] = [
    ("collective-uneven", &["ValueError"]),
    ("dimension", &["ValueError", "IndexError"]),
    ("in-spec-layout", &["ValueError"]),
    ("manual-axis", &["NameError", "AssertionError", "ValueError"]),
    ("mixed-states", &["ValueError"]),
    ("out-spec-reduced", &["ValueError"]),
    ("out-spec-unreduced", &["ValueError"]),
    ("out-spec-varying", &["ValueError"]),
    ("permutation", &["ValueError", "IndexError", "AssertionError"]),
    ("spec-axis-twice", &["DuplicateSpecError"]),
    ("spec-not-manual", &["ValueError"]),
    ("spec-rank", &["ValueError"]),
    ("spec-uneven", &["ValueError"]),
    ("spec-unknown-axis", &["ValueError", "KeyError"]),
    ("spec-unreduced", &["ValueError"]),
    ("unreduced", &["ShardingTypeError", "ValueError"]),
    ("wrong-state", &["ValueError"]),
];

fn names(word: &str) -> Vec<AxisName> {
    shardwise::Axes::names(&word.split("").filter(|a| !a.is_empty()).collect::<Vec<_>>().as_slice())
}

/// Parses a spec: `XY,-`, `()`, `X,-{R:Y}`.
fn spec(text: &str) -> P {
    let (dims, state) = text.split_once('{').unwrap_or((text, ""));
    let each = dims.split(',').filter(|_| dims != "()");
    let letters = |d: &str| d.chars().filter(|c| *c != '-').map(String::from).collect();
    let spec = P::new(each.map(|d| DimSpec::Axes(letters(d))));
    match state.trim_end_matches('}').split_once(':') {
        Some(("R", axes)) => spec.reduced(names(axes)),
        Some((_, axes)) => spec.unreduced(names(axes)),
        None => spec,
    }
}

/// Returns `x` in this layout on Explicit axes. In a layout with `{U:..}`, each device along these axes has its part of
/// `x` as a summand, so that the value is a multiple of `x`.
fn laid_out(x: &Array, layout: &str) -> Array {
    match layout.split_once("{U:") {
        None => x.shard(spec(layout)),
        Some((whole, axes)) => {
            let axes = names(axes.trim_end_matches('}'));
            let summand = |x: &Array| x.pcast(axes.clone(), Pcast::Varying).pcast(axes.clone(), Pcast::Unreduced);
            shard_map(summand).in_specs(spec(whole)).out_specs(spec(layout))(&x.shard(spec(whole)))
        }
    }
}

fn number(word: &str) -> i32 {
    word.parse().expect("a number")
}

fn gathered(x: &Array, op: &str, axes: Vec<AxisName>, dim: i32, is_tiled: bool) -> Array {
    match (op, is_tiled) {
        ("all_gather", true) => x.all_gather(axes, dim),
        ("all_gather", false) => x.all_gather(axes, stacked(dim)),
        ("all_gather_replicated", _) => x.all_gather_replicated(axes, dim),
        ("all_gather_reduced", _) => x.all_gather_reduced(axes, dim),
        (_, true) => x.psum_scatter(axes, dim),
        (_, false) => x.psum_scatter(axes, stacked(dim)),
    }
}

fn step(x: &Array, step: &str) -> Array {
    if step == "add_number" {
        return x + 1;
    }
    let words: Vec<&str> = step.split_whitespace().collect();
    let axes = names(words[1]);
    match words[0] {
        "psum" => x.psum(axes),
        "pmean" => x.pmean(axes),
        "pmax" => x.pmax(axes),
        "pmin" => x.pmin(axes),
        "all_to_all" if words[4] == "tiled" => x.all_to_all(axes, number(words[2]), number(words[3])),
        "all_to_all" => x.all_to_all(axes, stacked(number(words[2])), stacked(number(words[3]))),
        "ppermute" => match words[2].strip_prefix("shift") {
            Some(by) => x.ppermute(axes, shift(number(by) as isize)),
            None => {
                let pair = |p: &str| p.split_once('>').map(|(a, b)| (number(a) as usize, number(b) as usize));
                x.ppermute(axes, words[2].split(',').map(|p| pair(p).expect("a pair")).collect::<Vec<_>>())
            }
        },
        "pshuffle" => x.pshuffle(axes, words[2].split(',').map(|i| number(i) as usize).collect::<Vec<_>>()),
        "pcast" => x.pcast(
            axes,
            match words[2] {
                "varying" => Pcast::Varying,
                "unreduced" => Pcast::Unreduced,
                _ => Pcast::Reduced,
            },
        ),
        "axis_index" => axis_index(axes),
        "add_index" => x + axis_index(axes).astype(x.dtype()),
        op => gathered(x, op, axes, number(words[2]), words[3] == "tiled"),
    }
}

struct Case<'a> {
    program: &'a str,
    operand: &'a str,
    in_spec: &'a str,
    manual: &'a str,
    /// JAX's type inside the map, followed by ` -> ` and the result's type if the case has a layout and an `out` step,
    /// or `error Class` and what it names.
    expected: &'a str,
}

/// Our types in the form of [`Case::expected`], or the codes and the text of our mistakes.
type Outcome = Result<String, (String, String)>;

impl<'a> Case<'a> {
    fn parse(line: &'a str) -> Case<'a> {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [program, operand, in_spec, manual, expected] = parts[..] else { panic!("{line}") };
        Case { program, operand, in_spec, manual, expected }
    }

    fn operand(&self) -> Array {
        let (dtype, sizes) = self.operand.trim_end_matches(']').split_once('[').expect("a type");
        let dtype = match dtype {
            "f32" => F32,
            "bf16" => BF16,
            "i32" => I32,
            _ => Bool,
        };
        Array::of_type(sizes.split(',').map(|n| n.parse().expect("a size")).collect::<Vec<usize>>(), dtype)
    }

    fn run(&self) -> Outcome {
        let wrong = |e: &Error| {
            let codes: Vec<String> = e.diagnostics().map(|d| d.code().to_string()).collect();
            let text: Vec<String> = e.to_string().lines().filter(|l| !l.contains("-->")).map(String::from).collect();
            (codes.join(" "), text.join("\n"))
        };
        let (layout, in_spec) = match self.in_spec.split_once(" as ") {
            Some((layout, spec)) => (Some(layout), spec),
            None => (None, self.in_spec),
        };
        let mesh = if layout.is_some() { Mesh::explicit } else { Mesh::auto };
        set_mesh(mesh([("X", 4), ("Y", 2)]).expect("a mesh"));
        let mut steps: Vec<&str> = self.program.split(';').map(str::trim).collect();
        let out = steps.last().and_then(|s| s.strip_prefix("out ")).map(spec);
        if out.is_some() {
            steps.pop();
        }
        let found: Mutex<Outcome> = Mutex::new(Ok(String::new()));
        let note = |y: &Array| y.check().map(|y| y.ty().to_string()).map_err(|e| wrong(&e));
        let body = |x: &Array| {
            let y = steps.iter().fold(x.clone(), |x, s| step(&x, s));
            *found.lock().expect("one thread") = note(&y);
            if out.is_some() { y } else { scalar(0, I32) }
        };
        let map = shard_map(body).axes(names(self.manual));
        let map = if in_spec == "typed" { map } else { map.in_specs(spec(in_spec)) };
        let map = map.out_specs(out.clone().unwrap_or_default());
        let whole = |x: &Array| {
            let Some(layout) = layout else { return map(x) };
            let y = map(&laid_out(x, layout));
            if let (Some(_), Ok(inside)) = (&out, &mut *found.lock().expect("one thread")) {
                *inside += &format!(" -> {}", y.check().map_or("?".into(), |y| y.ty().to_string()));
            }
            y
        };
        let lowered = jit(whole).lower(&self.operand()).map(|_| ());
        let found = found.lock().expect("one thread").clone();
        lowered.map_err(|e| wrong(&e)).and(found)
    }

    /// Returns our answer in short if it differs from JAX's, or `None` if it agrees: if the types are equal, or if both
    /// refuse the case with errors of one class, and our message names what JAX's names.
    fn difference(&self) -> Option<String> {
        match (self.run(), self.expected.strip_prefix("error ")) {
            (Ok(ty), None) => (ty != self.expected).then_some(ty),
            (Ok(ty), Some(_)) => Some(ty),
            (Err((code, _)), None) => Some(format!("error {code}")),
            (Err((code, text)), Some(theirs)) => {
                let (class, facts) = theirs.split_once(' ').unwrap_or((theirs, ""));
                if !CLASSES.iter().any(|(ours, classes)| *ours == code && classes.contains(&class)) {
                    return Some(format!("error {code}"));
                }
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let words: Vec<&str> = text.split(|c: char| !is_word(c)).collect();
                let names = |fact: &&str| if fact.contains('[') { text.contains(fact) } else { words.contains(fact) };
                let missing: Vec<&str> = apart(facts).into_iter().filter(|f| !names(f)).collect();
                (!missing.is_empty()).then(|| format!("error {code} without {}", missing.join(" ")))
            }
        }
    }
}

/// Splits into words, except within brackets.
fn apart(facts: &str) -> Vec<&str> {
    let mut depth = 0;
    let words = facts.split(|c: char| {
        depth += i32::from("[{(".contains(c)) - i32::from("]})".contains(c));
        c == ' ' && depth == 0
    });
    words.filter(|w| !w.is_empty()).collect()
}

fn deliberate() -> BTreeMap<String, String> {
    let lines = DIFFERENCES.lines().filter(|l| l.contains('|'));
    let case = |l: &str| l.rsplit_once(" | ").map(|(case, ours)| (case.to_string(), ours.to_string()));
    lines.filter_map(case).collect()
}

#[test]
fn every_case() {
    let cases: Vec<Case<'_>> =
        CASES.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(Case::parse).collect();
    assert!(cases.len() >= 700, "{} cases", cases.len());
    let mut listed = deliberate();
    let mut wrong = vec![];
    for case in &cases {
        let key = [case.program, case.operand, case.in_spec, case.manual].join(" | ");
        let (found, known) = (case.difference(), listed.remove(&key));
        if found != known {
            let shown = |d: &Option<String>| d.clone().unwrap_or("as JAX".into());
            wrong.push(format!("{key} | {} (listed: {}; JAX: {})", shown(&found), shown(&known), case.expected));
        }
    }
    wrong.extend(listed.into_keys().map(|key| format!("{key}: listed, and no case")));
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
