//! A function whose derivative is computed for many tangents: the known ops run once, and the linear ones for each
//! tangent.
//!
//! The known part is that of reverse mode. The linear part runs forward instead of being transposed, and uses the
//! values from inside of loops, branches and manual computations in the same way.

use super::{Reverse, counts_to, keep_of_branch, keep_of_manual, keep_rows};
use crate::jvp;
use shardwise_base::{AxisSet, Diagnostics, Sharding};
use shardwise_ir::{Attrs, Builder, Func, Module, OpView, Region, Type, Value};
use shardwise_ops::shardy::{ManualComputation, in_shardings, manual_mesh_axes};
use shardwise_ops::{Opcode, make};

/// Returns the function that [`jvp`] returns, in which no op depends on a tangent unless it is linear in tangents. So
/// [`split`](crate::split) divides it into a part that runs once, and a linear one.
///
/// # Errors
/// Those of [`jvp`]. `loop-length` if the number of steps of a loop with tangents is not known. `manual-mesh` if manual
/// computations are over different meshes.
pub fn linearize(module: &Module, func: &Func, args: &[usize]) -> Result<Func, Diagnostics> {
    linearize_of(module, func, args, usize::MAX)
}

/// Does the same as [`linearize`], but returns the tangents of the first `count` results with tangents only.
///
/// # Errors
/// Those of [`linearize`].
pub fn linearize_of(module: &Module, func: &Func, args: &[usize], count: usize) -> Result<Func, Diagnostics> {
    let forward = jvp(module, func, args)?;
    let (source, own) = (&forward.body, func.body.args().len());
    let mut out = forward.without_body();
    let mut b = Builder::new(&mut out.body);
    b.loc = func.loc.clone();
    let mut reverse = Reverse::new(module, source);
    reverse.cloner.args(source.entry(), &mut b);
    reverse.mark(&source.args()[own..])?;
    let entry = source.entry();
    reverse.known(entry, &mut b);
    reverse.forth(entry, &mut b)?;
    let kept = func.result_types.len().saturating_add(count).min(source.results().len());
    let values = reverse.cloner.values(&source.results()[..kept]);
    b.ret(values);
    out.result_types.truncate(kept);
    out.result_attrs.truncate(kept);
    out.result_shardings.truncate(kept);
    Ok(out)
}

impl<'s> Reverse<'s> {
    /// Builds the linear ops of a region but its terminator, after the known ones. Fails if one of them is a loop of
    /// unknown length, or contains one that has tangents.
    fn forth(&mut self, region: Region, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        for &op in self.ops(region) {
            let view = self.module.view(self.source, op);
            if self.is_linear(&view) {
                b.loc = view.loc().clone();
                match Opcode::of_view(&view) {
                    Opcode::While => self.forth_of_loop(&view, b)?,
                    Opcode::Case | Opcode::If => self.forth_of_branch(&view, b)?,
                    Opcode::ManualComputation => self.forth_of_manual(&view, b)?,
                    Opcode::NamedComputation => self.forth_of_computation(&view, b)?,
                    _ => {
                        self.cloner.op(op, b);
                    }
                }
            }
        }
        Ok(())
    }

    /// Builds the linear part of a loop: it carries the tangents, and the number of the turn. Fails if the length is
    /// unknown, or as [`Reverse::forth`] does.
    fn forth_of_loop(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let turns = self.turns(op)?;
        let turn = op.regions()[1];
        let (args, next) = (&self.source[turn].args, self.source.region_results(turn));
        let carried: Vec<usize> = (0..args.len()).filter(|&i| self.linear[args[i]]).collect();
        let mut operands = vec![make::number(b, turns.dtype, 0)];
        operands.extend(carried.iter().map(|&i| self.cloner.get(op.operand(i))));
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let cond = counts_to(b, &types, turns);
        let forth = b.body.add_region();
        let mut inner = Builder::at(b.body, forth, b.loc.clone());
        let inner_args: Vec<Value> = types.iter().map(|ty| inner.arg(ty.clone())).collect();
        let zero = make::number(&mut inner, turns.dtype, 0);
        let row = make::add(&mut inner, inner_args[0], zero);
        for (&i, &arg) in carried.iter().zip(&inner_args[1..]) {
            self.cloner.carry(args[i], arg, &mut inner);
        }
        self.forth(turn, &mut inner)?;
        inner.loc = op.loc().clone();
        let one = make::number(&mut inner, turns.dtype, 1);
        let mut results = vec![make::add(&mut inner, inner_args[0], one)];
        results.extend(carried.iter().map(|&i| self.cloner.get(next[i])));
        inner.op(Opcode::RegionReturn, results, Attrs::new(), []);
        keep_rows(self.module, b, &self.split[&op.op], forth, row, turns);
        let new = b.op_with_regions(Opcode::While, operands, Attrs::new(), [cond, forth], types);
        let made = b.body[new].results.to_vec();
        for (&i, &to) in carried.iter().zip(&made[1..]) {
            self.cloner.carry(op.result(i), to, b);
        }
        Ok(())
    }

    /// Builds the linear ops of a named computation at the builder's position, without its region. No value is computed
    /// again as its policy might say: all are kept. Fails as [`Reverse::forth`] does.
    fn forth_of_computation(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let inner = op.regions()[0];
        let args = self.source[inner].args.iter().zip(op.operands());
        args.filter(|(_, v)| self.linear[**v]).for_each(|(&arg, &v)| self.cloner.set(arg, self.cloner.get(v)));
        self.forth(inner, b)?;
        let given = self.source.region_results(inner).iter().zip(op.results());
        given.filter(|(g, _)| self.linear[**g]).for_each(|(&g, &v)| self.cloner.set(v, self.cloner.get(g)));
        Ok(())
    }

    fn forth_of_branch(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let known = self.split[&op.op].clone();
        let linear: Vec<usize> = (0..op.results().len()).filter(|&i| self.linear[op.result(i)]).collect();
        let mut regions = vec![];
        for (k, &branch) in op.regions().iter().enumerate() {
            let forth = b.body.add_region();
            let mut inner = Builder::at(b.body, forth, b.loc.clone());
            self.forth(branch, &mut inner)?;
            let results = self.source.region_results(branch);
            let values: Vec<Value> = linear.iter().map(|&i| self.cloner.get(results[i])).collect();
            inner.op(Opcode::RegionReturn, values, Attrs::new(), []);
            keep_of_branch(self.module, b, &known, k, forth);
            regions.push(forth);
        }
        let types: Vec<Type> = linear.iter().map(|&i| self.source.ty(op.result(i)).clone()).collect();
        let predicate = self.cloner.get(op.operand(0));
        let new = b.op_with_regions(op.data().code, [predicate], op.attrs().clone(), regions, types);
        let made = b.body[new].results.to_vec();
        for (&i, to) in linear.iter().zip(made) {
            self.cloner.carry(op.result(i), to, b);
        }
        Ok(())
    }

    fn forth_of_manual(&mut self, op: &OpView<'s>, b: &mut Builder<'_>) -> Result<(), Diagnostics> {
        let region = op.regions()[0];
        let (mesh, axes) = manual_mesh_axes(op).expect("verified");
        let manual = AxisSet::new(mesh, axes.iter().copied());
        let takes: Vec<usize> = (0..op.operands().len()).filter(|&i| self.linear[op.operand(i)]).collect();
        let linear: Vec<usize> = (0..op.results().len()).filter(|&i| self.linear[op.result(i)]).collect();
        let mut operands: Vec<Value> = takes.iter().map(|&i| self.cloner.get(op.operand(i))).collect();
        let mut ins: Vec<Sharding> = takes.iter().map(|&i| in_shardings(op.attrs())[i].clone()).collect();
        let forth = b.body.add_region();
        let mut inner = Builder::at(b.body, forth, b.loc.clone());
        self.cloner.args_of(takes.iter().map(|&i| self.source[region].args[i]), &mut inner);
        self.forth(region, &mut inner)?;
        let given = self.source.region_results(region);
        let values: Vec<Value> = linear.iter().map(|&i| self.cloner.get(given[i])).collect();
        inner.op(Opcode::SdyReturn, values, Attrs::new(), []);
        let known = self.split[&op.op].clone();
        let own = self.own_of_copies(region, &manual);
        keep_of_manual(self.module, b, &known, forth, (&mut operands, &mut ins), &own);
        let types: Vec<Type> = linear.iter().map(|&i| self.source.ty(op.result(i)).clone()).collect();
        let attrs = ManualComputation::attrs(ins, mesh, axes);
        let new = b.op_with_regions(Opcode::ManualComputation, operands, attrs, [forth], types);
        let made = b.body[new].results.to_vec();
        for (&i, to) in linear.iter().zip(made) {
            self.cloner.carry(op.result(i), to, b);
        }
        Ok(())
    }
}
