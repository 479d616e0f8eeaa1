//! The text of a reduction: `stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (T, U) ->
//! V`, and the long form, which has the reducer as a region.

use crate::Opcode;
use shardwise_base::{DType, Loc};
use shardwise_ir::text::{CustomForm, Failed, OpParts, OperandAt, Parsed, Parser, Printer, RegionArg};
use shardwise_ir::{Attr, Op, OpView, Type};

pub(crate) struct ReduceForm;

/// Ops that the short form may name, which are all commutative.
const COMMUTING: &[Opcode] =
    &[Opcode::Add, Opcode::And, Opcode::Maximum, Opcode::Minimum, Opcode::Multiply, Opcode::Or, Opcode::Xor];

impl CustomForm for ReduceForm {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts> {
        let at = p.at();
        let mut operands = operands(p)?;
        let short = if p.eat("applies") { Some(named_op(p)?) } else { None };
        let mut parts = OpParts::default();
        p.expect_all("across dimensions =")?;
        let dimensions = p.int_list()?;
        parts.attrs.set("dimensions", Attr::ints(dimensions));
        p.merge_dict(&mut parts.attrs)?;
        p.expect(":")?;
        parts.types = p.functional_types(at, &operands)?;
        let region = match short {
            Some(op) => {
                parts.loc = p.optional_loc()?;
                let element = element_type(p, operands.first());
                let loc = parts.loc.clone().unwrap_or_else(|| p.op_loc());
                p.combining_region(op.into(), Opcode::RegionReturn.into(), &element, &loc)
            }
            None => {
                p.expect("reducer")?;
                let args = reducer_args(p)?;
                p.region(args)?
            }
        };
        parts.regions = vec![region];
        parts.operands = operands.drain(..).map(|(v, _)| v).collect();
        Ok(parts)
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        let pairs = op.operands().len() / 2;
        let [region] = op.regions() else { return None };
        let args = &op.body[*region].args;
        if op.operands().is_empty() || op.operands().len() != 2 * pairs || args.len() != 2 * pairs {
            return None;
        }
        for i in 0..pairs {
            p.write(if i > 0 { ", (" } else { "(" });
            p.operand(op.operand(i));
            p.write(" init: ");
            p.operand(op.operand(i + pairs));
            p.write(")");
        }
        let short = combining_op(op, p.shows_locations());
        if let Some(inner) = short {
            p.write(&format!(" applies {}", op.at(inner).name()));
        }
        p.write(" across dimensions = ");
        let Some(Attr::Ints { values, dtype: DType::I64 }) = op.attr("dimensions") else { return None };
        p.ints(values);
        p.dict(|name| name != "dimensions");
        p.write(" : ");
        p.functional_type(op);
        if short.is_none() {
            print_reducer(p, op, pairs);
        }
        Some(())
    }
}

/// Reads `(%x init: %c), (%y init: %d)`, where commas may be missing, and one may follow the last pair. Returns the
/// inputs first, then the initial values. Returns no operands if the text does not begin with `(`. Fails if a pair is
/// malformed.
fn operands(p: &mut Parser<'_>) -> Parsed<Vec<OperandAt>> {
    let (mut inputs, mut inits) = (vec![], vec![]);
    while p.eat("(") {
        inputs.push(p.operand()?);
        p.expect_all("init:")?;
        inits.push(p.operand()?);
        p.expect(")")?;
        p.eat(",");
    }
    inputs.append(&mut inits);
    Ok(inputs)
}

fn named_op(p: &mut Parser<'_>) -> Parsed<Opcode> {
    let at = p.at();
    let name = p.word("an op, as stablehlo.add")?;
    COMMUTING.iter().copied().find(|op| op.name() == name).ok_or_else(|| {
        let message = format!(
            "`{name}` cannot be applied in the short form of `stablehlo.reduce`: write the reducer as a region"
        );
        p.fail(at, "text-syntax", message)
    })
}

fn element_type(p: &Parser<'_>, first: Option<&OperandAt>) -> Type {
    let tensor = first.and_then(|&(v, _)| p.type_of(v).as_tensor());
    tensor.map_or(Type::Tuple(vec![]), |t| Type::tensor(t.dtype, vec![]))
}

/// Reads `(%a: T, %b: T) (%c: U, %d: U)`, a pair for each operand. The region's arguments are all first elements, then
/// all second ones. Fails on any other text, and if there is no pair.
fn reducer_args<'t>(p: &mut Parser<'t>) -> Parsed<Vec<RegionArg<'t>>> {
    let (mut firsts, mut seconds) = (vec![], vec![]);
    while p.is("(") {
        let at = p.at();
        let pair: Result<[RegionArg<'t>; 2], _> = p.region_args()?.try_into();
        let Ok([first, second]) = pair else {
            return Err(p.fail(
                at,
                "text-syntax",
                "a reducer's arguments must be in pairs, as `(%a: T, %b: T)`".to_string(),
            ));
        };
        firsts.push(first);
        seconds.push(second);
    }
    if firsts.is_empty() {
        p.expect("(").map_err(|Failed| Failed)?;
    }
    firsts.append(&mut seconds);
    Ok(firsts)
}

fn print_reducer(p: &mut Printer<'_>, op: &OpView<'_>, pairs: usize) {
    let region = op.regions()[0];
    p.line();
    p.write(" reducer");
    for i in 0..pairs {
        let args = &op.body[region].args;
        p.write("(");
        p.region_arg(op.body, args[i]);
        p.write(", ");
        p.region_arg(op.body, args[i + pairs]);
        p.write(") ");
    }
    p.region(op.body, region, false);
}

/// Returns the op of the reducer before its return, if the reducer only combines its two arguments, as the short form
/// expresses. Returns `None` otherwise. If `locations_count`, all ops and values of the reducer must have the location
/// of the reduction.
fn combining_op(op: &OpView<'_>, locations_count: bool) -> Option<Op> {
    let region = op.body.region(*op.regions().first()?);
    let [inner, ret] = region.ops[..] else { return None };
    let (inner, ret) = (op.at(inner), op.at(ret));
    let element = op.body.ty(op.operand(0)).as_tensor().map(|t| Type::tensor(t.dtype, vec![]))?;
    let is_here = |loc: &Loc| !locations_count || loc == op.loc();
    let is_plain = |view: &OpView<'_>| {
        let data = view.data();
        data.attrs.is_empty() && data.regions.is_empty() && data.reason.is_none() && is_here(&data.loc)
    };
    let has_facts = |&v: &shardwise_ir::Value| {
        let data = &op.body[v];
        data.sharding.is_some() || data.varying.is_some() || data.manual.is_some()
    };
    let is_short = COMMUTING.contains(&Opcode::of_view(&inner))
        && Opcode::of_view(&ret) == Opcode::RegionReturn
        && is_plain(&inner)
        && is_plain(&ret)
        && inner.operands() == &region.args[..]
        && ret.operands() == inner.results()
        && inner.operands().len() == 2
        && inner.results().len() == 1
        && inner.operands().iter().chain(inner.results()).all(|&v| *op.body.ty(v) == element)
        && !inner.operands().iter().chain(inner.results()).any(has_facts)
        && region.args.iter().chain(inner.results()).all(|&v| is_here(&op.body[v].loc));
    is_short.then_some(inner.op)
}
