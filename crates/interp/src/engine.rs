//! The interpreter as an engine: it runs every localized program on a grid of all devices.

use shardwise_base::{Diagnostic, Diagnostics, Literal, Loc};
use shardwise_engine::{
    Argument, ArrayHandle, Engine, EngineArray, Executable, NewArray, NumberChecks, RunMemory, RunProfile, ShardedType,
    Signature, layout,
};
use shardwise_ir::Module;
use std::any::Any;
use std::sync::Arc;

/// Runs localized modules one op at a time, with one process for each device.
#[derive(Clone, Copy, Debug, Default)]
pub struct InterpEngine;

/// An array of the interpreter: the whole array, from which shards are cut when they are requested.
struct InterpArray {
    ty: ShardedType,
    value: Literal,
}

impl EngineArray for InterpArray {
    fn sharded_type(&self) -> &ShardedType {
        &self.ty
    }

    fn to_literal(&self) -> Literal {
        self.value.to_dense()
    }

    fn shard(&self, position: usize) -> Literal {
        match &self.ty.sharding {
            Some(s) => layout::shard(&self.value, s, &s.mesh.coordinates(position)),
            None => self.value.clone(),
        }
    }

    fn read(&self, part: &layout::ShardBox, out: &mut [u8]) {
        out.copy_from_slice(layout::cut(&self.value, part).to_dense().raw_bytes());
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

/// An array that is being written.
struct NewInterpArray {
    ty: ShardedType,
    value: Literal,
}

impl NewArray for NewInterpArray {
    fn write(&mut self, part: &layout::ShardBox, bytes: &[u8]) {
        let (element, whole) = (self.value.dtype().storage_bytes(), layout::ShardBox::whole(&self.ty.ty.shape));
        layout::copy_part(part, (bytes, part), (self.value.bytes_mut(), &whole), element);
    }

    fn finish(self: Box<Self>) -> ArrayHandle {
        Arc::new(InterpArray { ty: self.ty, value: self.value })
    }
}

impl Engine for InterpEngine {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn put(&self, value: &Literal, ty: &ShardedType) -> Result<ArrayHandle, Diagnostics> {
        Ok(Arc::new(InterpArray { ty: ty.clone(), value: value.clone() }))
    }

    fn put_shards(
        &self,
        ty: &ShardedType,
        shard: &(dyn Fn(&[usize], &[usize]) -> Literal + Sync),
    ) -> Result<ArrayHandle, Diagnostics> {
        let shape = &ty.ty.shape;
        let Some(sharding) = &ty.sharding else { return self.put(&shard(&vec![0; shape.len()], shape), ty) };
        let mut out = layout::Dense::zeros(&Literal::zeros(ty.ty.dtype, vec![]), shape);
        for part in layout::shard_boxes(shape, sharding) {
            out.paste(&shard(&part.offset, &part.shape), &part.offset);
        }
        self.put(&out.finish(), ty)
    }

    fn allocate(&self, ty: &ShardedType) -> Box<dyn NewArray> {
        let value = Literal::dense_zeros(ty.ty.dtype, &ty.ty.shape).expect("the type of an array");
        Box::new(NewInterpArray { ty: ty.clone(), value })
    }

    fn compile_checked(&self, module: &Module, checks: NumberChecks) -> Result<Arc<dyn Executable>, Diagnostics> {
        let signature = Signature::of(crate::main_func(module)?)?;
        Ok(Arc::new(Program { module: module.clone(), signature, checks }))
    }
}

struct Program {
    module: Module,
    signature: Signature,
    checks: NumberChecks,
}

impl Program {
    fn process_count(&self) -> usize {
        self.module.main_mesh().map_or(1, |m| m.size())
    }

    /// Returns the part of an argument for each process: its shard, padded to the common shape, or the whole array if
    /// the argument has no sharding. The padding is poison, so that a program whose results depend on it has wrong
    /// results.
    fn spread(&self, argument: &Argument, ty: &ShardedType) -> Vec<Literal> {
        let (Argument::Lent(array) | Argument::Donated(array)) = argument;
        let value = array.to_literal();
        match &ty.sharding {
            Some(s) => {
                let local = s.local_shape(&ty.ty.shape);
                layout::split(&value, s).iter().map(|shard| layout::pad_with_poison(shard, &local)).collect()
            }
            None => vec![value; self.process_count()],
        }
    }

    fn gather(&self, index: usize, shards: Vec<Literal>, ty: &ShardedType) -> Result<ArrayHandle, Diagnostics> {
        let value = match &ty.sharding {
            Some(s) => {
                layout::assemble(|p| shards[p].clone(), s, &ty.ty.shape).map_err(|d| disagreement(index, ty, d))?
            }
            None => shards[0].clone(),
        };
        Ok(Arc::new(InterpArray { ty: ty.clone(), value }))
    }
}

impl Executable for Program {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn memory(&self, _: &[usize]) -> Option<RunMemory> {
        None
    }

    fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>, Diagnostics> {
        let (given, expected) = (args.len(), self.signature.inputs.len());
        if given != expected {
            return Err(crate::argument_count(&Loc::UNKNOWN, expected, given).into());
        }
        let args = args.iter().zip(&self.signature.inputs).map(|(a, ty)| self.spread(a, ty)).collect();
        let results = crate::run_grid_checked(&self.module, self.process_count(), args, self.checks)?;
        let results = results.into_iter().zip(&self.signature.outputs).enumerate();
        results.map(|(i, (shards, ty))| self.gather(i, shards, ty)).collect()
    }

    fn profile(&self, args: Vec<Argument>) -> Result<(Vec<ArrayHandle>, RunProfile), Diagnostics> {
        Ok((self.execute(args)?, RunProfile::default()))
    }
}

fn disagreement(index: usize, ty: &ShardedType, d: layout::Disagreement) -> Diagnostics {
    let message = format!("result {index} differs between devices that should hold equal shards");
    let sharding = ty.sharding.as_ref().map(ToString::to_string).unwrap_or_default();
    Diagnostic::error("result-not-replicated", &Loc::UNKNOWN, message)
        .facts(format!(
            "positions {} and {} of the mesh hold different values; {} {sharding}",
            d.first, d.second, ty.ty
        ))
        .help("the program claims an equality that it does not compute: reduce over the axes that are missing")
        .into()
}
