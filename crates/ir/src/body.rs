//! The arenas of one function.

use crate::{Attrs, Op, OpCode, Region, Type, Value};
use shardwise_base::{AxisRef, Loc, Reason, Sharding, Varying};
use smallvec::SmallVec;
use std::ops::Index;
use std::sync::Arc;

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    Result { op: Op, index: u32 },
    Argument { region: Region, index: u32 },
}

/// What is known of a value.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueData {
    pub ty: Type,
    /// How it lies on the mesh; `None`: nothing is said.
    pub sharding: Option<Sharding>,
    /// Over which axes it is found to differ; `None` where not yet inferred.
    pub varying: Option<Varying>,
    /// What the program says of it along manual axes; `None`: that it is equal, or nothing.
    pub manual: Option<Arc<ManualAxes>>,
    pub loc: Loc,
    pub def: ValueDef,
}

impl ValueData {
    fn new(ty: Type, loc: Loc, def: ValueDef) -> ValueData {
        ValueData { ty, sharding: None, varying: None, manual: None, loc, def }
    }
}

/// How a value of per-device code lies along the manual axes: those over which it differs, those over which each device
/// holds a summand, those over which it is equal and its gradient is a sum still to be taken. In the mesh's order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ManualAxes {
    pub varying: Vec<AxisRef>,
    pub unreduced: Vec<AxisRef>,
    pub reduced: Vec<AxisRef>,
}

/// An operation: its code, what it uses, what it makes.
#[derive(Clone, PartialEq, Debug)]
pub struct OpData {
    pub code: OpCode,
    pub operands: SmallVec<[Value; 3]>,
    pub results: SmallVec<[Value; 1]>,
    pub attrs: Attrs,
    pub regions: SmallVec<[Region; 0]>,
    pub loc: Loc,
    /// Why it is there, of a reshard or collective that a pass inserted.
    pub reason: Option<Arc<Reason>>,
}

/// A region: the arguments and ops of its single block, the last op a terminator.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RegionData {
    pub args: Vec<Value>,
    pub ops: Vec<Op>,
    /// The op that holds it; `None` for the body's own.
    pub parent: Option<Op>,
}

/// Values, ops and regions of one function. Nothing is ever removed from the arenas: passes build new bodies.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    values: Vec<ValueData>,
    ops: Vec<OpData>,
    regions: Vec<RegionData>,
}

impl Default for Body {
    fn default() -> Body {
        Body { values: vec![], ops: vec![], regions: vec![RegionData::default()] }
    }
}

impl Body {
    /// A body with one empty region, its entry.
    pub fn new() -> Body {
        Body::default()
    }

    /// The function's own region: its arguments are the function's.
    pub fn entry(&self) -> Region {
        Region(0)
    }

    pub fn value(&self, v: Value) -> &ValueData {
        &self.values[v.index()]
    }

    pub fn value_mut(&mut self, v: Value) -> &mut ValueData {
        &mut self.values[v.index()]
    }

    pub fn op(&self, op: Op) -> &OpData {
        &self.ops[op.index()]
    }

    pub fn op_mut(&mut self, op: Op) -> &mut OpData {
        &mut self.ops[op.index()]
    }

    pub fn region(&self, r: Region) -> &RegionData {
        &self.regions[r.index()]
    }

    pub fn region_mut(&mut self, r: Region) -> &mut RegionData {
        &mut self.regions[r.index()]
    }

    pub fn ty(&self, v: Value) -> &Type {
        &self[v].ty
    }

    pub fn sharding(&self, v: Value) -> Option<&Sharding> {
        self[v].sharding.as_ref()
    }

    /// Number of values in the arena: an upper bound for tables indexed by value.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    pub fn op_count(&self) -> usize {
        self.ops.len()
    }

    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// The function's arguments.
    pub fn args(&self) -> &[Value] {
        &self[self.entry()].args
    }

    /// The last op of a region, if it has one.
    pub fn terminator(&self, r: Region) -> Option<Op> {
        self[r].ops.last().copied()
    }

    /// What a region gives back: the operands of its terminator.
    pub fn region_results(&self, r: Region) -> &[Value] {
        self.terminator(r).map_or(&[], |op| &self[op].operands)
    }

    /// What the function gives back.
    pub fn results(&self) -> &[Value] {
        self.region_results(self.entry())
    }

    /// The op that makes `v`, if it is not an argument.
    pub fn def_op(&self, v: Value) -> Option<Op> {
        match self[v].def {
            ValueDef::Result { op, .. } => Some(op),
            ValueDef::Argument { .. } => None,
        }
    }

    /// Every op, regions after the op that holds them, in program order.
    pub fn walk(&self) -> Vec<Op> {
        let mut out = Vec::with_capacity(self.ops.len());
        self.walk_region(self.entry(), &mut out);
        out
    }

    /// Every op of a region and of the regions within, in program order.
    pub fn walk_region(&self, r: Region, out: &mut Vec<Op>) {
        for &op in &self[r].ops {
            out.push(op);
            for &inner in &self[op].regions {
                self.walk_region(inner, out);
            }
        }
    }

    /// A new region, empty, not yet held by an op.
    pub fn add_region(&mut self) -> Region {
        self.regions.push(RegionData::default());
        Region::new(self.regions.len() - 1)
    }

    /// A new argument at the end of a region's list.
    pub fn add_arg(&mut self, region: Region, ty: Type, loc: Loc) -> Value {
        let index = self[region].args.len() as u32;
        let v = self.push_value(ValueData::new(ty, loc, ValueDef::Argument { region, index }));
        self.region_mut(region).args.push(v);
        v
    }

    /// A new op at the end of a region, with a new value for each result type.
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
        let op = Op::new(self.ops.len());
        let regions: SmallVec<[Region; 0]> = regions.into_iter().collect();
        for &r in &regions {
            self.region_mut(r).parent = Some(op);
        }
        let results = result_types
            .into_iter()
            .enumerate()
            .map(|(index, ty)| {
                let def = ValueDef::Result { op, index: index as u32 };
                self.push_value(ValueData::new(ty, loc.clone(), def))
            })
            .collect();
        let operands = operands.into_iter().collect();
        self.ops.push(OpData { code, operands, results, attrs, regions, loc, reason: None });
        self.region_mut(region).ops.push(op);
        op
    }

    /// Gives an op that has no results yet a value for each type.
    pub fn add_results(&mut self, op: Op, types: impl IntoIterator<Item = Type>) {
        debug_assert!(self[op].results.is_empty(), "the op has results");
        let loc = self[op].loc.clone();
        for (index, ty) in types.into_iter().enumerate() {
            let def = ValueDef::Result { op, index: index as u32 };
            let v = self.push_value(ValueData::new(ty, loc.clone(), def));
            self.op_mut(op).results.push(v);
        }
    }

    /// Takes back the op that was added last to `region`.
    pub fn pop_op(&mut self, region: Region, op: Op) {
        let last = self.region_mut(region).ops.pop();
        assert_eq!(last, Some(op), "only the last op can be taken back");
    }

    fn push_value(&mut self, data: ValueData) -> Value {
        self.values.push(data);
        Value::new(self.values.len() - 1)
    }
}

impl Index<Value> for Body {
    type Output = ValueData;
    fn index(&self, v: Value) -> &ValueData {
        self.value(v)
    }
}

impl Index<Op> for Body {
    type Output = OpData;
    fn index(&self, op: Op) -> &OpData {
        self.op(op)
    }
}

impl Index<Region> for Body {
    type Output = RegionData;
    fn index(&self, r: Region) -> &RegionData {
        self.region(r)
    }
}
