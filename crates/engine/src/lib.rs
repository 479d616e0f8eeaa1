//! The interface of engines: arrays distributed over a mesh, and programs that map arrays to arrays.
//!
//! The trait works on arrays, not on buffers, so that an engine may hold one buffer for all devices with equal shards.
//! This crate depends on no engine.
//!
//! An engine takes *localized* modules, which have per-device types and collectives over mesh axes. The signature of
//! `@main` states how its arguments and results are sharded over the mesh ([`Signature::of`]).
#![forbid(unsafe_code)]

pub mod layout;
mod numbers;
mod profile;

pub use numbers::{Found, NumberChecks};
pub use profile::{Instruction, InstructionRun, InstructionTotal, RunProfile, WorkerTime};
pub use shardwise_ir::GLOBAL_TYPE;

use layout::ShardBox;
use shardwise_base::{Diagnostic, Diagnostics, Literal, Sharding};
use shardwise_ir::{Attr, Attrs, Func, Module, TensorType, Type};
use std::sync::Arc;

/// A global array type and its layout on a mesh. The sharding is `None` if the array is not on a mesh, and where the
/// layout is not known.
#[derive(Clone, PartialEq, Debug)]
pub struct ShardedType {
    /// The global type.
    pub ty: TensorType,
    pub sharding: Option<Sharding>,
}

/// The types of the arguments and results of `@main` of a localized module.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    pub inputs: Vec<ShardedType>,
    pub outputs: Vec<ShardedType>,
}

impl Signature {
    /// Returns the signature of a localized function: the sharding of each argument and result, and its global type
    /// from [`GLOBAL_TYPE`]. If this attribute is absent or no type, the type in the function is the global type.
    /// Quantized arrays have the type of their integers.
    ///
    /// # Errors
    /// Returns a diagnostic for each argument or result that is no array.
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
        .help("make it an array: tokens and tuples can be used only inside of the program")
}

/// An array that an engine holds.
pub trait EngineArray: Send + Sync {
    /// Returns the global type of the array and its layout.
    fn sharded_type(&self) -> &ShardedType;

    /// Returns all elements of the whole array. For an array that is unreduced over some axes, this is the sum over
    /// these axes.
    fn to_literal(&self) -> Literal;

    /// Returns what the device at `position` of the mesh's grid holds, without padding: a shard, or a summand of one
    /// for an unreduced array. This is the whole array if the array has no sharding.
    fn shard(&self, position: usize) -> Literal;

    /// Copies the elements of a box of the whole array to `out`, row-major, which has their number of bytes. For an
    /// unreduced array, these are the sums. The default copies the whole array first. Engines may override this
    /// function, so that no other elements are copied.
    fn read(&self, part: &ShardBox, out: &mut [u8]) {
        out.copy_from_slice(layout::cut(&self.to_literal(), part).to_dense().raw_bytes());
    }

    /// Returns the array for downcasting by the engine that made it.
    fn as_any(&self) -> &(dyn std::any::Any + Send + Sync);
}

/// An array that an engine has allocated and that is being written, box by box. Elements that are not written are zero.
pub trait NewArray {
    /// Writes the elements of a box of the whole array, which are in row-major order.
    fn write(&mut self, part: &ShardBox, bytes: &[u8]);

    /// Returns the array.
    fn finish(self: Box<Self>) -> ArrayHandle;
}

/// A handle of an array, which is cheap to clone.
pub type ArrayHandle = Arc<dyn EngineArray>;

/// An argument of a call. The array is either lent, or donated so that it may be overwritten if there is no other
/// handle.
pub enum Argument {
    Lent(ArrayHandle),
    Donated(ArrayHandle),
}

/// The memory of one run of a program, in bytes of all devices together, as the engine charges them: it may round sizes
/// up, and counts an array once that several devices share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunMemory {
    /// The bytes of the arguments, with the layouts that the program requires. 0 if those of the arguments and the
    /// constants together cannot be counted.
    pub argument_bytes: usize,
    /// The bytes of the constants, which exist from planning until the program is dropped. 0 if `argument_bytes` cannot
    /// be counted.
    pub constant_bytes: usize,
    /// The most bytes in use at one time: arguments, constants, temporaries, scratch memory and results. This is an
    /// upper bound if the engine does not know the exact memory, for example because a value chooses a branch.
    /// `usize::MAX` if the bytes cannot be counted.
    pub peak_bytes: usize,
    /// The bytes of the results, in use after the run, without those in the memory of constants or of arguments that
    /// are not donated. An upper bound where `peak_bytes` is one. `usize::MAX` if they cannot be counted.
    pub result_bytes: usize,
}

impl RunMemory {
    /// Returns [`RunMemory::peak_bytes`] without the bytes of arguments and constants, or 0 if these are more.
    pub fn new_bytes(&self) -> usize {
        self.peak_bytes.saturating_sub(self.argument_bytes).saturating_sub(self.constant_bytes)
    }
}

/// A compiled program.
pub trait Executable: Send + Sync {
    /// Returns the types of the program's arguments and results.
    fn signature(&self) -> &Signature;

    /// Returns the memory that a run needs if the arguments at these positions are donated, or `None` if the engine
    /// does not know before it runs the program.
    fn memory(&self, donated: &[usize]) -> Option<RunMemory>;

    /// Executes the program on one argument for each input of the signature, and returns its results.
    ///
    /// # Errors
    /// Fails if an argument cannot be used, if the run is stopped, or if an op fails. An engine may also fail if
    /// devices that should hold equal parts of a result do not.
    fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>, Diagnostics>;

    /// Executes the program as [`Executable::execute`] does. Returns its results, and the times of its instructions.
    /// The profile has no instructions if the engine measures none.
    ///
    /// # Errors
    /// Fails as [`Executable::execute`] does.
    fn profile(&self, args: Vec<Argument>) -> Result<(Vec<ArrayHandle>, RunProfile), Diagnostics>;
}

/// An engine that runs programs.
///
/// An engine sets no limits of its own. It charges the [`Budget`](shardwise_base::Budget) under which it is called. If
/// the run is stopped, it returns the cause as a diagnostic at the op that was running.
pub trait Engine: Send + Sync {
    /// Returns the name by which users select the engine.
    fn name(&self) -> &'static str;

    /// Distributes an array, which must have the global type of `ty`. In an unreduced layout the first devices along
    /// the unreduced axes hold the shards and the others hold zeros, which are negative for floats ([`layout::shard`]).
    ///
    /// Stops the computation ([`Stop`](shardwise_base::Stop)) if there is no memory for the shards.
    ///
    /// # Errors
    /// Fails only if the engine refuses an array of another type.
    fn put(&self, value: &Literal, ty: &ShardedType) -> Result<ArrayHandle, Diagnostics>;

    /// Distributes an array that `shard` computes from the offset and the shape of each distinct shard, so that an
    /// engine needs no full copy. Unreduced layouts are treated as in [`Engine::put`].
    ///
    /// Stops the computation ([`Stop`](shardwise_base::Stop)) if there is no memory for the shards.
    ///
    /// # Errors
    /// Fails only if the engine refuses a shard of another shape or element type.
    fn put_shards(
        &self,
        ty: &ShardedType,
        shard: &(dyn Fn(&[usize], &[usize]) -> Literal + Sync),
    ) -> Result<ArrayHandle, Diagnostics>;

    /// Allocates an array of this type. Unreduced layouts are treated as in [`Engine::put`].
    ///
    /// Stops the computation if there is no memory for it.
    fn allocate(&self, ty: &ShardedType) -> Box<dyn NewArray>;

    /// Compiles a localized module.
    ///
    /// # Errors
    /// Fails as [`Engine::compile_checked`] does.
    fn compile(&self, module: &Module) -> Result<Arc<dyn Executable>, Diagnostics> {
        self.compile_checked(module, NumberChecks::default())
    }

    /// Compiles a localized module to a program that ends with the error `not-finite` at the first op that makes a
    /// number which `checks` refuses. Such a program may be slower, and computes the same. An op with a reducer or a
    /// comparator is checked as a whole, and the ops in these regions are not.
    ///
    /// # Errors
    /// Fails if the module has no function, if an argument or result is not an array, if the engine cannot run the
    /// module, or if there is no memory for its constants.
    fn compile_checked(&self, module: &Module, checks: NumberChecks) -> Result<Arc<dyn Executable>, Diagnostics>;
}
