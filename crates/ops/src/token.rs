//! Tokens, which order effects, and tuples.

use crate::Opcode;
use crate::check::{self, Check, MANY, counts, types_of};
use crate::collective::{pairs_of, process_count};
use crate::facts::*;
use crate::schema::*;
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, OpView, Type, Value};

/// `after_all` and `create_token`, whose results are tokens.
pub struct Token;
/// `tuple`, which makes a tuple, and `get_tuple_element`, which reads an element of one.
pub struct Tuple;
/// `send`, `recv`, `infeed`, `outfeed`: communication with the host, or between devices for `send` and `recv` without
/// `is_host_transfer`. Only the interpreter runs these ops.
pub struct Host;

/// Writes the facts that are the same for ops on tokens and on tuples.
macro_rules! no_tensor {
    () => {
        answer!(run_by_engine);
        answer!(cost = nothing);
        answer!(linear = Jointly);
        answer!(explicit = not("its values are no arrays"));
    };
}

impl Token {
    pub(crate) const AFTER_ALL: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(OPERANDS, Types::Same),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const CREATE_TOKEN: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(&[], Types::Result),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Token {
    answer!(calculus = none("tokens have no tangents", "tokens have no dimensions"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let most = if Opcode::of_view(op) == Opcode::CreateToken { 0 } else { MANY };
        counts(op, 0..=most, 0)?;
        let all = op.operands().iter().all(|&v| *op.body.ty(v) == Type::Token);
        Check::new(op).that("after_all_i1", all, "the operands must be tokens").give([Type::Token])
    }
    answer!(usual);
    answer!(rule = none("tokens"));
    answer!(effects = Ordered);
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::CreateToken => {
                "func.func @main() -> !stablehlo.token {
  %0 = stablehlo.create_token : !stablehlo.token
  return %0 : !stablehlo.token
}"
            }
            _ => {
                "func.func @main(%arg0: !stablehlo.token, %arg1: !stablehlo.token) -> !stablehlo.token {
  %0 = stablehlo.after_all %arg0, %arg1 : !stablehlo.token
  return %0 : !stablehlo.token
}"
            }
        }
    }
    no_tensor!();
}

const fn in_generic_form(attributes: &'static [AttrSpec]) -> Schema {
    Schema {
        attributes,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    }
}

impl Host {
    pub(crate) const SEND: Schema = in_generic_form(&[
        optional("channel_handle", Some("send_i3"), CHANNEL_HANDLE, "channel 0"),
        optional("is_host_transfer", Some("send_i5"), AttrKind::Flag, "`false`"),
        optional("source_target_pairs", Some("send_i6"), AttrKind::Pairs, "none"),
    ]);

    pub(crate) const RECV: Schema = in_generic_form(&[
        optional("channel_handle", Some("recv_i2"), CHANNEL_HANDLE, "channel 0"),
        optional("is_host_transfer", Some("recv_i4"), AttrKind::Flag, "`false`"),
        optional("source_target_pairs", Some("recv_i5"), AttrKind::Pairs, "none"),
    ]);

    pub(crate) const INFEED: Schema = in_generic_form(&[
        optional("infeed_config", Some("infeed_i2"), AttrKind::Word, "empty"),
        optional("layout", None, AttrKind::Layouts, "the default layouts"),
    ]);

    pub(crate) const OUTFEED: Schema =
        in_generic_form(&[optional("outfeed_config", Some("outfeed_i3"), AttrKind::Word, "empty")]);

    /// Returns the number of the channel of a `send` or `recv`, or 0 if it has none or its attribute is broken.
    pub fn channel(op: &OpView<'_>) -> i64 {
        let handle = op.attr("channel_handle").and_then(Attr::as_record);
        handle.and_then(|fields| fields.int("handle")).unwrap_or(0)
    }
}

impl Facts for Host {
    answer!(
        calculus = none(
            "values that come from the host or go there have no derivative",
            "values come from the host or go there without the dimension of a batch"
        )
    );
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let sends = matches!(Opcode::of_view(op), Opcode::Send | Opcode::Outfeed);
        counts(op, 1..=if sends { MANY } else { 1 }, 0)?;
        let (token, values) = op.operands().split_last().expect("counted");
        let is_token = |v: &Value| *op.body.ty(*v) == Type::Token;
        let mut check = Check::new(op);
        check.that(labels(op).0, is_token(token), "the last operand must be a token");
        check_pairs(op, &mut check);
        check_channel(op, &mut check);
        check_fed(op, &mut check);
        check.that(labels(op).1, !values.iter().any(is_token), "only the last operand may be a token");
        if sends {
            return check.give([Type::Token]);
        }
        // An `infeed` without results is reported by `infeed_c1` instead.
        let ends = op.results().last().map_or(Opcode::of_view(op) == Opcode::Infeed, is_token);
        check.that(labels(op).1, ends, "the last result must be a token");
        check.give(types_of(op, op.results()))
    }
    answer!(usual);
    answer!(rule = none("the host has no sharding"));
    answer!(run_by_engine);
    answer!(cost = nothing);
    answer!(effects = Ordered);
    answer!(linear = No);
    answer!(explicit = not("the host has no sharding"));
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::Send => {
                r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = "stablehlo.send"(%arg0, %0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %arg0 : tensor<2xf32>
}"#
            }
            Opcode::Recv => {
                r#"func.func @main() -> tensor<2xf32> {
  %0 = stablehlo.create_token : !stablehlo.token
  %1:2 = "stablehlo.recv"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %1#0 : tensor<2xf32>
}"#
            }
            Opcode::Infeed => {
                r#"func.func @main() -> tensor<2xf32> {
  %0 = stablehlo.create_token : !stablehlo.token
  %1:2 = "stablehlo.infeed"(%0) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %1#0 : tensor<2xf32>
}"#
            }
            _ => {
                r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = "stablehlo.outfeed"(%arg0, %0) <{outfeed_config = ""}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %arg0 : tensor<2xf32>
}"#
            }
        }
    }
}

fn check_pairs(op: &OpView<'_>, check: &mut Check<'_, '_>) {
    let Some(attr) = op.attr("source_target_pairs") else { return };
    let [rows, sources, targets, range] = match Opcode::of_view(op) {
        Opcode::Send => ["send_c1", "send_c2", "send_c3", "send_c4"],
        _ => ["recv_c1", "recv_c2", "recv_c3", "recv_c4"],
    };
    let pairs = pairs_of(attr);
    check.that(rows, pairs.is_some(), "`source_target_pairs` must be rows of two process ids");
    let (from, to): (Vec<usize>, Vec<usize>) = pairs.unwrap_or_default().into_iter().unzip();
    let all_below = |n: usize| from.iter().chain(&to).all(|&id| id < n);
    if let Some(n) = process_count(op) {
        check.that(range, all_below(n), &format!("`source_target_pairs` must name processes below {n}"));
    }
    check.that(sources, check::is_unique(&from), "no process may be the source of two `source_target_pairs`");
    check.that(targets, check::is_unique(&to), "no process may be the target of two `source_target_pairs`");
}

/// Checks the direction of the channel of `send` and `recv`, if it is written: between devices, or with
/// `is_host_transfer` to the host for `send` and from the host for `recv`. (The specification writes "to the host" for
/// `recv` too, but its verifier does not.)
fn check_channel(op: &OpView<'_>, check: &mut Check<'_, '_>) {
    let handle = op.attr("channel_handle").and_then(Attr::as_record);
    let Some(kind) = handle.and_then(|fields| fields.int("type")) else { return };
    let is_host = op.attrs().flag("is_host_transfer");
    let (label, wanted, way) = match (Opcode::of_view(op), is_host) {
        (Opcode::Send, true) => ("send_c5", 2, "from device to host, type 2, with `is_host_transfer`"),
        (Opcode::Recv, true) => ("recv_c5", 3, "from host to device, type 3, with `is_host_transfer`"),
        (Opcode::Send, false) => ("send_c5", 1, "from device to device, type 1, without `is_host_transfer`"),
        (Opcode::Recv, false) => ("recv_c5", 1, "from device to device, type 1, without `is_host_transfer`"),
        _ => return,
    };
    check.that(label, kind == wanted, &format!("the channel must go {way}"));
}

fn check_fed(op: &OpView<'_>, check: &mut Check<'_, '_>) {
    if Opcode::of_view(op) != Opcode::Infeed {
        return;
    }
    let results = types_of(op, op.results());
    check.that("infeed_c1", !results.is_empty(), "there must be at least one result, the token");
    let fed = results.split_last().map_or(&[][..], |(_, fed)| fed);
    let rule = "the results before the token must be tensors";
    check.that("infeed_c2", fed.iter().all(|t| t.as_tensor().is_some()), rule);
}

fn labels(op: &OpView<'_>) -> (&'static str, &'static str) {
    match Opcode::of_view(op) {
        Opcode::Send => ("send_i2", "send_i1"),
        Opcode::Recv => ("recv_i1", "recv_o1"),
        Opcode::Infeed => ("infeed_i1", "infeed_c3"),
        _ => ("outfeed_i2", "outfeed_i1"),
    }
}

impl Tuple {
    pub(crate) const TUPLE: Schema = Schema {
        attributes: NONE,
        operands: Operands::List,
        results: ResultLabels::both("tuple_c1"),
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(OPERANDS, Types::Tuple),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const GET_TUPLE_ELEMENT: Schema = Schema {
        attributes: &[required("index", Some("get_tuple_element_i2"), AttrKind::Int(DType::I32))],
        operands: Operands::Each,
        results: ResultLabels::both("get_tuple_element_c2"),
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(
            &[Piece::Operand, Piece::Text("["), Piece::Attr("index", Written::Int(DType::I32)), Piece::Text("]")],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the index of the element that `get_tuple_element` returns. Returns `None` if the attribute is missing or
    /// broken.
    pub fn index(op: &OpView<'_>) -> Option<usize> {
        op.attrs().size("index")
    }
}

impl Facts for Tuple {
    answer!(calculus = none("tuples have no tangents", "tuples have no dimensions"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        if Opcode::of_view(op) == Opcode::Tuple {
            counts(op, 0..=MANY, 0)?;
            return Ok(vec![Type::Tuple(types_of(op, op.operands()))]);
        }
        counts(op, 1..=1, 0)?;
        let index = check::size(op, "index")?;
        let element = match op.operand_type(0) {
            Type::Tuple(types) => types.get(index).cloned(),
            _ => None,
        };
        let rule = "the operand must be a tuple with more than `index` elements";
        Check::new(op).that("get_tuple_element_c1", element.is_some(), rule).give(element.clone())
    }
    fn forwards(&self, op: &OpView<'_>) -> Option<Value> {
        let is = |op: &OpView<'_>, opcode| Opcode::of_view(op) == opcode;
        let tuple = is(op, Opcode::GetTupleElement).then(|| op.operand_def(0))?.filter(|t| is(t, Opcode::Tuple))?;
        tuple.operands().get(Tuple::index(op)?).copied()
    }

    answer!(usual but forwards);
    answer!(rule = none("tuples"));
    answer!(effects = Pure);
    fn example(&self, _: Opcode) -> &'static str {
        "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.tuple %arg0, %arg0 : tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"
    }
    no_tensor!();
}
