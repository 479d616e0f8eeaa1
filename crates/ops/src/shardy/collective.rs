//! Shardy's collectives, which are the steps between two layouts of one global value.
//!
//! On a global value each step is the identity. On its shards each step moves data. [`ShardyCollective::apply`]
//! computes how a step changes the sharding, for the verifier and the passes.

use super::{localize, repeated_axis, sharding_faults};
use crate::Opcode;
use crate::check::{Check, bad_attribute, counted_tensors};
use crate::facts::*;
use crate::schema::*;
use crate::syntax::shardy::CollectiveForm;
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, DimSharding, Literal, Mesh, Sharding};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value, ValueDef};
use std::sync::Arc;

/// A move of the minor axes of one dimension to the minor end of another: `{"b"}: 0->2`.
#[derive(Clone, PartialEq, Debug)]
pub struct AllToAllParam {
    pub axes: Vec<AxisRef>,
    pub src_dim: usize,
    pub tgt_dim: usize,
}

/// A step as its attributes describe it.
#[derive(Clone, PartialEq, Debug)]
pub enum ShardyCollective {
    /// The minor axes of each dimension that are gathered.
    AllGather {
        dims: Vec<Vec<AxisRef>>,
    },
    /// The axes that split each dimension in addition, at its minor end.
    AllSlice {
        dims: Vec<Vec<AxisRef>>,
    },
    AllToAll {
        params: Vec<AllToAllParam>,
    },
    /// The result has any sharding with as many shards in each dimension and the same unreduced axes. Its mesh has axes
    /// of the same sizes.
    CollectivePermute,
    /// The result has any sharding on the same mesh with the same unreduced axes. Devices send each other the blocks ([`super::exchange`]) or boxes
    /// that they lack, or gather the whole array if both take too many rounds.
    Exchange,
    AllReduce {
        axes: Vec<AxisRef>,
        reduce: ReduceKind,
    },
    ReduceScatter {
        dims: Vec<Vec<AxisRef>>,
        reduce: ReduceKind,
    },
    /// The value becomes one summand of a sum over these axes. The other summands are zero.
    ReplicatedToUnreduced {
        axes: Vec<AxisRef>,
    },
    /// Each shard becomes a summand: an array of zeros with the shard at its position.
    ShardedToUnreduced {
        dims: Vec<Vec<AxisRef>>,
    },
}

impl AllToAllParam {
    fn attr(&self, mesh: &Arc<Mesh>) -> Attr {
        let fields = Attrs::new()
            .with("axes", Attr::axes(mesh, &self.axes))
            .with("src_dim", Attr::int(self.src_dim as i64))
            .with("tgt_dim", Attr::int(self.tgt_dim as i64));
        Attr::Record { name: "sdy.all_to_all_param".into(), fields }
    }
}

fn axes_per_dim(op: &OpView<'_>, name: &str) -> Option<Vec<Vec<AxisRef>>> {
    match op.attr(name)? {
        Attr::AxesPerDim { dims, .. } => Some(dims.clone()),
        _ => None,
    }
}

fn axis_list(attr: &Attr) -> Option<Vec<AxisRef>> {
    attr.as_axes().map(|(_, axes)| axes.to_vec())
}

fn all_to_all_param(attr: &Attr) -> Option<AllToAllParam> {
    let fields = attr.as_record()?;
    let axes = axis_list(fields.get("axes")?)?;
    Some(AllToAllParam { axes, src_dim: fields.size("src_dim")?, tgt_dim: fields.size("tgt_dim")? })
}

fn reduction(op: &OpView<'_>) -> Option<ReduceKind> {
    op.attr("reduction_op").map_or(Some(ReduceKind::Add), |a| ReduceKind::parse(a.as_str()?))
}

const REDUCTION_OP: AttrKind =
    AttrKind::Enum(&Enumeration { dialect: "sdy", kind: "reduction_op", words: &["prod", "max", "min", "and", "or"] });

impl ShardyCollective {
    /// The names of the attributes that describe a step.
    pub const ATTRIBUTES: [&str; 7] =
        ["gathering_axes", "slicing_axes", "params", "reduce_scatter_axes", "reduction_axes", "reduction_op", "axes"];

    /// Reads a step. Returns `None` for an op that is no step or has broken attributes, which the verifier reports.
    pub fn of(op: &OpView<'_>) -> Option<ShardyCollective> {
        Some(match Opcode::of_view(op) {
            Opcode::SdyAllGather => ShardyCollective::AllGather { dims: axes_per_dim(op, "gathering_axes")? },
            Opcode::SdyAllSlice => ShardyCollective::AllSlice { dims: axes_per_dim(op, "slicing_axes")? },
            Opcode::SdyAllToAll => match op.attr("params")? {
                Attr::Array(params) => {
                    ShardyCollective::AllToAll { params: params.iter().map(all_to_all_param).collect::<Option<_>>()? }
                }
                _ => return None,
            },
            Opcode::SdyCollectivePermute => ShardyCollective::CollectivePermute,
            Opcode::Exchange => ShardyCollective::Exchange,
            Opcode::SdyAllReduce => {
                ShardyCollective::AllReduce { axes: axis_list(op.attr("reduction_axes")?)?, reduce: reduction(op)? }
            }
            Opcode::SdyReduceScatter => ShardyCollective::ReduceScatter {
                dims: axes_per_dim(op, "reduce_scatter_axes")?,
                reduce: reduction(op)?,
            },
            Opcode::ReplicatedToUnreduced => {
                ShardyCollective::ReplicatedToUnreduced { axes: axis_list(op.attr("axes")?)? }
            }
            Opcode::ShardedToUnreduced => ShardyCollective::ShardedToUnreduced { dims: axes_per_dim(op, "axes")? },
            _ => return None,
        })
    }

    fn attribute(op: Opcode) -> &'static str {
        match op {
            Opcode::SdyAllGather => "gathering_axes",
            Opcode::SdyAllSlice => "slicing_axes",
            Opcode::SdyAllToAll => "params",
            Opcode::SdyReduceScatter => "reduce_scatter_axes",
            Opcode::SdyAllReduce => "reduction_axes",
            _ => "axes",
        }
    }

    /// Returns the op of the step.
    pub fn opcode(&self) -> Opcode {
        match self {
            ShardyCollective::AllGather { .. } => Opcode::SdyAllGather,
            ShardyCollective::AllSlice { .. } => Opcode::SdyAllSlice,
            ShardyCollective::AllToAll { .. } => Opcode::SdyAllToAll,
            ShardyCollective::CollectivePermute => Opcode::SdyCollectivePermute,
            ShardyCollective::Exchange => Opcode::Exchange,
            ShardyCollective::AllReduce { .. } => Opcode::SdyAllReduce,
            ShardyCollective::ReduceScatter { .. } => Opcode::SdyReduceScatter,
            ShardyCollective::ReplicatedToUnreduced { .. } => Opcode::ReplicatedToUnreduced,
            ShardyCollective::ShardedToUnreduced { .. } => Opcode::ShardedToUnreduced,
        }
    }

    /// Returns the attributes of the step's op, from which [`ShardyCollective::of`] reads the step. The axes are those
    /// of `mesh`.
    pub fn attrs(&self, mesh: &Arc<Mesh>) -> Attrs {
        use ShardyCollective::*;
        let axes = match self {
            AllGather { dims } | AllSlice { dims } | ReduceScatter { dims, .. } | ShardedToUnreduced { dims } => {
                Attr::axes_per_dim(mesh, dims)
            }
            AllReduce { axes, .. } | ReplicatedToUnreduced { axes } => Attr::axes(mesh, axes),
            AllToAll { params } => Attr::Array(params.iter().map(|p| p.attr(mesh)).collect()),
            CollectivePermute | Exchange => return Attrs::new(),
        };
        let attrs = Attrs::new().with(ShardyCollective::attribute(self.opcode()), axes);
        match self {
            AllReduce { reduce, .. } | ReduceScatter { reduce, .. } if *reduce != ReduceKind::Add => {
                let (dialect, kind) = ("sdy".into(), "reduction_op".into());
                attrs.with("reduction_op", Attr::Enum { dialect, kind, value: reduce.name().into() })
            }
            _ => attrs,
        }
    }

    /// Returns all axes that the step's attributes name. Permutations and exchanges name none.
    pub fn axes(&self) -> Vec<AxisRef> {
        use ShardyCollective::*;
        match self {
            AllGather { dims } | AllSlice { dims } | ReduceScatter { dims, .. } | ShardedToUnreduced { dims } => {
                dims.concat()
            }
            AllToAll { params } => params.iter().flat_map(|p| p.axes.iter().copied()).collect(),
            AllReduce { axes, .. } | ReplicatedToUnreduced { axes } => axes.clone(),
            CollectivePermute | Exchange => vec![],
        }
    }

    /// Returns the sharding after the step on `input`.
    ///
    /// `target` is the result's declared sharding. Permutations and exchanges take all of it but the axes of sums,
    /// which stay those of `input`; other steps take its mesh.
    ///
    /// # Errors
    /// Returns a message if the step cannot be taken from `input`, or if the meshes do not fit: an exchange needs the
    /// same devices and axes, and other steps need axes of the same sizes.
    pub fn apply(&self, input: &Sharding, target: &Sharding) -> Result<Sharding, String> {
        use ShardyCollective::*;
        if *self == Exchange {
            return exchanged(input, target);
        }
        expect_same_axes(&input.mesh, &target.mesh)?;
        let mut out = input.canonical();
        out.mesh = target.mesh.clone();
        match self {
            AllGather { dims } => gather(&mut out, dims, "gathers")?,
            AllSlice { dims } => slice(&mut out, dims)?,
            AllToAll { params } => {
                for p in params {
                    exchange(&mut out, p)?;
                }
            }
            CollectivePermute => return permuted(input, target),
            Exchange => unreachable!("it returns above"),
            AllReduce { axes, .. } => reduce(&mut out, axes)?,
            ReduceScatter { dims, .. } => {
                reduce(&mut out, &dims.concat())?;
                slice(&mut out, dims)?;
            }
            ReplicatedToUnreduced { axes } => leave_unreduced(&mut out, axes)?,
            ShardedToUnreduced { dims } => {
                gather(&mut out, dims, "makes a sum over")?;
                leave_unreduced(&mut out, &dims.concat())?;
            }
        }
        Ok(out)
    }
}

fn show(mesh: &Mesh, axes: &[AxisRef]) -> String {
    let names: Vec<String> = axes.iter().map(|a| a.display(mesh).to_string()).collect();
    format!("{{{}}}", names.join(", "))
}

/// Removes the axes from the minor end of dimension `index`. Returns a message that starts with `verb` if the dimension
/// does not end with them.
fn take_minor(mesh: &Mesh, dim: &mut DimSharding, index: usize, axes: &[AxisRef], verb: &str) -> Result<(), String> {
    let all = dim.axes.clone();
    for &axis in axes.iter().rev() {
        let fits = dim.axes.last().is_some_and(|last| axis.suffix_of(*last, mesh));
        if !fits {
            let (had, wanted) = (show(mesh, &all), show(mesh, axes));
            return Err(format!("{verb} {wanted} along dimension {index}, whose axes, {had}, do not end with them"));
        }
        let last = dim.axes.pop().expect("checked above");
        dim.axes.extend(last.minus(mesh, &[axis]));
    }
    Ok(())
}

fn gather(out: &mut Sharding, dims: &[Vec<AxisRef>], verb: &str) -> Result<(), String> {
    let mesh = out.mesh.clone();
    for (i, (dim, axes)) in out.dims.iter_mut().zip(dims).enumerate() {
        take_minor(&mesh, dim, i, axes, verb)?;
    }
    Ok(())
}

fn put_minor(mesh: &Mesh, dim: &mut DimSharding, axes: &[AxisRef]) {
    for &axis in axes {
        AxisRef::push_or_merge(&mut dim.axes, axis, mesh);
    }
}

fn expect_free(out: &Sharding, axes: &[AxisRef], verb: &str) -> Result<(), String> {
    let mesh = &out.mesh;
    let taken = |a: AxisRef| out.split_axes().chain(out.unreduced.iter().copied()).any(|b| a.overlaps(b));
    match axes.iter().find(|&&a| taken(a)) {
        Some(a) => Err(format!("{verb} {}, which {out} uses already", a.display(mesh))),
        None => repeated_axis(mesh, axes).map_or(Ok(()), Err),
    }
}

fn slice(out: &mut Sharding, dims: &[Vec<AxisRef>]) -> Result<(), String> {
    expect_free(out, &dims.concat(), "slices along")?;
    let mesh = out.mesh.clone();
    for (dim, axes) in out.dims.iter_mut().zip(dims) {
        put_minor(&mesh, dim, axes);
    }
    Ok(())
}

fn exchange(out: &mut Sharding, p: &AllToAllParam) -> Result<(), String> {
    let rank = out.rank();
    if p.src_dim >= rank || p.tgt_dim >= rank || p.src_dim == p.tgt_dim {
        return Err(format!(
            "moves axes from dimension {} to dimension {}, which are not two dimensions of a tensor of rank {rank}",
            p.src_dim, p.tgt_dim
        ));
    }
    let mesh = out.mesh.clone();
    take_minor(&mesh, &mut out.dims[p.src_dim], p.src_dim, &p.axes, "moves")?;
    put_minor(&mesh, &mut out.dims[p.tgt_dim], &p.axes);
    Ok(())
}

fn reduce(out: &mut Sharding, axes: &[AxisRef]) -> Result<(), String> {
    let mesh = out.mesh.clone();
    if let Some(a) = axes.iter().find(|a| out.split_axes().any(|b| a.overlaps(b))) {
        return Err(format!("reduces over {}, which splits a dimension of {out}", a.display(&mesh)));
    }
    if let Some(fault) = repeated_axis(&mesh, axes) {
        return Err(fault);
    }
    let rest = out.unreduced.iter().flat_map(|a| a.minus(&mesh, axes));
    out.unreduced = AxisRef::union(&mesh, rest);
    Ok(())
}

fn leave_unreduced(out: &mut Sharding, axes: &[AxisRef]) -> Result<(), String> {
    expect_free(out, axes, "makes a sum over")?;
    out.unreduced = AxisRef::union(&out.mesh, out.unreduced.iter().chain(axes).copied());
    Ok(())
}

fn expect_same_axes(from: &Mesh, to: &Mesh) -> Result<(), String> {
    let sizes = |mesh: &Mesh| mesh.axes.iter().map(|axis| axis.size).collect::<Vec<_>>();
    if sizes(from) == sizes(to) {
        Ok(())
    } else {
        Err(format!("goes from a mesh {from} to a mesh {to} with axes of other sizes"))
    }
}

fn permuted(input: &Sharding, target: &Sharding) -> Result<Sharding, String> {
    let (from, into) = (input.shard_counts(), target.shard_counts());
    if from != into {
        return Err(format!("the dimensions have {from:?} shards before and {into:?} after, which must be equal"));
    }
    Ok(target.canonical().with_unreduced(input.unreduced.clone()))
}

fn exchanged(input: &Sharding, target: &Sharding) -> Result<Sharding, String> {
    if !input.mesh.same_devices(&target.mesh) {
        return Err(format!(
            "goes from a mesh {} to a mesh {} with other axes or another order of devices",
            input.mesh, target.mesh
        ));
    }
    Ok(target.canonical().with_unreduced(input.unreduced.clone()))
}

/// Returns the axes, whole or in part, that are in `others` and not in `axes`.
pub fn axes_to_fill(mesh: &Mesh, axes: &[AxisRef], others: &[AxisRef]) -> Vec<AxisRef> {
    others.iter().flat_map(|a| a.minus(mesh, axes)).collect()
}

/// The facts of all of Shardy's collectives.
pub struct Collective;

/// The attribute of a step that runs in each turn of a loop although it could run once.
const IN_EACH_TURN: &str = "shardwise.in_each_turn";

/// Returns true if a step is marked to stay in the loop that contains it, although it computes the same in each turn.
pub fn stays_in_loop(attrs: &Attrs) -> bool {
    attrs.contains(IN_EACH_TURN)
}

/// Marks a step that stays in the loop that contains it. Its result in front of the loop would take too much memory.
pub fn set_stays_in_loop(attrs: &mut Attrs) {
    attrs.set(IN_EACH_TURN, Attr::Unit);
}

fn sharding_or_whole(op: &OpView<'_>, v: Value, mesh: &Arc<Mesh>) -> Sharding {
    let rank = op.body.ty(v).shape().len();
    op.body.sharding(v).cloned().unwrap_or_else(|| Sharding::replicated(mesh, rank))
}

/// Checks the step between the operand's sharding and `out`, the result's, and reports its faults to `check`. Only the
/// result's sharding is checked if the operand is an argument of an inner region and has no sharding, or if one of the
/// shardings has another rank than the operand.
fn check_step(op: &OpView<'_>, step: &ShardyCollective, out: &Sharding, check: &mut Check<'_, '_>) {
    let rank = op.operand_shape(0).len();
    for fault in sharding_faults(out, rank) {
        check.that("sdy-sharding", false, &fault);
    }
    // The sharding of an argument of a loop is recorded at the loop.
    if let ValueDef::Argument { region, .. } = op.body[op.operand(0)].def
        && region != op.body.entry()
        && op.body.sharding(op.operand(0)).is_none()
    {
        return;
    }
    let input = sharding_or_whole(op, op.operand(0), &out.mesh);
    if out.rank() != rank || input.rank() != rank {
        return;
    }
    match step.apply(&input, out) {
        Err(fault) => {
            check.that("sdy-collective-axes", false, &fault);
        }
        Ok(expected) => {
            let given = out.canonical();
            // A sum over axes of size 1 has one summand, so these axes may be left out.
            let summed = |s: &Sharding| AxisRef::union(&s.mesh, s.unreduced.iter().copied());
            let same = given.dims == expected.dims && summed(&given) == summed(&expected);
            let rule = format!("from {input} it leads to {expected}, and the result has {out}");
            check.that("sdy-collective-result", same, &rule);
        }
    }
}

const fn schema(attributes: &'static [AttrSpec], form: &'static CollectiveForm) -> Schema {
    Schema {
        attributes,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: shardy_collective(form),
        names: Names::Numbered,
        role: Role::Plain,
    }
}

impl Collective {
    pub(crate) const SDY_ALL_GATHER: Schema =
        schema(&[required("gathering_axes", None, AttrKind::AxesPerDim)], &CollectiveForm::GATHER);

    pub(crate) const SDY_ALL_SLICE: Schema =
        schema(&[required("slicing_axes", None, AttrKind::AxesPerDim)], &CollectiveForm::SLICE);

    pub(crate) const SDY_ALL_TO_ALL: Schema = schema(
        &[required(
            "params",
            None,
            AttrKind::Own("a list of `sdy.all_to_all_param {axes; src_dim, tgt_dim: integer}`"),
        )],
        &CollectiveForm::ALL_TO_ALL,
    );

    pub(crate) const PERMUTE: Schema = schema(NONE, &CollectiveForm::PERMUTE);

    pub(crate) const SDY_ALL_REDUCE: Schema = schema(
        &[required("reduction_axes", None, AttrKind::Axes), optional("reduction_op", None, REDUCTION_OP, "sum")],
        &CollectiveForm::REDUCE,
    );

    pub(crate) const SDY_REDUCE_SCATTER: Schema = schema(
        &[
            required("reduce_scatter_axes", None, AttrKind::AxesPerDim),
            optional("reduction_op", None, REDUCTION_OP, "sum"),
        ],
        &CollectiveForm::REDUCE_SCATTER,
    );

    pub(crate) const REPLICATED_TO_UNREDUCED: Schema =
        schema(&[required("axes", None, AttrKind::Axes)], &CollectiveForm::REPLICATED_TO_UNREDUCED);

    pub(crate) const SHARDED_TO_UNREDUCED: Schema =
        schema(&[required("axes", None, AttrKind::AxesPerDim)], &CollectiveForm::SHARDED_TO_UNREDUCED);
}

impl Facts for Collective {
    answer!(calculus = none("only the partitioner makes it"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let t = counted_tensors(op, 1..=1, 0)?[0];
        let Some(step) = ShardyCollective::of(op) else {
            // The kinds of all other attributes are known to fit.
            return Err(bad_attribute(op, "params", "axes, a source and a target dimension each").into());
        };
        let mut check = Check::new(op);
        use ShardyCollective::*;
        if let AllGather { dims } | AllSlice { dims } | ReduceScatter { dims, .. } | ShardedToUnreduced { dims } = &step
        {
            check.that(
                "sdy-collective-rank",
                dims.len() == t.rank(),
                "there must be one list of axes for each dimension",
            );
        }
        if let Some(&result) = op.results().first() {
            match op.body.sharding(result) {
                Some(out) => check_step(op, &step, out, &mut check),
                None => {
                    check.that("sdy-collective-result", false, "the result has no sharding: `out_sharding` is missing");
                }
            }
        }
        check.give([op.operand_type(0).clone()])
    }
    answer!(usual);
    answer!(rule = none("it changes the layout"));
    answer!(class = Other);
    answer!(data_flow = none);
    answer!(combine = none);
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        localize::collective(cx)
    }
    answer!(semantics = Collective);
    answer!(eval = operands);
    answer!(cost = streams(0.0));
    answer!(effects = Pure);
    fn linear(&self, op: &OpView<'_>) -> Linear {
        if reduction(op) == Some(ReduceKind::Add) { Linear::Jointly } else { Linear::No }
    }
    answer!(explicit = not("the partitioner inserts it"));
    fn example(&self, op: Opcode) -> &'static str {
        example(op)
    }
}

fn example(op: Opcode) -> &'static str {
    match op {
        Opcode::SdyAllGather => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.all_gather [{"y"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
        Opcode::SdyAllSlice => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.all_slice [{}, {"y"}] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
        Opcode::SdyAllToAll => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.all_to_all [{"y"}: 0->1] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
        Opcode::SdyCollectivePermute => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"y", "x"}, {}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
        Opcode::Exchange => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<8x4xf32> {
  %0 = shardwise.exchange %arg0 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
        Opcode::SdyAllReduce => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}) -> tensor<8x4xf32> {
  %0 = sdy.all_reduce {"y"} %arg0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
        Opcode::SdyReduceScatter => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}) -> tensor<8x4xf32> {
  %0 = sdy.reduce_scatter [{}, {"y"}] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
        Opcode::ReplicatedToUnreduced => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.replicated_to_unreduced {"y"} %arg0 out_sharding=<@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
        _ => {
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.sharded_to_unreduced [{"y"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#
        }
    }
}
