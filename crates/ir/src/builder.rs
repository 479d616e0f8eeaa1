//! Appends ops to a region.

use crate::{Attrs, Body, Op, OpCode, Region, Type, Value};
use shardwise_base::{Loc, Reason, Sharding};
use std::sync::Arc;

/// An insertion point at the end of a region, and the location that new ops and arguments get.
pub struct Builder<'a> {
    pub body: &'a mut Body,
    pub region: Region,
    pub loc: Loc,
}

impl<'a> Builder<'a> {
    /// Returns a builder at the end of the body's entry region.
    pub fn new(body: &'a mut Body) -> Builder<'a> {
        let region = body.entry();
        Builder { body, region, loc: Loc::UNKNOWN }
    }

    pub fn at(body: &'a mut Body, region: Region, loc: Loc) -> Builder<'a> {
        Builder { body, region, loc }
    }

    pub fn arg(&mut self, ty: Type) -> Value {
        self.body.add_arg(self.region, ty, self.loc.clone())
    }

    /// Appends an op without regions, with any number of results, and returns it.
    pub fn op(
        &mut self,
        code: impl Into<OpCode>,
        operands: impl IntoIterator<Item = Value>,
        attrs: Attrs,
        result_types: impl IntoIterator<Item = Type>,
    ) -> Op {
        self.op_with_regions(code, operands, attrs, [], result_types)
    }

    pub fn op_with_regions(
        &mut self,
        code: impl Into<OpCode>,
        operands: impl IntoIterator<Item = Value>,
        attrs: Attrs,
        regions: impl IntoIterator<Item = Region>,
        result_types: impl IntoIterator<Item = Type>,
    ) -> Op {
        self.body.add_op(self.region, code.into(), operands, attrs, regions, result_types, self.loc.clone())
    }

    /// Appends an op with one result, and returns the result.
    pub fn value(
        &mut self,
        code: impl Into<OpCode>,
        operands: impl IntoIterator<Item = Value>,
        attrs: Attrs,
        result_type: Type,
    ) -> Value {
        let op = self.op(code, operands, attrs, [result_type]);
        self.body[op].results[0]
    }

    /// Adds a region with arguments of these types, and calls `f` with a builder inside the region and the arguments.
    /// `f` must also add the terminator. Returns the region, which no op holds yet. The position of `self` does not
    /// change.
    pub fn region(&mut self, arg_types: &[Type], f: impl FnOnce(&mut Builder<'_>, &[Value])) -> Region {
        let region = self.body.add_region();
        let args: Vec<Value> =
            arg_types.iter().map(|ty| self.body.add_arg(region, ty.clone(), self.loc.clone())).collect();
        f(&mut Builder { body: self.body, region, loc: self.loc.clone() }, &args);
        region
    }

    pub fn set_sharding(&mut self, v: Value, sharding: Option<Sharding>) {
        self.body.value_mut(v).sharding = sharding;
    }

    pub fn set_reason(&mut self, op: Op, reason: Arc<Reason>) {
        self.body.op_mut(op).reason = Some(reason);
    }

    pub fn ret(&mut self, values: impl IntoIterator<Item = Value>) {
        self.op(OpCode::RETURN, values, Attrs::new(), []);
    }
}
