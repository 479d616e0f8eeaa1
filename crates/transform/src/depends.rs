//! Which values depend on others: the values with a tangent, or with a mapped dimension.

use shardwise_base::{EntityVec, budget};
use shardwise_ir::{Body, Module, OpView, Region, Value};
use shardwise_ops::{Opcode, calls};

/// The values of a body that depend on some others, through ops for which `carries` returns true.
pub(crate) struct Depends<'s, F> {
    module: &'s Module,
    body: &'s Body,
    /// Returns true if a value that an op defines, a result or an argument of one of its regions, is marked when a
    /// value from which it is computed is marked.
    carries: F,
    /// Returns true if the results of an op are marked although it uses no marked value, as far as `carries` allows it.
    /// It is not asked for loops, branches, barriers, and manual or named computations, whose results are marked from
    /// what their regions return or, for a barrier, from its operands.
    pub source: Box<dyn Fn(&OpView<'_>) -> bool + 's>,
    /// True if what a branch or a loop computes also depends on the predicate of the branch or the condition of the
    /// loop. Batches need this. Derivatives do not, because a predicate has no tangent.
    pub by_control: bool,
    pub values: EntityVec<Value, bool>,
}

impl<'s, F: Fn(&OpView<'s>, Value) -> bool> Depends<'s, F> {
    pub fn new(module: &'s Module, body: &'s Body, carries: F) -> Depends<'s, F> {
        Depends {
            module,
            body,
            carries,
            source: Box::new(|_| false),
            by_control: false,
            values: EntityVec::filled(body.value_count(), false),
        }
    }

    /// Marks the results of the region's ops that depend on marked values, or for whose ops [`Depends::source`] returns
    /// true. It also marks values in the regions of loops, branches, and manual and named computations; of the
    /// condition of a loop, only the arguments, unless [`Depends::by_control`] is true. The regions of other ops, such
    /// as reducers, are left out.
    pub fn region(&mut self, region: Region) {
        for &op in &self.body[region].ops {
            budget::poll();
            self.op(&self.module.view(self.body, op));
        }
    }

    /// Returns true if the op uses a marked value, as an operand or as a value from outside that its regions use.
    pub fn uses(&self, op: &OpView<'s>) -> bool {
        op.operands().iter().any(|&v| self.values[v])
            || (!op.regions().is_empty() && op.captured().iter().any(|&v| self.values[v]))
    }

    fn mark(&mut self, op: &OpView<'s>, v: Value, is_marked: bool) -> bool {
        let new = is_marked && !self.values[v] && (self.carries)(op, v);
        if new {
            self.values[v] = true;
        }
        new
    }

    /// Marks all of `values` if `is_marked` is true and `carries` allows it. Returns true if that marked a new value.
    fn mark_all(&mut self, op: &OpView<'s>, values: &[Value], is_marked: bool) -> bool {
        let mut is_new = false;
        values.iter().for_each(|&v| is_new |= self.mark(op, v, is_marked));
        is_new
    }

    /// Marks `to[i]` if `from[i]` is marked and `carries` allows it. Returns true if that marked a new value.
    fn pass(&mut self, op: &OpView<'s>, from: &[Value], to: &[Value]) -> bool {
        let mut is_new = false;
        from.iter().zip(to).for_each(|(&f, &t)| is_new |= self.mark(op, t, self.values[f]));
        is_new
    }

    /// Marks the results of one op and the values in its regions, as [`Depends::region`] does.
    pub fn op(&mut self, op: &OpView<'s>) {
        let body = op.body;
        match Opcode::of_view(op) {
            Opcode::While => {
                let [cond, turn] = [op.regions()[0], op.regions()[1]];
                self.pass(op, op.operands(), &body[turn].args);
                loop {
                    self.region(turn);
                    let mut is_new = self.pass(op, body.region_results(turn), &body[turn].args);
                    if self.by_control {
                        is_new |= self.condition(op);
                    }
                    if !is_new {
                        break;
                    }
                }
                self.pass(op, &body[turn].args, &body[cond].args);
                self.pass(op, &body[turn].args, op.results());
            }
            Opcode::Case | Opcode::If => {
                let is_chosen = self.by_control && self.values[op.operand(0)];
                for &branch in op.regions() {
                    self.region(branch);
                    self.pass(op, body.region_results(branch), op.results());
                }
                self.mark_all(op, op.results(), is_chosen);
            }
            Opcode::ManualComputation | Opcode::NamedComputation => {
                let inner = op.regions()[0];
                self.pass(op, op.operands(), &body[inner].args);
                self.region(inner);
                self.pass(op, body.region_results(inner), op.results());
            }
            Opcode::OptimizationBarrier => {
                self.pass(op, op.operands(), op.results());
            }
            _ => {
                let is_marked = self.uses(op) || (self.source)(op);
                self.mark_all(op, op.results(), is_marked);
            }
        }
    }

    /// Marks the values in the condition of a loop. If what it returns is marked, marks the arguments of the loop's
    /// body, too. Returns true if that marked a new argument of the body.
    fn condition(&mut self, op: &OpView<'s>) -> bool {
        let (body, [cond, turn]) = (op.body, [op.regions()[0], op.regions()[1]]);
        self.pass(op, &body[turn].args, &body[cond].args);
        self.region(cond);
        let is_marked = self.values[body.region_results(cond)[0]];
        self.mark_all(op, &body[turn].args, is_marked)
    }
}

/// Returns the function that a call or a composite runs. Returns `None` for other ops, and if the module has no
/// function of this name.
pub(crate) fn callee<'s>(op: &OpView<'s>) -> Option<&'s shardwise_ir::Func> {
    calls::callee(op).map(|id| &op.module[id])
}

/// Returns the operands of an op, and the values from outside that its regions use.
pub(crate) fn uses(op: &OpView<'_>) -> Vec<Value> {
    let mut uses = op.operands().to_vec();
    if !op.regions().is_empty() {
        uses.extend(op.captured());
    }
    uses
}
