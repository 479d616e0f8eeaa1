//! Reads the parts of XLA's HLO text that the counts need: computations, instructions, shapes and attributes.
//!
//! ```text
//! ENTRY %main_spmd (param: f32[8,4]) -> f32[64,4] {
//!   %param = f32[8,4]{1,0} parameter(0), sharding={devices=[8,1]<=[8]}
//!   ROOT %all-gather = f32[64,4]{1,0} all-gather(%param), replica_groups=[1,8]<=[8], dimensions={0}
//! }
//! ```

use anyhow::{Context, Result, bail};
use std::collections::HashMap;

/// A module.
pub struct Hlo {
    pub computations: Vec<Computation>,
    /// The index of the entry computation, or 0 if none is marked as one.
    pub entry: usize,
    /// The number of devices, or 1 if the text does not state it.
    pub devices: usize,
    by_name: HashMap<String, usize>,
}

/// A computation: instructions in order, each after its operands.
pub struct Computation {
    pub instructions: Vec<Instruction>,
    pub root: usize,
    by_name: HashMap<String, usize>,
}

pub struct Instruction {
    pub opcode: String,
    /// The shape of the result, or of each array in it if the result is a tuple. Tokens are left out.
    pub shapes: Vec<Shape>,
    /// The names of the operands, without `%`.
    pub operands: Vec<String>,
    /// The text between the parentheses, such as `0` for `parameter(0)`.
    pub argument: String,
    attributes: Vec<(String, String)>,
}

/// The type of an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    pub dims: Vec<usize>,
    pub element_bits: usize,
}

impl Shape {
    pub fn elements(&self) -> u64 {
        self.dims.iter().map(|&n| n as u64).product()
    }

    pub fn bytes(&self) -> u64 {
        (self.elements() * self.element_bits as u64).div_ceil(8)
    }
}

impl Hlo {
    /// Reads a module. Lines outside of computations are ignored, and so is a last computation without a `}`. Fails if
    /// a line of a computation cannot be understood, if a `}` closes nothing, or if there are no computations.
    pub fn parse(text: &str) -> Result<Hlo> {
        let mut hlo = Hlo { computations: vec![], entry: 0, devices: 1, by_name: HashMap::new() };
        let mut open: Option<(String, Computation)> = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("HloModule") {
                hlo.devices = after(rest, "num_partitions=").and_then(leading_number).unwrap_or(1);
            } else if let Some(name) = computation_name(line) {
                hlo.entry = if line.starts_with("ENTRY") { hlo.computations.len() } else { hlo.entry };
                open = Some((name, Computation { instructions: vec![], root: 0, by_name: HashMap::new() }));
            } else if line.starts_with('}') {
                let (name, computation) = open.take().context("a `}` that closes nothing")?;
                hlo.by_name.insert(name, hlo.computations.len());
                hlo.computations.push(computation);
            } else if let Some((_, computation)) = &mut open {
                computation.add(line).with_context(|| format!("in `{}`", line.trim()))?;
            }
        }
        if hlo.computations.is_empty() {
            bail!("no computations");
        }
        Ok(hlo)
    }

    /// Returns the index of the computation with this name, which may start with `%`. Returns `None` if there is none.
    pub fn computation(&self, name: &str) -> Option<usize> {
        self.by_name.get(name.trim().trim_start_matches('%')).copied()
    }

    /// Returns the indices of the computations that an attribute names: `calls=%f` or `branch_computations={%f, %g}`.
    /// Names of no computation are left out. If the instruction has no such attribute, the list is empty.
    pub fn named(&self, at: &Instruction, attribute: &str) -> Vec<usize> {
        let names = at.attribute(attribute).unwrap_or("").trim_matches(['{', '}']);
        names.split(',').filter_map(|name| self.computation(name)).collect()
    }
}

impl Computation {
    fn add(&mut self, line: &str) -> Result<()> {
        let line = without_comments(line.trim());
        let (name, rest) = line.split_once(" = ").context("no ` = `")?;
        let is_root = name.starts_with("ROOT ");
        let name = name.trim_start_matches("ROOT ").trim_start_matches('%');
        let (shape, rest) = rest.split_at(end_of_type(rest));
        let (opcode, rest) = rest.trim().split_once('(').context("no operands")?;
        let end = end_of_group(rest);
        let (argument, rest) = (&rest[..end], rest.get(end + 1..).unwrap_or(""));
        let operands = split(argument).into_iter().filter_map(|text| text.rsplit_once('%')).map(|(_, n)| n.to_string());
        let attributes = split(rest.trim_start_matches(',')).into_iter();
        let attributes = attributes.filter_map(|text| text.split_once('=')).map(|(k, v)| (k.into(), v.into()));
        let instruction = Instruction {
            opcode: opcode.trim().into(),
            shapes: shapes(shape)?,
            operands: operands.collect(),
            argument: argument.into(),
            attributes: attributes.collect(),
        };
        self.root = if is_root { self.instructions.len() } else { self.root };
        self.by_name.insert(name.to_string(), self.instructions.len());
        self.instructions.push(instruction);
        Ok(())
    }

    /// Returns the index of the instruction with this name, which has no `%`. Returns `None` if there is none.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the instruction that makes operand `i`, or `None` if `at` has fewer operands or the computation has no
    /// instruction of the operand's name.
    pub fn operand(&self, at: &Instruction, i: usize) -> Option<&Instruction> {
        Some(&self.instructions[self.index(at.operands.get(i)?)?])
    }

    /// Returns the indices of the instructions that read this one, once for each operand, and the operands' positions.
    pub fn users(&self, index: usize) -> Vec<(usize, usize)> {
        let uses = |(i, at): (usize, &Instruction)| {
            let operands = at.operands.iter().enumerate();
            let own = operands.filter(|(_, name)| self.index(name) == Some(index));
            own.map(|(k, _)| (i, k)).collect::<Vec<_>>()
        };
        self.instructions.iter().enumerate().flat_map(uses).collect()
    }
}

impl Instruction {
    /// Returns the text of an attribute, or `None` if the instruction does not have it.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the numbers of an attribute such as `lhs_contracting_dims={1,2}`, or an empty list if the instruction
    /// does not have it. Parts between commas that are no numbers are left out.
    pub fn numbers(&self, name: &str) -> Vec<usize> {
        let text = self.attribute(name).unwrap_or("").trim_matches(['{', '}']);
        text.split(',').filter_map(|n| n.trim().parse().ok()).collect()
    }

    /// Returns the number of devices in the first group of a collective. If the list of groups is `{}`, these are all
    /// `devices`. Returns `None` if there is no list of groups, and for some lists that are malformed.
    pub fn group_size(&self, devices: usize) -> Option<usize> {
        let text = self.attribute("replica_groups")?;
        if let Some(rest) = text.strip_prefix("mesh[") {
            let named = self.attribute("device_ids").unwrap_or(rest);
            return mesh_group_size(rest, &named[named.find('{')?..]);
        }
        match text.strip_prefix('[') {
            Some(rest) => leading_number(rest.split_once(',')?.1),
            None if text == "{}" => Some(devices),
            None => Some(text.trim_start_matches('{').split('}').next()?.split(',').count()),
        }
    }

    /// Returns the pairs of source and target of a permute, or an empty list for other instructions.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let text = self.attribute("source_target_pairs").unwrap_or("");
        let pair = |text: &str| {
            let (a, b) = text.split_once(',')?;
            Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
        };
        text.split(['{', '}']).filter_map(pair).collect()
    }

    /// Returns the number of iterations of a loop, or `None` if XLA does not state it.
    pub fn trip_count(&self) -> Option<u64> {
        let config = self.attribute("backend_config")?;
        after(config, "\"known_trip_count\":{\"n\":\"").and_then(leading_number).map(|n| n as u64)
    }
}

/// Returns the size of groups along axes of a mesh: `'a'=8,'b'=2]` and `{'a':(2)4,'b'}` -> `8`. `'a':(2)4` is the part
/// of size 4 of the axis `a` after its major part of size 2. Returns `None` if `sizes` lacks an axis, and for some
/// texts that are malformed.
fn mesh_group_size(sizes: &str, axes: &str) -> Option<usize> {
    let sizes: HashMap<&str, usize> = sizes[..sizes.find(']')?]
        .split(',')
        .filter_map(|text| text.split_once('='))
        .filter_map(|(name, n)| Some((name.trim(), n.parse().ok()?)))
        .collect();
    let axes = axes[..axes.find('}')?].trim_start_matches('{');
    let size = |text: &str| match text.split_once(":(") {
        Some((_, part)) => leading_number(part.split_once(')')?.1),
        None => sizes.get(text.trim()).copied(),
    };
    axes.split(',').filter(|text| !text.is_empty()).map(size).product()
}

fn computation_name(line: &str) -> Option<String> {
    let head = line.strip_suffix('{')?.trim_start_matches("ENTRY ");
    let name = head.strip_prefix('%')?.split([' ', '(']).next()?;
    (!line.starts_with(' ')).then(|| name.to_string())
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*index=") {
        out += before;
        rest = after.split_once("*/").map_or("", |(_, rest)| rest);
    }
    out + rest
}

fn after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

fn leading_number(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Returns where the type at the start of a text ends: at the first space outside parentheses, or at the end of the
/// text.
fn end_of_type(text: &str) -> usize {
    let mut depth = 0;
    let ends = |(_, c): &(usize, char)| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0 && *c == ' '
    };
    text.char_indices().find(ends).map_or(text.len(), |(i, _)| i)
}

/// Returns where the group that is open at the start ends: the position of its closing bracket, or the length of the
/// text if there is none.
fn end_of_group(text: &str) -> usize {
    let mut depth = 0;
    let mut is_quoted = false;
    for (i, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' if depth == 0 => return i,
            ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Splits a text at commas outside brackets and quotes. The parts are trimmed, and empty parts are left out.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut is_quoted) = (vec![], 0, 0, false);
    for (i, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns the shapes of all arrays of a type, in order. Tokens and parts without `[` are left out. Fails if the type
/// is malformed.
fn shapes(text: &str) -> Result<Vec<Shape>> {
    let text = text.trim();
    match text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => Ok(split(inner).into_iter().map(shapes).collect::<Result<Vec<_>>>()?.concat()),
        None => shape(text).map(|shape| shape.into_iter().collect()),
    }
}

/// Returns the shape of one array. Returns `None` for a token and for a text without `[`. Fails if the type is
/// malformed.
fn shape(text: &str) -> Result<Option<Shape>> {
    let Some((name, rest)) = text.split_once('[') else { return Ok(None) };
    let dims = rest.split_once(']').context("no `]`")?.0;
    let dims = dims.split(',').filter(|n| !n.is_empty()).map(|n| n.trim_start_matches("<=").parse());
    let dims =
        dims.collect::<Result<Vec<usize>, _>>().with_context(|| format!("a size in the type {text} is no number"))?;
    Ok(element_bits(name)?.map(|element_bits| Shape { dims, element_bits }))
}

/// Returns the number of bits of an element of the type with this name, or `None` for a token. An element of `pred` has
/// 8. Fails for names without a number.
fn element_bits(name: &str) -> Result<Option<usize>> {
    Ok(Some(match name {
        "pred" => 8,
        "token" => return Ok(None),
        "c64" => 64,
        "c128" => 128,
        _ => {
            let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            leading_number(digits).with_context(|| format!("the element type {name} has no number of bits"))?
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(attributes: &str) -> Option<usize> {
        let mut computation = Computation { instructions: vec![], root: 0, by_name: HashMap::new() };
        computation
            .add(&format!("%x = f32[8]{{0}} all-gather(%y), channel_id=1, {attributes}, dimensions={{0}}"))
            .unwrap();
        computation.instructions[0].group_size(8)
    }

    #[test]
    fn groups_are_written_in_four_ways() {
        assert_eq!(groups("replica_groups={{0,1,2,3},{4,5,6,7}}"), Some(4));
        assert_eq!(groups("replica_groups={}"), Some(8));
        assert_eq!(groups("replica_groups=[4,2]<=[2,4]T(1,0)"), Some(2));
        assert_eq!(groups("replica_groups=mesh['a'=4,'b'=2,'c'=1] {'a','c'}"), Some(4));
        assert_eq!(groups("replica_groups=mesh['a'=4,'b'=2], device_ids=([2,2,2]T(0,2,1)) {'a':(2)2,'b'}"), Some(4));
    }

    #[test]
    fn types_may_be_tuples() {
        let text = "(f32[24,1]{1,0}, (s32[], bf16[3]{0}), token[], pred[5]{0:T(8,128)})";
        let bytes: Vec<u64> = shapes(text).unwrap().iter().map(Shape::bytes).collect();
        assert_eq!(bytes, [96, 4, 6, 5]);
        assert_eq!(shapes("s4[5]{0}").unwrap()[0].bytes(), 3);
        assert_eq!(shapes("f8e4m3fn[2,2]{1,0}").unwrap()[0].bytes(), 4);
        assert!(shapes("what[2]").is_err());
    }

    #[test]
    fn a_line_has_operands_and_attributes() {
        let mut computation = Computation { instructions: vec![], root: 7, by_name: HashMap::new() };
        computation.add("%a.1 = f32[2]{0} parameter(0)").unwrap();
        computation
            .add(
                "  ROOT %w = (s32[], f32[2]{0}) while(%a.1, /*index=1*/%a.1), condition=%c, body=%b, \
                 metadata={op_name=\"jit(f)/x, y\"}, backend_config={\"known_trip_count\":{\"n\":\"12\"}}",
            )
            .unwrap();
        let at = &computation.instructions[1];
        assert_eq!((at.opcode.as_str(), computation.root), ("while", 1));
        assert_eq!(at.operands, ["a.1", "a.1"]);
        assert_eq!((at.attribute("body"), at.trip_count()), (Some("%b"), Some(12)));
        assert_eq!(computation.users(0), [(1, 0), (1, 1)]);
    }
}
