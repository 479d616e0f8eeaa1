//! The arenas of a function.

use crate::{Attrs, ManualAxes, Op, OpCode, Region, Type, Value};
use shardwise_base::{AxisRef, Literal, Loc, Mesh, Reason, Sharding, Varying, budget};
use smallvec::SmallVec;
use std::ops::Index;
use std::sync::Arc;

/// The definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    Result { op: Op, index: u32 },
    Argument { region: Region, index: u32 },
}

/// The data of a value.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueData {
    pub ty: Type,
    /// The layout on the mesh, or `None` if nothing states it.
    pub sharding: Option<Sharding>,
    /// The axes over which the value was inferred to vary, or `None` if that has not been inferred.
    pub varying: Option<Varying>,
    /// The states along manual axes that the program records. `None` if the value is replicated, or nothing is
    /// recorded.
    pub manual: Option<Arc<ManualAxes>>,
    /// The padded dimensions, ascending. `None` if nothing is padded, or nothing is recorded.
    pub padding: Option<Arc<Vec<PaddedDim>>>,
    pub loc: Loc,
    pub def: ValueDef,
}

impl ValueData {
    /// Returns the shape of a tensor of a global type without the padding that is recorded. It is empty if the value is
    /// not a tensor.
    pub fn shape_without_padding(&self) -> Vec<usize> {
        let mut shape = self.ty.shape().to_vec();
        self.padding.iter().flat_map(|dims| dims.iter()).for_each(|p| shape[p.dim] = p.size);
        shape
    }

    fn new(ty: Type, loc: Loc, def: ValueDef) -> ValueData {
        ValueData { ty, sharding: None, varying: None, manual: None, padding: None, loc, def }
    }
}

/// A padded dimension of a tensor: the elements at `size` and beyond are not part of the program's value.
///
/// In the program of one device, a dimension of the tensor is a block of the whole dimension. The blocks of all devices
/// are in the order of `axes`, and all elements of a block may be padding.
#[derive(Clone, PartialEq, Debug)]
pub struct PaddedDim {
    pub dim: usize,
    /// The size of the whole dimension without padding.
    pub size: usize,
    /// The axes that split the dimension, in the program of one device. Empty for a global type.
    pub axes: Vec<AxisRef>,
    /// The element, of rank 0, that all of the dimension's padding holds. `None` if it may hold anything.
    pub holds: Option<Literal>,
}

impl PaddedDim {
    /// Returns how many of the first elements along the dimension are not padding on the device at these coordinates of
    /// the mesh. The device has `local` elements.
    pub fn unpadded(&self, local: usize, mesh: &Mesh, coordinates: &[usize]) -> usize {
        let block = AxisRef::index_in(mesh, &self.axes, coordinates);
        self.size.saturating_sub(block.saturating_mul(local)).min(local)
    }
}

/// An operation: its code, operands, results and attributes.
#[derive(Clone, PartialEq, Debug)]
pub struct OpData {
    pub code: OpCode,
    pub operands: SmallVec<[Value; 3]>,
    pub results: SmallVec<[Value; 1]>,
    pub attrs: Attrs,
    pub regions: SmallVec<[Region; 0]>,
    pub loc: Loc,
    /// The reason why the op communicates, or `None` if no pass has recorded one.
    pub reason: Option<Arc<Reason>>,
}

/// A region: the arguments and ops of its single block. The last op is a terminator once the region is complete.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RegionData {
    pub args: Vec<Value>,
    pub ops: Vec<Op>,
    /// The op that holds the region. `None` for the body's own region, and for a region that no op holds yet.
    pub parent: Option<Op>,
}

/// The values, ops and regions of a function. Nothing is ever removed from the arenas: passes build new bodies. Copies
/// of a body share the arenas until one of them changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Body(Arc<Arenas>);

#[derive(Clone, PartialEq, Debug)]
struct Arenas {
    values: Vec<ValueData>,
    ops: Vec<OpData>,
    regions: Vec<RegionData>,
}

impl Default for Body {
    fn default() -> Body {
        Body(Arc::new(Arenas { values: vec![], ops: vec![], regions: vec![RegionData::default()] }))
    }
}

impl Body {
    /// Returns a body with one empty region, its entry.
    pub fn new() -> Body {
        Body::default()
    }

    /// Returns a body with one empty region, and with room for as many values and ops as `like` has. Nothing is copied
    /// from `like`.
    pub fn with_capacity_of(like: &Body) -> Body {
        let (values, ops) = (Vec::with_capacity(like.value_count()), Vec::with_capacity(like.op_count()));
        let entry = RegionData { ops: Vec::with_capacity(like[like.entry()].ops.len()), ..RegionData::default() };
        Body(Arc::new(Arenas { values, ops, regions: vec![entry] }))
    }

    #[inline]
    fn arenas(&mut self) -> &mut Arenas {
        Arc::make_mut(&mut self.0)
    }

    /// Returns the function's own region, whose arguments are the function's.
    #[inline]
    pub fn entry(&self) -> Region {
        Region::new(0)
    }

    #[inline]
    pub fn value(&self, v: Value) -> &ValueData {
        &self.0.values[v.index()]
    }

    #[inline]
    pub fn value_mut(&mut self, v: Value) -> &mut ValueData {
        &mut self.arenas().values[v.index()]
    }

    #[inline]
    pub fn op(&self, op: Op) -> &OpData {
        &self.0.ops[op.index()]
    }

    #[inline]
    pub fn op_mut(&mut self, op: Op) -> &mut OpData {
        &mut self.arenas().ops[op.index()]
    }

    #[inline]
    pub fn region(&self, r: Region) -> &RegionData {
        &self.0.regions[r.index()]
    }

    #[inline]
    pub fn region_mut(&mut self, r: Region) -> &mut RegionData {
        &mut self.arenas().regions[r.index()]
    }

    #[inline]
    pub fn ty(&self, v: Value) -> &Type {
        &self[v].ty
    }

    #[inline]
    pub fn sharding(&self, v: Value) -> Option<&Sharding> {
        self[v].sharding.as_ref()
    }

    /// Returns the number of values in the arena: an upper bound for tables indexed by value.
    pub fn value_count(&self) -> usize {
        self.0.values.len()
    }

    pub fn op_count(&self) -> usize {
        self.0.ops.len()
    }

    pub fn region_count(&self) -> usize {
        self.0.regions.len()
    }

    /// Returns the function's arguments.
    pub fn args(&self) -> &[Value] {
        &self[self.entry()].args
    }

    /// Returns the last op of a region, or `None` if the region has no ops. The op is not checked to be a terminator.
    pub fn terminator(&self, r: Region) -> Option<Op> {
        self[r].ops.last().copied()
    }

    /// Returns the results of a region: the operands of its last op, or an empty slice if the region has no ops.
    pub fn region_results(&self, r: Region) -> &[Value] {
        self.terminator(r).map_or(&[], |op| &self[op].operands)
    }

    /// Returns the results of the function: the operands of the last op of its own region. It is an empty slice if that
    /// region has no ops.
    #[inline]
    pub fn results(&self) -> &[Value] {
        self.region_results(self.entry())
    }

    /// Returns the op that makes `v`, or `None` for an argument of the function or of an inner region.
    #[inline]
    pub fn def_op(&self, v: Value) -> Option<Op> {
        match self[v].def {
            ValueDef::Result { op, .. } => Some(op),
            ValueDef::Argument { .. } => None,
        }
    }

    /// Returns every op of the function's own region and of its inner regions in program order. Ops of a region follow
    /// the op that holds the region.
    pub fn walk(&self) -> Vec<Op> {
        let mut out = Vec::with_capacity(self.op_count());
        self.walk_region(self.entry(), &mut out);
        out
    }

    /// Appends every op of a region and of its inner regions to `out`, in program order.
    pub fn walk_region(&self, r: Region, out: &mut Vec<Op>) {
        budget::poll();
        for &op in &self[r].ops {
            out.push(op);
            for &inner in &self[op].regions {
                self.walk_region(inner, out);
            }
        }
    }

    /// Adds an empty region that no op holds yet, and returns it.
    pub fn add_region(&mut self) -> Region {
        self.arenas().add_region()
    }

    /// Adds an argument at the end of a region's list, and returns it.
    pub fn add_arg(&mut self, region: Region, ty: Type, loc: Loc) -> Value {
        let arenas = self.arenas();
        let args = &mut arenas.regions[region.index()].args;
        let def = ValueDef::Argument { region, index: args.len() as u32 };
        args.push(Value::new(arenas.values.len()));
        arenas.push_value(ty, loc, def)
    }

    /// Adds an op at the end of `region`, with a new value for each result type. The op becomes the parent of
    /// `regions`, which it holds. Returns the op.
    #[expect(clippy::too_many_arguments, reason = "an op has this many parts; `Builder` is the short way")]
    pub fn add_op(
        &mut self,
        region: Region,
        code: OpCode,
        operands: impl IntoIterator<Item = Value>,
        attrs: Attrs,
        regions: impl IntoIterator<Item = Region>,
        result_types: impl IntoIterator<Item = Type>,
        loc: Loc,
    ) -> Op {
        budget::poll();
        let arenas = self.arenas();
        let op = Op::new(arenas.ops.len());
        let regions: SmallVec<[Region; 0]> = regions.into_iter().collect();
        for &r in &regions {
            arenas.regions[r.index()].parent = Some(op);
        }
        let results = arenas.push_results(op, 0, result_types, &loc);
        let operands = operands.into_iter().collect();
        arenas.ops.push(OpData { code, operands, results, attrs, regions, loc, reason: None });
        arenas.regions[region.index()].ops.push(op);
        op
    }

    /// Adds a value for each type at the end of an op's results.
    pub fn add_results(&mut self, op: Op, types: impl IntoIterator<Item = Type>) {
        let loc = self[op].loc.clone();
        let arenas = self.arenas();
        let first = arenas.ops[op.index()].results.len();
        let made = arenas.push_results(op, first, types, &loc);
        arenas.ops[op.index()].results.extend(made);
    }

    /// Removes `op`, the last op of `region`, from the region. The op and its results remain in the arenas.
    ///
    /// # Panics
    /// Panics if `op` is not the last op of `region`.
    pub fn pop_op(&mut self, region: Region, op: Op) {
        let last = self.region_mut(region).ops.pop();
        assert_eq!(last, Some(op), "only the last op can be taken back");
    }
}

impl Arenas {
    fn add_region(&mut self) -> Region {
        self.regions.push(RegionData::default());
        Region::new(self.regions.len() - 1)
    }

    fn push_value(&mut self, ty: Type, loc: Loc, def: ValueDef) -> Value {
        self.values.push(ValueData::new(ty, loc, def));
        Value::new(self.values.len() - 1)
    }

    /// Adds a value to the arena for each type, as the results of `op` from number `first` on, and returns the values.
    /// They are not added to the op's own list.
    fn push_results(
        &mut self,
        op: Op,
        first: usize,
        types: impl IntoIterator<Item = Type>,
        loc: &Loc,
    ) -> SmallVec<[Value; 1]> {
        let def = |index| ValueDef::Result { op, index: (first + index) as u32 };
        types.into_iter().enumerate().map(|(index, ty)| self.push_value(ty, loc.clone(), def(index))).collect()
    }
}

impl Index<Value> for Body {
    type Output = ValueData;
    #[inline]
    fn index(&self, v: Value) -> &ValueData {
        self.value(v)
    }
}

impl Index<Op> for Body {
    type Output = OpData;
    #[inline]
    fn index(&self, op: Op) -> &OpData {
        self.op(op)
    }
}

impl Index<Region> for Body {
    type Output = RegionData;
    #[inline]
    fn index(&self, r: Region) -> &RegionData {
        self.region(r)
    }
}
