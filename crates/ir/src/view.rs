//! An op together with its body and module, from which the facts of the op table are computed.

use crate::{Attr, Attrs, Body, Module, Op, OpData, Region, TensorType, Type, Value};
use shardwise_base::{Loc, Sharding};
use std::collections::HashSet;

/// An op in its body and module. Copying it is cheap.
#[derive(Clone, Copy)]
pub struct OpView<'a> {
    pub module: &'a Module,
    pub body: &'a Body,
    pub op: Op,
}

impl<'a> OpView<'a> {
    pub fn new(module: &'a Module, body: &'a Body, op: Op) -> OpView<'a> {
        OpView { module, body, op }
    }

    #[inline]
    pub fn data(&self) -> &'a OpData {
        self.body.op(self.op)
    }

    pub fn name(&self) -> &'static str {
        self.module.table.def(self.data().code).name()
    }

    #[inline]
    pub fn loc(&self) -> &'a Loc {
        &self.data().loc
    }

    /// Returns the location of the op that needs this one, if this one has a reason ([`OpData::reason`]), as
    /// communication that the partitioner has added does. Otherwise returns the op's own location.
    pub fn origin(&self) -> &'a Loc {
        self.data().reason.as_ref().map_or(self.loc(), |reason| &reason.consumer_loc)
    }

    #[inline]
    pub fn operands(&self) -> &'a [Value] {
        &self.data().operands
    }

    #[inline]
    pub fn results(&self) -> &'a [Value] {
        &self.data().results
    }

    #[inline]
    pub fn regions(&self) -> &'a [Region] {
        &self.data().regions
    }

    #[inline]
    pub fn operand(&self, i: usize) -> Value {
        self.operands()[i]
    }

    #[inline]
    pub fn result(&self, i: usize) -> Value {
        self.results()[i]
    }

    #[inline]
    pub fn operand_type(&self, i: usize) -> &'a Type {
        self.body.ty(self.operand(i))
    }

    #[inline]
    pub fn result_type(&self, i: usize) -> &'a Type {
        self.body.ty(self.result(i))
    }

    /// Returns the tensor type of operand `i`.
    ///
    /// # Panics
    ///
    /// Panics if the operand does not exist or is not a tensor.
    pub fn operand_tensor(&self, i: usize) -> &'a TensorType {
        self.operand_type(i).as_tensor().expect("a tensor operand")
    }

    /// Returns the tensor type of result `i`.
    ///
    /// # Panics
    ///
    /// Panics if the result does not exist or is not a tensor.
    pub fn result_tensor(&self, i: usize) -> &'a TensorType {
        self.result_type(i).as_tensor().expect("a tensor result")
    }

    #[inline]
    pub fn operand_shape(&self, i: usize) -> &'a [usize] {
        self.operand_type(i).shape()
    }

    #[inline]
    pub fn result_shape(&self, i: usize) -> &'a [usize] {
        self.result_type(i).shape()
    }

    #[inline]
    pub fn operand_sharding(&self, i: usize) -> Option<&'a Sharding> {
        self.body.sharding(self.operand(i))
    }

    #[inline]
    pub fn result_sharding(&self, i: usize) -> Option<&'a Sharding> {
        self.body.sharding(self.result(i))
    }

    #[inline]
    pub fn attrs(&self) -> &'a Attrs {
        &self.data().attrs
    }

    #[inline]
    pub fn attr(&self, name: &str) -> Option<&'a Attr> {
        self.attrs().get(name)
    }

    /// Returns the list of dimensions or sizes in attribute `name`. It is empty if the attribute is absent or not such
    /// a list.
    pub fn sizes(&self, name: &str) -> Vec<usize> {
        self.attrs().sizes(name).unwrap_or_default()
    }

    /// Returns the list of integers in attribute `name`. It is empty if the attribute is absent or not such a list.
    pub fn ints(&self, name: &str) -> Vec<i64> {
        self.attrs().ints(name).unwrap_or_default()
    }

    /// Returns the view of the op that makes operand `i`, or `None` if the operand is an argument of the function or of
    /// a region.
    ///
    /// # Panics
    ///
    /// Panics if the operand does not exist.
    pub fn operand_def(&self, i: usize) -> Option<OpView<'a>> {
        self.body.def_op(self.operand(i)).map(|op| OpView { op, ..*self })
    }

    /// Returns the values that the op's regions, including inner ones, use but do not define. Each occurs once, in
    /// ascending order.
    pub fn captured(&self) -> Vec<Value> {
        let mut ops = vec![];
        self.regions().iter().for_each(|&r| self.body.walk_region(r, &mut ops));
        let mut inner: HashSet<Value> =
            self.regions().iter().flat_map(|&r| self.body[r].args.iter().copied()).collect();
        for &op in &ops {
            inner.extend(&self.body[op].results);
            inner.extend(self.body[op].regions.iter().flat_map(|&r| self.body[r].args.iter().copied()));
        }
        let mut outer: Vec<Value> = ops.iter().flat_map(|&op| self.body[op].operands.iter().copied()).collect();
        outer.retain(|v| !inner.contains(v));
        outer.sort_unstable();
        outer.dedup();
        outer
    }

    /// Returns the view of another op of the same body.
    pub fn at(&self, op: Op) -> OpView<'a> {
        OpView { op, ..*self }
    }
}
