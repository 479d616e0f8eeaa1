//! Traces: programs in the making.
//!
//! A thread has a stack of traces; ops go to the one on top. A trace is a stack of functions being built (a loop's body
//! may be a function of its own), each a stack of open regions. What an inner function uses of an outer one becomes
//! an argument of it ([`Trace::import`]); an array with a value becomes a hidden argument of the whole program.

use crate::error::{Found, Mistakes};
use crate::manual::{ManualType, Predicate, Scope};
use crate::tree::TooDeep;
use crate::{Array, Error, Mesh, Result, context, explicit, mistakes};
use shardwise_base::{self as base, Diagnostic, Loc};
use shardwise_engine::ShardedType;
use shardwise_ir::{
    Attrs, Body, Builder, Func, Module, Op, OpCode, OpView, Region, TensorType, Type, Value, ValueData, Visibility,
};
use shardwise_ops::OPS;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A value of a program in the making.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Traced {
    trace: u64,
    frame: u64,
    region: Region,
    value: Value,
}

/// A function being built.
struct Frame {
    id: u64,
    func: Func,
    /// Open regions, the innermost last; the first is the function's own.
    regions: Vec<Open>,
}

/// A region being built.
struct Open {
    region: Region,
    /// There if the region sees nothing around it.
    wall: Option<Wall>,
    /// There if some devices may run it and others not.
    predicate: Option<Predicate>,
}

/// What comes into an isolated region: a function's body, or that of a manual computation.
#[derive(Default)]
struct Wall {
    /// Values from outside that are used inside, and the arguments that stand for them.
    imports: Vec<(Traced, Traced)>,
    /// There if the region is per device over more axes than what is around it.
    scope: Option<Arc<Scope>>,
}

/// How many functions and regions are open.
struct Depth {
    frames: usize,
    regions: usize,
    is_in_function: bool,
}

/// A program that has been traced to its end.
pub(crate) struct Finished {
    pub module: Module,
    /// The arrays that its last arguments stand for.
    pub captured: Vec<Array>,
    /// Over which axes each result is reduced, which the module does not say.
    pub reduced: Vec<Vec<base::AxisRef>>,
    /// Where it communicates over Explicit axes unasked, once for each line.
    pub warnings: Vec<Diagnostic>,
}

/// A program in the making.
pub(crate) struct Trace {
    id: u64,
    pub module: Module,
    frames: Vec<Frame>,
    /// Arrays with values that the program uses, and the arguments that stand for them.
    captured: Vec<(Array, Traced)>,
    wrong: Found,
    pub mesh: Option<Mesh>,
    pub explicit: explicit::State,
}

thread_local! {
    static STACK: RefCell<Vec<Trace>> = const { RefCell::new(vec![]) };
    /// While above 0, mistakes are not recorded: they follow from one that has been.
    static QUIET: Cell<usize> = const { Cell::new(0) };
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What unwinds to the trace when a mistake is asked for what it cannot know.
struct EndTrace;

/// Ends the trace early: the call that traces returns the mistakes found so far.
pub(crate) fn end() -> ! {
    resume_unwind(Box::new(EndTrace))
}

pub(crate) fn is_tracing() -> bool {
    STACK.with_borrow(|s| !s.is_empty())
}

/// Calls `f` with the trace on top. Panics if there is none.
pub(crate) fn with<R>(f: impl FnOnce(&mut Trace) -> R) -> R {
    STACK.with_borrow_mut(|s| f(s.last_mut().expect("a trace is under way")))
}

/// Whether a value can be used in the trace on top: it was made there, in a function and a region that are still open.
pub(crate) fn is_open(traced: Traced) -> bool {
    STACK.with_borrow(|s| s.last().is_some_and(|t| t.home_of(traced).is_some()))
}

/// Notes a mistake in the trace under way, if there is one.
pub(crate) fn record(mistakes: &Mistakes) {
    if QUIET.get() > 0 {
        return;
    }
    STACK.with_borrow_mut(|s| {
        if let Some(trace) = s.last_mut() {
            trace.wrong.add_all(mistakes);
        }
    });
}

/// Runs `f` without recording mistakes; `None` if it asked for what cannot be known.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> Option<R> {
    QUIET.set(QUIET.get() + 1);
    let depth = STACK.with_borrow(|s| s.last().map(Trace::depth));
    let out = catch_unwind(AssertUnwindSafe(f));
    QUIET.set(QUIET.get() - 1);
    match out {
        Ok(out) => Some(out),
        Err(panic) if panic.is::<EndTrace>() => {
            if let Some(depth) = depth {
                with(|t| t.rewind(depth));
            }
            None
        }
        Err(panic) => resume_unwind(panic),
    }
}

/// Runs `f` as a new program, with this mesh.
///
/// `Err`: the mistakes found, each once. A panic of the program's own goes on, unless a mistake came before it.
pub(crate) fn run<R>(name: &str, mesh: Option<Mesh>, at: Loc, f: impl FnOnce() -> Result<R>) -> Result<(Trace, R)> {
    let quiet = QUIET.replace(0);
    STACK.with_borrow_mut(|s| s.push(Trace::new(name, mesh, at)));
    let out = catch_unwind(AssertUnwindSafe(f));
    let mut trace = STACK.with_borrow_mut(|s| s.pop()).expect("pushed above");
    QUIET.set(quiet);
    let wrong = std::mem::take(&mut trace.wrong);
    settle(out, wrong.into_error(), &trace.module.loc).map(|out| (trace, out))
}

/// Runs `f`; where it fails, the regions that it opened are dropped.
pub(crate) fn or_rewind<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    let depth = with(|t| t.depth());
    f().inspect_err(|_| with(|t| t.rewind(depth)))
}

/// Runs `f` as a part of the trace under way, as [`run`] does: its mistakes are both returned and recorded.
pub(crate) fn run_inline<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    let (before, depth) = with(|t| (std::mem::take(&mut t.wrong), t.depth()));
    let out = catch_unwind(AssertUnwindSafe(f));
    let wrong = with(|t| {
        t.rewind(depth);
        let wrong = t.wrong.error();
        let found = std::mem::replace(&mut t.wrong, before);
        t.wrong.append(&found);
        wrong
    });
    settle(out, wrong, &with(|t| t.module.loc.clone()))
}

fn settle<R>(out: std::thread::Result<Result<R>>, wrong: Error, loc: &Loc) -> Result<R> {
    match out {
        Err(panic) if panic.is::<TooDeep>() => Err(wrong.and(TooDeep::error(loc))),
        Err(panic) if wrong.is_empty() && !panic.is::<EndTrace>() => resume_unwind(panic),
        Ok(out) if wrong.is_empty() => out,
        Ok(Err(e)) => Err(wrong.and(e)),
        _ => Err(wrong),
    }
}

impl Traced {
    /// What tells the value from all others of its trace.
    pub fn key(self) -> (u64, Value) {
        (self.frame, self.value)
    }
}

impl Trace {
    fn new(name: &str, mesh: Option<Mesh>, at: Loc) -> Trace {
        let mut module = Module::new(name, &OPS);
        module.loc = at.clone();
        Trace {
            id: next_id(),
            module,
            frames: vec![Frame::new("main", at)],
            captured: vec![],
            wrong: Found::default(),
            explicit: explicit::State::new(mesh.as_ref()),
            mesh,
        }
    }

    pub fn frame_id(&self) -> u64 {
        self.frame().id
    }

    /// The module, and the body of a function that is being built.
    pub fn home(&self, frame: u64) -> Option<(&Module, &Body)> {
        let frame = self.frames.iter().find(|f| f.id == frame)?;
        Some((&self.module, &frame.func.body))
    }

    /// The op that makes a value, and where it stands.
    pub fn def(&self, t: Traced) -> Option<(Loc, Op)> {
        let (_, body) = self.home(t.frame)?;
        let op = body.def_op(t.value)?;
        Some((body.op(op).loc.clone(), op))
    }

    /// An op of the function being built.
    pub fn view(&self, op: Op) -> OpView<'_> {
        self.module.view(&self.frame().func.body, op)
    }

    /// Where the trace is, to come back to when something unwinds.
    fn depth(&self) -> Depth {
        Depth {
            frames: self.frames.len(),
            regions: self.frame().regions.len(),
            is_in_function: self.explicit.is_in_function(),
        }
    }

    fn frame(&self) -> &Frame {
        self.frames.last().expect("a trace has a function")
    }

    fn frame_mut(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a trace has a function")
    }

    pub fn body(&mut self) -> &mut Body {
        &mut self.frame_mut().func.body
    }

    /// Drops functions and regions that were left open when something unwound.
    fn rewind(&mut self, to: Depth) {
        self.frames.truncate(to.frames);
        self.frame_mut().regions.truncate(to.regions);
        self.narrow_types();
        if !to.is_in_function {
            self.explicit.leave_function();
        }
    }

    /// A new argument of the function being built.
    pub fn arg(&mut self, ty: &ShardedType, loc: Loc) -> Traced {
        let trace = self.id;
        let sharding = ty.sharding.clone().or_else(|| explicit::of_argument(self, ty.ty.rank()));
        self.frame_mut().arg(trace, Type::Tensor(ty.ty.clone()), sharding, loc)
    }

    /// The array as a value of the function being built. `Err`: why it cannot be used here.
    pub fn operand(&mut self, array: &Array, loc: &Loc) -> Result<Value, Diagnostic> {
        match array.traced() {
            Some(t) => {
                explicit::settle(self, t)?;
                self.import(t).ok_or_else(|| mistakes::escaped(array, loc))
            }
            None => {
                self.check_mesh(array, loc)?;
                Ok(self.capture(array))
            }
        }
    }

    /// The manual code under way, if any.
    pub fn scope(&self) -> Option<Arc<Scope>> {
        let walls = self.opens().filter_map(|o| o.wall.as_ref());
        walls.filter_map(|w| w.scope.as_ref()).next_back().cloned()
    }

    fn opens(&self) -> impl DoubleEndedIterator<Item = &Open> {
        self.frames.iter().flat_map(|f| &f.regions)
    }

    /// Says of the innermost region that not all devices may run it.
    pub fn set_predicate(&mut self, predicate: Option<Predicate>) {
        self.frame_mut().regions.last_mut().expect("a function has a region").predicate = predicate;
    }

    /// Why not all devices may run what is made now, outermost first.
    pub fn predicates(&self) -> impl Iterator<Item = &Predicate> {
        self.opens().filter_map(|o| o.predicate.as_ref())
    }

    /// Opens the body of a manual computation, with arguments of these types.
    pub fn open_manual(&mut self, args: &[TensorType], scope: Arc<Scope>, loc: &Loc) -> Vec<Traced> {
        let args = self.open_region(args, loc);
        let open = self.frame_mut().regions.last_mut().expect("opened above");
        open.wall = Some(Wall { imports: vec![], scope: Some(scope) });
        self.narrow_types();
        args
    }

    /// Over manual axes layouts are no types.
    pub fn narrow_types(&mut self) {
        let scope = self.scope();
        self.explicit.narrow(|axis| scope.as_ref().is_some_and(|s| s.axes.contains(&axis)));
    }

    /// Closes it; also gives what it uses of the values around it, in the order of the arguments that were added for
    /// them.
    pub fn close_manual(&mut self) -> (Region, Vec<Value>) {
        let open = self.frame_mut().regions.pop().expect("a region was opened");
        self.narrow_types();
        let outer = open.wall.map_or(vec![], |w| w.imports).into_iter().map(|(o, _)| o);
        let outer: Vec<Value> = outer.map(|t| self.import(t).expect("it was in scope inside")).collect();
        (open.region, outer)
    }

    fn check_mesh(&mut self, array: &Array, loc: &Loc) -> Result<(), Diagnostic> {
        let Some(ty) = array.known_type() else { return Ok(()) };
        let Some(sharding) = &ty.sharding else { return Ok(()) };
        let mesh = Mesh(sharding.mesh.clone());
        if self.join_mesh(&mesh) {
            return Ok(());
        }
        let own = self.mesh.clone().expect("the one that differs");
        Err(mistakes::layout_mesh(&own, &mesh, loc).facts(array.short_type()))
    }

    /// The places of the function and of the open region in which a value was made, if it was made here.
    fn home_of(&self, traced: Traced) -> Option<(usize, usize)> {
        let home = self.frames.iter().position(|f| f.id == traced.frame).filter(|_| traced.trace == self.id)?;
        let open = self.frames[home].regions.iter().position(|o| o.region == traced.region)?;
        Some((home, open))
    }

    /// A value of this or of an outer function, in the function being built; `None` if it has gone out of scope.
    fn import(&mut self, traced: Traced) -> Option<Value> {
        let (home, open) = self.home_of(traced)?;
        let mut data = self.frames[home].func.body.value(traced.value).clone();
        let id = self.id;
        let mut inner = traced;
        for (f, frame) in self.frames.iter_mut().enumerate().skip(home) {
            for i in if f == home { open + 1 } else { 0 }..frame.regions.len() {
                inner = frame.import(i, inner, &mut data, id);
            }
        }
        Some(inner.value)
    }

    /// A value that was made in the innermost region.
    pub fn own_value(&self, traced: Traced) -> Option<Value> {
        (traced == self.traced(traced.value)).then_some(traced.value)
    }

    fn capture(&mut self, array: &Array) -> Value {
        let found = self.captured.iter().find(|(a, _)| a.is_same(array)).map(|(_, t)| *t);
        let traced = found.unwrap_or_else(|| {
            let ty = array.node().ty.as_ref().expect("an array with a value has a type");
            let id = self.id;
            let sharding = ty.sharding.clone().or_else(|| explicit::of_argument(self, ty.ty.rank()));
            let main = &mut self.frames[0];
            let traced = main.arg(id, Type::Tensor(ty.ty.clone()), sharding, Loc::UNKNOWN.named("captured"));
            self.captured.push((array.clone(), traced));
            traced
        });
        self.import(traced).expect("an argument of the outermost function is in scope")
    }

    /// Appends an op.
    pub fn op(
        &mut self,
        code: OpCode,
        operands: &[Value],
        attrs: Attrs,
        regions: Vec<Region>,
        results: &[TensorType],
        loc: &Loc,
    ) -> Op {
        let types = results.iter().map(|t| Type::Tensor(t.clone()));
        let mut b = self.builder(loc);
        b.op_with_regions(code, operands.iter().copied(), attrs, regions, types)
    }

    /// At the end of the innermost region.
    pub fn builder(&mut self, loc: &Loc) -> Builder<'_> {
        let frame = self.frame_mut();
        let region = frame.region();
        Builder::at(&mut frame.func.body, region, loc.clone())
    }

    /// Ends the innermost region with these values.
    pub fn terminate(&mut self, code: OpCode, values: &[Value], loc: &Loc) {
        self.op(code, values, Attrs::new(), vec![], &[], loc);
    }

    pub fn traced(&self, value: Value) -> Traced {
        let frame = self.frame();
        Traced { trace: self.id, frame: frame.id, region: frame.region(), value }
    }

    /// Gives a value of a function being built its layout.
    pub fn set_sharding(&mut self, t: Traced, sharding: base::Sharding) {
        if let Some(frame) = self.frames.iter_mut().find(|f| f.id == t.frame) {
            frame.func.body.value_mut(t.value).sharding = Some(sharding);
        }
    }

    /// Notes how a value of a function being built lies along the manual axes.
    pub fn set_manual(&mut self, t: Traced, manual: &ManualType) {
        if let Some(frame) = self.frames.iter_mut().find(|f| f.id == t.frame) {
            frame.func.body.value_mut(t.value).manual = manual.noted();
        }
    }

    /// The type of a value; `None` of another trace's.
    pub fn value_type(&self, t: Traced) -> Option<ShardedType> {
        let (_, body) = self.home(t.frame)?;
        let data = body.value(t.value);
        let ty = data.ty.as_tensor().expect("arrays are tensors").clone();
        Some(ShardedType { ty, sharding: explicit::expected(self, t).or_else(|| data.sharding.clone()) })
    }

    /// Has a value lie as its users ask.
    pub fn forget_sharding(&mut self, array: &Array) {
        if let Some(t) = array.traced()
            && let Some(frame) = self.frames.iter_mut().find(|f| f.id == t.frame)
        {
            frame.func.body.value_mut(t.value).sharding = None;
        }
    }

    /// Whether this is all that is known of a value's type.
    pub fn is_current(&self, t: Traced, ty: Option<&ShardedType>) -> bool {
        let own = ty.and_then(|ty| ty.sharding.as_ref());
        let Some((_, body)) = self.home(t.frame) else { return true };
        !explicit::is_pending(self, t) && body.sharding(t.value) == own
    }

    /// Opens a region of the function being built, with arguments of these types.
    pub fn open_region(&mut self, args: &[TensorType], loc: &Loc) -> Vec<Traced> {
        let region = self.body().add_region();
        self.frame_mut().regions.push(Open { region, wall: None, predicate: None });
        args.iter().map(|ty| self.region_arg(ty, loc)).collect()
    }

    /// One more argument of the innermost region.
    pub fn region_arg(&mut self, ty: &TensorType, loc: &Loc) -> Traced {
        let region = self.frame().region();
        let value = self.body().add_arg(region, Type::Tensor(ty.clone()), loc.clone());
        self.traced(value)
    }

    /// Closes the innermost region, which has been terminated.
    pub fn close_region(&mut self) -> Region {
        self.frame_mut().regions.pop().expect("a region was opened").region
    }

    /// Starts a function beside the one being built.
    pub fn open_func(&mut self, name: &str, loc: &Loc) {
        let taken = |name: &str| self.module.func(name).is_some() || self.frames.iter().any(|f| &*f.func.name == name);
        let fresh = (0..).map(|i| if i == 0 { name.to_string() } else { format!("{name}_{i}") }).find(|n| !taken(n));
        self.frames.push(Frame::new(&fresh.expect("one of them is free"), loc.clone()));
    }

    /// Ends the function with these results; gives its name, and what it uses of the functions around it, in the
    /// order of the arguments that were added for it.
    pub fn close_func(&mut self, results: &[Value], loc: &Loc) -> (Arc<str>, Vec<Value>) {
        let frame = self.frames.pop().expect("a function was opened");
        let entry = frame.regions[0].wall.as_ref().expect("functions are isolated");
        let outer = entry.imports.iter().map(|(o, _)| *o).collect::<Vec<_>>();
        let shardings = results.iter().map(|&v| frame.func.body.sharding(v).cloned().filter(|_| self.explicit.is_on()));
        let shardings = shardings.collect();
        let mut func = frame.finish(results, shardings, loc);
        func.visibility = Visibility::Private;
        let name = func.name.clone();
        self.module.funcs.push(func);
        let outer = outer.into_iter().map(|t| self.import(t).expect("it was in scope inside")).collect();
        (name, outer)
    }

    /// The finished program, whose results are `results`.
    pub fn finish(mut self, results: &[Value], shardings: Vec<Option<base::Sharding>>, loc: &Loc) -> Finished {
        let mut main = self.frames.pop().expect("a trace has a function");
        assert!(self.frames.is_empty(), "every function but the first has been closed");
        let shardings = self.explicit.bind_ends(&mut main.func.body, results, shardings);
        let reduced = shardings.iter().map(|s| s.as_ref().map_or(vec![], |s| s.reduced.clone())).collect();
        let others = std::mem::take(&mut self.module.funcs);
        self.module.funcs = std::iter::once(main.finish(results, shardings, loc)).chain(others).collect();
        self.module.funcs.iter_mut().for_each(explicit::forget_reduced);
        self.module.meshes.extend(self.mesh.map(|m| m.0));
        debug_verify(&self.module);
        let captured = self.captured.into_iter().map(|(a, _)| a).collect();
        Finished { module: self.module, captured, reduced, warnings: self.explicit.warnings.finish() }
    }

    /// Whether layouts over `mesh` may stand in this program; the first one decides.
    pub fn join_mesh(&mut self, mesh: &Mesh) -> bool {
        match &self.mesh {
            Some(own) => own.fits(mesh),
            None => {
                self.mesh = Some(mesh.clone());
                self.explicit.join(mesh);
                self.narrow_types();
                true
            }
        }
    }
}

/// What a trace makes is well formed: anything else is a bug of the library, found where it is made.
fn debug_verify(module: &Module) {
    if cfg!(debug_assertions) {
        let found = shardwise_ir::verify(module);
        assert!(found.is_empty(), "shardwise made an invalid program\n{found}");
    }
}

impl Frame {
    fn new(name: &str, loc: Loc) -> Frame {
        let func = Func::new(name, loc);
        let regions = vec![Open { region: func.body.entry(), wall: Some(Wall::default()), predicate: None }];
        Frame { id: next_id(), func, regions }
    }

    fn region(&self) -> Region {
        self.regions.last().expect("a function has a region").region
    }

    /// `outer`, as the `i`th open region sees it; `data` is what is known of it.
    fn import(&mut self, i: usize, outer: Traced, data: &mut ValueData, trace: u64) -> Traced {
        let Some(wall) = &self.regions[i].wall else { return outer };
        if let Some((_, inner)) = wall.imports.iter().find(|(o, _)| *o == outer) {
            return *inner;
        }
        let region = self.regions[i].region;
        if let Some(scope) = &wall.scope {
            data.sharding = data.sharding.take().map(|s| scope.inner_sharding(&s));
        }
        let inner = match i {
            0 => self.arg(trace, data.ty.clone(), data.sharding.clone(), Loc::UNKNOWN),
            _ => {
                let value = self.func.body.add_arg(region, data.ty.clone(), Loc::UNKNOWN);
                self.func.body.value_mut(value).sharding = data.sharding.clone();
                Traced { trace, frame: self.id, region, value }
            }
        };
        self.func.body.value_mut(inner.value).manual = data.manual.clone();
        self.regions[i].wall.as_mut().expect("seen above").imports.push((outer, inner));
        inner
    }

    fn arg(&mut self, trace: u64, ty: Type, sharding: Option<base::Sharding>, loc: Loc) -> Traced {
        let entry = self.func.body.entry();
        let value = self.func.body.add_arg(entry, ty, loc);
        self.func.body.value_mut(value).sharding = sharding;
        self.func.arg_attrs.push(Attrs::new());
        Traced { trace, frame: self.id, region: entry, value }
    }

    fn finish(self, results: &[Value], shardings: Vec<Option<base::Sharding>>, loc: &Loc) -> Func {
        let mut func = self.func;
        func.result_types = results.iter().map(|&v| func.body.ty(v).clone()).collect();
        func.result_attrs = vec![Attrs::new(); results.len()];
        func.result_shardings = shardings;
        let entry = func.body.entry();
        Builder::at(&mut func.body, entry, loc.clone()).ret(results.iter().copied());
        func
    }
}

/// Adds to the trace under way the arrays as values, or the mistake that they cannot be.
pub(crate) fn operands(arrays: &[&Array], at: &'static Location<'static>) -> Result<Vec<Value>, Mistakes> {
    let loc = context::loc(at);
    if let Some(wrong) = Mistakes::join(arrays.iter().filter_map(|a| a.mistakes())) {
        return Err(wrong);
    }
    let used: Result<Vec<Value>, Diagnostic> = with(|t| arrays.iter().map(|a| t.operand(a, &loc)).collect());
    used.map_err(|d| {
        let wrong = Mistakes::one(d);
        record(&wrong);
        wrong
    })
}
