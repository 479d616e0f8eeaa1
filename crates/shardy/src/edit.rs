//! A body that can be changed in place: ops can be inserted and erased anywhere, and uses can be moved from one value
//! to another.
//!
//! Passes of the pipeline build new bodies from start to end. Shardy's passes insert ops after values that were defined
//! long before, so they work on a copy of the body whose ops are linked lists. At the end the lists are converted to a
//! body.

use crate::reshards::without_axes;
use shardwise_base::{EntityVec, Loc, Sharding};
use shardwise_ir::{Attrs, Body, Builder, Cloner, Module, Op, OpCode, OpView, Region, Type, Value, ValueDef};
use shardwise_ops::shardy::{ShardyCollective, in_shardings, manual_axes};
use shardwise_ops::{DataFlow, Opcode};
use std::collections::HashMap;

pub(crate) struct Edit<'m> {
    pub module: &'m Module,
    pub body: Body,
    links: EntityVec<Op, Link>,
    /// The first op of each region, or `None` if it has no ops.
    first: EntityVec<Region, Option<Op>>,
    /// The op that contains each region; `None` for the region of the body.
    parents: EntityVec<Region, Option<Op>>,
    /// For each target of a data-flow edge, such as an argument of a loop's region, the owner of the edge, such as a
    /// result of the loop.
    owners: HashMap<Value, Value>,
    /// The uses of each value. An entry is stale if the operand has been set to another value, or if the op has been
    /// erased.
    uses: EntityVec<Value, Vec<(Op, usize)>>,
}

#[derive(Clone, Copy)]
struct Link {
    region: Region,
    previous: Option<Op>,
    next: Option<Op>,
    is_erased: bool,
}

/// The position of a new op.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Before(Op),
    After(Op),
    Start(Region),
}

impl<'m> Edit<'m> {
    pub fn new(module: &'m Module, body: &Body) -> Edit<'m> {
        let body = body.clone();
        let region = body.entry();
        let none = Link { region, previous: None, next: None, is_erased: true };
        let mut edit = Edit {
            module,
            links: EntityVec::filled(body.op_count(), none),
            first: EntityVec::filled(body.region_count(), None),
            parents: EntityVec::filled(body.region_count(), None),
            owners: HashMap::new(),
            uses: EntityVec::filled(body.value_count(), vec![]),
            body,
        };
        edit.link(region);
        for op in edit.body.walk() {
            for index in 0..edit.body[op].operands.len() {
                let v = edit.body[op].operands[index];
                edit.uses[v].push((op, index));
            }
        }
        edit
    }

    fn link(&mut self, region: Region) {
        let ops = self.body[region].ops.clone();
        self.first[region] = ops.first().copied();
        for (i, &op) in ops.iter().enumerate() {
            let previous = i.checked_sub(1).map(|i| ops[i]);
            let next = ops.get(i + 1).copied();
            let view = self.module.view(&self.body, op);
            if let DataFlow::Edges(edges) = Opcode::of_view(&view).facts().data_flow(&view) {
                self.owners.extend(edges.iter().flat_map(|e| e.targets.iter().map(|&v| (v, e.owner))));
            }
            self.links[op] = Link { region, previous, next, is_erased: false };
            for inner in self.body[op].regions.clone() {
                self.parents[inner] = Some(op);
                self.link(inner);
            }
        }
    }

    pub fn view(&self, op: Op) -> OpView<'_> {
        self.module.view(&self.body, op)
    }

    pub fn opcode(&self, op: Op) -> Opcode {
        Opcode::of_view(&self.view(op))
    }

    pub fn is_terminator(&self, op: Op) -> bool {
        self.module.table.def(self.body[op].code).is_terminator()
    }

    /// Returns all ops, each after the ops in its regions.
    pub fn post_order(&self) -> Vec<Op> {
        let mut out = vec![];
        self.post_order_of(self.body.entry(), &mut out);
        out
    }

    fn post_order_of(&self, region: Region, out: &mut Vec<Op>) {
        let mut at = self.first[region];
        while let Some(op) = at {
            for &inner in &self.body[op].regions {
                self.post_order_of(inner, out);
            }
            out.push(op);
            at = self.links[op].next;
        }
    }

    pub fn is_erased(&self, op: Op) -> bool {
        self.links[op].is_erased
    }

    pub fn region(&self, op: Op) -> Region {
        self.links[op].region
    }

    pub fn operand(&self, op: Op, index: usize) -> Value {
        self.body[op].operands[index]
    }

    pub fn uses(&self, v: Value) -> impl Iterator<Item = (Op, usize)> + '_ {
        let is_current =
            move |&(op, index): &(Op, usize)| !self.is_erased(op) && self.body[op].operands.get(index) == Some(&v);
        self.uses[v].iter().copied().filter(is_current)
    }

    /// Returns the sharding of a value. An argument of a region may have none of its own. Then, in a manual or named
    /// computation that declares shardings of its operands, it has that of its operand, without the manual axes. In a
    /// loop, it has that of the loop's result. Returns `None` if the value has none of these.
    pub fn sharding(&self, v: Value) -> Option<Sharding> {
        let own = self.body.sharding(v).cloned();
        let ValueDef::Argument { region, index } = self.body[v].def else { return own };
        own.or_else(|| self.argument_sharding(self.parents[region]?, v, index as usize))
    }

    fn argument_sharding(&self, parent: Op, v: Value, index: usize) -> Option<Sharding> {
        let view = self.view(parent);
        if let Some(outside) = in_shardings(view.attrs()).get(index) {
            return Some(without_axes(outside, manual_axes(&view)));
        }
        self.body.sharding(*self.owners.get(&v)?).cloned()
    }

    pub fn set_operand(&mut self, op: Op, index: usize, v: Value) {
        self.body.op_mut(op).operands[index] = v;
        self.uses[v].push((op, index));
    }

    pub fn replace_uses(&mut self, from: Value, to: Value, except: Option<Op>) {
        let mut moved: Vec<(Op, usize)> = self.uses(from).filter(|&(op, _)| Some(op) != except).collect();
        moved.dedup();
        for (op, index) in moved {
            self.set_operand(op, index, to);
        }
    }

    /// Returns the position after the op that defines `v`, or the start of its region if `v` is an argument.
    pub fn behind(&self, v: Value) -> Place {
        match self.body[v].def {
            ValueDef::Result { op, .. } => Place::After(op),
            ValueDef::Argument { region, .. } => Place::Start(region),
        }
    }

    pub fn insert_reshard(&mut self, place: Place, operand: Value, to: Sharding) -> Value {
        self.insert(place, Opcode::Reshard, operand, Attrs::new(), to)
    }

    /// Inserts the collective `step` on `operand` at `place`. Its result has the sharding `to`. Returns the result.
    pub fn insert_step(&mut self, place: Place, operand: Value, step: &ShardyCollective, to: Sharding) -> Value {
        self.insert(place, step.opcode(), operand, step.attrs(&to.mesh), to)
    }

    fn insert(&mut self, place: Place, code: Opcode, operand: Value, attrs: Attrs, sharding: Sharding) -> Value {
        let ty = self.body.ty(operand).clone();
        self.insert_typed(place, code.into(), operand, attrs, ty, Some(sharding))
    }

    /// Replaces the code and the attributes of `op` by those of `step`. The axes belong to the mesh of the result of
    /// `op`, which must have a sharding.
    pub fn set_step(&mut self, op: Op, step: &ShardyCollective) {
        let result = self.body[op].results[0];
        let mesh = self.body.sharding(result).expect("the result of a step has a sharding").mesh.clone();
        let attrs = step.attrs(&mesh);
        let data = self.body.op_mut(op);
        data.code = step.opcode().into();
        data.attrs = attrs;
    }

    /// Returns the position after the op that defines `v`, which has just been inserted at `place`.
    pub fn following(&self, place: Place, v: Value) -> Place {
        match place {
            Place::Before(_) => place,
            Place::After(_) | Place::Start(_) => self.behind(v),
        }
    }

    /// Inserts an op on `operand` whose result has this type and sharding. Returns the result.
    pub fn insert_typed(
        &mut self,
        place: Place,
        code: OpCode,
        operand: Value,
        attrs: Attrs,
        ty: Type,
        sharding: Option<Sharding>,
    ) -> Value {
        let region = match place {
            Place::Before(op) | Place::After(op) => self.links[op].region,
            Place::Start(region) => region,
        };
        let loc = self.body[operand].loc.clone();
        let op = self.body.add_op(region, code, [operand], attrs, [], [ty], loc);
        self.body.region_mut(region).ops.pop();
        let result = self.body[op].results[0];
        self.body.value_mut(result).sharding = sharding;
        self.uses.push(vec![]);
        self.uses[operand].push((op, 0));
        self.place(op, region, place);
        result
    }

    fn place(&mut self, op: Op, region: Region, place: Place) {
        let (previous, next) = match place {
            Place::Before(at) => (self.links[at].previous, Some(at)),
            Place::After(at) => (Some(at), self.links[at].next),
            Place::Start(region) => (None, self.first[region]),
        };
        self.links.push(Link { region, previous, next, is_erased: false });
        match previous {
            Some(previous) => self.links[previous].next = Some(op),
            None => self.first[region] = Some(op),
        }
        if let Some(next) = next {
            self.links[next].previous = Some(op);
        }
    }

    /// Removes an op, whose results are not used, from its region. The ops in its regions are erased with it.
    pub fn erase(&mut self, op: Op) {
        let Link { region, previous, next, .. } = self.links[op];
        match previous {
            Some(previous) => self.links[previous].next = next,
            None => self.first[region] = next,
        }
        if let Some(next) = next {
            self.links[next].previous = previous;
        }
        self.links[op].is_erased = true;
        for region in self.body[op].regions.clone() {
            while let Some(inner) = self.first[region] {
                self.erase(inner);
            }
        }
    }

    /// Returns true if both ops are in the same region and `a` comes first.
    pub fn stands_before(&self, a: Op, b: Op) -> bool {
        let next = |op: &Op| self.links[*op].next;
        std::iter::successors(next(&a), next).any(|op| op == b)
    }

    pub fn def_op(&self, v: Value) -> Option<Op> {
        self.body.def_op(v)
    }

    /// Converts the lists to a body.
    pub fn finish(mut self) -> Body {
        for region in (0..self.body.region_count()).map(Region::new) {
            let mut ops = vec![];
            let mut at = self.first[region];
            while let Some(op) = at {
                ops.push(op);
                at = self.links[op].next;
            }
            self.body.region_mut(region).ops = ops;
        }
        let mut out = Body::new();
        let mut cloner = Cloner::new(&self.body);
        let entry = out.entry();
        let mut builder = Builder::at(&mut out, entry, Loc::UNKNOWN);
        cloner.args(self.body.entry(), &mut builder);
        cloner.ops(self.body.entry(), &mut builder);
        out
    }
}
