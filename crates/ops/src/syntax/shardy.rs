//! The text of `sdy`'s ops: `sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : T`, and the ops with
//! regions.

use crate::ReduceKind;
use shardwise_ir::text::{At, CustomForm, OpParts, OperandAt, Parsed, Parser, Printer, RawAxis};
use shardwise_ir::{Attr, OpView, Type};

/// The form in which a collective's axes are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AxesShape {
    None,
    /// One list: `{"x"}`.
    Flat,
    /// A list for each dimension: `[{"x"}, {}]`.
    PerDim,
    /// Moves between dimensions: `[{"x"}: 0->1]`.
    Moves,
}

/// The axes as they are written.
enum RawAxes {
    None,
    Flat(Vec<RawAxis>),
    PerDim(Vec<Vec<RawAxis>>),
    Moves(Vec<(Vec<RawAxis>, i64, i64)>),
}

impl AxesShape {
    fn parse(self, p: &mut Parser<'_>) -> Parsed<RawAxes> {
        match self {
            AxesShape::None => Ok(RawAxes::None),
            AxesShape::Flat => p.raw_axes().map(RawAxes::Flat),
            AxesShape::PerDim => p.raw_axes_per_dim().map(RawAxes::PerDim),
            AxesShape::Moves => p.raw_all_to_all_params().map(RawAxes::Moves),
        }
    }
}

/// A collective: the form of its axes, their attribute, and whether the name of a reduction may come before them.
pub(crate) struct CollectiveForm {
    axes: AxesShape,
    attr: &'static str,
    reduces: bool,
}

impl CollectiveForm {
    pub const GATHER: CollectiveForm = CollectiveForm::new(AxesShape::PerDim, "gathering_axes");
    pub const SLICE: CollectiveForm = CollectiveForm::new(AxesShape::PerDim, "slicing_axes");
    pub const ALL_TO_ALL: CollectiveForm = CollectiveForm::new(AxesShape::Moves, "params");
    pub const PERMUTE: CollectiveForm = CollectiveForm::new(AxesShape::None, "");
    pub const SHARDED_TO_UNREDUCED: CollectiveForm = CollectiveForm::new(AxesShape::PerDim, "axes");
    pub const REPLICATED_TO_UNREDUCED: CollectiveForm = CollectiveForm::new(AxesShape::Flat, "axes");
    pub const REDUCE: CollectiveForm = CollectiveForm { axes: AxesShape::Flat, attr: "reduction_axes", reduces: true };
    pub const REDUCE_SCATTER: CollectiveForm =
        CollectiveForm { axes: AxesShape::PerDim, attr: "reduce_scatter_axes", reduces: true };

    const fn new(axes: AxesShape, attr: &'static str) -> CollectiveForm {
        CollectiveForm { axes, attr, reduces: false }
    }
}

impl CustomForm for CollectiveForm {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts> {
        let mut parts = OpParts::default();
        let at = p.at();
        let named = ReduceKind::ALL.into_iter().find(|kind| self.reduces && p.eat(kind.name()));
        if let Some(reduce) = named.filter(|&kind| kind != ReduceKind::Add) {
            let (dialect, kind, value) = ("sdy".into(), "reduction_op".into(), reduce.name().into());
            parts.attrs.set("reduction_op", Attr::Enum { dialect, kind, value });
        }
        let raw = self.axes.parse(p)?;
        let operand = p.operand()?;
        p.expect_all("out_sharding=")?;
        parts.shardings = Some(vec![Some(p.sharding()?)]);
        // The axes are written before the sharding that names their mesh.
        let mesh = p.mesh_of_parts(&parts)?;
        let axes = match &raw {
            RawAxes::None => None,
            RawAxes::Flat(raw) => Some(p.axes_attr(raw, &mesh)),
            RawAxes::PerDim(raw) => Some(p.axes_per_dim_attr(raw, &mesh)),
            RawAxes::Moves(raw) => Some(p.all_to_all_params_attr(raw, &mesh)),
        };
        if let Some(axes) = axes {
            parts.attrs.set(self.attr, axes);
        }
        end_of_identity(p, at, parts, operand)
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        check_identity(op)?;
        if let Some(attr) = op.attr("reduction_op").filter(|_| self.reduces) {
            let Attr::Enum { value, .. } = attr else { return None };
            p.write(" ");
            p.write(value);
        }
        if self.axes != AxesShape::None {
            p.write(" ");
            p.axes(op.attr(self.attr)?)?;
        }
        p.write(" ");
        p.operand(op.operand(0));
        p.write(" out_sharding=");
        p.sharding(op.result_sharding(0)?);
        p.dict(|name| name != self.attr && name != "reduction_op");
        p.write(" : ");
        p.types([op.result_type(0)]);
        Some(())
    }
}

fn end_of_identity(p: &mut Parser<'_>, at: At, mut parts: OpParts, operand: OperandAt) -> Parsed<OpParts> {
    p.merge_dict(&mut parts.attrs)?;
    p.expect(":")?;
    parts.types = vec![p.ty()?];
    p.check_operands(at, &[operand], &parts.types)?;
    parts.operands.push(operand.0);
    Ok(parts)
}

fn check_identity(op: &OpView<'_>) -> Option<()> {
    let fits = op.operands().len() == 1
        && op.results().len() == 1
        && op.regions().is_empty()
        && op.operand_type(0) == op.result_type(0);
    fits.then_some(())
}

/// `sdy.data_flow_edge %0 sharding=<..> : T`. The sharding may be absent.
pub(crate) struct EdgeForm;

impl CustomForm for EdgeForm {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts> {
        let mut parts = OpParts::default();
        let at = p.at();
        let operand = p.operand()?;
        if p.eat("sharding") {
            p.expect("=")?;
            parts.shardings = Some(vec![Some(p.sharding()?)]);
        }
        end_of_identity(p, at, parts, operand)
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        check_identity(op)?;
        p.write(" ");
        p.operand(op.operand(0));
        if let Some(sharding) = op.result_sharding(0) {
            p.write(" sharding=");
            p.sharding(sharding);
        }
        p.dict(|_| true);
        p.write(" : ");
        p.types([op.result_type(0)]);
        Some(())
    }
}

/// `sdy.manual_computation(%a) in_shardings=[..] out_shardings=[..] manual_axes={"x"} (%b: T) { .. } : (U) -> V`
pub(crate) struct ManualForm;

impl CustomForm for ManualForm {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts> {
        let mut parts = OpParts::default();
        let at = p.at();
        let operands = operand_list(p)?;
        p.expect_all("in_shardings=")?;
        parts.attrs.set("in_shardings", Attr::Shardings(p.sharding_list()?));
        p.expect_all("out_shardings=")?;
        parts.shardings = Some(p.sharding_list()?.into_iter().map(Some).collect());
        p.expect_all("manual_axes=")?;
        let raw = p.raw_axes()?;
        let mesh = p.mesh_of_parts(&parts)?;
        let axes = p.axes_attr(&raw, &mesh);
        parts.attrs.set("manual_axes", axes);
        end_with_region(p, at, parts, &operands)
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        let Attr::Shardings(ins) = op.attr("in_shardings")? else { return None };
        p.write("(");
        p.operands(op.operands().iter().copied());
        p.write(") in_shardings=");
        p.shardings(ins.iter());
        p.write(" out_shardings=");
        p.result_shardings(op)?;
        p.write(" manual_axes=");
        p.axes(op.attr("manual_axes")?)?;
        print_region(p, op, &["in_shardings", "manual_axes"])
    }
}

/// `sdy.named_computation<"f">(%a) in_shardings=[..] out_shardings=[..] (%b: T) { .. } : (U) -> V`. Each list of
/// shardings may be absent.
pub(crate) struct NamedForm;

impl CustomForm for NamedForm {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts> {
        let mut parts = OpParts::default();
        let at = p.at();
        p.expect("<")?;
        parts.attrs.set("name", Attr::Str(p.string("a name")?));
        p.expect(">")?;
        let operands = operand_list(p)?;
        if p.eat("in_shardings") {
            p.expect("=")?;
            parts.attrs.set("in_shardings", Attr::Shardings(p.sharding_list()?));
        }
        if p.eat("out_shardings") {
            p.expect("=")?;
            parts.shardings = Some(p.sharding_list()?.into_iter().map(Some).collect());
        }
        end_with_region(p, at, parts, &operands)
    }

    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()> {
        p.write("<");
        p.attr(op.attr("name").filter(|name| matches!(name, Attr::Str(_)))?);
        p.write(">(");
        p.operands(op.operands().iter().copied());
        p.write(")");
        if let Some(ins) = op.attr("in_shardings") {
            let Attr::Shardings(ins) = ins else { return None };
            p.write(" in_shardings=");
            p.shardings(ins.iter());
        }
        if op.results().iter().any(|&v| op.body.sharding(v).is_some()) {
            p.write(" out_shardings=");
            p.result_shardings(op)?;
        }
        print_region(p, op, &["name", "in_shardings"])
    }
}

fn operand_list(p: &mut Parser<'_>) -> Parsed<Vec<OperandAt>> {
    p.list("(", ")", Parser::operand)
}

/// Reads `(%b: T) { .. } {..} : (U) -> V`. Fails on any other text, if the operands have other types, and if
/// `in_shardings` does not fit them.
fn end_with_region(p: &mut Parser<'_>, at: At, mut parts: OpParts, operands: &[OperandAt]) -> Parsed<OpParts> {
    let args = p.region_args()?;
    parts.regions = vec![p.region(args)?];
    p.merge_dict(&mut parts.attrs)?;
    p.expect(":")?;
    parts.types = p.functional_types(at, operands)?;
    parts.operands = operands.iter().map(|&(v, _)| v).collect();
    if let Some(Attr::Shardings(list)) = parts.attrs.get("in_shardings").cloned() {
        let types: Vec<Type> = operands.iter().map(|&(v, _)| p.type_of(v).clone()).collect();
        p.check_shardings(at, "operand", &list, &types)?;
    }
    Ok(parts)
}

fn print_region(p: &mut Printer<'_>, op: &OpView<'_>, printed: &[&str]) -> Option<()> {
    let &[region] = op.regions() else { return None };
    p.write(" (");
    for (i, &arg) in op.body[region].args.iter().enumerate() {
        p.write(if i > 0 { ", " } else { "" });
        p.region_arg(op.body, arg);
    }
    p.write(") ");
    p.region(op.body, region, false);
    p.dict(|name| !printed.contains(&name));
    p.write(" : ");
    p.functional_type(op);
    Some(())
}
