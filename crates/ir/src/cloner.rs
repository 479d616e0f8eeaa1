//! Copies ops from one body into another, renaming values.

use crate::{Body, Builder, Op, OpData, Region, Value};

/// A map from the values of `source` to those of the body being built.
pub struct Cloner<'s> {
    pub source: &'s Body,
    map: Vec<Option<Value>>,
}

impl<'s> Cloner<'s> {
    pub fn new(source: &'s Body) -> Cloner<'s> {
        Cloner { source, map: vec![None; source.value_count()] }
    }

    pub fn set(&mut self, from: Value, to: Value) {
        self.map[from.index()] = Some(to);
    }

    pub fn is_set(&self, from: Value) -> bool {
        self.map[from.index()].is_some()
    }

    /// What `from` became. Panics if it has not been copied: a pass walks in program order.
    pub fn get(&self, from: Value) -> Value {
        self.map[from.index()].unwrap_or_else(|| panic!("{from:?} is used before it was copied"))
    }

    pub fn values(&self, from: &[Value]) -> Vec<Value> {
        from.iter().map(|&v| self.get(v)).collect()
    }

    /// Copies the arguments of a region, with shardings and locations.
    pub fn args(&mut self, from: Region, builder: &mut Builder<'_>) {
        for &v in &self.source[from].args {
            let data = self.source.value(v);
            let new = builder.body.add_arg(builder.region, data.ty.clone(), data.loc.clone());
            self.carry(v, new, builder);
        }
    }

    /// Copies one op as it is, regions included.
    pub fn op(&mut self, op: Op, builder: &mut Builder<'_>) -> Op {
        let data = self.source.op(op);
        let regions: Vec<Region> = data.regions.iter().map(|&r| self.region(r, builder)).collect();
        self.op_with(op, data, regions, builder)
    }

    /// Copies one op, but with these regions (of the new body).
    pub fn op_with_regions(&mut self, op: Op, regions: Vec<Region>, builder: &mut Builder<'_>) -> Op {
        self.op_with(op, self.source.op(op), regions, builder)
    }

    fn op_with(&mut self, op: Op, data: &OpData, regions: Vec<Region>, builder: &mut Builder<'_>) -> Op {
        let types: Vec<_> = data.results.iter().map(|&r| self.source.ty(r).clone()).collect();
        let operands = self.values(&data.operands);
        let new = builder.body.add_op(
            builder.region,
            data.code,
            operands,
            data.attrs.clone(),
            regions,
            types,
            data.loc.clone(),
        );
        builder.body.op_mut(new).reason = data.reason.clone();
        for (i, &result) in self.source.op(op).results.iter().enumerate() {
            let to = builder.body[new].results[i];
            self.carry(result, to, builder);
        }
        new
    }

    /// Copies a region and all within.
    pub fn region(&mut self, from: Region, builder: &mut Builder<'_>) -> Region {
        let region = builder.body.add_region();
        let mut inner = Builder { body: builder.body, region, loc: builder.loc.clone() };
        self.args(from, &mut inner);
        self.ops(from, &mut inner);
        region
    }

    /// Copies the ops of a region to the builder's place, the terminator included.
    pub fn ops(&mut self, from: Region, builder: &mut Builder<'_>) {
        for &op in &self.source[from].ops {
            self.op(op, builder);
        }
    }

    /// Maps `from` to `to`, and gives `to` what is known of `from` beyond its type.
    pub fn carry(&mut self, from: Value, to: Value, builder: &mut Builder<'_>) {
        let source = self.source.value(from);
        let target = builder.body.value_mut(to);
        target.sharding = source.sharding.clone();
        target.varying = source.varying.clone();
        target.manual = source.manual.clone();
        target.loc = source.loc.clone();
        self.set(from, to);
    }
}
