//! How array functions run: as part of the active trace, or at once as a small program of their own.
//!
//! Functions of the elements of arrays go through [`call`] or [`call_many`]. Outside of a trace, the function is traced
//! for its operands' types, compiled through the same pipeline as every program, and cached by its name, constants,
//! types, layouts and the rule for communication.

use crate::array::{Decide, Made, Sum};
use crate::cache::{Cache, program_bytes};
use crate::error::Mistakes;
use crate::explicit::{Callee, Warned, maker};
use crate::layout::as_stated;
use crate::runtime::{self, Compiled};
use crate::trace::{self, Finished, Trace};
use crate::{Array, Error, Mesh, Result, context, explicit, hlo, limits, mistakes};
use shardwise_base::{self as base, AxisRef};
use shardwise_engine::{Argument, ArrayHandle, ShardedType};
use shardwise_ir::Module;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// The line that calls the function.
type At = &'static Location<'static>;

type Body<'a> = &'a mut dyn FnMut(&[Array]) -> Vec<Array>;

/// Runs a library function that has one result. `constants` is everything that the result depends on besides the
/// operands.
#[track_caller]
pub(crate) fn call<const N: usize>(
    callee: impl Into<Callee>,
    constants: impl Hash,
    operands: [&Array; N],
    f: impl Fn(&[Array; N]) -> Array,
) -> Array {
    let body = |x: &[Array]| vec![f(x.try_into().expect("as many as were given"))];
    call_many(callee, constants, &operands, 1, body).pop().expect("one result")
}

#[track_caller]
pub(crate) fn call_many(
    callee: impl Into<Callee>,
    constants: impl Hash,
    operands: &[&Array],
    results: usize,
    mut f: impl FnMut(&[Array]) -> Vec<Array>,
) -> Vec<Array> {
    let at = context::caller(Location::caller());
    let mut hasher = DefaultHasher::new();
    constants.hash(&mut hasher);
    let callee = callee.into();
    context::within(at, || dispatch(callee, hasher.finish(), operands, results, at, &mut f))
}

fn dispatch(callee: Callee, constants: u64, operands: &[&Array], results: usize, at: At, f: Body<'_>) -> Vec<Array> {
    if let Some(wrong) = Mistakes::join(operands.iter().filter_map(|a| a.mistakes())) {
        return poison(wrong, infer(operands, at, f), results, at);
    }
    if let Some(outside) = operands.iter().find(|a| a.traced().is_some_and(|t| !trace::is_open(t))) {
        return poison(Mistakes::one(mistakes::escaped(outside, &context::loc(at))), None, results, at);
    }
    if trace::is_tracing() {
        let owned: Vec<Array> = operands.iter().map(|&a| a.clone()).collect();
        if let Err(wrong) =
            trace::with(|t| settle_all(t, &owned)).or_else(|()| trace::operands(operands, at).map(|_| ()))
        {
            return poison(wrong, None, results, at);
        }
        return explicit::function(callee, || f(&owned));
    }
    let failed = |e: Error| poison(e.into_mistakes(), None, results, at);
    if operands.iter().any(|a| a.is_type_only()) {
        return limits::run(at, || Ok(types_of(callee, operands, results, at, f))).unwrap_or_else(failed);
    }
    limits::run(at, || run(callee, constants, operands, at, f)).unwrap_or_else(failed)
}

fn settle_all(t: &mut Trace, operands: &[Array]) -> Result<(), ()> {
    if !t.explicit.is_on() {
        return Ok(());
    }
    operands.iter().filter_map(Array::traced).try_for_each(|v| explicit::settle(t, v).map_err(|_| ()))
}

fn poison(wrong: Mistakes, types: Option<Vec<Array>>, results: usize, at: At) -> Vec<Array> {
    let types = types.map_or(vec![None; results], |arrays| arrays.iter().map(Array::known_type).collect());
    types.into_iter().map(|ty| Array::poisoned(wrong.clone(), ty, at)).collect()
}

/// Returns the results as arrays of which only the types count, by running the function on stand-ins. Returns `None` if
/// the type of an operand is not known, if the function needs something that a mistake leaves unknown, or, outside of a
/// trace, if the function makes a mistake.
fn infer(operands: &[&Array], at: At, f: Body<'_>) -> Option<Vec<Array>> {
    let types: Vec<ShardedType> = operands.iter().map(|a| a.known_type()).collect::<Option<_>>()?;
    if trace::is_tracing() {
        let inner = || explicit::silently(|| f(&stand_ins(operands, &types)));
        return trace::quietly(inner);
    }
    let scratch = trace::run("scratch", None, context::loc(at), || Ok(f(&stand_ins(operands, &types))));
    scratch.ok().map(|(_, results)| results)
}

/// Returns arrays that stand for the operands when only types are computed: a traced operand itself, and zeros in place
/// of any other.
fn stand_ins(operands: &[&Array], types: &[ShardedType]) -> Vec<Array> {
    let stand_in = |(a, ty): (&&Array, &ShardedType)| match a.traced() {
        Some(_) => (*a).clone(),
        None => hlo::zeros(&ty.ty),
    };
    operands.iter().zip(types).map(stand_in).collect()
}

/// Runs a function on types without values. The results are types, too, or carry the mistakes that were found.
fn types_of(callee: Callee, operands: &[&Array], results: usize, at: At, f: Body<'_>) -> Vec<Array> {
    let types: Vec<ShardedType> = operands.iter().map(|a| a.sharded().clone()).collect();
    let loc = context::loc(at);
    let typed = common_mesh(&types, &loc).and_then(|mesh| {
        trace::run(callee.name, mesh.filter(Mesh::is_explicit), loc.clone(), || {
            let args: Vec<Array> = types.iter().map(|ty| argument(ty, &loc, at)).collect();
            Ok(explicit::function(callee, || f(&args)))
        })
    });
    match typed {
        Err(e) => poison(e.into_mistakes(), None, results, at),
        Ok((trace, out)) => out.into_iter().map(|a| type_of(a, &trace, at)).collect(),
    }
}

/// Returns a traced result as a type without a value. If its layout is ambiguous, `.shard` has to decide it. Returns an
/// array that is not traced unchanged.
fn type_of(a: Array, trace: &Trace, at: At) -> Array {
    let Some(traced) = a.traced() else { return a };
    let sharding = a.known_type().and_then(|ty| ty.sharding).filter(|_| trace.explicit.is_on());
    let ty = ShardedType { ty: a.tensor().clone(), sharding };
    let Some(ambiguity) = explicit::undecided(trace, traced) else { return Array::type_only(ty, at) };
    let undecided = ty.clone();
    let make = move |sharding: &base::Sharding| {
        let ty = ShardedType { sharding: Some(sharding.clone()), ..undecided.clone() };
        Ok(Made::Type(ty))
    };
    let decide = Decide { make: Arc::new(make), sums: explicit::sums(trace, traced) };
    Array::undecided(ty, decide, Mistakes::one(ambiguity), at)
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    name: &'static str,
    constants: u64,
    types: Vec<KeyType>,
    level: Option<base::Communicate>,
}

/// The part of an operand's type that the program depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct KeyType(shardwise_ir::TensorType, Option<base::Sharding>);

static CACHE: LazyLock<RwLock<Cache<Key, Arc<Prepared>>>> = LazyLock::new(RwLock::default);

impl Key {
    fn new(name: &'static str, constants: u64, types: &[&ShardedType]) -> Key {
        let level = explicit::level();
        Key { name, constants, level, types: types.iter().map(|t| KeyType(t.ty.clone(), t.sharding.clone())).collect() }
    }

    fn program(self, make: impl FnOnce() -> Result<Prepared>) -> Result<Arc<Prepared>> {
        if let Some(found) = CACHE.read().unwrap_or_else(PoisonError::into_inner).get(&self) {
            return Ok(found.clone());
        }
        let made = Arc::new(make()?);
        let gone = CACHE.write().unwrap_or_else(PoisonError::into_inner).insert(self, made.clone(), made.bytes);
        drop(gone);
        Ok(made)
    }
}

fn run(callee: Callee, constants: u64, operands: &[&Array], at: At, f: Body<'_>) -> Result<Vec<Array>> {
    let types: Vec<&ShardedType> = operands.iter().map(|a| a.sharded()).collect();
    let mut undecided = None;
    let loc = context::loc(at);
    let prepared = Key::new(callee.name, constants, &types).program(|| {
        let mesh = common_mesh(types.iter().copied(), &loc)?;
        let (finished, results) = module(callee, &types, mesh, at, f, None)?;
        if results.ambiguity.is_some() {
            undecided = Some((finished.module, results));
            return Err(Error::new([]));
        }
        let sum = results.is_sum.then(|| (finished.module.clone(), results.sums[0].clone()));
        Ok(Prepared { sum, ..Prepared::new(finished, runtime::compile)? })
    });
    match (prepared, undecided) {
        (_, Some((module, results))) => Ok(wait(module, results, operands, at)),
        (prepared, None) => {
            let prepared = prepared?;
            prepared.report(Some(&loc));
            match &prepared.sum {
                Some(_) => Ok(vec![sum(prepared, operands, at)?]),
                None => prepared.execute(prepared.lend(operands, at)?, at).map_err(|e| e.of_check_at(&loc)),
            }
        }
    }
}

pub(crate) struct Prepared {
    pub compiled: Arc<Compiled>,
    /// For each result, its stated layout ([`Finished::results`]), or `None` if only the buffers of the results are
    /// used.
    results: Vec<Option<base::Sharding>>,
    /// `Some` if the program has warnings: the warnings and the program that they refer to.
    warned: Option<(Warned, Module)>,
    /// `Some` for a library function whose only result is a sum over devices that is reduced by default: the program
    /// before partitioning, and the axes over which the result may be left unreduced.
    sum: Option<(Module, Vec<AxisRef>)>,
    /// The bytes that the program takes, estimated.
    pub bytes: usize,
}

impl Prepared {
    pub fn new(finished: Finished, how: impl FnOnce(&Module) -> Result<Arc<Compiled>>) -> Result<Prepared> {
        let compiled = how(&finished.module)?;
        let bytes = program_bytes(&finished.module);
        let warned = (!finished.warnings.is_empty()).then(|| (Warned::new(finished.warnings), finished.module));
        Ok(Prepared { compiled, results: finished.results, warned, sum: None, bytes })
    }

    /// Reports that a program with warnings runs, as [`explicit::report`] does. For a library function, `called` is the
    /// call.
    pub fn report(&self, called: Option<&base::Loc>) {
        if let Some((warned, module)) = &self.warned {
            explicit::report(warned, module, called);
        }
    }

    /// Returns the values of the operands, each in the layout that the program expects. Fails if an operand has no
    /// value, or if its value cannot be made or moved.
    pub fn lend(&self, operands: &[&Array], at: At) -> Result<Vec<Argument>> {
        let inputs = &self.compiled.signature().inputs;
        let lend = |(a, input): (&&Array, &ShardedType)| a.handle_as(input.sharding.as_ref(), at).map(Argument::Lent);
        operands.iter().zip(inputs).map(lend).collect()
    }

    pub fn execute(&self, args: Vec<Argument>, at: At) -> Result<Vec<Array>> {
        let results = self.compiled.execute(args)?.into_iter().zip(&self.results);
        Ok(results.map(|(h, stated)| Array::stated_value(h, stated.as_ref(), at)).collect())
    }
}

/// Returns results that are made when `.shard` states their layout. The program runs again for each of them.
fn wait(module: Module, results: Traced, operands: &[&Array], at: At) -> Vec<Array> {
    let ambiguity = results.ambiguity.expect("only an ambiguous result waits");
    let results_count = results.types.len();
    let module = Arc::new(module);
    let operands: Vec<Array> = operands.iter().map(|&a| a.clone()).collect();
    let array = |(index, (ty, sums)): (usize, (ShardedType, Vec<AxisRef>))| {
        let (module, operands) = (module.clone(), operands.clone());
        let make = move |sharding: &base::Sharding| {
            let mut module = Module::clone(&module);
            let main = module.funcs.iter_mut().next().expect("a traced function");
            main.result_shardings[index] = Some(sharding.canonical());
            let results = vec![None; results_count];
            let finished = Finished { module, captured: vec![], results, warnings: vec![] };
            let prepared = Prepared::new(finished, runtime::compile)?;
            let made = prepared.execute(prepared.lend(&operands.iter().collect::<Vec<_>>(), at)?, at)?;
            made.into_iter().nth(index).expect("as many as were traced").handle(at).map(Made::Value)
        };
        Array::undecided(ty, Decide { make: Arc::new(make), sums }, ambiguity.clone(), at)
    };
    results.types.into_iter().zip(results.sums).enumerate().map(array).collect()
}

/// Returns a sum over devices, which is reduced when it is used. It uses the operands as they are now. `.shard` can
/// leave it unreduced. Fails if an operand has no value, or if its value cannot be made or moved.
fn sum(prepared: Arc<Prepared>, operands: &[&Array], at: At) -> Result<Array> {
    let signature = prepared.compiled.signature();
    let inputs = operands.iter().zip(&signature.inputs);
    let lent: Vec<ArrayHandle> =
        inputs.map(|(a, input)| a.handle_as(input.sharding.as_ref(), at)).collect::<Result<_>>()?;
    let mut ty = signature.outputs[0].clone();
    ty.sharding = ty.sharding.map(|own| as_stated(own, prepared.results[0].as_ref()));
    let lend = |lent: &[ArrayHandle]| lent.iter().cloned().map(Argument::Lent).collect();
    let sums = prepared.sum.as_ref().map_or(vec![], |(_, sums)| sums.clone());
    let first = |made: Vec<ArrayHandle>| made.into_iter().next().expect("one result");
    let (program, args) = (prepared.clone(), lent.clone());
    let take = move || program.compiled.execute(lend(&args)).map(first);
    let make = move |sharding: &base::Sharding| -> Result<Made> {
        let mut module = prepared.sum.as_ref().expect("it is a sum").0.clone();
        let main = module.funcs.iter_mut().next().expect("a traced function");
        let result = main.body.results()[0];
        main.body.value_mut(result).sharding = None;
        main.result_shardings[0] = Some(sharding.canonical());
        runtime::compile(&module)?.execute(lend(&lent)).map(first).map(Made::Value)
    };
    Ok(Array::waiting_sum(ty, Sum { take: Box::new(take), decide: Decide { make: Arc::new(make), sums } }, at))
}

/// The results of a function that was traced as a program of its own.
struct Traced {
    types: Vec<ShardedType>,
    /// The reasons why `.shard` has to state the layouts of results, if it has to.
    ambiguity: Option<Mistakes>,
    /// True if the only result is a sum over devices that may be reduced without asking.
    is_sum: bool,
    /// For each result, the axes over which its layout may be unreduced.
    sums: Vec<Vec<AxisRef>>,
}

/// Traces a function of arguments of these types as a program of its own. If `out` is a layout, the results get it.
/// Also returns the types of the results, and why their layouts are not decided, if that is so. Fails with the mistakes
/// of the function.
fn module(
    callee: Callee,
    types: &[&ShardedType],
    mesh: Option<Mesh>,
    at: At,
    f: Body<'_>,
    out: Option<&base::Sharding>,
) -> Result<(Finished, Traced)> {
    let loc = context::loc(at);
    let (mut trace, results) = trace::run(callee.name, mesh, loc.clone(), || {
        let args: Vec<Array> = types.iter().map(|ty| number_or_argument(ty, &loc, at)).collect();
        let out = explicit::function(callee, || f(&args));
        out.iter().try_for_each(|a| a.check().map(|_| ()))?;
        Ok(out)
    })?;
    let traced = results.iter().filter_map(Array::traced);
    let ambiguities: Vec<Mistakes> = traced
        .filter_map(|v| match out {
            Some(out) => {
                explicit::decide(&mut trace, v, out);
                None
            }
            None => explicit::undecided(&trace, v).map(Mistakes::one),
        })
        .collect();
    let is_sum = out.is_none() && matches!(&results[..], [a] if explicit::is_sum(&trace, a));
    let sums = results.iter().map(|a| a.traced().map_or(vec![], |v| explicit::sums(&trace, v))).collect();
    let ambiguity = Mistakes::join(&ambiguities);
    if ambiguity.is_some() {
        results.iter().filter_map(Array::traced).for_each(|v| explicit::forget(&mut trace, v));
    }
    let values = results.iter().map(|a| trace.operand(a, &loc)).collect::<Result<Vec<_>, _>>().map_err(Error::one)?;
    let types = results.iter().map(|a| a.sharded().clone()).collect();
    let shardings = vec![out.cloned(); values.len()];
    Ok((trace.finish(&values, shardings, &loc), Traced { types, ambiguity, is_sum, sums }))
}

pub(crate) fn argument(ty: &ShardedType, loc: &base::Loc, at: At) -> Array {
    let traced = trace::with(|t: &mut Trace| t.arg(ty, loc.clone()));
    Array::of_traced(traced, at)
}

/// Adds an argument. The layout of a scalar that is not on a mesh is left to the compiler.
fn number_or_argument(ty: &ShardedType, loc: &base::Loc, at: At) -> Array {
    let arg = argument(ty, loc, at);
    if ty.sharding.is_none() && ty.ty.rank() == 0 {
        trace::with(|t| t.forget_sharding(arg.traced().expect("an argument is traced")));
        return arg.with_current_type();
    }
    arg
}

/// Returns the mesh of the types that are sharded, or `None` if none is.
///
/// Errors: `mesh-mismatch` if they have different meshes.
pub(crate) fn common_mesh<'a>(
    types: impl IntoIterator<Item = &'a ShardedType>,
    loc: &base::Loc,
) -> Result<Option<Mesh>> {
    let mut common: Option<(Mesh, &ShardedType)> = None;
    for ty in types {
        let Some(sharding) = &ty.sharding else { continue };
        match &common {
            Some((mesh, _)) if mesh.fits(&Mesh(sharding.mesh.clone())) => {}
            Some((mesh, first)) => {
                return Err(Error::one(mistakes::mesh_mismatch(mesh, first, &Mesh(sharding.mesh.clone()), ty, loc)));
            }
            None => common = Some((Mesh(sharding.mesh.clone()), ty)),
        }
    }
    Ok(common.map(|(mesh, _)| mesh))
}

/// Creates an array without operands by tracing `f`. In a trace, its ops are appended at once. Outside of a trace, they
/// run as a program of their own when the array is needed.
#[track_caller]
pub(crate) fn create(
    name: &'static str,
    constants: impl Hash,
    ty: shardwise_ir::TensorType,
    f: impl Fn() -> Array + Send + Sync + 'static,
) -> Array {
    create_from(name, constants, [], ty, move |_| f())
}

/// Creates an array from other arrays as [`create`] does: random numbers from a key. If an operand is a mistake or a
/// type without a value, [`call`] runs the function instead.
#[track_caller]
pub(crate) fn create_from<const N: usize>(
    name: &'static str,
    constants: impl Hash,
    operands: [&Array; N],
    ty: shardwise_ir::TensorType,
    f: impl Fn(&[Array; N]) -> Array + Send + Sync + 'static,
) -> Array {
    let at = context::caller(Location::caller());
    let plain = operands.iter().all(|a| !a.is_wrong() && !a.is_type_only());
    if trace::is_tracing() || !plain {
        if trace::is_tracing() && plain && trace::with(|t| t.explicit.is_on()) {
            let owned = operands.map(Clone::clone);
            let made = context::within(at, || explicit::function(maker(name), || vec![f(&owned)]));
            return made.into_iter().next().expect("one result");
        }
        return context::within(at, || call(name, constants, operands, f));
    }
    let mut hasher = DefaultHasher::new();
    constants.hash(&mut hasher);
    let constants = hasher.finish();
    let operands = operands.map(Clone::clone);
    let make = move |sharding: Option<&base::Sharding>| -> Result<ArrayHandle> {
        context::within(at, || make_created(name, constants, &operands, sharding, at, &f))
    };
    Array::deferred(ShardedType { ty, sharding: None }, Arc::new(make), at)
}

fn make_created<const N: usize>(
    name: &'static str,
    constants: u64,
    operands: &[Array; N],
    sharding: Option<&base::Sharding>,
    at: At,
    f: &impl Fn(&[Array; N]) -> Array,
) -> Result<ArrayHandle> {
    let mut hasher = DefaultHasher::new();
    (constants, sharding).hash(&mut hasher);
    let mesh = sharding.map(|s| Mesh(s.mesh.clone()));
    let operands: Vec<&Array> = operands.iter().collect();
    let types: Vec<&ShardedType> = operands.iter().map(|a| a.sharded()).collect();
    let prepared = Key::new(name, hasher.finish(), &types).program(|| {
        let mut body = |x: &[Array]| vec![f(x.try_into().expect("as many as were given"))];
        let callee = if sharding.is_some() { maker(name) } else { name.into() };
        Prepared::new(module(callee, &types, mesh, at, &mut body, sharding)?.0, runtime::compile)
    })?;
    let made = prepared.execute(prepared.lend(&operands, at)?, at)?.pop().expect("one result");
    made.handle(at)
}
