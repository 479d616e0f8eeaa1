//! Between the array functions and what runs them: partitioning, the engine, and the executables' cache.

use crate::cache::{Cache, constant_bytes, program_bytes};
use crate::function::Memory;
use crate::program::Communication;
use crate::{Error, Result, limits, profile};
use shardwise_base::{self as base, Literal};
use shardwise_engine::{Argument, ArrayHandle, Engine, Executable, ShardedType, Signature};
use shardwise_host::HostEngine;
use shardwise_ir::text::PrintOptions;
use shardwise_ir::{Body, Module, TensorType};
use shardwise_spmd::Partitioned;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// A program that can run, and the per-device module that it was made from.
pub(crate) struct Compiled {
    source: Module,
    executable: Arc<dyn Executable>,
    partitioned: Partitioned,
}

impl Compiled {
    pub fn signature(&self) -> &Signature {
        &self.partitioned.signature
    }

    pub fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>> {
        if !profile::is_on() {
            return Ok(self.executable.execute(args)?);
        }
        let (results, times) = self.executable.profile(args)?;
        profile::add(times);
        Ok(results)
    }

    pub fn text(&self) -> String {
        text(&self.partitioned.module)
    }

    pub fn hlo(&self) -> String {
        shardwise_spmd::hlo::print(&self.partitioned.module)
    }

    /// What the partitioner doubts.
    pub fn warnings(&self) -> &base::Diagnostics {
        &self.partitioned.warnings
    }

    pub fn communication(&self) -> Communication {
        Communication::of_table(&self.partitioned.communication)
    }

    /// Of a run to which the arguments at these positions are given away.
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

/// Bytes of one device's part.
fn local_bytes(ty: &ShardedType) -> usize {
    let shape = ty.sharding.as_ref().map_or_else(|| ty.ty.shape.clone(), |s| s.local_shape(&ty.ty.shape));
    shape.iter().product::<usize>() * ty.ty.dtype.storage_bytes()
}

/// Bytes of the largest value of a body.
fn largest_bytes(body: &Body) -> usize {
    let made = body.walk().into_iter().flat_map(|op| body.op(op).results.to_vec());
    let values = body.args().iter().copied().chain(made);
    values.filter_map(|v| body.ty(v).as_tensor().map(|ty| ty.bytes() as usize)).max().unwrap_or(0)
}

/// The engine that everything runs on: the embedded one, with as many virtual devices as a mesh has.
pub(crate) fn engine() -> &'static dyn Engine {
    static ENGINE: LazyLock<HostEngine> = LazyLock::new(HostEngine::default);
    &*ENGINE
}

/// Programs by the hash of their structure, whatever lines they came from.
static PROGRAMS: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Programs {
    /// All that somebody holds.
    held: HashMap<u64, Weak<Compiled>>,
    held_at_last_sweep: usize,
    /// Those that stay when nobody does: they have next to no constants, so that a dropped program gives back its data.
    kept: Cache<u64, Arc<Compiled>>,
}

/// Bytes of constants of a program that is kept, at most.
const KEPT_CONSTANT_BYTES: usize = 1 << 10;

impl Programs {
    fn get(&self, hash: u64) -> Option<Arc<Compiled>> {
        self.kept.get(&hash).cloned().or_else(|| self.held.get(&hash)?.upgrade())
    }

    /// Gives what had to go.
    #[must_use = "what is dropped may be large"]
    fn insert(&mut self, hash: u64, program: &Arc<Compiled>) -> HashMap<u64, Arc<Compiled>> {
        if self.held.len() >= 2 * self.held_at_last_sweep.max(1024) {
            self.held.retain(|_, p| p.strong_count() > 0);
            self.held_at_last_sweep = self.held.len();
        }
        self.held.insert(hash, Arc::downgrade(program));
        if constant_bytes(&program.source) > KEPT_CONSTANT_BYTES {
            return HashMap::new();
        }
        self.kept.insert(hash, program.clone(), program_bytes(&program.source))
    }
}

/// Partitions and plans a program, or finds it planned.
///
/// What was found may have been written at other lines: [`compile_own`] is for those who ask.
pub(crate) fn compile(module: &Module) -> Result<Arc<Compiled>> {
    match planned(module) {
        Some(found) => Ok(found),
        None => plan(module, partition(module)?),
    }
}

/// Partitions a program, with its own lines; the plan may be shared.
pub(crate) fn compile_own(module: &Module) -> Result<Arc<Compiled>> {
    let partitioned = partition(module)?;
    match planned(module) {
        Some(found) => {
            Ok(Arc::new(Compiled { source: module.clone(), executable: found.executable.clone(), partitioned }))
        }
        None => plan(module, partitioned),
    }
}

/// The plan of the same program. Another program of the same hash is none.
fn planned(module: &Module) -> Option<Arc<Compiled>> {
    let found = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).get(module.structure_hash())?;
    shardwise_ir::difference(&found.source, module, false).is_none().then_some(found)
}

fn plan(module: &Module, partitioned: Partitioned) -> Result<Arc<Compiled>> {
    let executable = engine().compile(&partitioned.module)?;
    let compiled = Arc::new(Compiled { source: module.clone(), executable, partitioned });
    let hash = module.structure_hash();
    let gone = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, &compiled);
    drop(gone);
    Ok(compiled)
}

fn partition(module: &Module) -> Result<Partitioned> {
    Ok(shardwise_spmd::partition(module, &mut Default::default())?)
}

/// What a program moves, without planning it.
pub(crate) fn communication(module: &Module) -> Result<Communication> {
    Ok(Communication::of_table(&table(module)?))
}

pub(crate) fn table(module: &Module) -> Result<shardwise_spmd::Communication> {
    limits::run_at(|| module.loc.clone(), || Ok(partition(module)?.communication))
}

/// The text after each pass, with the pass's name; first of the program itself.
pub(crate) fn stages(module: &Module) -> Result<Vec<(String, String)>> {
    let mut stages = vec![];
    let mut keep = |_: usize, pass: &str, module: &Module| stages.push((pass.to_string(), text(module)));
    let mut options = shardwise_spmd::Options { dump: Some(&mut keep), ..Default::default() };
    shardwise_spmd::partition(module, &mut options)?;
    Ok(stages)
}

/// Lays a literal out.
pub(crate) fn put(value: &Literal, sharding: Option<&base::Sharding>) -> Result<ArrayHandle> {
    let ty = TensorType::new(value.dtype(), value.shape());
    Ok(engine().put(value, &ShardedType { ty, sharding: sharding.map(base::Sharding::canonical) })?)
}

/// The same array in another layout.
pub(crate) fn lay_out(array: ArrayHandle, sharding: Option<&base::Sharding>) -> Result<ArrayHandle> {
    let own = array.sharded_type().sharding.as_ref();
    match (own, sharding) {
        (None, None) => Ok(array),
        (Some(a), Some(b)) if a.same_layout(b) && a.mesh == b.mesh => Ok(array),
        (Some(a), Some(b)) if a.mesh.same_devices(&b.mesh) && !a.same_layout(b) => move_shards(array, b),
        _ => put(&array.to_literal(), sharding),
    }
}

/// Moves shards between devices of one mesh, by the program that the partitioner makes of this.
fn move_shards(array: ArrayHandle, to: &base::Sharding) -> Result<ArrayHandle> {
    let module = move_module(array.sharded_type(), to);
    let mut moved = compile(&module)?.execute(vec![Argument::Lent(array)])?;
    moved.pop().ok_or_else(|| Error::new([]))
}

/// The identity, from one layout to another.
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

/// The text of a module.
pub(crate) fn text(module: &Module) -> String {
    shardwise_ir::text::print(module, &PrintOptions::default().without_varying())
}

/// Reads a module.
pub(crate) fn parse(text: &str) -> Result<Module> {
    Ok(shardwise_ir::text::parse("program", text, &shardwise_ops::OPS)?)
}
