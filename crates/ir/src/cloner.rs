//! Copies ops from one body into another, and renames their values.

use crate::{Body, Builder, Op, OpData, Region, Value};
use shardwise_base::EntityVec;

/// A map from the values of `source` to those of the body that is being built.
pub struct Cloner<'s> {
    pub source: &'s Body,
    map: EntityVec<Value, Option<Value>>,
}

impl<'s> Cloner<'s> {
    pub fn new(source: &'s Body) -> Cloner<'s> {
        Cloner { source, map: EntityVec::filled(source.value_count(), None) }
    }

    pub fn set(&mut self, from: Value, to: Value) {
        self.map[from] = Some(to);
    }

    pub fn is_set(&self, from: Value) -> bool {
        self.map[from].is_some()
    }

    /// Returns the value to which `from` is mapped.
    ///
    /// # Panics
    ///
    /// Panics if `from` is not mapped to a value yet. A pass must copy in program order.
    pub fn get(&self, from: Value) -> Value {
        self.map[from].unwrap_or_else(|| panic!("{from:?} is used before it was copied"))
    }

    pub fn values(&self, from: &[Value]) -> Vec<Value> {
        from.iter().map(|&v| self.get(v)).collect()
    }

    /// Adds copies of the arguments of `from` to the builder's region, with all of their data, and maps the arguments
    /// to the copies.
    pub fn args(&mut self, from: Region, builder: &mut Builder<'_>) {
        self.args_of(self.source[from].args.iter().copied(), builder);
    }

    /// Adds an argument for each of these values to the builder's region, with all of their data, and maps the values
    /// to the arguments.
    pub fn args_of(&mut self, values: impl IntoIterator<Item = Value>, builder: &mut Builder<'_>) {
        for v in values {
            let data = self.source.value(v);
            let new = builder.body.add_arg(builder.region, data.ty.clone(), data.loc.clone());
            self.carry(v, new, builder);
        }
    }

    /// Copies an op and its regions to the builder's position, and maps its results to those of the copy. Returns the
    /// copy.
    ///
    /// # Panics
    ///
    /// Panics if the op, or an op in its regions, uses a value that was neither mapped nor copied before.
    pub fn op(&mut self, op: Op, builder: &mut Builder<'_>) -> Op {
        let data = self.source.op(op);
        let regions: Vec<Region> = data.regions.iter().map(|&r| self.region(r, builder)).collect();
        self.op_with(data, regions, builder)
    }

    /// Copies an op as [`Cloner::op`] does, with `regions`, which are regions of the new body, in place of copies of
    /// the op's own regions.
    pub fn op_with_regions(&mut self, op: Op, regions: Vec<Region>, builder: &mut Builder<'_>) -> Op {
        self.op_with(self.source.op(op), regions, builder)
    }

    fn op_with(&mut self, data: &OpData, regions: Vec<Region>, builder: &mut Builder<'_>) -> Op {
        let types = data.results.iter().map(|&r| self.source.ty(r).clone());
        let operands = data.operands.iter().map(|&v| self.get(v));
        let (attrs, loc) = (data.attrs.clone(), data.loc.clone());
        let new = builder.body.add_op(builder.region, data.code, operands, attrs, regions, types, loc);
        if data.reason.is_some() {
            builder.body.op_mut(new).reason = data.reason.clone();
        }
        for (i, &result) in data.results.iter().enumerate() {
            let to = builder.body[new].results[i];
            self.carry(result, to, builder);
        }
        new
    }

    /// Copies a region with its arguments, ops and inner regions, as [`Cloner::op`] does. Returns the copy, which no op
    /// holds yet.
    pub fn region(&mut self, from: Region, builder: &mut Builder<'_>) -> Region {
        let region = builder.body.add_region();
        let mut inner = Builder { body: builder.body, region, loc: builder.loc.clone() };
        self.args(from, &mut inner);
        self.ops(from, &mut inner);
        region
    }

    /// Copies the ops of a region, including its terminator, to the builder's position as [`Cloner::op`] does.
    pub fn ops(&mut self, from: Region, builder: &mut Builder<'_>) {
        for &op in &self.source[from].ops {
            self.op(op, builder);
        }
    }

    /// Maps `from` to `to`, a value of the builder's body, and copies the sharding, varying axes, manual axes, padding
    /// and location of `from` to it. The type of `to` is kept.
    pub fn carry(&mut self, from: Value, to: Value, builder: &mut Builder<'_>) {
        let source = self.source.value(from);
        let target = builder.body.value_mut(to);
        target.sharding = source.sharding.clone();
        target.varying = source.varying.clone();
        target.manual = source.manual.clone();
        target.padding = source.padding.clone();
        target.loc = source.loc.clone();
        self.set(from, to);
    }
}
