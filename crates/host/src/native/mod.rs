//! Machine code that is made while a program runs.
//!
//! An interpreter takes several nanoseconds for an instruction, because the processor cannot predict where its `match`
//! jumps. Machine code has no such jump. It is made for what runs often: small programs (`crate::small`) and fused
//! kernels of simple operations (`crate::block`).
//!
//! `vectors` has the vectors of words that the code computes with, `lanes` the operations on them, and `formulas` the
//! functions that are called for some operations.
#![forbid(unsafe_code)]

mod formulas;
mod lanes;
mod vectors;

pub(crate) use formulas::formula;
pub(crate) use lanes::{Operands, Second, is_native, is_slow};
pub(crate) use vectors::{VECTOR_BYTES, Vectors, Width, flags};

use crate::simd::Level;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function, Signature, Type, UserFuncName};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use memmap2::{Mmap, MmapMut};
use std::sync::OnceLock;

/// Compiles functions.
pub(crate) struct Assembler {
    isa: &'static OwnedTargetIsa,
    context: FunctionBuilderContext,
    codegen: Context,
    bytes: Vec<u8>,
    /// The offset of each function.
    offsets: Vec<usize>,
}

impl Assembler {
    /// Returns an assembler without functions, or `None` if no machine code can be made for this machine, or if
    /// [`Level::best`] lacks AVX2.
    pub fn new() -> Option<Assembler> {
        static ISA: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
        if Level::best() < Level::Avx2 {
            return None;
        }
        let isa = ISA.get_or_init(isa).as_ref()?;
        let (context, codegen) = (FunctionBuilderContext::new(), Context::new());
        Some(Assembler { isa, context, codegen, bytes: vec![], offsets: vec![] })
    }

    /// Adds a function with arguments and results of these types. `body` builds it, and all of its blocks are complete
    /// then. Returns `None` if it cannot be compiled, which is a panic in debug builds.
    pub fn function<F>(&mut self, types: [&[Type]; 2], body: F) -> Option<()>
    where
        F: FnOnce(FunctionBuilder<'_>) -> FunctionBuilder<'_>,
    {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend(types[0].iter().map(|&ty| AbiParam::new(ty)));
        signature.returns.extend(types[1].iter().map(|&ty| AbiParam::new(ty)));
        self.codegen.clear();
        self.codegen.func = Function::with_name_signature(UserFuncName::default(), signature);
        let mut builder = body(FunctionBuilder::new(&mut self.codegen.func, &mut self.context));
        builder.seal_all_blocks();
        builder.finalize(self.isa.frontend_config());
        let compiled = match self.codegen.compile(&**self.isa, &mut ControlPlane::default()) {
            Ok(compiled) => compiled,
            // The interpreter runs what the compiler refuses.
            Err(e) if cfg!(debug_assertions) => panic!("{:?}", e.inner),
            Err(_) => return None,
        };
        assert!(compiled.buffer.relocs().is_empty(), "all addresses are constants");
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0);
        self.offsets.push(self.bytes.len());
        self.bytes.extend(compiled.code_buffer());
        Some(())
    }

    /// Returns the functions in memory where they can run. Returns `None` if the system has or allows no such memory.
    pub fn finish(self) -> Option<Functions> {
        let mut memory = MmapMut::map_anon(self.bytes.len()).ok()?;
        memory.copy_from_slice(&self.bytes);
        Some(Functions { memory: memory.make_exec().ok()?, offsets: self.offsets })
    }
}

/// Functions of machine code.
#[derive(Debug)]
pub(crate) struct Functions {
    memory: Mmap,
    offsets: Vec<usize>,
}

impl Functions {
    /// Returns the address of a function, which is code as long as `self` lives. Functions are numbered in the order in
    /// which they were added.
    ///
    /// # Panics
    /// Panics if there is no such function.
    pub fn address(&self, number: usize) -> *const u8 {
        self.memory.as_ptr().wrapping_add(self.offsets[number])
    }

    /// Returns the number of functions.
    pub fn count(&self) -> usize {
        self.offsets.len()
    }
}

/// Returns the instructions of this machine, or `None` if no machine code can be made for it.
fn isa() -> Option<OwnedTargetIsa> {
    let mut flags = settings::builder();
    // The code is built without what optimisations would remove.
    let verifies = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [("opt_level", "none"), ("enable_verifier", verifies), ("unwind_info", "false")] {
        flags.set(name, value).expect("a setting of the compiler");
    }
    cranelift_native::builder().ok()?.finish(Flags::new(flags)).ok()
}
