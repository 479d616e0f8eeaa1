//! `ragged_all_to_all`: sends rows to the devices of a group. The numbers of rows and their places are operands.
//!
//! JAX exports it as a custom call whose groups are in its `backend_config`:
//!
//! ```text
//! stablehlo.custom_call @ragged_all_to_all(%operand, %output, %input_offsets, %send_sizes, %output_offsets, %recv_sizes)
//!     {api_version = 4 : i32, backend_config = {replica_groups = ..}}
//! ```
//!
//! Entry `i` of each index array belongs to the `i`th member of the group. `send_sizes[i]` rows of the operand, from
//! `input_offsets[i]` on, go to row `output_offsets[i]` of that member's result. `recv_sizes[i]` rows come from it. A
//! row of the result that receives nothing has its value in `output`. With `k * n` entries for a group of `n`, each
//! member has `k` consecutive entries.

use super::calculus;
use super::ops::{checked_groups, collective, group_size};
use crate::Opcode;
use crate::check::{self, Check};
use crate::facts::*;
use shardwise_base::{Diagnostic, Diagnostics, Literal, Loc};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

/// The custom call's target.
pub const RAGGED_ALL_TO_ALL: &str = "ragged_all_to_all";

/// The facts of the custom call with the target [`RAGGED_ALL_TO_ALL`].
pub struct RaggedAllToAll;

pub(crate) fn is_ragged(op: &OpView<'_>) -> bool {
    Opcode::of_view(op) == Opcode::CustomCall && op.attrs().str("call_target_name") == Some(RAGGED_ALL_TO_ALL)
}

/// Returns the configuration of the custom call, which has the entries that are attributes of other collectives.
/// Returns `None` if `backend_config` is absent or not a dictionary.
pub(crate) fn config<'a>(op: &OpView<'a>) -> Option<&'a Attrs> {
    match op.attr("backend_config")? {
        Attr::Dict(config) => Some(config),
        _ => None,
    }
}

/// Returns the attributes of the custom call, with these groups. With a channel, the collective is between partitions,
/// and without one between replicas.
pub(crate) fn ragged_attrs(groups: Attr, channel: Option<i64>) -> Attrs {
    let mut config = Attrs::new().with("replica_groups", groups);
    if let Some(channel) = channel {
        config.set("channel_id", Attr::int(channel));
    }
    Attrs::new()
        .with("call_target_name", Attr::str(RAGGED_ALL_TO_ALL))
        .with("api_version", Attr::Int { value: 4, dtype: Some(shardwise_base::DType::I32) })
        .with("backend_config", Attr::Dict(config))
}

impl Facts for RaggedAllToAll {
    answer!(derivative = linear);
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        calculus::ragged_transpose()
    }
    fn batch(&self, _: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        calculus::ragged_batch(mapped)
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x, out, sizes @ ..] = check::tensors::<6>(op)?;
        let mut check = Check::new(op);
        let groups = config(op).and_then(|c| c.get("replica_groups"));
        let groups = checked_groups(op, groups, &mut check, ["ragged_all_to_all_c1"; 2]);
        let n = group_size(op, &mut check, "ragged_all_to_all_c2", groups).unwrap_or(1);
        let rows = |shape: &[usize]| shape.get(1..).map(<[usize]>::to_vec);
        let alike = x.dtype == out.dtype && rows(&x.shape).is_some_and(|r| rows(&out.shape) == Some(r));
        check.that(
            "ragged_all_to_all_c3",
            alike,
            "operand and output must have the same element type, a first dimension, and the same sizes in all others",
        );
        let first = sizes[0];
        let is_list = first.rank() == 1 && first.dtype.is_integer();
        let alike = is_list && sizes.iter().all(|t| *t == first);
        check.that(
            "ragged_all_to_all_c4",
            alike,
            "offsets and sizes must be lists of integers, of one type and length",
        );
        let fits = !is_list || (first.shape[0] > 0 && first.shape[0].is_multiple_of(n));
        let rule = format!("the length of offsets and sizes must be a positive multiple of {n}, the size of a group");
        check.that("ragged_all_to_all_c5", fits, &rule);
        check.give([op.operand_type(1).clone()])
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let rank = |v: &Value| op.body.ty(*v).shape().len();
        let mut rule = RuleBuilder::new(op.operands().iter().map(rank), op.results().iter().map(rank));
        let (x, out) = (op.operand_shape(0), op.operand_shape(1));
        let whole = FactorSpec::need_replication;
        rule.add_factor(&[Some(0), None, None, None, None, None], &[None], whole(x[0]));
        rule.add_factor(&[None, Some(0), None, None, None, None], &[Some(0)], whole(out[0]));
        let lists = [None, None, Some(0), Some(0), Some(0), Some(0)];
        rule.add_factor(&lists, &[None], whole(op.operand_shape(2)[0]));
        for (d, &size) in x.iter().enumerate().skip(1) {
            let own = [Some(d), Some(d), None, None, None, None];
            rule.add_factor(&own, &[Some(d)], FactorSpec::pass_through(size));
        }
        RuleFact::Rule(rule.build())
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<3x2xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<2xi32>) -> tensor<4x2xf32> {
  %0 = stablehlo.custom_call @ragged_all_to_all(%arg0, %arg1, %arg2, %arg2, %arg2, %arg2) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<3x2xf32>, tensor<4x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"#
    }
    answer!(usual);
    answer!(cost = streams(0.0));
    answer!(linear = In(0b11));
    collective!();
}

/// The rows that a member of a group sends and receives, as its operands describe them.
#[derive(Clone, Debug)]
pub struct RaggedMember {
    /// The number of the member's device, for messages.
    pub device: usize,
    pub input_offsets: Vec<i64>,
    pub send_sizes: Vec<i64>,
    pub output_offsets: Vec<i64>,
    pub recv_sizes: Vec<i64>,
}

/// `count` rows of a member's operand that go to a member's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowMove {
    /// The position of the sender in the group.
    pub source: usize,
    /// The position of the receiver in the group.
    pub target: usize,
    /// The first of the rows in the sender's operand.
    pub from: usize,
    /// The first of the rows in the receiver's result.
    pub to: usize,
    pub count: usize,
}

/// Returns the rows that move in a group, from operands of `rows_in` rows to results of `rows_out` rows. All lists of
/// all members must have the same length, a multiple of the number of members. Moves of no rows are left out.
///
/// # Errors
/// `ragged-sizes` if a receiver expects another number of rows than the sender sends, `ragged-bounds` if a size is
/// negative or rows are outside an array, `ragged-overlap` if a row of a result is written twice.
pub fn row_moves(
    members: &[RaggedMember],
    rows_in: usize,
    rows_out: usize,
    loc: &Loc,
) -> Result<Vec<RowMove>, Diagnostic> {
    let mut moves = vec![];
    for (source, m) in members.iter().enumerate() {
        let each = m.send_sizes.len() / members.len();
        for (target, to) in members.iter().enumerate() {
            for k in 0..each {
                let (own, other) = (target * each + k, source * each + k);
                let (sent, expected) = (m.send_sizes[own], to.recv_sizes[other]);
                if sent != expected {
                    return Err(sizes_differ(m.device, to.device, sent, expected, loc));
                }
                if sent < 0 {
                    return Err(negative_size(m.device, to.device, sent, loc));
                }
                let (from, at) = (m.input_offsets[own], m.output_offsets[own]);
                let within =
                    |start: i64, rows: usize| sent == 0 || (start >= 0 && start.saturating_add(sent) <= rows as i64);
                if !within(from, rows_in) {
                    return Err(out_of_bounds(m.device, to.device, "reads", [from, sent], rows_in, loc));
                }
                if !within(at, rows_out) {
                    return Err(out_of_bounds(m.device, to.device, "writes", [at, sent], rows_out, loc));
                }
                if sent > 0 {
                    moves.push(RowMove { source, target, from: from as usize, to: at as usize, count: sent as usize });
                }
            }
        }
    }
    match first_overlap(&moves) {
        Some([a, b]) => Err(overlap(members, a, b, loc)),
        None => Ok(moves),
    }
}

fn first_overlap(moves: &[RowMove]) -> Option<[RowMove; 2]> {
    let mut sorted = moves.to_vec();
    sorted.sort_unstable_by_key(|m| (m.target, m.to));
    let mut pairs = sorted.windows(2);
    let overlaps = |p: &[RowMove]| p[0].target == p[1].target && p[0].to + p[0].count > p[1].to;
    pairs.find(|p| overlaps(p)).map(|p| [p[0], p[1]])
}

fn sizes_differ(from: usize, to: usize, sent: i64, expected: i64, loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "ragged-sizes",
        loc,
        "`ragged_all_to_all`: the number of rows that a device expects differs from the number that it is sent",
    )
    .facts(format!("device {from} sends {sent} rows to device {to}, which expects {expected}"))
    .help("`recv_sizes` are the senders' `send_sizes`: an `all_to_all` of them")
}

fn negative_size(from: usize, to: usize, size: i64, loc: &Loc) -> Diagnostic {
    Diagnostic::error("ragged-bounds", loc, "`ragged_all_to_all` is given a negative size")
        .facts(format!("from device {from} to device {to}: {size} rows"))
        .help("use 0 where no rows are sent")
}

fn out_of_bounds(from: usize, to: usize, what: &str, [start, count]: [i64; 2], rows: usize, loc: &Loc) -> Diagnostic {
    let side = if what == "reads" { "the operand" } else { "the output" };
    Diagnostic::error("ragged-bounds", loc, format!("`ragged_all_to_all` {what} rows that {side} does not have"))
        .facts(format!("from device {from} to device {to}: {count} rows from row {start} on, of {rows}"))
        .help("offsets must not be negative, and offset + size must be at most the number of rows")
}

fn overlap(members: &[RaggedMember], a: RowMove, b: RowMove, loc: &Loc) -> Diagnostic {
    let part = |m: RowMove| format!("rows {}..{} from device {}", m.to, m.to + m.count, members[m.source].device);
    Diagnostic::error(
        "ragged-overlap",
        loc,
        "`ragged_all_to_all`: the same rows of a device's output are written twice",
    )
    .facts(format!("device {} receives {} and {}", members[a.target].device, part(a), part(b)))
    .note("in a gradient, these are the rows that were sent, each of which must have been sent only once")
    .help("`output_offsets` are places in the receiver's output, one after the other for its senders")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(send: [[i64; 2]; 2], output: [[i64; 2]; 2]) -> Vec<RaggedMember> {
        let member = |i: usize| RaggedMember {
            device: i,
            input_offsets: vec![0, send[i][0]],
            send_sizes: send[i].to_vec(),
            output_offsets: output[i].to_vec(),
            recv_sizes: vec![send[0][i], send[1][i]],
        };
        vec![member(0), member(1)]
    }

    fn code(members: &[RaggedMember], rows_in: usize, rows_out: usize) -> String {
        row_moves(members, rows_in, rows_out, &Loc::UNKNOWN).unwrap_err().code.to_string()
    }

    #[test]
    fn rows_go_where_senders_say() {
        let moves = row_moves(&members([[1, 2], [0, 3]], [[0, 0], [9, 2]]), 3, 5, &Loc::UNKNOWN).unwrap();
        let at = |source, target, from, to, count| RowMove { source, target, from, to, count };
        assert_eq!(moves, [at(0, 0, 0, 0, 1), at(0, 1, 1, 0, 2), at(1, 1, 0, 2, 3)]);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let fine = members([[1, 2], [0, 3]], [[0, 0], [1, 2]]);
        assert_eq!(code(&fine, 2, 5), "ragged-bounds");
        assert_eq!(code(&fine, 3, 4), "ragged-bounds");
        assert_eq!(code(&members([[1, 2], [0, 3]], [[0, 0], [1, 1]]), 3, 5), "ragged-overlap");
        let mut other = fine.clone();
        other[1].recv_sizes[0] = 1;
        assert_eq!(code(&other, 3, 5), "ragged-sizes");
        let mut negative = fine;
        (negative[0].send_sizes[0], negative[0].recv_sizes[0]) = (-1, -1);
        assert_eq!(code(&negative, 3, 5), "ragged-bounds");
    }

    #[test]
    fn the_example_is_known() {
        let module =
            shardwise_ir::text::parse("example", RaggedAllToAll.example(Opcode::CustomCall), &crate::OPS).unwrap();
        assert!(shardwise_ir::verify(&module).is_empty());
        let func = module.main().unwrap();
        let view = module.view(&func.body, func.body.walk()[0]);
        let found = super::super::CollectiveView::of(&view).unwrap();
        assert_eq!((found.kind.name(), found.channel), ("ragged-all-to-all", 1));
    }
}
