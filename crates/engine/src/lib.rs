//! What every engine offers: arrays laid out on a mesh, and programs that map arrays to arrays.
//!
//! The trait is array-level, not buffer-level: an engine that holds one buffer for all devices with equal shards need
//! never give that up. It knows no engine.
//!
//! An engine takes *localized* modules: per-device types, collectives over mesh axes. How the arguments and results of
//! `@main` lie on the mesh stands in its signature ([`Signature::of`]).
#![forbid(unsafe_code)]

pub mod layout;

use shardwise_base::{Diagnostic, Diagnostics, Literal, Sharding};
use shardwise_ir::{Attr, Attrs, Func, Module, TensorType, Type};
use std::sync::Arc;
use std::time::Duration;

/// A global array type and how it lies on the mesh; `None`: on one device.
#[derive(Clone, PartialEq, Debug)]
pub struct ShardedType {
    /// Global.
    pub ty: TensorType,
    pub sharding: Option<Sharding>,
}

/// What `@main` of a localized module takes and gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    pub inputs: Vec<ShardedType>,
    pub outputs: Vec<ShardedType>,
}

/// The attribute on an argument or result of a localized `@main` that holds its global type.
pub const GLOBAL_TYPE: &str = "shardwise.global_type";

impl Signature {
    /// Reads the signature off a localized function: the sharding of each argument and result, and its global type
    /// from [`GLOBAL_TYPE`] (absent: the type itself, not split). An error for each that is no array.
    /// Quantized arrays come and go as their integers.
    pub fn of(func: &Func) -> Result<Signature, Diagnostics> {
        let mut found = Diagnostics::default();
        let mut part = |what: &str, index: usize, ty: &Type, attrs: &Attrs, sharding: Option<&Sharding>| {
            let global = match attrs.get(GLOBAL_TYPE) {
                Some(Attr::Type(global)) => global,
                _ => ty,
            };
            let Type::Tensor(ty) = global else {
                found.push(not_an_array(func, what, index, ty));
                return None;
            };
            let ty = ty.clone().with_dtype(ty.dtype.storage());
            Some(ShardedType { ty, sharding: sharding.cloned() })
        };
        let body = &func.body;
        let args = body.args().iter().zip(&func.arg_attrs).enumerate();
        let inputs =
            args.filter_map(|(i, (&v, attrs))| part("argument", i, body.ty(v), attrs, body.sharding(v))).collect();
        let results = func.result_types.iter().zip(&func.result_attrs).zip(&func.result_shardings).enumerate();
        let outputs = results
            .filter_map(|(i, ((ty, attrs), sharding))| part("result", i, ty, attrs, sharding.as_ref()))
            .collect();
        found.or(Signature { inputs, outputs })
    }
}

fn not_an_array(func: &Func, what: &str, index: usize, ty: &Type) -> Diagnostic {
    Diagnostic::error("run-not-an-array", &func.loc, format!("{what} {index} of the program is not an array"))
        .facts(ty.to_string())
        .help("programs take and give arrays; tokens stay inside")
}

/// An array held by an engine.
pub trait EngineArray: Send + Sync {
    fn sharded_type(&self) -> &ShardedType;

    /// All elements of the whole array; of an array that is unreduced over some axes, the sum over these axes.
    fn to_literal(&self) -> Literal;

    /// What the device at `position` of the mesh's grid holds; without padding. Of an unreduced array it is a summand.
    fn shard(&self, position: usize) -> Literal;

    /// For the engine that made it.
    fn as_any(&self) -> &(dyn std::any::Any + Send + Sync);
}

/// A handle of an array; cheap to clone.
pub type ArrayHandle = Arc<dyn EngineArray>;

/// An argument of a call: an array lent, or given away to be overwritten if nobody else holds it.
pub enum Argument {
    Lent(ArrayHandle),
    Donated(ArrayHandle),
}

/// How long one instruction of a program took.
#[derive(Clone, Debug)]
pub struct InstructionTime {
    /// What ran: `stablehlo.dot_general`, `fused(multiply, add)`.
    pub name: String,
    pub loc: shardwise_base::Loc,
    /// Times it ran, instances counted once each.
    pub count: u64,
    pub total: Duration,
    pub is_collective: bool,
    /// Run by the ops' reference evaluation for want of a kernel.
    pub is_fallback: bool,
}

/// The memory of a run of a program: bytes of all devices together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunMemory {
    /// The arguments, as the program takes them.
    pub argument_bytes: usize,
    /// Constants, which the program holds from when it is planned until it is dropped.
    pub constant_bytes: usize,
    /// The most that is in use at one time: arguments, constants, temporaries, scratch memory and results.
    pub peak_bytes: usize,
}

/// A compiled program.
pub trait Executable: Send + Sync {
    fn signature(&self) -> &Signature;

    /// The memory that a run needs, to which the arguments at these positions are donated; `None` if the engine does not know
    /// before it runs the program.
    fn memory(&self, donated: &[usize]) -> Option<RunMemory>;

    fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>, Diagnostics>;

    /// The same, timing each instruction.
    fn profile(&self, args: Vec<Argument>) -> Result<(Vec<ArrayHandle>, Vec<InstructionTime>), Diagnostics>;
}

/// Something that runs programs.
///
/// An engine sets no limits of its own. It charges the [`Budget`](shardwise_base::Budget) under which it is called, and
/// returns what stopped it as a diagnostic at the op that was running.
pub trait Engine: Send + Sync {
    fn name(&self) -> &'static str;

    /// Lays an array out. Of an unreduced layout the first devices along the unreduced axes hold the shards, and the others
    /// zeros ([`layout::shard`]).
    fn put(&self, value: &Literal, ty: &ShardedType) -> Result<ArrayHandle, Diagnostics>;

    /// Lays an array out from a function of (offset, shape) of each distinct shard; no full copy is made. Unreduced layouts as
    /// in [`Engine::put`].
    fn put_shards(
        &self,
        ty: &ShardedType,
        shard: &(dyn Fn(&[usize], &[usize]) -> Literal + Sync),
    ) -> Result<ArrayHandle, Diagnostics>;

    /// Plans a localized module.
    fn compile(&self, module: &Module) -> Result<Arc<dyn Executable>, Diagnostics>;
}
