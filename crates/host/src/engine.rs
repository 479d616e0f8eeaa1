//! The embedded engine behind the engine trait.

use crate::gang::points::Points;
use crate::gang::run::Run;
use crate::gang::{Plan, StepKind, check, lower};
use crate::memory::{Buffer, Memory};
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Literal, Loc};
use shardwise_engine::{
    Argument, ArrayHandle, Engine, EngineArray, Executable, InstructionTime, ShardedType, Signature, layout,
};
use shardwise_ir::{Func, Module, TensorType, verify};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// Virtual devices on this machine's cores.
///
/// Arrays and temporaries are charged to the account of the budget that the caller has entered, else to that of the process.
#[derive(Clone, Default)]
pub struct HostEngine {
    memory: Memory,
}

impl HostEngine {
    /// An engine whose buffers are guarded and filled with `fill` when they are made: for tests, see [`Memory::guarded`].
    pub fn guarded(fill: u8) -> HostEngine {
        HostEngine { memory: Memory::guarded(fill) }
    }

    fn buffer(&self, literal: &Literal) -> Result<Buffer, Diagnostics> {
        crate::gang::lower::fill(&self.memory, literal).map_err(|e| out_of_memory(&e.to_string()))
    }

    fn array(
        &self,
        ty: &ShardedType,
        shard: impl Fn(&layout::ShardBox) -> Literal,
    ) -> Result<ArrayHandle, Diagnostics> {
        let points = points_of(ty);
        let local = local_shape(ty);
        let mut instances = vec![];
        for i in 0..points.count() {
            let coordinates = points.coordinates(i);
            let part = part_of(ty, &coordinates);
            let own = match is_value(ty, &coordinates) {
                true => shard(&part),
                false => Literal::zeros(ty.ty.dtype, part.shape.clone()),
            };
            if own.shape() != part.shape || own.dtype() != ty.ty.dtype.storage() {
                return Err(wrong_shard(&ty.ty, &part, &own).into());
            }
            instances.push(self.buffer(&layout::pad_to(&own, &local))?);
        }
        Ok(Arc::new(HostArray { ty: ty.clone(), points, instances }))
    }
}

/// One buffer for each distinct shard, padded to the common shape.
struct HostArray {
    ty: ShardedType,
    points: Points,
    instances: Vec<Buffer>,
}

/// Parts of a sum differ from device to device as shards do.
fn points_of(ty: &ShardedType) -> Points {
    match &ty.sharding {
        Some(s) => {
            let axes = s.split_axes().chain(s.unreduced.iter().copied());
            Points::over(Some(&s.mesh), axes.collect::<Vec<AxisRef>>())
        }
        None => Points { mesh: None, axes: vec![] },
    }
}

fn local_shape(ty: &ShardedType) -> Vec<usize> {
    ty.sharding.as_ref().map_or_else(|| ty.ty.shape.clone(), |s| s.local_shape(&ty.ty.shape))
}

fn part_of(ty: &ShardedType, coordinates: &[usize]) -> layout::ShardBox {
    match &ty.sharding {
        Some(s) => layout::shard_box(&ty.ty.shape, s, coordinates),
        None => layout::ShardBox { offset: vec![0; ty.ty.rank()], shape: ty.ty.shape.clone() },
    }
}

/// Whether the device at these coordinates holds its part of a global array; if not, it holds zeros.
fn is_value(ty: &ShardedType, coordinates: &[usize]) -> bool {
    ty.sharding.as_ref().is_none_or(|s| layout::summand_index(s, coordinates) == 0)
}

fn is_unreduced(ty: &ShardedType) -> bool {
    ty.sharding.as_ref().is_some_and(|s| !s.unreduced.is_empty())
}

impl HostArray {
    /// The instance's part without padding.
    fn instance(&self, i: usize, part: &layout::ShardBox) -> Literal {
        let local = local_shape(&self.ty);
        let whole = Literal::from_bytes(self.ty.ty.dtype, &local, self.instances[i].bytes()).expect("padded shards");
        layout::cut(&whole, &layout::ShardBox { offset: vec![0; local.len()], shape: part.shape.clone() })
    }
}

impl EngineArray for HostArray {
    fn sharded_type(&self) -> &ShardedType {
        &self.ty
    }

    fn to_literal(&self) -> Literal {
        let like = Literal::zeros(self.ty.ty.dtype, vec![]);
        let parts = (0..self.instances.len()).map(|i| {
            let part = part_of(&self.ty, &self.points.coordinates(i));
            let own = self.instance(i, &part);
            (part.offset, own)
        });
        if is_unreduced(&self.ty) {
            return layout::join(&like, &self.ty.ty.shape, parts);
        }
        let mut out = layout::Dense::zeros(&like, &self.ty.ty.shape);
        parts.for_each(|(offset, own)| out.paste(&own, &offset));
        out.finish()
    }

    fn shard(&self, position: usize) -> Literal {
        let coordinates = self.points.mesh.as_ref().map_or(vec![], |m| m.coordinates(position));
        self.instance(self.points.instance(&coordinates), &part_of(&self.ty, &coordinates))
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

impl Engine for HostEngine {
    fn name(&self) -> &'static str {
        "host"
    }

    fn put(&self, value: &Literal, ty: &ShardedType) -> Result<ArrayHandle, Diagnostics> {
        self.array(ty, |part| layout::cut(value, part))
    }

    fn put_shards(
        &self,
        ty: &ShardedType,
        shard: &(dyn Fn(&[usize], &[usize]) -> Literal + Sync),
    ) -> Result<ArrayHandle, Diagnostics> {
        self.array(ty, |part| shard(&part.offset, &part.shape))
    }

    fn compile(&self, module: &Module) -> Result<Arc<dyn Executable>, Diagnostics> {
        let main = module.main().ok_or_else(|| no_function(&module.loc))?;
        verify(module).or(())?;
        let plan = lower(module, main, &self.memory)?;
        check(&plan)?;
        let index = module.funcs.iter().position(|f| std::ptr::eq(f, main)).expect("a function of the module");
        let signature = Signature::of(main)?;
        Ok(Arc::new(Program { engine: self.clone(), module: module.clone(), main: index, plan, signature }))
    }
}

/// How often each step ran, and how long in all.
type StepTimes = Vec<(u64, Duration)>;

struct Program {
    engine: HostEngine,
    module: Module,
    main: usize,
    plan: Plan,
    signature: Signature,
}

impl Program {
    fn func(&self) -> &Func {
        &self.module.funcs[self.main]
    }

    /// The buffers of a parameter's instances; an array of another layout or engine is laid out anew.
    fn bind(&self, argument: Argument, index: usize) -> Result<Vec<Buffer>, Diagnostics> {
        let (Argument::Lent(array) | Argument::Donated(array)) = argument;
        let wanted = &self.signature.inputs[index];
        let is_laid_out = array.sharded_type().ty == wanted.ty && same_layout(array.sharded_type(), wanted);
        let array = match array.as_any().downcast_ref::<HostArray>() {
            Some(_) if is_laid_out => array,
            _ => self.engine.put(&array.to_literal(), wanted)?,
        };
        let own = array.as_any().downcast_ref::<HostArray>().expect("made by this engine");
        let slot = &self.plan.slots[self.plan.params[index].index()];
        let has_size = |b: &Buffer| b.len() == slot.bytes;
        assert!(own.instances.iter().all(has_size), "argument {index} has the bytes of {}", slot.ty.short());
        Ok(slot.points.map_to(&own.points).into_iter().map(|i| own.instances[i as usize].clone()).collect())
    }

    fn run(&self, args: Vec<Argument>, profile: bool) -> Result<(Vec<ArrayHandle>, StepTimes), Diagnostics> {
        let buffers = args.into_iter().enumerate().map(|(i, a)| self.bind(a, i)).collect::<Result<Vec<_>, _>>()?;
        let mut run = Run::new(&self.plan, &self.module, self.func(), &self.engine.memory);
        if profile {
            run = run.with_profile();
        }
        let results = run.run(buffers)?;
        let times = run.profile.take().unwrap_or_default();
        let slots = self.plan.code.results.iter();
        let arrays = results.into_iter().zip(&self.signature.outputs).zip(slots).map(|((buffers, ty), slot)| {
            let from = &self.plan.slots[slot.index()].points;
            let points = points_of(ty);
            let instances = points.map_to(from).into_iter().map(|i| buffers[i as usize].clone()).collect();
            Arc::new(HostArray { ty: ty.clone(), points, instances }) as ArrayHandle
        });
        Ok((arrays.collect(), times))
    }
}

fn same_layout(a: &ShardedType, b: &ShardedType) -> bool {
    match (&a.sharding, &b.sharding) {
        (Some(a), Some(b)) => a.same_layout(b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

impl Executable for Program {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>, Diagnostics> {
        Ok(self.run(args, false)?.0)
    }

    fn profile(&self, args: Vec<Argument>) -> Result<(Vec<ArrayHandle>, Vec<InstructionTime>), Diagnostics> {
        let (arrays, times) = self.run(args, true)?;
        let mut rows = vec![];
        collect_rows(&self.plan.code, &times, &mut rows);
        Ok((arrays, rows))
    }
}

fn collect_rows(code: &crate::gang::Code, times: &[(u64, Duration)], rows: &mut Vec<InstructionTime>) {
    for step in &code.steps {
        let (count, total) = times[step.id];
        let is_collective = match &step.kind {
            StepKind::Kernel(k) => k.is_collective(),
            StepKind::Permute(_) => true,
            _ => false,
        };
        let is_fallback = matches!(step.kind, StepKind::Evaluate { .. });
        rows.push(InstructionTime {
            name: step.name.clone(),
            loc: step.loc.clone(),
            count,
            total,
            is_collective,
            is_fallback,
        });
        step.kind.blocks().into_iter().for_each(|c| collect_rows(c, times, rows));
    }
}

fn no_function(loc: &Loc) -> Diagnostic {
    Diagnostic::error("run-no-function", loc, "the module has no function to run")
        .help("add a `func.func public @main`")
}

/// What was given for the part of an array of type `ty` that a device holds.
fn wrong_shard(ty: &TensorType, part: &layout::ShardBox, given: &Literal) -> Diagnostic {
    let given = TensorType::new(given.dtype(), given.shape().to_vec()).short();
    let expected = TensorType::new(ty.dtype, part.shape.clone()).short();
    Diagnostic::error("run-wrong-shard", &Loc::UNKNOWN, format!("a shard of {} was given as {given}", ty.short()))
        .facts(format!("the shard starts at {:?}", part.offset))
        .expected(expected)
        .help("give each shard with the shape that was asked for")
}

fn out_of_memory(message: &str) -> Diagnostics {
    Diagnostic::error("run-memory", &Loc::UNKNOWN, message)
        .help("raise the memory limit, or split the arrays further")
        .into()
}
