//! Connects the array functions with the partitioner, the engine, and the cache of executables.

use crate::cache::{Cache, constant_bytes, program_bytes};
use crate::function::{At, Memory};
use crate::program::Communication;
use crate::{Error, Explanation, Result, Topology, debug, explain, limits, profile};
use shardwise_base::{self as base, Literal};
use shardwise_engine::{Argument, ArrayHandle, Engine, Executable, NumberChecks, ShardedType, Signature};
use shardwise_host::HostEngine;
use shardwise_ir::text::PrintOptions;
use shardwise_ir::{Body, Module, TensorType};
use shardwise_sim::Overlap;
use shardwise_spmd::{Context, Partitioned};
use shardwise_view::Timeline;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// The machine for which a program is scheduled, and the collectives that run beside other ops.
pub(crate) type Target = (Topology, Overlap);

pub(crate) struct Compiled {
    /// The program before it was partitioned.
    source: Module,
    executable: Arc<dyn Executable>,
    partitioned: Partitioned,
    /// The program with checks for numbers that are not finite, made when it first runs with them.
    checked: Mutex<Option<(NumberChecks, Arc<dyn Executable>)>>,
}

impl Compiled {
    fn new(source: &Module, executable: Arc<dyn Executable>, partitioned: Partitioned) -> Compiled {
        Compiled { source: source.clone(), executable, partitioned, checked: Mutex::default() }
    }

    /// Returns the types of the arguments and results.
    pub fn signature(&self) -> &Signature {
        &self.partitioned.signature
    }

    pub fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>> {
        let checks = debug::checks();
        let checked = if checks.any() { Some(self.checked(checks)?) } else { None };
        let executable = checked.as_ref().unwrap_or(&self.executable);
        if !profile::is_on() {
            return Ok(executable.execute(args)?);
        }
        let (results, times) = executable.profile(args)?;
        profile::add(self.name(), times);
        Ok(results)
    }

    fn checked(&self, checks: NumberChecks) -> Result<Arc<dyn Executable>> {
        let mut known = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, executable)) if *of == checks => Ok(executable.clone()),
            _ => {
                let executable = engine().compile_checked(&self.partitioned.module, checks)?;
                *known = Some((checks, executable.clone()));
                Ok(executable)
            }
        }
    }

    /// Returns the name of the program: that of its module.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    pub fn text(&self) -> String {
        text(&self.partitioned.module)
    }

    pub fn hlo(&self) -> String {
        shardwise_spmd::hlo::print(&self.partitioned.module)
    }

    /// Returns the warnings of the partitioner.
    pub fn warnings(&self) -> &base::Diagnostics {
        &self.partitioned.warnings
    }

    /// Predicts when each op runs on a machine. Fails as [`Topology::simulate`] does.
    pub fn simulate(&self, on: &Topology, overlap: Overlap, at: At) -> Result<Timeline> {
        on.simulate(&self.partitioned.module, overlap, at)
    }

    /// Explains the communication of the program. Fails as [`explain::of_module`] does.
    pub fn explain(&self, on: Option<&Topology>, overlap: Overlap, at: At) -> Result<Explanation> {
        explain::of_module(&self.source, on, overlap, at)
    }

    pub fn communication(&self) -> Communication {
        Communication::of_table(&self.partitioned.communication)
    }

    /// Returns the memory of a run to which the arguments at the positions `donated` are donated. The peak is 0 if the
    /// engine does not know it.
    pub fn memory(&self, donated: &[usize]) -> Memory {
        let bytes = |types: &[ShardedType]| types.iter().map(local_bytes).sum();
        Memory {
            argument_bytes: bytes(&self.signature().inputs),
            result_bytes: bytes(&self.signature().outputs),
            peak_bytes: self.executable.memory(donated).map_or(0, |needed| needed.peak_bytes),
            largest_bytes: self.partitioned.module.funcs.iter().map(|f| largest_bytes(&f.body)).max().unwrap_or(0),
        }
    }
}

fn local_bytes(ty: &ShardedType) -> usize {
    let shape = ty.sharding.as_ref().map_or_else(|| ty.ty.shape.clone(), |s| s.local_shape(&ty.ty.shape));
    shape.iter().product::<usize>() * ty.ty.dtype.storage_bytes()
}

fn largest_bytes(body: &Body) -> usize {
    let made = body.walk().into_iter().flat_map(|op| body.op(op).results.to_vec());
    let values = body.args().iter().copied().chain(made);
    values.filter_map(|v| body.ty(v).as_tensor().map(|ty| ty.bytes() as usize)).max().unwrap_or(0)
}

/// Returns the engine: the embedded one, with as many virtual devices as a mesh has.
pub(crate) fn engine() -> &'static dyn Engine {
    static ENGINE: LazyLock<HostEngine> = LazyLock::new(HostEngine::default);
    &*ENGINE
}

/// Programs by the hash of their structure, which ignores source locations.
static PROGRAMS: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Programs {
    /// The programs that were planned here and are still in use. Of several with one hash, the last one. Entries of
    /// programs that have been dropped are removed from time to time.
    held: HashMap<u64, Weak<Compiled>>,
    held_at_last_sweep: usize,
    /// Programs that stay when they are no longer in use. They have few constants, so that dropping a program frees its
    /// data.
    kept: Cache<u64, Arc<Compiled>>,
}

/// The largest number of bytes of constants of a program that stays in the cache.
const KEPT_CONSTANT_BYTES: usize = 1 << 10;

impl Programs {
    fn get(&self, hash: u64) -> Option<Arc<Compiled>> {
        self.kept.get(&hash).cloned().or_else(|| self.held.get(&hash)?.upgrade())
    }

    /// Inserts a program into `held`, and also into `kept` if its constants have at most [`KEPT_CONSTANT_BYTES`].
    /// Returns the programs that were removed from `kept` for it.
    #[must_use = "the removed programs may be large, and are dropped by the caller"]
    fn insert(&mut self, hash: u64, program: &Arc<Compiled>) -> Vec<Arc<Compiled>> {
        if self.held.len() >= 2 * self.held_at_last_sweep.max(1024) {
            self.held.retain(|_, p| p.strong_count() > 0);
            self.held_at_last_sweep = self.held.len();
        }
        self.held.insert(hash, Arc::downgrade(program));
        if constant_bytes(&program.source) > KEPT_CONSTANT_BYTES {
            return vec![];
        }
        self.kept.insert(hash, program.clone(), program_bytes(&program.source))
    }
}

/// Partitions and plans a program. While no checks for numbers are on, returns the plan of an equal program instead if
/// there is one. Fails if the program cannot be partitioned or planned.
///
/// The program that is found may have other source locations. Use [`compile_own`] for reports.
pub(crate) fn compile(module: &Module) -> Result<Arc<Compiled>> {
    // The errors of checks name the program's own lines.
    match planned(module).filter(|_| !debug::checks().any()) {
        Some(found) => Ok(found),
        None => plan(module, partition(module)?),
    }
}

/// Partitions and plans a program. All parts of the result have the program's own source locations, except the plan,
/// which may be that of an equal program. Fails as [`compile`] does.
pub(crate) fn compile_own(module: &Module) -> Result<Arc<Compiled>> {
    let partitioned = partition(module)?;
    match planned(module) {
        Some(found) => Ok(Arc::new(Compiled::new(module, found.executable.clone(), partitioned))),
        None => plan(module, partitioned),
    }
}

/// Partitions a program, hides its collectives behind other ops as the overlap says, and plans it. All parts of the
/// result have the program's own source locations. Fails as [`compile`] does, and as [`Topology::schedule`] does.
pub(crate) fn compile_for(module: &Module, (topology, overlap): &Target, at: At) -> Result<Arc<Compiled>> {
    let partitioned = partition_for(module, Some(topology.checked(at)?))?;
    let scheduled = topology.schedule(&partitioned.module, *overlap, at)?.module;
    let executable = engine().compile(&scheduled)?;
    let communication = shardwise_spmd::communication(&scheduled);
    let partitioned = Partitioned { module: scheduled, communication, ..partitioned };
    Ok(Arc::new(Compiled::new(module, executable, partitioned)))
}

/// Returns an equal program from the cache, with its plan, or `None` if there is none. Source locations are not
/// compared. A different program with the same hash is not returned.
fn planned(module: &Module) -> Option<Arc<Compiled>> {
    let found = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).get(module.structure_hash())?;
    shardwise_ir::difference(&found.source, module, false).is_none().then_some(found)
}

#[cfg(test)]
thread_local! {
    pub(crate) static PLANNED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn plan(module: &Module, partitioned: Partitioned) -> Result<Arc<Compiled>> {
    #[cfg(test)]
    PLANNED.set(PLANNED.get() + 1);
    let executable = engine().compile(&partitioned.module)?;
    let compiled = Arc::new(Compiled::new(module, executable, partitioned));
    let hash = module.structure_hash();
    let gone = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, &compiled);
    drop(gone);
    Ok(compiled)
}

/// The pass after which all values have the layouts that the compiler has chosen.
const LAYOUTS_CHOSEN: &str = "reshard";

/// Partitions a program, and shows the layouts that it asks for ([`debug::inspect()`]). Fails if a pass does.
fn partition(module: &Module) -> Result<Partitioned> {
    partition_for(module, None)
}

/// Partitions a program as [`partition`] does, for a topology, or else for the one that its mesh states. Fails if a
/// pass does.
fn partition_for(module: &Module, topology: Option<shardwise_sim::Topology>) -> Result<Partitioned> {
    let context = context(topology);
    let Some(mut waiting) = debug::waiting(module) else {
        let mut options = shardwise_spmd::Options { context, ..Default::default() };
        return Ok(shardwise_spmd::partition(module, &mut options)?);
    };
    let mut read = |_: usize, pass: &str, module: &Module| {
        if pass == LAYOUTS_CHOSEN {
            waiting.read(module);
        }
    };
    let mut options = shardwise_spmd::Options { dump: Some(&mut read), context, ..Default::default() };
    let partitioned = shardwise_spmd::partition(module, &mut options)?;
    waiting.show(module);
    Ok(partitioned)
}

/// Returns the options of passes that choose layouts for a topology, or else for the one that the mesh states.
fn context(topology: Option<shardwise_sim::Topology>) -> Context {
    Context::with_rates(shardwise_sim::rates_on(topology))
}

/// Returns the chips of the topology that a mesh states. Returns `None` if it states none, if the machine is not known
/// or has no such grid, or if the number of its devices is not that of the mesh.
pub(crate) fn chips(mesh: &base::Mesh) -> Option<shardwise_view::Chips> {
    let topology = shardwise_sim::Topology::of_mesh(mesh)?.ok()?;
    (topology.device_count() == mesh.size()).then(|| topology.chips())
}

pub(crate) fn communication(module: &Module) -> Result<Communication> {
    Ok(Communication::of_table(&table(module)?))
}

pub(crate) fn table(module: &Module) -> Result<shardwise_spmd::Communication> {
    limits::run_at(|| module.loc.clone(), || Ok(partition(module)?.communication))
}

/// Returns the name of each pass and the text of the program after it. The first entry, `input`, is the program itself.
/// Fails if a pass does.
pub(crate) fn stages(module: &Module) -> Result<Vec<(String, String)>> {
    let mut stages = vec![];
    let mut keep = |_: usize, pass: &str, module: &Module| stages.push((pass.to_string(), text(module)));
    let mut options = shardwise_spmd::Options { dump: Some(&mut keep), context: context(None), ..Default::default() };
    shardwise_spmd::partition(module, &mut options)?;
    Ok(stages)
}

/// Places a literal on the devices of the sharding's mesh, or on one device without a mesh if there is no sharding.
/// Fails if the engine cannot hold the array.
pub(crate) fn put(value: &Literal, sharding: Option<&base::Sharding>) -> Result<ArrayHandle> {
    let ty = TensorType::new(value.dtype(), value.shape());
    Ok(engine().put(value, &ShardedType { ty, sharding: sharding.map(base::Sharding::canonical) })?)
}

/// Returns the array in the layout `sharding`, or on one device without a mesh for `None`. An array that has this
/// layout is returned as it is. Fails if the engine cannot hold the array, or if the program that moves its shards
/// fails.
pub(crate) fn lay_out(array: ArrayHandle, sharding: Option<&base::Sharding>) -> Result<ArrayHandle> {
    let own = array.sharded_type().sharding.as_ref();
    match (own, sharding) {
        (None, None) => Ok(array),
        (Some(a), Some(b)) if a.same_layout(b) && a.mesh == b.mesh => Ok(array),
        (Some(a), Some(b)) if a.mesh.same_devices(&b.mesh) && !a.same_layout(b) => move_shards(array, b),
        _ => put(&array.to_literal(), sharding),
    }
}

/// Returns the array in the layout `to`, whose mesh has the same devices. Runs a program that the partitioner makes for
/// this, and fails if it does.
fn move_shards(array: ArrayHandle, to: &base::Sharding) -> Result<ArrayHandle> {
    let module = move_module(array.sharded_type(), to);
    let mut moved = compile(&module)?.execute(vec![Argument::Lent(array)])?;
    moved.pop().ok_or_else(|| Error::new([]))
}

fn move_module(ty: &ShardedType, to: &base::Sharding) -> Module {
    let mut module = Module::new("shard", &shardwise_ops::OPS);
    let mut func = shardwise_ir::Func::new("main", base::Loc::UNKNOWN);
    let tensor = shardwise_ir::Type::Tensor(ty.ty.clone());
    let mut b = shardwise_ir::Builder::new(&mut func.body);
    let x = b.arg(tensor.clone());
    b.set_sharding(x, ty.sharding.clone());
    b.ret([x]);
    func.arg_attrs = vec![shardwise_ir::Attrs::new()];
    func.result_types = vec![tensor];
    func.result_attrs = vec![shardwise_ir::Attrs::new()];
    func.result_shardings = vec![Some(to.canonical())];
    module.meshes.push(to.mesh.clone());
    module.funcs.push(func);
    module
}

/// Returns the text of a module, without its varying axes.
pub(crate) fn text(module: &Module) -> String {
    shardwise_ir::text::print(module, &PrintOptions::default().without_varying())
}

pub(crate) fn parse(text: &str) -> Result<Module> {
    Ok(shardwise_ir::text::parse("program", text, &shardwise_ops::OPS)?)
}
