//! Between the array functions and what runs them: partitioning, the engine, and the executables' cache.

use crate::{Error, Result};
use shardwise_base::{self as base, Literal};
use shardwise_engine::{Argument, ArrayHandle, Engine, Executable, Limits, ShardedType, Signature};
use shardwise_ir::Module;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A program that can run, and the module that it was made from.
pub(crate) struct Compiled {
    executable: Arc<dyn Executable>,
}

impl Compiled {
    pub fn signature(&self) -> &Signature {
        self.executable.signature()
    }

    pub fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>> {
        Ok(self.executable.execute(args)?)
    }
}

/// The engine that everything runs on.
pub(crate) fn engine() -> &'static dyn Engine {
    &crate::whole::Whole
}

/// Programs by their structure, whatever lines they came from.
static PROGRAMS: LazyLock<Mutex<HashMap<u64, Arc<Compiled>>>> = LazyLock::new(Mutex::default);

/// More programs than this, and the cache starts anew.
const CACHE_LIMIT: usize = 4096;

/// Partitions and plans a program, or finds it planned.
pub(crate) fn compile(module: &Module) -> Result<Arc<Compiled>> {
    let hash = module.structure_hash();
    if let Some(found) = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).get(&hash) {
        return Ok(found.clone());
    }
    let executable = engine().compile(module, Limits::default())?;
    let compiled = Arc::new(Compiled { executable });
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if programs.len() >= CACHE_LIMIT {
        programs.clear();
    }
    programs.insert(hash, compiled.clone());
    Ok(compiled)
}

/// Lays a literal out.
pub(crate) fn put(value: &Literal, sharding: Option<&base::Sharding>) -> Result<ArrayHandle> {
    let ty = shardwise_ir::TensorType::new(value.dtype(), value.shape());
    Ok(engine().put(value, &ShardedType { ty, sharding: sharding.cloned() })?)
}

/// The same array in another layout.
pub(crate) fn lay_out(array: ArrayHandle, sharding: Option<&base::Sharding>) -> Result<ArrayHandle> {
    let own = array.sharded_type().sharding.as_ref();
    let is_same = match (own, sharding) {
        (None, None) => true,
        (Some(a), Some(b)) => a.same_layout(b),
        _ => false,
    };
    if is_same {
        return Ok(array);
    }
    match (own, sharding) {
        (Some(a), Some(b)) if a.mesh.same_devices(&b.mesh) => move_shards(array, b),
        _ => put(&array.to_literal(), sharding),
    }
}

/// Moves shards between devices of one mesh, by the program that the partitioner makes of this.
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
