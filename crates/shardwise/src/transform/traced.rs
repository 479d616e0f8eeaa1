//! Functions that are traced to be transformed, and copied into the active trace once they are.

use super::derivative::reshard;
use crate::array::Array;
use crate::error::Mistakes;
use crate::function::At;
use crate::tree::{self, Tree};
use crate::{Error, Result, Returns, context, eager, explicit, hlo, trace};
use shardwise_base::{Diagnostics, EntityVec, Sharding};
use shardwise_ir::{Body, Func, Module, Op, Region, TensorType, Value};
use shardwise_ops::Opcode;
use shardwise_transform::{Batch, Batched};

/// A function that was traced to be transformed.
pub(super) struct Traced<R> {
    pub func: Func,
    /// The result, of which only the form and the types count.
    pub out: R,
    /// The arrays from outside that the function uses: its last arguments.
    pub captured: Vec<Array>,
}

impl<R: Tree> Traced<R> {
    /// Traces `f` as a function of its own, for arguments of the types of `args`.
    pub fn of<T: Tree, O: Returns<Tree = R>>(f: impl Fn(&T) -> O, args: &T, at: At) -> Result<Traced<R>> {
        let loc = context::loc(at);
        let given: Vec<Array> = tree::leaves(args).into_iter().cloned().collect();
        if let Some(wrong) = Mistakes::join(given.iter().filter_map(|a| a.mistakes())) {
            return Err(wrong.error());
        }
        trace::with(|t| t.open_func("shardwise.transformed", &loc));
        let stand_in = |a: &Array| {
            let ty = a.sharded().clone();
            let layout = explicit::layout(a);
            let arg = eager::argument(&shardwise_engine::ShardedType { sharding: layout, ..ty }, &loc, at);
            arg.made_in(a.node().manual.clone())
        };
        let inner = tree::with_leaves(args, given.iter().map(stand_in).collect::<Vec<_>>());
        let out = context::outside(at, || f(&inner)).finish()?;
        let leaves = tree::leaves(&out);
        let values = trace::operands(&leaves, at).map_err(|wrong| wrong.error())?;
        let types: Vec<_> = leaves.iter().map(|a| a.sharded().clone()).collect();
        let (func, outer) = trace::with(|t| {
            let (func, outer) = t.take_func(&values, &loc);
            (func, outer.into_iter().map(|v| t.traced(v)).collect::<Vec<_>>())
        });
        let captured = outer.into_iter().map(|t| Array::of_traced(t, at)).collect();
        let out = tree::with_leaves(&out, types.into_iter().map(|ty| Array::type_only(ty, at)).collect::<Vec<_>>());
        Ok(Traced { func, out, captured })
    }

    pub fn transformed(&self, f: impl FnOnce(&Module, &Func) -> std::result::Result<Func, Diagnostics>) -> Result<Func> {
        let module = trace::with(|t| t.module.clone());
        f(&module, &self.func).map_err(Error::from)
    }

    /// Returns the batch of the function, of which these arguments are mapped.
    pub fn batched(&self, mapped: &[usize], batch: Batch<'_>) -> Result<Batched> {
        let module = trace::with(|t| t.module.clone());
        let made = shardwise_transform::vmap_with(&module, &self.func, mapped, batch)?;
        trace::with(|t| t.module.funcs.extend(made.added.iter().cloned()));
        Ok(made)
    }

    /// Copies the transformed function into the active trace. Its arguments are those of the function, the captured arrays,
    /// then `more`.
    pub fn run<T: Tree>(&self, func: &Func, args: &T, more: &[&Array], at: At) -> Result<Vec<Array>> {
        let own = tree::leaves(args).into_iter().cloned();
        let all: Vec<Array> = own.chain(self.captured.iter().cloned()).chain(more.iter().map(|&a| a.clone())).collect();
        Copier::new(func, &all).results(at)
    }

    /// Copies the part of the transformed function that depends on the arguments of the function only, and returns its
    /// results, and the rest of the function.
    pub fn run_split<T: Tree>(&self, func: &Func, args: &T, at: At) -> Result<(Vec<Array>, Linear)> {
        let (own, count) = (self.func.body.args().len(), self.func.result_types.len());
        let (module, trace) = trace::with(|t| (t.module.clone(), t.id()));
        let (known, rest) = shardwise_transform::split(&module, func, own, count);
        let mut results = self.run(&known, args, &[], at)?;
        let residuals = results.split_off(count);
        Ok((results, Linear { func: rest, residuals, module, trace }))
    }
}

/// A linear function that is run later, any number of times.
pub(super) struct Linear {
    func: Func,
    /// Its first arguments.
    pub residuals: Vec<Array>,
    /// The module with the functions that it calls, and the trace that the module belongs to.
    module: Module,
    trace: u64,
}

impl Linear {
    /// Copies the function into the active trace.
    pub fn run(&self, args: &[&Array], at: At) -> Result<Vec<Array>> {
        let func = match trace::with(|t| t.id()) == self.trace {
            true => self.func.clone(),
            false => trace::with(|t| t.adopt(&self.func, &self.module)),
        };
        let all: Vec<Array> = self.residuals.iter().cloned().chain(args.iter().map(|&a| a.clone())).collect();
        Copier::new(&func, &all).results(at)
    }
}

/// Returns the copy of a value that has this layout in the transformed function. In Explicit mode, the layout decides one
/// that is ambiguous.
fn laid_out(array: &Array, sharding: &Sharding) -> Array {
    if !explicit::is_typing() {
        return hlo::laid_out(array, sharding);
    }
    let is_pending = array.traced().is_some_and(|v| trace::with(|t| explicit::is_pending(t, v)));
    if is_pending { reshard(array, sharding) } else { array.clone() }
}

/// A function that is copied into the active trace, op by op.
struct Copier<'s> {
    body: &'s Body,
    values: EntityVec<Value, Option<Array>>,
}

impl<'s> Copier<'s> {
    fn new(func: &'s Func, args: &[Array]) -> Copier<'s> {
        let mut values = EntityVec::filled(func.body.value_count(), None);
        func.body.args().iter().zip(args).for_each(|(&v, a)| values[v] = Some(a.clone()));
        Copier { body: &func.body, values }
    }

    fn results(mut self, at: At) -> Result<Vec<Array>> {
        context::within(at, || self.ops(self.body.entry()));
        Ok(self.arrays(self.body.results()))
    }

    fn arrays(&self, values: &[Value]) -> Vec<Array> {
        values.iter().map(|&v| self.values[v].clone().expect("ops are copied in order")).collect()
    }

    /// Copies the ops of a region but its terminator.
    fn ops(&mut self, region: Region) {
        let ops = &self.body[region].ops;
        for &op in &ops[..ops.len().saturating_sub(1)] {
            context::copying(&self.body[op].loc, || self.op(op));
        }
    }

    fn op(&mut self, op: Op) {
        let data = &self.body[op];
        let operands = self.arrays(&data.operands);
        let given: Vec<&Array> = operands.iter().collect();
        let opcode = Opcode::of(data.code);
        let layouts: Vec<_> = given.iter().map(|a| explicit::layout(a)).collect();
        let is_loop = opcode == Opcode::While;
        let regions = data.regions.iter().map(|&r| self.region(r, if is_loop { &layouts } else { &[] })).collect();
        let types: Vec<TensorType> = data
            .results
            .iter()
            .map(|&v| self.body.ty(v).as_tensor().expect("traced values are tensors").clone())
            .collect();
        let made = hlo::op_with(opcode, &given, data.attrs.clone(), regions, &types);
        let made = if is_loop { explicit::lay(&made, &layouts) } else { made };
        for (&v, array) in data.results.iter().zip(made) {
            self.values[v] = Some(match self.body.sharding(v) {
                Some(sharding) => laid_out(&array, sharding),
                None => array,
            });
        }
    }

    fn region(&mut self, region: Region, layouts: &[Option<Sharding>]) -> Region {
        let types: Vec<TensorType> = self.body[region]
            .args
            .iter()
            .map(|&v| self.body.ty(v).as_tensor().expect("traced values are tensors").clone())
            .collect();
        hlo::region(&types, |args| {
            let args = explicit::lay(args, layouts);
            for (&v, array) in self.body[region].args.iter().zip(args) {
                self.values[v] = Some(array);
            }
            self.ops(region);
            self.arrays(self.body.region_results(region))
        })
    }
}
