//! The changes of a text.

use super::super::corpus::programs;
use super::words::{Word, WordKind, words};
use crate::choose::Chooser;

/// A function that makes one random change. It returns the changed text, which may be equal to the text before, or
/// `None` if the change cannot be made: most often because the text has no place for it.
pub(super) type Change = fn(&mut Chooser, &str) -> Option<String>;

/// Every change. Some are listed twice, so that they are made more often.
pub(super) const CHANGES: &[Change] = &[
    dtype_everywhere,
    dtype_everywhere,
    dtype_at_one_place,
    size_everywhere,
    size_everywhere,
    size_at_one_place,
    number,
    op_of_same_signature,
    op_of_same_signature,
    operand_of_same_type,
    operand_of_same_type,
    swapped_operands,
    axes_of_a_sharding,
    axes_of_a_sharding,
    axis_size,
    axis_name,
    word_of_an_attribute,
    line_twice,
    line_less,
    op_between,
    op_between,
    program_joined,
    characters,
];

const DTYPES: &[&str] = &[
    "f32",
    "f64",
    "bf16",
    "f16",
    "i1",
    "i2",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "ui2",
    "ui4",
    "ui8",
    "ui16",
    "ui32",
    "ui64",
    "f8E4M3FN",
    "f8E5M2",
    "f8E4M3",
    "f8E3M4",
    "f8E8M0FNU",
    "f4E2M1FN",
    "f6E2M3FN",
    "f6E3M2FN",
    "complex<f32>",
    "complex<f64>",
];

/// Numbers at which arithmetic on sizes and indices may go wrong.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "16",
    "-1",
    "-2",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
];

const SIZES: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "7", "8", "12", "16", "31"];

/// Lists of names of ops, without their dialects. An op is replaced by one of the first list that contains it. Most ops
/// of a list take and return the same types.
const SIGNATURES: &[&[&str]] = &[
    &[
        "abs",
        "negate",
        "sign",
        "exponential",
        "tanh",
        "cosine",
        "floor",
        "ceil",
        "logistic",
        "sqrt",
        "rsqrt",
        "log",
        "cbrt",
    ],
    &["add", "subtract", "multiply", "maximum", "minimum", "divide", "remainder", "power", "and", "or", "xor", "atan2"],
    &["not", "popcnt", "count_leading_zeros"],
    &["shift_left", "shift_right_logical", "shift_right_arithmetic"],
    &["if", "case"],
    &["all_gather", "all_slice"],
    &["all_reduce", "reduce_scatter"],
    &["reshard", "sharding_constraint", "all_slice", "all_gather"],
];

/// Words of attributes that can replace each other.
const WORDS: &[&[&str]] = &[
    &["LT", "LE", "GT", "GE", "EQ", "NE"],
    &["FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"],
    &["true", "false"],
    &["TRANSPOSE", "NO_TRANSPOSE", "ADJOINT"],
    &["public", "private"],
    &["DEFAULT", "HIGH", "HIGHEST"],
];

fn replaced(text: &str, at: std::ops::Range<usize>, with: &str) -> String {
    let mut out = text.to_string();
    out.replace_range(at, with);
    out
}

fn all_replaced(text: &str, places: &[Word], with: &str) -> String {
    let mut out = text.to_string();
    places.iter().rev().for_each(|word| out.replace_range(word.at.clone(), with));
    out
}

/// Returns a random one of the words that fit, or `None` if there are none. `fits` is called with all words and the
/// index of one.
fn any_word(choose: &mut Chooser, text: &str, fits: impl Fn(&[Word], usize) -> bool) -> Option<Word> {
    let all = words(text);
    let places: Vec<usize> = (0..all.len()).filter(|&i| fits(&all, i)).collect();
    (!places.is_empty()).then(|| all[*choose.of(&places)].clone())
}

fn sign(words: &[Word], text: &str, i: Option<usize>) -> char {
    i.and_then(|i| words.get(i)).and_then(|w| w.of(text).chars().next()).unwrap_or(' ')
}

// ── types

fn is_dtype(word: &Word, text: &str) -> bool {
    word.kind == WordKind::Name && DTYPES.contains(&word.of(text))
}

fn dtype_everywhere(choose: &mut Chooser, text: &str) -> Option<String> {
    let from = any_word(choose, text, |all, i| is_dtype(&all[i], text))?;
    let places: Vec<Word> =
        words(text).into_iter().filter(|w| w.kind == WordKind::Name && w.of(text) == from.of(text)).collect();
    Some(all_replaced(text, &places, choose.of::<&str>(DTYPES)))
}

fn dtype_at_one_place(choose: &mut Chooser, text: &str) -> Option<String> {
    let from = any_word(choose, text, |all, i| is_dtype(&all[i], text))?;
    Some(replaced(text, from.at, choose.of::<&str>(DTYPES)))
}

fn is_size(words: &[Word], text: &str, i: usize) -> bool {
    words[i].kind == WordKind::Number
        && sign(words, text, Some(i + 1)) == 'x'
        && sign(words, text, i.checked_sub(1)) != '"'
}

fn size_everywhere(choose: &mut Chooser, text: &str) -> Option<String> {
    let from = any_word(choose, text, |all, i| is_size(all, text, i))?;
    let all = words(text);
    let is_place = |i: usize| all[i].kind == WordKind::Number && all[i].of(text) == from.of(text);
    // The limits of slices and lists of sizes contain the same numbers.
    let with_others = choose.one_in(2);
    let places: Vec<Word> = (0..all.len())
        .filter(|&i| is_place(i) && (with_others || is_size(&all, text, i)))
        .map(|i| all[i].clone())
        .collect();
    Some(all_replaced(text, &places, choose.of::<&str>(SIZES)))
}

fn size_at_one_place(choose: &mut Chooser, text: &str) -> Option<String> {
    let from = any_word(choose, text, |all, i| is_size(all, text, i))?;
    let sizes = if choose.one_in(8) { NUMBERS } else { SIZES };
    Some(replaced(text, from.at, choose.of::<&str>(sizes)))
}

/// Replaces a random number that is not a size of a type, most often one of an attribute or a constant, by a number
/// that is near it or one of [`NUMBERS`]. Returns `None` if there is none.
fn number(choose: &mut Chooser, text: &str) -> Option<String> {
    let from = any_word(choose, text, |all, i| all[i].kind == WordKind::Number && !is_size(all, text, i))?;
    let near = from.of(text).parse::<i64>().ok().and_then(|n| n.checked_add(choose.between(-1, 1)));
    let to = match near {
        Some(near) if choose.one_in(2) => near.to_string(),
        _ => choose.of(NUMBERS).to_string(),
    };
    Some(replaced(text, from.at, &to))
}

// ── ops and operands

fn op_of_same_signature(choose: &mut Chooser, text: &str) -> Option<String> {
    let from = any_word(choose, text, |all, i| alternatives(all[i].of(text)).is_some())?;
    let (dialect, others) = alternatives(from.of(text))?;
    Some(replaced(text, from.at, &format!("{dialect}.{}", choose.of(others))))
}

/// Returns the dialect of an op, whose name is `dialect.op`, and the first list of [`SIGNATURES`] that contains the op.
/// Returns `None` for other words, and if there is no such list.
fn alternatives(name: &str) -> Option<(&str, &'static [&'static str])> {
    let (dialect, op) = name.split_once('.')?;
    let others = SIGNATURES.iter().find(|list| list.contains(&op))?;
    Some((dialect, others))
}

fn lines(text: &str) -> Vec<(std::ops::Range<usize>, &str)> {
    let mut at = 0;
    let place = |line: &'_ str| {
        let range = at..at + line.len();
        at += line.len() + 1;
        range
    };
    let ranges: Vec<_> = text.split('\n').map(place).collect();
    ranges.into_iter().map(|range| (range.clone(), &text[range])).collect()
}

/// Returns the name and the type of the result if the line is an op that makes one array and ends with the type of the
/// array, in which there is no space. Otherwise, returns `None`.
fn defined(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.trim().split_once(" = ")?;
    let ty = rest.rsplit_once("-> ").or_else(|| rest.rsplit_once(" : "))?.1.trim();
    (name.starts_with('%') && ty.starts_with("tensor<") && ty.ends_with('>') && !ty.contains(' ')).then_some((name, ty))
}

/// Returns the names and types of the values whose types the text contains: results at the ends of lines, and arguments
/// with a colon. Arguments of complex types are left out.
fn typed_values(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> =
        lines(text).iter().filter_map(|(_, line)| defined(line)).map(|(v, t)| (v.to_string(), t.to_string())).collect();
    for (at, _) in text.match_indices(": tensor<") {
        let name: String = text[..at].rsplit(['(', ',', ' ']).next().unwrap_or("").to_string();
        let ty = text[at + 2..].split_once('>').map(|(ty, _)| format!("{ty}>"));
        if let Some(ty) = ty.filter(|ty| name.starts_with('%') && !ty.contains("complex<")) {
            found.push((name, ty));
        }
    }
    found
}

fn operand_of_same_type(choose: &mut Chooser, text: &str) -> Option<String> {
    let values = typed_values(text);
    let is_use =
        |all: &[Word], i: usize| all[i].kind == WordKind::Value && !"=:".contains(sign(all, text, Some(i + 1)));
    let from = any_word(choose, text, is_use)?;
    let ty = &values.iter().find(|(name, _)| name == from.of(text))?.1;
    let others: Vec<&String> =
        values.iter().filter(|(name, t)| t == ty && name != from.of(text)).map(|(n, _)| n).collect();
    (!others.is_empty()).then(|| replaced(text, from.at, choose.of(&others).as_str()))
}

fn swapped_operands(choose: &mut Chooser, text: &str) -> Option<String> {
    let is_pair = |all: &[Word], i: usize| {
        let is_value = |i: usize| all.get(i).is_some_and(|w| w.kind == WordKind::Value);
        is_value(i) && sign(all, text, Some(i + 1)) == ',' && is_value(i + 2)
    };
    let first = any_word(choose, text, is_pair)?;
    let second = words(text).into_iter().find(|w| w.kind == WordKind::Value && w.at.start > first.at.end)?;
    let swapped = replaced(text, second.at.clone(), first.of(text));
    Some(replaced(&swapped, first.at.clone(), second.of(text)))
}

/// Inserts an op whose operand is a random tensor that the text defines, and sometimes another op on the same tensor,
/// whose result is not used. The result of the former replaces the tensor in its first use after that, and in no other.
/// Returns `None` if the text defines no tensor, or if the chosen one is not used later.
fn op_between(choose: &mut Chooser, text: &str) -> Option<String> {
    let candidates: Vec<_> = lines(text).into_iter().filter_map(|(at, line)| Some((at, defined(line)?))).collect();
    if candidates.is_empty() {
        return None;
    }
    let (at, (name, ty)) = choose.of(&candidates).clone();
    let new = format!("%new{}", choose.below(1000));
    let ops = [
        "stablehlo.negate",
        "stablehlo.abs",
        "sdy.propagation_barrier",
        "stablehlo.optimization_barrier",
        "add",
        "dead",
    ];
    let line = match *choose.of(&ops) {
        "add" => format!("{new} = stablehlo.add {name}, {name} : {ty}"),
        "dead" => format!("{new}dead = stablehlo.multiply {name}, {name} : {ty}\n{new} = stablehlo.abs {name} : {ty}"),
        "sdy.propagation_barrier" => format!("{new} = sdy.propagation_barrier {name} allowed_direction=FORWARD : {ty}"),
        op => format!("{new} = {op} {name} : {ty}"),
    };
    let (before, after) = text.split_at(at.end);
    let later = words(after).into_iter().find(|w| w.kind == WordKind::Value && w.of(after) == name)?;
    Some(format!("{before}\n{line}{}", replaced(after, later.at, &new)))
}

// ── shardings and meshes

fn mesh_axes(text: &str) -> Vec<(String, usize)> {
    let axis = |i: usize, all: &[Word]| {
        let is_axis = all[i].kind == WordKind::Quoted && sign(all, text, Some(i + 1)) == '=';
        let size = all.get(i + 2).filter(|w| is_axis && w.kind == WordKind::Number)?;
        Some((all[i].of(text).to_string(), size.of(text).parse().ok()?))
    };
    let all = words(text);
    (0..all.len()).filter_map(|i| axis(i, &all)).collect()
}

/// Replaces the axes of one list in a sharding, most often those of a dimension, by at most two random axes, or parts
/// of axes, of the program's meshes and sometimes `?`. Returns `None` if the text has no such list or no mesh with
/// axes.
fn axes_of_a_sharding(choose: &mut Chooser, text: &str) -> Option<String> {
    let axes = mesh_axes(text);
    let inside = |at: usize| text[..at].rfind("sharding").is_some_and(|from| !text[from..at].contains(['\n', '%']));
    let all: Vec<usize> = text.match_indices('{').map(|(at, _)| at).filter(|&at| inside(at)).collect();
    let is_list = |at: usize| {
        text[at..].find('}').is_some_and(|end| {
            text[at..at + end].bytes().all(|b| b"{\"?:(), ".contains(&b) || b.is_ascii_alphanumeric())
        })
    };
    let places: Vec<usize> = all.into_iter().filter(|&at| is_list(at)).collect();
    if places.is_empty() || axes.is_empty() {
        return None;
    }
    let at = *choose.of(&places);
    let end = at + text[at..].find('}')?;
    let mut chosen: Vec<String> = (0..choose.below(3)).map(|_| axis_of_sharding(choose, &axes)).collect();
    chosen.dedup();
    if choose.one_in(4) {
        chosen.push("?".into());
    }
    Some(replaced(text, at..end + 1, &format!("{{{}}}", chosen.join(", "))))
}

/// Returns the text of a random one of `axes`, or of a part of it: `"x"` or `"x":(1)2`.
fn axis_of_sharding(choose: &mut Chooser, axes: &[(String, usize)]) -> String {
    let (name, size) = choose.of(axes);
    match size {
        n if n % 2 == 0 && *n > 2 && choose.one_in(3) => {
            format!("{name}:({})2", if choose.one_in(2) { 1 } else { n / 2 })
        }
        _ => name.clone(),
    }
}

fn axis_size(choose: &mut Chooser, text: &str) -> Option<String> {
    let is_axis = |all: &[Word], i: usize| {
        all[i].kind == WordKind::Number
            && sign(all, text, i.checked_sub(1)) == '='
            && i.checked_sub(2).is_some_and(|i| all[i].kind == WordKind::Quoted)
    };
    let from = any_word(choose, text, is_axis)?;
    let sizes: &[&str] = if choose.one_in(20) { NUMBERS } else { &["1", "1", "2", "3", "4", "6", "8"] };
    Some(replaced(text, from.at, choose.of::<&str>(sizes)))
}

fn axis_name(choose: &mut Chooser, text: &str) -> Option<String> {
    let axes = mesh_axes(text);
    let is_axis = |word: &Word| word.kind == WordKind::Quoted && axes.iter().any(|(name, _)| name == word.of(text));
    let from = any_word(choose, text, |all, i| is_axis(&all[i]) && sign(all, text, Some(i + 1)) != '=')?;
    Some(replaced(text, from.at, &choose.of(&axes).0))
}

fn word_of_an_attribute(choose: &mut Chooser, text: &str) -> Option<String> {
    let list_of = |word: &str| WORDS.iter().find(|list| list.contains(&word));
    let from = any_word(choose, text, |all, i| list_of(all[i].of(text)).is_some())?;
    Some(replaced(text, from.at.clone(), choose.of::<&str>(list_of(from.of(text))?)))
}

// ── lines and whole programs

fn line_twice(choose: &mut Chooser, text: &str) -> Option<String> {
    let candidates: Vec<_> = lines(text).into_iter().filter(|(_, line)| defined(line).is_some()).collect();
    let (at, line) = (!candidates.is_empty()).then(|| choose.of(&candidates).clone())?;
    let (_, made) = line.split_once(" = ")?;
    let mut out = text.to_string();
    out.insert_str(at.end, &format!("\n%again{} = {made}", choose.below(1000)));
    Some(out)
}

/// Removes a line that defines a tensor. Later uses of the tensor use an earlier one of the same type. Returns `None`
/// if no line defines a tensor, or if [`typed_values`] finds no earlier one of the type.
fn line_less(choose: &mut Chooser, text: &str) -> Option<String> {
    let candidates: Vec<_> = lines(text).into_iter().filter_map(|(at, line)| Some((at, defined(line)?))).collect();
    let (at, (name, ty)) = (!candidates.is_empty()).then(|| choose.of(&candidates).clone())?;
    let values = typed_values(&text[..at.start]);
    let others: Vec<&String> = values.iter().filter(|(other, t)| t == ty && other != name).map(|(n, _)| n).collect();
    let other = (!others.is_empty()).then(|| choose.of(&others).to_string())?;
    let (before, after) = (&text[..at.start], &text[at.end..]);
    let places: Vec<Word> =
        words(after).into_iter().filter(|w| w.kind == WordKind::Value && w.of(after) == name).collect();
    Some(format!("{before}{}", all_replaced(after, &places, &other)))
}

/// Adds the functions of a program of the corpus, which the text does not call. Returns `None` if the text contains
/// `module`, if another main function was joined to it already, or if the other program does not start with a function.
fn program_joined(choose: &mut Chooser, text: &str) -> Option<String> {
    let other = choose.of(programs());
    let body = other
        .replace("@main", "@joined")
        .replace("func.func public", "func.func")
        .replace("func.func @", "func.func private @");
    let is_plain = body.trim_start().starts_with("func.func") && !text.contains("module");
    (is_plain && !text.contains("@joined")).then(|| format!("{text}\n{body}"))
}

/// Removes one to four consecutive words, or writes them twice. Returns `None` if the text has no words.
fn characters(choose: &mut Chooser, text: &str) -> Option<String> {
    let all = words(text);
    let first = choose.below(all.len().max(1));
    let last = (first + choose.below(4)).min(all.len().checked_sub(1)?);
    let range = all.get(first)?.at.start..all[last].at.end;
    let copy = if choose.one_in(2) { text[range.clone()].repeat(2) } else { String::new() };
    Some(replaced(text, range, &copy))
}
