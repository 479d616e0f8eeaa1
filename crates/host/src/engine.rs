//! The embedded engine as an implementation of the engine trait.

use crate::gang::{Given, Options, Predicted, Run, StepTimes, check, fill, lower};
use crate::memory::{Buffer, Guard, Memory};
use crate::plan::{Plan, Points};
use crate::profile::Instructions;
use shardwise_base::{Account, AxisRef, Diagnostic, Diagnostics, Literal, Loc, Stop};
use shardwise_engine::{
    Argument, ArrayHandle, Engine, EngineArray, Executable, NewArray, NumberChecks, RunMemory, RunProfile, ShardedType,
    Signature, layout,
};
use shardwise_ir::{Func, Module, TensorType, verify};
use shardwise_ops::reducer::nothings;
use shardwise_view::MemoryPart;
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// An engine that runs virtual devices on the cores of this machine.
///
/// Arrays and temporaries are charged to the account of the budget that the caller has entered, or to that of the
/// process if there is none.
#[derive(Clone, Default)]
pub struct HostEngine {
    memory: Memory,
    /// True if ops on small arrays are not combined to runs, so that their own kernels run, or those that fuse ops.
    has_no_runs: bool,
}

impl HostEngine {
    /// Returns an engine whose buffers and scratch memory are guarded and filled with `fill` when they are made. Small
    /// programs become machine code at once, and kernels do so if `fill` is even. For tests, see [`Memory::guarded`].
    pub fn guarded(fill: u8) -> HostEngine {
        HostEngine { memory: Memory::guarded(fill), ..HostEngine::default() }
    }

    /// Returns the engine, set to combine no ops on small arrays to runs, for tests of the kernels of these ops.
    #[cfg(test)]
    pub(crate) fn without_runs(self) -> HostEngine {
        HostEngine { has_no_runs: true, ..self }
    }

    /// Returns a buffer with the literal's bytes. Unwinds by [`Stop::raise`] if there is no memory. May unwind if the
    /// run is cancelled or has exceeded its limit of steps.
    fn buffer(&self, literal: &Literal) -> Buffer {
        fill(&self.memory, literal).unwrap_or_else(|e| Stop::Memory(e).raise())
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
                false => nothings(ty.ty.dtype, part.shape.clone()),
            };
            if own.shape() != part.shape || own.dtype() != ty.ty.dtype.storage() {
                return Err(wrong_shard(&ty.ty, &part, &own).into());
            }
            instances.push(self.buffer(&layout::pad_to(&own, &local)));
        }
        Ok(Arc::new(HostArray { ty: ty.clone(), points, instances }))
    }
}

/// An array as one buffer for each distinct shard, or summand of an unreduced array. Shards that are smaller than the
/// others are padded to the shape that all have on a device.
struct HostArray {
    ty: ShardedType,
    points: Points,
    instances: Vec<Buffer>,
}

/// Returns the points with distinct parts of an array. Summands of an unreduced array differ between devices as shards
/// do. Without a sharding, there is one point.
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

/// Returns true if the device at these coordinates receives its part of the array when a global array is distributed.
/// The summands of an unreduced array other than the first receive elements that change nothing when they are added.
fn is_value(ty: &ShardedType, coordinates: &[usize]) -> bool {
    ty.sharding.as_ref().is_none_or(|s| layout::summand_index(s, coordinates) == 0)
}

fn is_unreduced(ty: &ShardedType) -> bool {
    ty.sharding.as_ref().is_some_and(|s| !s.unreduced.is_empty())
}

impl HostArray {
    /// Returns instance `i` without its padding, as an array of the shape of `part`.
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
        if self.instances.len() == 1 {
            return self.instance(0, &part_of(&self.ty, &self.points.coordinates(0)));
        }
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

    fn read(&self, part: &layout::ShardBox, out: &mut [u8]) {
        let element = self.ty.ty.dtype.storage_bytes();
        if is_unreduced(&self.ty) {
            return out.copy_from_slice(layout::cut(&self.to_literal(), part).to_dense().raw_bytes());
        }
        let local = local_shape(&self.ty);
        for (i, buffer) in self.instances.iter().enumerate() {
            let own = part_of(&self.ty, &self.points.coordinates(i));
            if let Some(both) = own.overlap(part) {
                let padded = layout::ShardBox { offset: own.offset, shape: local.clone() };
                layout::copy_part(&both, (buffer.bytes(), &padded), (&mut *out, part), element);
            }
        }
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

impl NewArray for HostArray {
    fn write(&mut self, part: &layout::ShardBox, bytes: &[u8]) {
        let (element, local) = (self.ty.ty.dtype.storage_bytes(), local_shape(&self.ty));
        for (i, buffer) in self.instances.iter_mut().enumerate() {
            let coordinates = self.points.coordinates(i);
            let own = part_of(&self.ty, &coordinates);
            if let Some(both) = own.overlap(part).filter(|_| is_value(&self.ty, &coordinates)) {
                let padded = layout::ShardBox { offset: own.offset, shape: local.clone() };
                let out = buffer.try_unique().expect("a new buffer has one owner");
                layout::copy_part(&both, (bytes, part), (out, &padded), element);
            }
        }
    }

    fn finish(self: Box<Self>) -> ArrayHandle {
        Arc::new(*self)
    }
}

impl Engine for HostEngine {
    fn name(&self) -> &'static str {
        "host"
    }

    fn put(&self, value: &Literal, ty: &ShardedType) -> Result<ArrayHandle, Diagnostics> {
        if value.shape() != ty.ty.shape || value.dtype() != ty.ty.dtype {
            let given = TensorType::new(value.dtype(), value.shape().to_vec()).short();
            let message = format!("a value of type {given} was given for an array of another type");
            let help = "give a value of the array's element type and shape";
            let d = Diagnostic::error("run-wrong-value", &Loc::UNKNOWN, message);
            return Err(d.expected(ty.ty.short()).help(help).into());
        }
        self.array(ty, |part| layout::cut(value, part))
    }

    fn put_shards(
        &self,
        ty: &ShardedType,
        shard: &(dyn Fn(&[usize], &[usize]) -> Literal + Sync),
    ) -> Result<ArrayHandle, Diagnostics> {
        self.array(ty, |part| shard(&part.offset, &part.shape))
    }

    fn allocate(&self, ty: &ShardedType) -> Box<dyn NewArray> {
        let (points, local) = (points_of(ty), local_shape(ty));
        let buffer = |i: usize| match is_value(ty, &points.coordinates(i)) {
            true => self.buffer(&Literal::zeros(ty.ty.dtype, local.clone())),
            false => self.buffer(&nothings(ty.ty.dtype, local.clone())),
        };
        let instances = (0..points.count()).map(buffer).collect();
        Box::new(HostArray { ty: ty.clone(), points, instances })
    }

    fn compile_checked(&self, module: &Module, checks: NumberChecks) -> Result<Arc<dyn Executable>, Diagnostics> {
        let main = module.main().ok_or_else(|| no_function(&module.loc))?;
        verify(module).or(())?;
        let runs_small = !self.has_no_runs && !checks.any();
        let plan = lower(module, main, &self.memory, Options { runs_small, checks })?;
        check(&plan)?;
        let index = module.funcs.iter().position(|f| std::ptr::eq(f, main)).expect("a function of the module");
        let signature = Signature::of(main)?;
        let (engine, module) = (self.clone(), module.clone());
        let (predicted, instructions, at_peak) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Ok(Arc::new(Program { engine, module, main: index, plan, signature, predicted, instructions, at_peak }))
    }
}

struct Program {
    engine: HostEngine,
    module: Module,
    main: usize,
    plan: Plan,
    signature: Signature,
    /// The memory that a run needs if all arguments are lent.
    predicted: OnceLock<Predicted>,
    /// The instructions of profiles.
    instructions: OnceLock<Instructions>,
    /// The arrays that are in memory at the peak of a run if all arguments are lent.
    at_peak: OnceLock<Arc<[MemoryPart]>>,
}

impl Program {
    fn func(&self) -> &Func {
        &self.module.funcs[self.main]
    }

    /// Returns the buffers of argument `index`, one for each instance of its parameter. An array of another layout, of
    /// another type that is stored alike, or of an engine of another kind, is first distributed anew. Fails if the
    /// array cannot be distributed, or if it has any other type.
    fn bind(&self, argument: Argument, index: usize) -> Result<Vec<Buffer>, Diagnostics> {
        let (Argument::Lent(array) | Argument::Donated(array)) = argument;
        let (wanted, given) = (&self.signature.inputs[index], array.sharded_type());
        if given.ty.shape != wanted.ty.shape || given.ty.dtype.storage() != wanted.ty.dtype.storage() {
            return Err(wrong_argument(&self.func().loc, index, &given.ty, &wanted.ty).into());
        }
        let is_laid_out = given.ty == wanted.ty && same_layout(given, wanted);
        let array = match array.as_any().downcast_ref::<HostArray>() {
            Some(_) if is_laid_out => array,
            _ => self.engine.put(&array.to_literal(), wanted)?,
        };
        let own = array.as_any().downcast_ref::<HostArray>().expect("made by this engine");
        let slot = &self.plan.slots[self.plan.params[index]];
        let has_size = |b: &Buffer| b.len() == slot.bytes;
        assert!(own.instances.iter().all(has_size), "argument {index} has the bytes of {}", slot.ty.short());
        Ok(spread(&own.instances, &own.points, &slot.points))
    }

    /// Returns the memory that a run needs if all arguments are lent. It is computed at the first call. Unwinds as
    /// [`Run::predict`] does.
    fn predicted(&self) -> Predicted {
        *self.predicted.get_or_init(|| self.predict(&vec![false; self.signature.inputs.len()]))
    }

    fn predict(&self, is_donated: &[bool]) -> Predicted {
        Run::predict(&self.plan, &self.module, self.func(), &self.given(is_donated))
    }

    fn instructions(&self) -> &Instructions {
        self.instructions.get_or_init(|| Instructions::of(&self.plan, &self.module, self.func()))
    }

    /// Returns the arrays that are in memory at the peak of a run if all arguments are lent, the largest first. The
    /// list is empty if the prediction of the memory is stopped.
    fn at_peak(&self) -> Arc<[MemoryPart]> {
        if let Some(known) = self.at_peak.get() {
            return known.clone();
        }
        let given = self.given(&vec![false; self.signature.inputs.len()]);
        let find = || Run::at_peak(&self.plan, &self.module, self.func(), &given, &self.predicted()).into();
        Stop::catch(|| self.at_peak.get_or_init(find).clone()).unwrap_or_default()
    }

    fn given(&self, is_donated: &[bool]) -> Vec<Given> {
        let inputs = self.signature.inputs.iter().zip(is_donated);
        inputs.map(|(ty, &is_donated)| Given { points: points_of(ty), is_donated }).collect()
    }

    /// Fails, before the run starts, if the account does not have the memory that a run with these arguments needs. An
    /// argument counts as donated if its buffers have no other owner. Succeeds if the first prediction, for lent
    /// arguments, is itself stopped. Unwinds if the run is cancelled during a later one.
    fn admit(&self, args: &[Vec<Buffer>]) -> Result<(), Diagnostic> {
        let account = Account::current();
        // If the computation is stopped here, the run starts and reports the op where it stops.
        let known = self.predicted.get().copied();
        let Some(predicted) = known.or_else(|| Stop::catch(|| self.predicted()).ok()) else { return Ok(()) };
        if account.check(predicted.memory.new_bytes()).is_ok() {
            return Ok(());
        }
        let is_donated: Vec<bool> = args.iter().map(|own| own.iter().all(|buffer| buffer.owners() == 1)).collect();
        let predicted = self.predict(&is_donated);
        let Err(e) = account.check(predicted.memory.new_bytes()) else { return Ok(()) };
        let given = self.given(&is_donated);
        Err(Run::refused(&self.plan, &self.module, self.func(), &given, &predicted, &Stop::Memory(e)))
    }

    fn run(&self, args: Vec<Argument>, profile: bool) -> Result<(Vec<ArrayHandle>, Option<StepTimes>), Diagnostics> {
        let buffers = args.into_iter().enumerate().map(|(i, a)| self.bind(a, i)).collect::<Result<Vec<_>, _>>()?;
        self.admit(&buffers)?;
        let _guarding = Guard::of(&self.engine.memory).enter();
        let mut run = Run::new(&self.plan, &self.module, self.func(), &self.engine.memory);
        if profile {
            run = run.with_profile();
        }
        let results = run.run(buffers)?;
        let times = run.times.take();
        let slots = self.plan.code.results.iter();
        let arrays = results.into_iter().zip(&self.signature.outputs).zip(slots).map(|((buffers, ty), slot)| {
            let from = &self.plan.slots[*slot].points;
            let points = points_of(ty);
            let instances = spread(&buffers, from, &points);
            Arc::new(HostArray { ty: ty.clone(), points, instances }) as ArrayHandle
        });
        Ok((arrays.collect(), times))
    }
}

/// Returns, for each instance of `to`, the buffer of the instance of `from` on the first device that holds the instance
/// of `to`.
fn spread(buffers: &[Buffer], from: &Points, to: &Points) -> Vec<Buffer> {
    if from.axes == to.axes {
        return buffers.to_vec();
    }
    to.map_to(from).into_iter().map(|i| buffers[i as usize].clone()).collect()
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

    fn memory(&self, donated: &[usize]) -> Option<RunMemory> {
        let is_donated: Vec<bool> = (0..self.signature.inputs.len()).map(|i| donated.contains(&i)).collect();
        let predicted = if donated.is_empty() { self.predicted() } else { self.predict(&is_donated) };
        Some(predicted.memory)
    }

    fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>, Diagnostics> {
        Ok(self.run(args, false)?.0)
    }

    fn profile(&self, args: Vec<Argument>) -> Result<(Vec<ArrayHandle>, RunProfile), Diagnostics> {
        let (arrays, times) = self.run(args, true)?;
        let times = times.expect("the times are measured");
        Ok((arrays, self.instructions().profile(&self.plan, &times, self.at_peak())))
    }
}

fn no_function(loc: &Loc) -> Diagnostic {
    Diagnostic::error("run-no-function", loc, "the module has no functions")
        .help("add the function to run: `func.func public @main`")
}

fn wrong_argument(loc: &Loc, index: usize, given: &TensorType, wanted: &TensorType) -> Diagnostic {
    Diagnostic::error("run-argument-type", loc, format!("argument {index} differs in type from the program's"))
        .facts(format!("given: {}", given.short()))
        .expected(wanted.short())
        .help("pass an array of the expected type, or compile the program for the type of this one")
}

fn wrong_shard(ty: &TensorType, part: &layout::ShardBox, given: &Literal) -> Diagnostic {
    let given = TensorType::new(given.dtype(), given.shape().to_vec()).short();
    let expected = TensorType::new(ty.dtype, part.shape.clone()).short();
    Diagnostic::error(
        "run-wrong-shard",
        &Loc::UNKNOWN,
        format!("a shard of type {given} was given, and the array of type {} has another type there", ty.short()),
    )
    .facts(format!("the shard starts at {:?}", part.offset))
    .expected(expected)
    .help("give each shard with the array's element type and the shape that was asked for")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::parse;
    use shardwise_base::{Account, Budget, CancelToken, DType};
    use shardwise_ops::user::{Kernel, register};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    fn compiled(engine: &HostEngine, source: &str) -> Arc<dyn Executable> {
        engine.compile(&parse(source)).unwrap_or_else(|e| panic!("{e}"))
    }

    fn array(engine: &HostEngine, program: &dyn Executable, index: usize, value: &Literal) -> ArrayHandle {
        engine.put(value, &program.signature().inputs[index]).unwrap()
    }

    /// Runs the program on zeros under a budget of these bytes and steps, and returns the first diagnostic. Panics if
    /// the run succeeds, or if memory that it has allocated is still charged afterwards.
    fn stopped(source: &str, max_bytes: usize, max_steps: u64) -> Diagnostic {
        let engine = HostEngine::default();
        let program = compiled(&engine, source);
        let args = program.signature().inputs.iter();
        let args = args.map(|ty| Literal::zeros(ty.ty.dtype, ty.ty.shape.clone()));
        let args: Vec<_> = args.enumerate().map(|(i, x)| Argument::Lent(array(&engine, &*program, i, &x))).collect();
        let budget = Budget::new(Account::with_limit(max_bytes), Some(max_steps), CancelToken::default());
        let found = budget.run(|| program.execute(args).map(|_| ()).unwrap_err()).unwrap();
        assert_eq!(budget.account().in_use(), 0, "what the run made is dropped");
        found.0[0].clone()
    }

    const PRODUCT: &str = "func.func @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.tanh %x : tensor<512x512xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}";

    #[test]
    fn a_program_that_does_not_fit_names_its_largest_arrays() {
        let d = stopped(PRODUCT, 3 << 19, u64::MAX);
        assert_eq!((d.code, d.loc.to_string()), ("run-memory", "test.mlir:3:3".to_string()));
        let text = d.to_string();
        assert!(text.contains("the most memory is needed by `stablehlo.dot_general`"), "{text}");
        assert!(text.contains("1048576 bytes: 1 of f32[512,512] at test.mlir:2"), "{text}");
        let engine = HostEngine::default();
        let needed = compiled(&engine, PRODUCT).memory(&[]).unwrap();
        assert_eq!((needed.argument_bytes, needed.constant_bytes), (1 << 20, 0));
        assert!(needed.peak_bytes >= 3 << 20, "{needed:?}");
    }

    #[test]
    fn a_panic_in_a_kernel_is_an_error_at_its_op_and_the_next_run_is_right() {
        let source = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @test.panics(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}";
        static PANICS: AtomicBool = AtomicBool::new(true);
        let kernel = Kernel::new(
            |operands, _| Ok(vec![operands[0].clone()]),
            |call| {
                assert!(!PANICS.load(Relaxed), "an injected panic");
                Ok(vec![call.operands[0].clone()])
            },
        );
        register("test.panics", kernel).unwrap();
        let d = stopped(source, 1 << 20, u64::MAX);
        assert_eq!((d.code, d.loc.to_string()), ("run-panicked", "test.mlir:2:3".to_string()));
        assert_eq!(d.message, "`stablehlo.custom_call` panicked: an injected panic");
        PANICS.store(false, Relaxed);
        let engine = HostEngine::default();
        let program = compiled(&engine, source);
        let x = Literal::new([4], &[1f32, 2.0, 3.0, 4.0]);
        let result = program.execute(vec![Argument::Lent(array(&engine, &*program, 0, &x))]).unwrap();
        assert_eq!(result[0].to_literal(), x);
    }

    #[test]
    fn the_scratch_memory_of_a_run_is_guarded_as_its_buffers_are() {
        let source = "func.func @main() -> tensor<ui8> {
  %0 = stablehlo.custom_call @test.fill() : () -> tensor<ui8>
  return %0 : tensor<ui8>
}";
        let kernel = Kernel::new(
            |_, _| Ok(vec![TensorType::new(DType::U8, vec![])]),
            |_| Ok(vec![Literal::new([], &[Guard::current().fill()])]),
        );
        register("test.fill", kernel).unwrap();
        let fill = |engine: HostEngine| {
            let result = compiled(&engine, source).execute(vec![]).unwrap();
            (result[0].to_literal().get_f64(0), Guard::current().fill())
        };
        let outside = Guard::current().fill();
        assert_eq!(fill(HostEngine::guarded(0xa5)), (165.0, outside));
        assert_eq!(fill(HostEngine::default()), (f64::from(outside), outside));
    }

    /// Checks that a product takes steps by its size: 512^3 multiply-adds are 2048 steps.
    #[test]
    fn a_product_takes_steps_by_its_size() {
        let d = stopped(PRODUCT, usize::MAX / 2, 1500);
        assert_eq!((d.code, d.loc.to_string()), ("run-steps", "test.mlir:3:3".to_string()));
        let engine = HostEngine::default();
        let program = compiled(&engine, PRODUCT);
        let x = array(&engine, &*program, 0, &Literal::zeros(DType::F32, [512, 512]));
        let budget = Budget::new(Account::with_limit(usize::MAX / 2), None, CancelToken::default());
        budget.run(|| program.execute(vec![Argument::Lent(x)]).map(|_| ()).unwrap()).unwrap();
        assert!((2048..2200).contains(&budget.steps()), "{} steps", budget.steps());
    }

    #[test]
    fn a_cancelled_run_says_where_it_was() {
        let engine = HostEngine::default();
        let program = compiled(&engine, PRODUCT);
        let x = array(&engine, &*program, 0, &Literal::new([512, 512], &[0.5f32; 512 * 512]));
        let budget = Budget::new(Account::with_limit(usize::MAX / 2), None, CancelToken::default());
        budget.cancel_token().cancel();
        let found = budget.run(|| program.execute(vec![Argument::Lent(x.clone())]).map(|_| ())).unwrap().unwrap_err();
        assert_eq!(found.0[0].code, "run-cancelled");
        assert!(found.to_string().contains("test.mlir:2:3"), "{found}");
        assert_eq!(x.to_literal(), Literal::new([512, 512], &[0.5f32; 512 * 512]), "arguments keep their bits");
    }

    #[test]
    fn modules_are_verified_before_they_are_planned() {
        let mut module = parse(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}",
        );
        module.funcs[0].result_types[0] = shardwise_ir::Type::from(TensorType::new(DType::F32, vec![8]));
        let found = HostEngine::default().compile(&module).map(|_| ()).unwrap_err();
        assert!(found.has_errors(), "{found}");
    }

    #[test]
    fn shards_of_another_shape_are_refused() {
        let engine = HostEngine::default();
        let ty = ShardedType { ty: TensorType::new(DType::F32, vec![4]), sharding: None };
        let put = |x: Literal| engine.put_shards(&ty, &|_, _| x.clone()).map(|_| ()).map_err(|e| e.to_string());
        assert!(put(Literal::new([4], &[1.0f32; 4])).is_ok());
        let text = put(Literal::new([2], &[1.0f32; 2])).unwrap_err();
        assert!(
            text.contains("a shard of type f32[2] was given, and the array of type f32[4] has another type there"),
            "{text}"
        );
        assert!(put(Literal::new([4], &[1i64; 4])).is_err());
    }

    #[test]
    fn arguments_of_other_types_are_refused() {
        let engine = HostEngine::default();
        let program = compiled(&engine, PRODUCT);
        for (dtype, shape) in [(DType::F32, [511, 512]), (DType::F32, [512, 513]), (DType::I32, [512, 512])] {
            let ty = ShardedType { ty: TensorType::new(dtype, shape.to_vec()), sharding: None };
            let x = engine.put(&Literal::zeros(dtype, shape), &ty).unwrap();
            let found = program.execute(vec![Argument::Lent(x)]).map(|_| ()).unwrap_err();
            assert_eq!(found.0[0].code, "run-argument-type", "{found}");
            assert!(found.to_string().contains("argument 0 differs in type"), "{found}");
        }
    }

    #[test]
    fn a_donated_argument_that_no_op_reads_is_no_result() {
        let source = "func.func @main(%x: tensor<512x512xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}";
        let program = compiled(&HostEngine::default(), source);
        let results = |donated: &[usize]| program.memory(donated).unwrap().result_bytes;
        assert_eq!(results(&[0]), results(&[]));
    }

    #[test]
    fn a_splat_is_held_once() {
        let engine = HostEngine::default();
        let ty = ShardedType { ty: TensorType::new(DType::I32, vec![3, 1 << 20]), sharding: None };
        let budget = Budget::new(Account::with_limit(13 << 20), None, CancelToken::default());
        let x = budget.run(|| engine.put(&Literal::splat(DType::I32, [3, 1 << 20], &7i32.to_le_bytes()), &ty).unwrap());
        assert_eq!(budget.account().peak(), 12 << 20);
        assert!(x.unwrap().to_literal().as_slice::<i32>().iter().all(|&e| e == 7));
    }

    #[test]
    fn a_stop_in_a_kernel_reaches_whoever_entered_the_budget() {
        let budget = Budget::new(Account::with_limit(0), None, CancelToken::default());
        let put = budget.run(|| {
            let ty = ShardedType { ty: TensorType::new(DType::F32, vec![1 << 20]), sharding: None };
            HostEngine::default().put(&Literal::zeros(DType::F32, [1 << 20]), &ty).map(|_| ())
        });
        assert!(matches!(put, Ok(Err(_)) | Err(Stop::Memory(_))), "{put:?}");
    }
}
