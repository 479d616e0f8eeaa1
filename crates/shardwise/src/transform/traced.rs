//! Functions that are traced to be transformed, and copied into the active trace once they are.

use crate::array::Array;
use crate::error::Mistakes;
use crate::function::At;
use crate::tree::{self, Tree};
use crate::{Error, Result, Returns, context, eager, explicit, replay, trace};
use shardwise_base::Diagnostics;
use shardwise_engine::ShardedType;
use shardwise_ir::{Body, Func, Module, Op};
use shardwise_ops::Opcode;
use shardwise_transform::{Batch, Batched};

/// Returns false if a branch, the body of a loop or that of a manual computation returns another number of values than
/// its op has results, which follows from a mistake.
fn is_whole(body: &Body) -> bool {
    let mut ops = vec![];
    body.walk_region(body.entry(), &mut ops);
    let is_whole = |op: &Op| {
        let data = &body[*op];
        let returns_results = matches!(Opcode::of(data.code), Opcode::ManualComputation | Opcode::Case | Opcode::If);
        let (count, regions) = match Opcode::of(data.code) {
            Opcode::While => (data.results.len(), &data.regions[1..]),
            _ if returns_results => (data.results.len(), &data.regions[..]),
            _ => return true,
        };
        regions.iter().all(|&r| body.region_results(r).len() == count)
    };
    ops.iter().all(is_whole)
}

/// Sets the mesh of the active trace, if it has none, to that of the first array that is on one, so that layouts over
/// Explicit axes are part of types. Arrays on a mesh that does not fit that of the trace are not reported here.
pub(super) fn join_meshes<T: Tree>(args: &T) {
    for mesh in tree::leaves(args).into_iter().filter_map(|a| Some(a.known_type()?.sharding?.mesh.clone())) {
        trace::with(|t| t.join_mesh(&crate::Mesh(mesh)));
    }
}

pub(super) fn typed(a: &Array) -> ShardedType {
    ShardedType { sharding: explicit::layout(a), ..a.sharded().clone() }
}

/// Adds an argument that stands for an array, with its type, its layout and its states, to the innermost function, and
/// returns it.
pub(super) fn stand_in(a: &Array, at: At) -> Array {
    let arg = eager::argument(&typed(a), &context::loc(at), at);
    let state = trace::with(|t| t.scope()).map(|scope| a.manual_in(&scope));
    arg.made_in(state)
}

pub(super) struct Traced<R> {
    pub func: Func,
    /// The result, of which only the form and the types count.
    pub out: R,
    /// The arrays from outside that the function uses: its last arguments.
    pub captured: Vec<Array>,
}

impl<R: Tree> Traced<R> {
    /// Traces `f` as a function of its own, for arguments of the types of `args`. Fails with the mistakes of `args` or
    /// of the result, if `f` fails, and if the result has an array that cannot be used here. Ends the active trace if a
    /// mistake left a region of the function incomplete.
    pub fn of<T: Tree, O: Returns<Tree = R>>(f: impl Fn(&T) -> O, args: &T, at: At) -> Result<Traced<R>> {
        let loc = context::loc(at);
        let given: Vec<Array> = tree::leaves(args).into_iter().cloned().collect();
        if let Some(wrong) = Mistakes::join(given.iter().filter_map(|a| a.mistakes())) {
            return Err(wrong.error());
        }
        join_meshes(args);
        trace::with(|t| t.open_func("shardwise.transformed", &loc));
        let inner = args.rebuild(&mut |a| stand_in(a, at));
        let out = context::outside(at, || f(&inner)).finish()?;
        let leaves = tree::leaves(&out);
        let values = trace::operands(&leaves, at).map_err(|wrong| wrong.error())?;
        let types: Vec<_> = leaves.iter().map(|a| a.sharded().clone()).collect();
        let (func, outer) = trace::with(|t| {
            let (func, outer) = t.take_func(&values, &loc);
            (func, outer.into_iter().map(|v| t.traced(v)).collect::<Vec<_>>())
        });
        if !is_whole(&func.body) {
            trace::end();
        }
        let captured = outer.into_iter().map(|t| Array::of_traced(t, at)).collect();
        let out = tree::with_leaves(&out, types.into_iter().map(|ty| Array::type_only(ty, at)).collect::<Vec<_>>());
        Ok(Traced { func, out, captured })
    }

    pub fn transformed(
        &self,
        f: impl FnOnce(&Module, &Func) -> std::result::Result<Func, Diagnostics>,
    ) -> Result<Func> {
        self.with_module(|m| f(m, &self.func)).map_err(Error::from)
    }

    /// Calls `f` with the module of the active trace, in which the function was traced, and returns its result.
    pub fn with_module<T>(&self, f: impl FnOnce(&Module) -> T) -> T {
        trace::with(|t| f(&t.module))
    }

    /// Returns the batch of the function, of which these arguments are mapped. Adds the functions that the batch needs
    /// to the module of the active trace. Fails if an op has no batch, if an array of the batch would be too large, or
    /// if a layout names an axis of the batch's `layout`.
    pub fn batched(&self, mapped: &[usize], batch: Batch<'_>) -> Result<Batched> {
        let made = self.with_module(|m| shardwise_transform::vmap_with(m, &self.func, mapped, batch))?;
        trace::with(|t| t.module.funcs.extend(made.added.iter().cloned()));
        Ok(made)
    }

    /// Copies the transformed function into the active trace and returns its results. Its arguments are those of the
    /// function, the captured arrays, then `more`. It does not fail: mistakes of its ops are recorded in the results.
    pub fn run<T: Tree>(&self, func: &Func, args: &T, more: &[&Array], at: At) -> Result<Vec<Array>> {
        let own = tree::leaves(args).into_iter().cloned();
        let all: Vec<Array> = own.chain(self.captured.iter().cloned()).chain(more.iter().map(|&a| a.clone())).collect();
        Ok(replay::copy(func, &all, at))
    }

    /// Copies the part of the transformed function that depends on the arguments of the function only, and returns its
    /// results, and the rest of the function. It does not fail: mistakes are recorded in the results.
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
    /// Copies the function into the active trace, for these arguments after the residuals, and returns its results. It
    /// does not fail: mistakes are recorded in the results.
    pub fn run(&self, args: &[&Array], at: At) -> Result<Vec<Array>> {
        let func = match trace::with(|t| t.id()) == self.trace {
            true => self.func.clone(),
            false => trace::with(|t| t.adopt(&self.func, &self.module)),
        };
        let all: Vec<Array> = self.residuals.iter().cloned().chain(args.iter().map(|&a| a.clone())).collect();
        Ok(replay::copy(&func, &all, at))
    }
}
