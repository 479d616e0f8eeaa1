//! Traces: programs that are being built.
//!
//! Each thread has a stack of traces, and new ops go to the topmost one. A trace is a stack of functions that are being
//! built (the body of a loop may be a function of its own), and each function has a stack of open regions. When an
//! inner function uses a value of an outer one, the value becomes an argument of the inner function
//! ([`Trace::import`]). When a program uses an array that is not traced, the array becomes a hidden argument of the
//! whole program.

use crate::ambient::scoped;
use crate::error::{Found, Mistakes};
use crate::manual::{ManualType, Predicate, Scope};
use crate::tree::TooDeep;
use crate::{Array, Error, Mesh, Result, context, explicit, mistakes};
use shardwise_base::{self as base, Diagnostic, Loc};
use shardwise_engine::ShardedType;
use shardwise_ir::{
    Attrs, Body, Builder, Func, Module, Op, OpCode, OpView, Region, TensorType, Type, Value, ValueData, Visibility,
    symbols,
};
use shardwise_ops::OPS;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Traced {
    trace: u64,
    frame: u64,
    region: Region,
    value: Value,
}

struct Frame {
    id: u64,
    func: Func,
    /// Open regions, innermost last. The first one is the function's own region.
    regions: Vec<Open>,
}

struct Open {
    region: Region,
    /// `Some` if the region is isolated: it cannot use values from outside directly.
    wall: Option<Wall>,
    /// `Some` if devices may decide differently whether to run this region. Regions around it may have predicates too.
    predicate: Option<Predicate>,
}

/// The part of [`Open`] that only an isolated region has: a function's body, or the body of a manual computation.
#[derive(Default)]
struct Wall {
    /// Values from outside that are used inside, each with the argument that stands for it.
    imports: Vec<(Traced, Traced)>,
    /// `Some` if the region is the body of a manual computation.
    scope: Option<Arc<Scope>>,
}

/// The number of open functions, the number of open regions of the innermost one, and whether a library function is
/// open.
struct Depth {
    frames: usize,
    regions: usize,
    is_in_function: bool,
}

pub(crate) struct Finished {
    pub module: Module,
    /// The arrays that are passed for the last arguments of `@main`, in order.
    pub captured: Vec<Array>,
    /// The stated layout of each result: the one that was asked for, or else the value's own. If there is neither, it
    /// is the replicated one in Explicit mode, and otherwise `None`. Compiled programs do not record the axes over
    /// which a result is reduced, nor axes of size 1.
    pub results: Vec<Option<base::Sharding>>,
    /// Warnings about communication over Explicit axes that the program did not ask for: one for each line, or for each
    /// call whose line is not known.
    pub warnings: Vec<Diagnostic>,
}

pub(crate) struct Trace {
    id: u64,
    pub module: Module,
    frames: Vec<Frame>,
    /// Arrays that are not traced and that the program uses, each with the argument that stands for it.
    captured: Vec<(Array, Traced)>,
    wrong: Found,
    pub mesh: Option<Mesh>,
    pub explicit: explicit::State,
    /// The number of calls of functions with derivatives of their own so far. Calls that a rule makes of its own
    /// function with equal types are not counted.
    customs: usize,
}

thread_local! {
    static STACK: RefCell<Vec<Trace>> = const { RefCell::new(vec![]) };
}

scoped! {
    /// While this is true, mistakes are not recorded, since they follow from a mistake that has been recorded.
    static IS_QUIET: bool = false;
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The payload with which a trace unwinds when it ends early ([`end`]): after a mistake that leaves something unknown
/// which the trace needs, or with which the function that reports it does not go on.
struct EndTrace;

/// Ends the trace early, by unwinding. The enclosing [`run`] or [`run_inline`] returns the mistakes found so far. An
/// enclosing [`quietly`] returns `None` instead, and the trace goes on.
pub(crate) fn end() -> ! {
    resume_unwind(Box::new(EndTrace))
}

pub(crate) fn is_tracing() -> bool {
    STACK.with_borrow(|s| !s.is_empty())
}

/// Calls `f` with the topmost trace.
///
/// # Panics
///
/// Panics if no trace is active, or if it is called within `f`.
pub(crate) fn with<R>(f: impl FnOnce(&mut Trace) -> R) -> R {
    STACK.with_borrow_mut(|s| f(s.last_mut().expect("a trace is under way")))
}

/// Returns true if the topmost trace can use the value: the function and the region that made it are still open.
pub(crate) fn is_open(traced: Traced) -> bool {
    STACK.with_borrow(|s| s.last().is_some_and(|t| t.home_of(traced).is_some()))
}

/// Records a mistake in the active trace. Does nothing outside of a trace and inside [`quietly`].
pub(crate) fn record(mistakes: &Mistakes) {
    if IS_QUIET.get() {
        return;
    }
    STACK.with_borrow_mut(|s| {
        if let Some(trace) = s.last_mut() {
            trace.wrong.add_all(mistakes);
        }
    });
}

/// Runs `f` without recording mistakes. If a mistake ends `f` early ([`end`]), drops the functions and regions that it
/// left open, and returns `None`. Other panics are passed on.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> Option<R> {
    let depth = STACK.with_borrow(|s| s.last().map(Trace::depth));
    match IS_QUIET.with(true, || catch_unwind(AssertUnwindSafe(f))) {
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

/// Runs `f` as a new program with this name on the mesh `mesh`. `at` is the location of the program.
///
/// Returns the trace and the result of `f`. If mistakes were found or `f` returns an error, returns all of them, each
/// once. A tree that is too deep is such a mistake. A panic of `f` is passed on, unless a mistake was found before it.
pub(crate) fn run<R>(name: &str, mesh: Option<Mesh>, at: Loc, f: impl FnOnce() -> Result<R>) -> Result<(Trace, R)> {
    STACK.with_borrow_mut(|s| s.push(Trace::new(name, mesh, at)));
    let out = IS_QUIET.with(false, || catch_unwind(AssertUnwindSafe(f)));
    let mut trace = STACK.with_borrow_mut(|s| s.pop()).expect("pushed above");
    let wrong = std::mem::take(&mut trace.wrong);
    settle(out, wrong.into_error(), &trace.module.loc).map(|out| (trace, out))
}

/// Runs `f`. If it returns an error or panics, drops the functions and regions that it left open in the active trace,
/// and passes the error or the panic on. Panics if no trace is active.
pub(crate) fn or_rewind<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    let depth = with(|t| t.depth());
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(out)) => Ok(out),
        failed => {
            with(|t| t.rewind(depth));
            failed.unwrap_or_else(|panic| resume_unwind(panic))
        }
    }
}

/// Runs `f`. If it panics, drops the functions and regions that it left open in the active trace, because the traced
/// function may catch the panic and go on, and passes the panic on. Panics if no trace is active.
pub(crate) fn rewinding<R>(f: impl FnOnce() -> R) -> R {
    or_rewind(|| Ok(f())).expect("it returns no error")
}

/// Runs `f` as a part of the active trace. Like [`run`], returns the mistakes that were found. Those that `f` recorded
/// also stay recorded in the trace, but an error that `f` returns is not recorded. Functions and regions that `f` left
/// open are dropped.
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
    /// Returns a key that identifies the value within its trace.
    pub fn key(self) -> (u64, Value) {
        (self.frame, self.value)
    }
}

impl Trace {
    fn new(name: &str, mesh: Option<Mesh>, at: Loc) -> Trace {
        let mut module = Module::new(name, &OPS);
        module.loc = at.clone();
        module.meshes.extend(mesh.as_ref().map(|m| m.0.clone()));
        Trace {
            id: next_id(),
            module,
            frames: vec![Frame::new("main", at)],
            captured: vec![],
            wrong: Found::default(),
            explicit: explicit::State::new(mesh.as_ref()),
            mesh,
            customs: 0,
        }
    }

    /// Returns a number that no other trace has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Counts a call of a function with a derivative of its own, and returns its number, from 0.
    pub fn next_custom(&mut self) -> usize {
        self.customs += 1;
        self.customs - 1
    }

    pub fn frame_id(&self) -> u64 {
        self.frame().id
    }

    /// Returns the module, and the body of the function with the number `frame`, or `None` if this function is not
    /// being built.
    pub fn home(&self, frame: u64) -> Option<(&Module, &Body)> {
        let frame = self.frames.iter().find(|f| f.id == frame)?;
        Some((&self.module, &frame.func.body))
    }

    /// Returns the op that makes a value, and the op's location. Returns `None` for an argument, and for a value of a
    /// function that is not being built.
    pub fn def(&self, t: Traced) -> Option<(Loc, Op)> {
        let (_, body) = self.home(t.frame)?;
        let op = body.def_op(t.value)?;
        Some((body.op(op).loc.clone(), op))
    }

    /// Returns a view of an op of the function that is being built.
    pub fn view(&self, op: Op) -> OpView<'_> {
        self.module.view(&self.frame().func.body, op)
    }

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

    /// Drops the functions, regions and the library function that were opened after the trace had the depth `to`, and
    /// were left open by unwinding.
    fn rewind(&mut self, to: Depth) {
        self.frames.truncate(to.frames);
        self.frame_mut().regions.truncate(to.regions);
        self.narrow_types();
        if !to.is_in_function {
            self.explicit.leave_function();
        }
    }

    /// Adds an argument to the function that is being built. In Explicit mode, a type without a layout gets the
    /// replicated one.
    pub fn arg(&mut self, ty: &ShardedType, loc: Loc) -> Traced {
        let trace = self.id;
        let sharding = ty.sharding.clone().or_else(|| explicit::of_argument(self, ty.ty.rank()));
        self.frame_mut().arg(trace, Type::Tensor(ty.ty.clone()), sharding, loc)
    }

    /// Returns the array as a value of the function that is being built, or the reason why it cannot be used here. A
    /// layout that is pending is settled. An array that is not traced becomes a hidden argument of the program. Panics
    /// if it has no type.
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

    /// Returns the scope of the innermost manual computation, if there is one.
    pub fn scope(&self) -> Option<Arc<Scope>> {
        let walls = self.opens().filter_map(|o| o.wall.as_ref());
        walls.filter_map(|w| w.scope.as_ref()).next_back().cloned()
    }

    fn opens(&self) -> impl DoubleEndedIterator<Item = &Open> {
        self.frames.iter().flat_map(|f| &f.regions)
    }

    /// Sets why some devices may not run the innermost region. With `None`, all devices that run the region around it
    /// run it.
    pub fn set_predicate(&mut self, predicate: Option<Predicate>) {
        self.frame_mut().regions.last_mut().expect("a function has a region").predicate = predicate;
    }

    /// Returns the reasons why some devices may not run the code that is being traced, outermost first.
    pub fn predicates(&self) -> impl Iterator<Item = &Predicate> {
        self.opens().filter_map(|o| o.predicate.as_ref())
    }

    /// Opens the body of a manual computation with arguments of these types, and returns the arguments.
    pub fn open_manual(&mut self, args: &[TensorType], scope: Arc<Scope>, loc: &Loc) -> Vec<Traced> {
        let args = self.open_region(args, loc);
        let open = self.frame_mut().regions.last_mut().expect("opened above");
        open.wall = Some(Wall { imports: vec![], scope: Some(scope) });
        self.narrow_types();
        args
    }

    /// Recomputes the axes over which layouts are part of types. Manual axes are not among them.
    pub fn narrow_types(&mut self) {
        let scope = self.scope();
        self.explicit.narrow(|axis| scope.as_ref().is_some_and(|s| s.axes.contains(&axis)));
    }

    /// Closes the body of a manual computation, and returns its region and the outer values that it uses, in the order
    /// of the arguments that were added for them.
    pub fn close_manual(&mut self) -> (Region, Vec<Value>) {
        let open = self.frame_mut().regions.pop().expect("a region was opened");
        self.narrow_types();
        let outer = open.wall.map_or(vec![], |w| w.imports).into_iter().map(|(o, _)| o);
        let outer: Vec<Value> = outer.map(|t| self.import(t).expect("it was in scope inside")).collect();
        (open.region, outer)
    }

    /// Returns the states along manual axes that the program records for a value, in the innermost scope. A value
    /// without a record is replicated. Returns `None` outside of per-device code.
    pub fn recorded(&mut self, v: Value) -> Option<ManualType> {
        let scope = self.scope()?;
        let states = self.body().value(v).manual.as_deref().cloned().unwrap_or_default();
        Some(ManualType { scope, states })
    }

    fn check_mesh(&mut self, array: &Array, loc: &Loc) -> Result<(), Diagnostic> {
        let Some(ty) = array.known_type() else { return Ok(()) };
        let Some(sharding) = &ty.sharding else { return Ok(()) };
        let mesh = Mesh(sharding.mesh.clone());
        if self.join_mesh(&mesh) {
            return Ok(());
        }
        let own = self.mesh.clone().expect("the one that differs");
        Err(mistakes::array_mesh(&own, &mesh, &array.short_type(), loc))
    }

    /// Returns the indices of the function and the open region in which a value was made, or `None` if they are not
    /// open in this trace.
    fn home_of(&self, traced: Traced) -> Option<(usize, usize)> {
        let home = self.frames.iter().position(|f| f.id == traced.frame).filter(|_| traced.trace == self.id)?;
        let open = self.frames[home].regions.iter().position(|o| o.region == traced.region)?;
        Some((home, open))
    }

    /// Returns a value of this or an outer function as a value of the innermost region, or `None` if it has gone out of
    /// scope. Adds an argument to each isolated region in between that has none for the value.
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

    /// Returns the identifier and the number of values of each function that is being built, outermost first.
    pub fn value_counts(&self) -> Vec<(u64, usize)> {
        self.frames.iter().map(|f| (f.id, f.func.body.value_count())).collect()
    }

    /// Returns the function that made a value of function `frame`, and the value there. An argument that stands for a
    /// value from outside of an isolated region is followed to that value.
    pub fn origin(&self, mut frame: u64, mut value: Value) -> (u64, Value) {
        let stands = |f: &Frame, frame: u64, value: Value| {
            let imports = f.regions.iter().filter_map(|o| o.wall.as_ref()).flat_map(|w| &w.imports);
            imports.filter(|(_, inner)| inner.key() == (frame, value)).map(|(outer, _)| outer.key()).next()
        };
        while let Some(outer) = self.frames.iter().find(|f| f.id == frame).and_then(|f| stands(f, frame, value)) {
            (frame, value) = outer;
        }
        (frame, value)
    }

    /// Returns the value if it was made in the innermost region or is an argument of it, and `None` otherwise.
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

    /// Appends an op to the innermost region.
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

    /// Returns the ops of the innermost region.
    pub fn ops(&self) -> &[Op] {
        let frame = self.frame();
        &frame.func.body[frame.region()].ops
    }

    /// Returns a builder that appends to the innermost region.
    pub fn builder(&mut self, loc: &Loc) -> Builder<'_> {
        let frame = self.frame_mut();
        let region = frame.region();
        Builder::at(&mut frame.func.body, region, loc.clone())
    }

    /// Appends the terminator `code` with these values to the innermost region. This does not close the region.
    pub fn terminate(&mut self, code: OpCode, values: &[Value], loc: &Loc) {
        self.op(code, values, Attrs::new(), vec![], &[], loc);
    }

    /// Returns the handle of a value that was made in the innermost region.
    pub fn traced(&self, value: Value) -> Traced {
        let frame = self.frame();
        Traced { trace: self.id, frame: frame.id, region: frame.region(), value }
    }

    /// Sets the layout of a value of a function that is being built. Does nothing for other values.
    pub fn set_sharding(&mut self, t: Traced, sharding: base::Sharding) {
        if let Some(frame) = self.frames.iter_mut().find(|f| f.id == t.frame) {
            frame.func.body.value_mut(t.value).sharding = Some(sharding);
        }
    }

    /// Records the state along the manual axes of a value of a function that is being built. Does nothing for other
    /// values.
    pub fn set_manual(&mut self, t: Traced, manual: &ManualType) {
        if let Some(frame) = self.frames.iter_mut().find(|f| f.id == t.frame) {
            frame.func.body.value_mut(t.value).manual = manual.noted();
        }
    }

    /// Returns the type of a value, with the layout that it has or takes by default. Returns `None` if its function is
    /// not being built in this trace.
    pub fn value_type(&self, t: Traced) -> Option<ShardedType> {
        let (_, body) = self.home(t.frame)?;
        let data = body.value(t.value);
        let ty = data.ty.as_tensor().expect("arrays are tensors").clone();
        Some(ShardedType { ty, sharding: explicit::expected(self, t).or_else(|| data.sharding.clone()) })
    }

    /// Leaves the layout of a value to the compiler. Does nothing unless the function of the value is being built.
    pub fn forget_sharding(&mut self, t: Traced) {
        if let Some(frame) = self.frames.iter_mut().find(|f| f.id == t.frame) {
            frame.func.body.value_mut(t.value).sharding = None;
        }
    }

    /// Returns true if `ty` has the layout that the trace has for a value, and this layout is not pending. Also
    /// returns true if the value's function is not being built in this trace.
    pub fn is_current(&self, t: Traced, ty: Option<&ShardedType>) -> bool {
        let own = ty.and_then(|ty| ty.sharding.as_ref());
        let Some((_, body)) = self.home(t.frame) else { return true };
        !explicit::is_pending(self, t) && body.sharding(t.value) == own
    }

    /// Opens a region of the function that is being built, with arguments of these types, and returns the arguments.
    pub fn open_region(&mut self, args: &[TensorType], loc: &Loc) -> Vec<Traced> {
        let region = self.body().add_region();
        self.frame_mut().regions.push(Open { region, wall: None, predicate: None });
        args.iter().map(|ty| self.region_arg(ty, loc)).collect()
    }

    /// Adds an argument to the innermost region, and returns it.
    pub fn region_arg(&mut self, ty: &TensorType, loc: &Loc) -> Traced {
        let region = self.frame().region();
        let value = self.body().add_arg(region, Type::Tensor(ty.clone()), loc.clone());
        self.traced(value)
    }

    /// Closes the innermost region, which has been terminated.
    pub fn close_region(&mut self) -> Region {
        self.frame_mut().regions.pop().expect("a region was opened").region
    }

    /// Opens a function beside the one that is being built. A number is appended to the name if it is taken. Returns
    /// the name.
    pub fn open_func(&mut self, name: &str, loc: &Loc) -> Arc<str> {
        let fresh = self.fresh_name(name);
        self.frames.push(Frame::new(&fresh, loc.clone()));
        self.frame().func.name.clone()
    }

    fn fresh_name(&self, name: &str) -> String {
        let taken = |name: &str| self.module.func(name).is_some() || self.frames.iter().any(|f| &*f.func.name == name);
        let fresh = (0..).map(|i| if i == 0 { name.to_string() } else { format!("{name}_{i}") }).find(|n| !taken(n));
        fresh.expect("one of them is free")
    }

    /// Adds the functions of another trace's module that `func` refers to. Returns `func` with their new names.
    pub fn adopt(&mut self, func: &Func, from: &Module) -> Func {
        let mut needed = from.without_funcs();
        needed.funcs.push(func.clone());
        symbols::keep_referenced(from, &mut needed);
        let mut names = BTreeMap::new();
        for f in needed.funcs.iter().skip(1) {
            let mut placeholder = f.clone();
            placeholder.name = self.fresh_name(&f.name).into();
            names.insert(f.name.clone(), placeholder.name.clone());
            self.module.funcs.push(placeholder);
        }
        for f in self.module.funcs.iter_mut().filter(|f| names.values().any(|n| *n == f.name)) {
            symbols::rename_symbols(f, &names);
        }
        let mut func = func.clone();
        symbols::rename_symbols(&mut func, &names);
        func
    }

    /// Closes the innermost function with these results. Returns its name and the outer values that it uses, in the
    /// order of the arguments that were added for them.
    pub fn close_func(&mut self, results: &[Value], loc: &Loc) -> (Arc<str>, Vec<Value>) {
        let (func, outer) = self.take_func(results, loc);
        let name = func.name.clone();
        self.module.funcs.push(func);
        (name, outer)
    }

    /// Closes the innermost function as [`Trace::close_func`] does, but returns it instead of adding it to the module.
    pub fn take_func(&mut self, results: &[Value], loc: &Loc) -> (Func, Vec<Value>) {
        let (func, outer) = self.take_func_with(results, loc);
        let outer = outer.into_iter().map(|t| self.import(t).expect("it was in scope inside")).collect();
        (func, outer)
    }

    /// Does the same as [`Trace::take_func`], but returns the outer values as values of the functions that made them.
    pub fn take_func_with(&mut self, results: &[Value], loc: &Loc) -> (Func, Vec<Traced>) {
        let frame = self.frames.pop().expect("a function was opened");
        let entry = frame.regions[0].wall.as_ref().expect("functions are isolated");
        let outer = entry.imports.iter().map(|(o, _)| *o).collect::<Vec<_>>();
        let shardings = results.iter().map(|&v| frame.func.body.sharding(v).cloned().filter(|_| self.explicit.is_on()));
        let shardings = shardings.collect();
        let mut func = frame.finish(results, shardings, loc);
        func.visibility = Visibility::Private;
        (func, outer)
    }

    /// Finishes the program with these results. `shardings` are the layouts that were asked for, with `None` for a
    /// result whose layout was not. Panics if a function other than the first is still open.
    pub fn finish(mut self, results: &[Value], shardings: Vec<Option<base::Sharding>>, loc: &Loc) -> Finished {
        let mut main = self.frames.pop().expect("a trace has a function");
        assert!(self.frames.is_empty(), "every function but the first has been closed");
        let shardings = self.explicit.bind_ends(&mut main.func.body, results, shardings);
        let own = |v: Value| main.func.body.sharding(v).cloned();
        let stated = results.iter().zip(&shardings).map(|(&v, asked)| asked.clone().or_else(|| own(v))).collect();
        let others = std::mem::take(&mut self.module.funcs);
        self.module.funcs = std::iter::once(main.finish(results, shardings, loc)).chain(others).collect();
        keep_referred(&mut self.module);
        self.module.funcs.iter_mut().for_each(explicit::forget_reduced);
        debug_verify(&self.module);
        let captured = self.captured.into_iter().map(|(a, _)| a).collect();
        Finished { module: self.module, captured, results: stated, warnings: self.explicit.warnings.finish() }
    }

    /// Returns true if the program may use layouts over `mesh`. The first mesh becomes the program's mesh.
    pub fn join_mesh(&mut self, mesh: &Mesh) -> bool {
        match &self.mesh {
            Some(own) => own.fits(mesh),
            None => {
                self.mesh = Some(mesh.clone());
                self.module.meshes.push(mesh.0.clone());
                self.explicit.join(mesh);
                self.narrow_types();
                true
            }
        }
    }
}

/// Removes the functions to which the first one does not refer, not even through others. They were traced to be
/// differentiated or batched.
fn keep_referred(module: &mut Module) {
    if module.funcs.len() > 1 {
        *module = symbols::without_unused_funcs(module);
    }
}

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

    /// Returns `outer` as a value of the `i`th open region of this function. If the region is isolated, this is an
    /// argument, which is added unless the region has one for `outer`. `data` has the type and layout of `outer`, and
    /// becomes that of the returned value. If an argument is added, the region's manual axes are removed from its
    /// layout.
    fn import(&mut self, i: usize, outer: Traced, data: &mut ValueData, trace: u64) -> Traced {
        let Some(wall) = &self.regions[i].wall else { return outer };
        if let Some(&(_, inner)) = wall.imports.iter().find(|(o, _)| *o == outer) {
            *data = self.func.body.value(inner.value).clone();
            return inner;
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

/// Returns the arrays as values of the active trace. If arrays carry mistakes, returns these. If an array cannot be
/// used here, records and returns that mistake.
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
