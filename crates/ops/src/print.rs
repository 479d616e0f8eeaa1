//! The op that prints values while a program runs: `stablehlo.custom_call @shardwise.print`.
//!
//! ```text
//! stablehlo.custom_call @shardwise.print(%i, %x) {has_side_effect = true, shardwise.axes = ["X"],
//!     shardwise.format = "x = {}"} : (tensor<i32>, tensor<2xf32>) -> ()
//! ```
//! prints `[X=0] x = [1. 2.]` for the device at coordinate 0 along the axis `X`, and such a line for each other
//! coordinate. The first operands, here `%i`, are the coordinates of the device along `shardwise.axes`. The other ones
//! are printed in place of `{}`. `{{` and `}}` are braces.
//!
//! The devices at one list of coordinates print once. Outside of per-device code there are no coordinates, and the
//! values are those of the whole arrays.
//!
//! In a batch, `shardwise.batches` has for each batch, the outermost one first, the operands that have its dimension,
//! as numbers. A line is printed for each index.

use crate::Opcode;
use crate::check::{self, Check};
use crate::control::CustomCall;
use crate::facts::*;
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, display, print};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};

const TARGET: &str = "shardwise.print";
const FORMAT: &str = "shardwise.format";
const AXES: &str = "shardwise.axes";
const BATCHES: &str = "shardwise.batches";

/// A print, a call of `@shardwise.print`, as its attributes describe it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Print {
    /// The texts around the values. There is one more than values.
    texts: Vec<String>,
    /// The names of the axes along which the first operands are coordinates.
    axes: Vec<String>,
    /// For each batch, the outermost one first, the numbers of the operands that have its dimension, coordinates
    /// included.
    batches: Vec<Vec<usize>>,
}

pub(crate) struct PrintFacts;

impl Print {
    /// Returns the texts, axes and batches of a print op, with no axes or batches if these attributes are absent.
    /// Returns `None` for other ops, if the format is absent, and if the format, the axes or the batches are malformed.
    pub fn of(op: &OpView<'_>) -> Option<Print> {
        if !Print::is(op) {
            return None;
        }
        let batches = list(op, BATCHES)?.iter().map(Attr::to_sizes).collect::<Option<_>>()?;
        Some(Print { texts: texts(op.attrs().str(FORMAT)?)?, axes: axes_of(op)?, batches })
    }

    pub(crate) fn is(op: &OpView<'_>) -> bool {
        CustomCall::target(op) == Some(TARGET)
    }

    /// Returns the attributes of a print with these texts around its values, of which there is one more than values.
    /// The first operands are the coordinates along `axes`.
    pub fn attrs(texts: &[String], axes: &[String]) -> Attrs {
        let escaped: Vec<String> = texts.iter().map(|t| t.replace('{', "{{").replace('}', "}}")).collect();
        call_attrs(TARGET, axes).with(FORMAT, Attr::str(&escaped.join("{}")))
    }

    /// Returns the number of operands that are coordinates.
    pub fn coordinate_count(&self) -> usize {
        self.axes.len()
    }

    fn operand_count(&self) -> usize {
        self.axes.len() + self.texts.len() - 1
    }

    /// Prints the values of the operands: a line, or one for each index of the batches, and so none if a batch has size
    /// 0. A batch in which no operand has the dimension counts as one index.
    pub fn run(&self, operands: &[Literal]) {
        self.run_in(&self.batches, operands);
    }

    fn run_in(&self, batches: &[Vec<usize>], operands: &[Literal]) {
        let Some((first, rest)) = batches.split_first() else { return print::line(&self.line(operands)) };
        let count = first.first().map_or(1, |&i| operands[i].shape()[0]);
        for index in 0..count {
            let own = |(i, x): (usize, &Literal)| if first.contains(&i) { row(x, index) } else { x.clone() };
            let operands: Vec<Literal> = operands.iter().enumerate().map(own).collect();
            self.run_in(rest, &operands);
        }
    }

    fn line(&self, operands: &[Literal]) -> String {
        let (coordinates, values) = operands.split_at(self.axes.len());
        let coordinates = self.axes.iter().zip(coordinates).map(|(axis, c)| format!("{axis}={}", c.get_i128(0)));
        let coordinates: Vec<String> = coordinates.collect();
        let mut out = if coordinates.is_empty() { String::new() } else { format!("[{}] ", coordinates.join(",")) };
        out += &self.texts[0];
        for (value, text) in values.iter().zip(&self.texts[1..]) {
            out += &display::literal(value);
            out += text;
        }
        out
    }
}

fn list<'a>(op: &OpView<'a>, name: &str) -> Option<&'a [Attr]> {
    match op.attr(name) {
        None => Some(&[]),
        Some(Attr::Array(items)) => Some(&items[..]),
        Some(_) => None,
    }
}

pub(crate) fn axes_of(op: &OpView<'_>) -> Option<Vec<String>> {
    list(op, AXES)?.iter().map(|axis| axis.as_str().map(String::from)).collect()
}

pub(crate) fn call_attrs(target: &str, axes: &[String]) -> Attrs {
    let attrs = Attrs::new().with("call_target_name", Attr::str(target)).with("has_side_effect", Attr::Bool(true));
    match axes {
        [] => attrs,
        _ => attrs.with(AXES, Attr::Array(axes.iter().map(|axis| Attr::str(axis)).collect())),
    }
}

fn row(x: &Literal, index: usize) -> Literal {
    let shape = &x.shape()[1..];
    let size: usize = shape.iter().product();
    let bytes: Vec<u8> = (index * size..(index + 1) * size).flat_map(|i| x.element_bytes(i).to_vec()).collect();
    Literal::from_bytes(x.dtype(), shape, &bytes).expect("as many bytes as elements")
}

/// Returns the texts around the `{}` of a format, or `None` if a brace is neither a part of `{}` nor doubled.
fn texts(format: &str) -> Option<Vec<String>> {
    let mut texts = vec![String::new()];
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' => match (c, rest.next()?) {
                ('{', '}') => texts.push(String::new()),
                (a, b) if a == b => texts.last_mut()?.push(a),
                _ => return None,
            },
            _ => texts.last_mut()?.push(c),
        }
    }
    Some(texts)
}

impl Facts for PrintFacts {
    answer!(derivative = zero("it has no results"));
    answer!(transpose = none("it has no results"));
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        let own = Attr::sizes(&(0..mapped.len()).filter(|&i| mapped[i]).collect::<Vec<_>>());
        let batches = [&[own][..], list(op, BATCHES).unwrap_or_default()].concat();
        let attrs = op.attrs().clone().with(BATCHES, Attr::Array(batches));
        Batched::LeadingOf(mapped.to_vec(), attrs)
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = check::all_tensors(op)?;
        let mut check = Check::new(op);
        let Some(print) = Print::of(op) else {
            let rule = "`shardwise.format` must be a text in which braces are doubled, except for `{}`, \
                        `shardwise.axes` a list of names, and `shardwise.batches` a list of lists of numbers";
            return check.that("print", false, rule).give([]);
        };
        let count = print.operand_count();
        let rule = format!("there must be {count} operands: a coordinate for each axis, and a value for each `{{}}`");
        check.that("print", types.len() == count, &rule).so_far()?;
        let is_coordinate = |i: usize| types[i].dtype == DType::I32 && types[i].rank() == print.batch_rank(i);
        let rule = "a coordinate must be of type i32, with no dimensions but those of its batches";
        check.that("print", (0..print.axes.len()).all(is_coordinate), rule);
        let has_batches = print.batches.iter().flatten().all(|&i| i < count && types[i].rank() >= print.batch_rank(i));
        let sizes_agree = has_batches && (0..print.batches.len()).all(|b| print.has_one_size(b, &types));
        check.that("print", sizes_agree, "a batch must name operands that have its dimension, all of one size");
        check.that("print", op.results().is_empty(), "there must be no results");
        check.that("print", op.attrs().flag("has_side_effect"), "`has_side_effect` must be true");
        check.give([])
    }
    answer!(rule = none("it prints whole arrays"));
    answer!(
        example = r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  stablehlo.custom_call @shardwise.print(%arg0) {has_side_effect = true, shardwise.format = "x = {}"} : (tensor<2xf32>) -> ()
  return %arg0 : tensor<2xf32>
}"#
    );
    answer!(usual);
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        if let Some(print) = Print::of(op) {
            print.run(x);
        }
        Ok(vec![])
    }
    answer!(class = Other);
    answer!(data_flow = none);
    answer!(combine = none);
    answer!(localize = same_op);
    answer!(semantics = Control);
    answer!(effects = Ordered);
    answer!(explicit = by_rule);
    answer!(cost = nothing);
    answer!(linear = No);
}

impl Print {
    fn batch_rank(&self, operand: usize) -> usize {
        self.batches.iter().filter(|batch| batch.contains(&operand)).count()
    }

    fn has_one_size(&self, batch: usize, types: &[&shardwise_ir::TensorType]) -> bool {
        let size = |&i: &usize| {
            let dim = self.batches[..batch].iter().filter(|b| b.contains(&i)).count();
            types[i].shape[dim]
        };
        let sizes: Vec<usize> = self.batches[batch].iter().map(size).collect();
        sizes.windows(2).all(|w| w[0] == w[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_and_written() {
        assert_eq!(texts("x = {}, {{y}} = {}").unwrap(), ["x = ", ", {y} = ", ""]);
        assert_eq!(texts("").unwrap(), [""]);
        assert!(["{", "}", "{x}", "{:?}", "a{ }"].iter().all(|wrong| texts(wrong).is_none()));
        let written = Print::attrs(&["{".into(), "}{}".into()], &[]);
        assert_eq!(texts(written.str(FORMAT).unwrap()).unwrap(), ["{", "}{}"]);
    }

    #[test]
    fn batches_are_printed_index_by_index() {
        let print = Print {
            texts: ["x = ", ", y = ", ""].map(String::from).to_vec(),
            axes: vec!["X".into()],
            batches: vec![vec![1], vec![1, 2]],
        };
        let x = Literal::new([2, 2], &[1i32, 2, 3, 4]);
        let y = Literal::new([2, 1], &[5i32, 6]);
        let ((), lines) = print::captured(|| print.run(&[Literal::scalar(3i32), x, y]));
        let expected = ["1, y = [5]", "2, y = [6]", "3, y = [5]", "4, y = [6]"];
        assert_eq!(lines, expected.map(|line| format!("[X=3] x = {line}")));
    }
}
