//! Mutants of transforms: the programs that a wrong transform would make. The checks of [`Case`](super::Case) kill all
//! of them.
//!
//! A mutant changes only what a transform made: the ops that depend on tangents or cotangents, and those in loops that
//! depend on them. After a batch or a gradient, which adds no arguments, all ops count as made by it.

use shardwise_base::EntityVec;
use shardwise_ir::{Body, Builder, Cloner, Module, OpView, Region, Value, ValueDef};
use shardwise_ops::reduce::Reduce;
use shardwise_ops::shapes::{Transpose, constant_operand};
use shardwise_ops::{Opcode, ReduceKind, make, reducer};

/// A mistake that a transform could make. It is made by changing ops of a transformed module.
pub struct Mutant {
    pub name: &'static str,
    change: Change,
}

#[derive(Clone, Copy)]
enum Change {
    /// A function that returns the replacement of an op that the transform made, or `None` if the op stays as it is.
    Op(fn(&OpView<'_>, &[Value], &mut Builder<'_>) -> Option<Vec<Value>>),
    /// A function that returns the replacement of an op in a loop that the transform made, or `None` if the op stays as
    /// it is. The op itself need not depend on cotangents.
    InLoop(fn(&OpView<'_>, &[Value], &mut Builder<'_>) -> Option<Vec<Value>>),
    /// The first two branches of each `case` that the transform made change places.
    Branches,
}

/// All mutants. Each of them must be killed.
pub const MUTANTS: &[Mutant] = &[
    Mutant { name: "a sum over an axis is lost", change: Change::Op(sum_lost) },
    Mutant { name: "a sum is counted twice", change: Change::Op(sum_twice) },
    Mutant { name: "a transpose is not inverted", change: Change::Op(transpose_not_inverted) },
    Mutant { name: "a product is with the other residual", change: Change::Op(product_forgotten) },
    Mutant { name: "zeros are missing beside a slice", change: Change::Op(padding_not_zero) },
    Mutant { name: "zeros are missing where another value was chosen", change: Change::Op(choice_not_zero) },
    Mutant { name: "a residual is that of the wrong turn", change: Change::InLoop(turn_not_reversed) },
    Mutant { name: "the update of a block is lost", change: Change::Op(update_lost) },
    Mutant { name: "the cotangent of a branch goes to another branch", change: Change::Branches },
    Mutant { name: "the dimension of a batch is off by one", change: Change::Op(reduction_shifted) },
    Mutant { name: "one of two summands is lost", change: Change::Op(summand_lost) },
    Mutant { name: "a sign is lost", change: Change::Op(sign_lost) },
    Mutant { name: "a reversal is lost", change: Change::Op(reversal_lost) },
];

impl Mutant {
    /// Returns the module with every op of the main function that the mutant changes replaced. Of the ops in regions,
    /// only those in loops and in branches of `case` are replaced. Returns `None` if it changes none, or if there is no
    /// main function. The function had `count` arguments before the transform. If the transform added no arguments, as
    /// a batch, all values count as made by it.
    pub fn apply(&self, module: &Module, count: usize) -> Option<Module> {
        let index = module.funcs.iter().position(|f| module.main().is_some_and(|main| std::ptr::eq(f, main)))?;
        let source = &module.funcs[index].body;
        let made = made_by_transform(module, source, &source.args()[count.min(source.args().len())..]);
        let mut body = Body::new();
        let mut builder = Builder::new(&mut body);
        let mut copy = Copy { module, source, made, change: self.change, cloner: Cloner::new(source), changed: false };
        copy.cloner.args(source.entry(), &mut builder);
        copy.region(source.entry(), false, &mut builder);
        let changed = copy.changed;
        let mut out = module.clone();
        out.funcs[index].body = body;
        changed.then_some(out)
    }
}

/// Returns which values depend on `from`, the arguments that a transform added. All values do if there are none.
fn made_by_transform(module: &Module, body: &Body, from: &[Value]) -> EntityVec<Value, bool> {
    let mut made = EntityVec::filled(body.value_count(), from.is_empty());
    from.iter().for_each(|&v| made[v] = true);
    loop {
        let before = made.iter().filter(|m| **m).count();
        for op in body.walk() {
            let view = module.view(body, op);
            let uses = view.operands().iter().chain(&view.captured()).any(|&v| made[v]);
            if uses {
                view.results().iter().for_each(|&v| made[v] = true);
            }
            for &region in view.regions() {
                let args = &body[region].args;
                if args.len() != view.operands().len() {
                    continue;
                }
                let returned = body.region_results(region);
                for (i, &arg) in args.iter().enumerate() {
                    let is_carried = returned.len() == args.len() && made[returned[i]];
                    made[arg] |= made[view.operand(i)] || is_carried;
                }
            }
        }
        if made.iter().filter(|m| **m).count() == before {
            return made;
        }
    }
}

/// The copy of a function with changes.
struct Copy<'s> {
    module: &'s Module,
    source: &'s Body,
    made: EntityVec<Value, bool>,
    change: Change,
    cloner: Cloner<'s>,
    changed: bool,
}

impl Copy<'_> {
    /// Copies the ops of a region or their replacements. `in_loop` is true for the regions of a loop that the transform
    /// made.
    fn region(&mut self, region: Region, in_loop: bool, b: &mut Builder<'_>) {
        for &op in &self.source[region].ops {
            let view = self.module.view(self.source, op);
            let is_made = view.operands().iter().chain(view.results()).any(|&v| self.made[v])
                || (!view.regions().is_empty() && view.captured().iter().any(|&v| self.made[v]));
            let operands = self.cloner.values(view.operands());
            let changed = match self.change {
                Change::Op(change) if is_made => change(&view, &operands, b),
                Change::InLoop(change) if in_loop => change(&view, &operands, b),
                _ => None,
            };
            if let Some(values) = changed {
                self.changed = true;
                view.results().iter().zip(values).for_each(|(&from, to)| self.cloner.set(from, to));
                continue;
            }
            let is_loop = Opcode::of_view(&view) == Opcode::While;
            if !is_loop && Opcode::of_view(&view) != Opcode::Case {
                self.cloner.op(op, b);
                continue;
            }
            let mut regions = vec![];
            for &from in view.regions() {
                let to = b.body.add_region();
                let mut inner = Builder::at(b.body, to, view.loc().clone());
                self.cloner.args(from, &mut inner);
                self.region(from, is_loop && is_made, &mut inner);
                regions.push(to);
            }
            if is_made && !is_loop && matches!(self.change, Change::Branches) {
                regions.swap(0, 1);
                self.changed = true;
            }
            self.cloner.op_with_regions(op, regions, b);
        }
    }
}

fn only(op: &OpView<'_>, opcode: Opcode) -> Option<()> {
    (Opcode::of_view(op) == opcode).then_some(())
}

fn is_sum(op: &OpView<'_>) -> Option<()> {
    only(op, Opcode::Reduce).filter(|()| reducer::reduce_kind_of_op(op) == Some(ReduceKind::Add))
}

fn sum_lost(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    is_sum(op)?;
    let (dims, shape) = (Reduce::dims(op), op.operand_shape(0));
    let limit: Vec<usize> = (0..shape.len()).map(|d| if dims.contains(&d) { 1 } else { shape[d] }).collect();
    if dims.iter().any(|&d| shape[d] == 0) {
        return None;
    }
    let first = make::slice(b, x[0], &vec![0; shape.len()], &limit, &vec![1; shape.len()]);
    Some(vec![make::reshape(b, first, op.result_shape(0))])
}

fn sum_twice(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    is_sum(op)?;
    let sum = make::reduce(b, ReduceKind::Add, x[0], &Reduce::dims(op));
    Some(vec![make::add(b, sum, sum)])
}

fn transpose_not_inverted(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::Transpose)?;
    let permutation = Transpose::permutation(op);
    let mut inverse = vec![0; permutation.len()];
    permutation.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
    // A transposition of two dimensions is its own inverse; it is left out.
    let other: Vec<usize> = if inverse == permutation { (0..permutation.len()).collect() } else { inverse };
    let moved = make::transpose(b, x[0], &other);
    Some(vec![make::reshape(b, moved, op.result_shape(0))])
}

fn product_forgotten(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::Multiply)?;
    Some(vec![make::multiply(b, x[0], x[0])])
}

fn padding_not_zero(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::Pad)?;
    constant_operand(op, 1).filter(|value| value.get_f64(0) == 0.0)?;
    let one = make::number(b, op.operand_tensor(1).dtype, 1);
    let made = b.op(op.data().code, [x[0], one], op.attrs().clone(), [op.result_type(0).clone()]);
    Some(b.body[made].results.to_vec())
}

fn choice_not_zero(op: &OpView<'_>, x: &[Value], _: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::Select)?;
    let is_zero = |i: usize| {
        op.operand_def(i).is_some_and(|def| {
            let source = match Opcode::of_view(&def) {
                Opcode::BroadcastInDim => constant_operand(&def, 0),
                _ => constant_operand(op, i),
            };
            source.is_some_and(|value| value.size() > 0 && (0..value.size()).all(|k| value.get_f64(k) == 0.0))
        })
    };
    match (is_zero(1), is_zero(2)) {
        (false, true) => Some(vec![x[1]]),
        (true, false) => Some(vec![x[2]]),
        _ => None,
    }
}

/// Returns the counter of a loop in place of an integer less the counter. So a loop that runs backwards, which reads
/// the row whose number is that of the last row less the counter, reads the row with the number of the turn. Returns
/// `None` for other ops.
fn turn_not_reversed(op: &OpView<'_>, x: &[Value], _: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::Subtract)?;
    let is_counter = matches!(op.body[op.operand(1)].def, ValueDef::Argument { index: 0, .. });
    (is_counter && op.operand_tensor(0).dtype.is_integer()).then(|| vec![x[1]])
}

fn update_lost(op: &OpView<'_>, x: &[Value], _: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::DynamicUpdateSlice)?;
    Some(vec![x[0]])
}

/// Reduces the dimension in front of each one that should be reduced. Returns `None` for other ops, if there is no such
/// dimension, or if the numbers of elements differ.
fn reduction_shifted(op: &OpView<'_>, x: &[Value], b: &mut Builder<'_>) -> Option<Vec<Value>> {
    is_sum(op)?;
    let dims: Vec<usize> = Reduce::dims(op).iter().map(|d| d.checked_sub(1)).collect::<Option<_>>()?;
    let size = |list: &[usize]| list.iter().map(|&d| op.operand_shape(0)[d]).product::<usize>();
    if dims.is_empty() || size(&dims) != size(&Reduce::dims(op)) {
        return None;
    }
    let sum = make::reduce(b, ReduceKind::Add, x[0], &dims);
    Some(vec![make::reshape(b, sum, op.result_shape(0))])
}

fn summand_lost(op: &OpView<'_>, x: &[Value], _: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::Add).filter(|()| op.operand_tensor(0).dtype.is_float())?;
    Some(vec![x[1]])
}

fn sign_lost(op: &OpView<'_>, x: &[Value], _: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::Negate)?;
    Some(vec![x[0]])
}

fn reversal_lost(op: &OpView<'_>, x: &[Value], _: &mut Builder<'_>) -> Option<Vec<Value>> {
    only(op, Opcode::Reverse)?;
    Some(vec![x[0]])
}
