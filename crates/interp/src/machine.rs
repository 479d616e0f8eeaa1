//! Runs functions, regions and ops on a grid of processes in lock-step.

use crate::datum::Datum;
use crate::frame::{Active, Frame};
use crate::testing::DialectState;
use shardwise_base::{Account, AxisRef, Data, Diagnostic, Diagnostics, Literal, Loc, Reservation, Stop, budget};
use shardwise_engine::{Found, NumberChecks};
use shardwise_ir::{Body, Func, Module, Op, OpView, Region, TensorType, Value};
use shardwise_ops::calls::callee;
use shardwise_ops::control::unchanged_operands;
use shardwise_ops::inspect::Inspect;
use shardwise_ops::print::Print;
use shardwise_ops::{EvalError, Opcode, RegionEval, Semantics, constant_value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A value as a datum for each process; `None` for processes that have not computed it.
pub type PerProcess = Vec<Option<Datum>>;

/// The results of an op or a region, or the diagnostic with which it failed.
pub type Results = Result<Vec<PerProcess>, Diagnostic>;

/// The largest depth of calls and regions at run time. A call counts twice: for itself, and for the function's region.
/// Each level takes a few frames of the native stack.
const MAX_DEPTH: usize = 400;

/// Runs one module.
pub struct Machine<'m> {
    pub module: &'m Module,
    /// The op that was started last, with its body, or `None` before the first one.
    running: Option<(&'m Body, Op)>,
    depth: usize,
    /// The function that `run_main` runs, to which diagnostics without an op point. `None` in a run by shards and in a
    /// [`RegionRunner`].
    main: Option<&'m Func>,
    /// True if values are distributed as their shardings state.
    is_by_shards: bool,
    /// The numbers that end the run when an op makes them.
    checks: NumberChecks,
    /// The manual axes of the manual computations, one inside the other, that are being run by shards.
    pub(crate) manual: Vec<AxisRef>,
    pub(crate) dialect: DialectState<'m>,
}

/// The values of one run of a function.
pub struct Env<'m> {
    pub body: &'m Body,
    values: Data<Option<PerProcess>>,
    /// The reservations for the memory of the lists in `values`.
    reserved: Vec<Reservation>,
}

impl<'m> Env<'m> {
    /// Returns an environment without values.
    pub fn new(body: &'m Body) -> Env<'m> {
        Env { body, values: Data::from_fn(body.value_count(), |_| None), reserved: vec![] }
    }

    /// Sets a value for the active processes. The others keep the data that they have. If the value was not set before,
    /// all of `new` is stored, and the run is stopped if there is no memory for the list.
    pub fn set(&mut self, v: Value, new: PerProcess, active: &Active) {
        let slot = &mut self.values[v.index()];
        match slot {
            Some(old) if active.contains(&false) => {
                for ((old, new), active) in old.iter_mut().zip(new).zip(active) {
                    if *active {
                        *old = new;
                    }
                }
            }
            Some(_) => *slot = Some(new),
            None => {
                let bytes = size_of_val(&new[..]);
                self.reserved.push(Account::current().reserve_or_stop(bytes));
                *slot = Some(new);
            }
        }
    }

    /// Returns a value: a datum for each process.
    ///
    /// # Panics
    /// Panics if the value is not set. The verifier excludes this.
    pub fn get(&self, v: Value) -> &PerProcess {
        self.values[v.index()].as_ref().expect("the verifier has checked that values are defined before use")
    }

    /// Returns copies of several values.
    ///
    /// # Panics
    /// Panics if one of them is not set, as [`Env::get`] does.
    pub fn all(&self, values: &[Value]) -> Vec<PerProcess> {
        values.iter().map(|&v| self.get(v).clone()).collect()
    }
}

impl<'m> Machine<'m> {
    /// Returns a machine that runs functions of the module.
    pub fn new(module: &'m Module) -> Machine<'m> {
        Machine {
            module,
            running: None,
            depth: 0,
            main: None,
            is_by_shards: false,
            checks: NumberChecks::default(),
            manual: vec![],
            dialect: DialectState::default(),
        }
    }

    /// Returns the machine, set to run by shards.
    pub fn by_shards(self) -> Machine<'m> {
        Machine { is_by_shards: true, ..self }
    }

    /// Returns the machine, set to end at the first op that makes a number which `checks` refuses.
    pub fn checking(self, checks: NumberChecks) -> Machine<'m> {
        Machine { checks, ..self }
    }

    /// Runs a function on arrays with all processes: `args[i][p]` is argument `i` of process `p`, and the results,
    /// which must be arrays, have the same form. Fails as [`Machine::run`] does.
    pub fn run_main(
        &mut self,
        func: &'m Func,
        frame: Frame,
        args: Vec<Vec<Literal>>,
    ) -> Result<Vec<Vec<Literal>>, Diagnostics> {
        self.main = Some(func);
        let args = args.into_iter().map(|a| a.into_iter().map(|l| Some(Datum::Tensor(l))).collect()).collect();
        let results = self.run(func, &frame, args)?;
        let tensor = |d: Option<Datum>| d.expect("every process ran").tensor().clone();
        Ok(results.into_iter().map(|r| r.into_iter().map(tensor).collect()).collect())
    }

    /// Runs a function with all processes, and returns its results. Fails as [`Machine::region`] does. If the run is
    /// stopped, returns an error at the op that was started last, if there is one.
    pub fn run(&mut self, func: &'m Func, frame: &Frame, args: Vec<PerProcess>) -> Results {
        self.stoppable(|machine| machine.call(func, frame, args, &frame.all_active()))
    }

    /// Runs a function with the active processes, and returns its results. Fails as [`Machine::region`] does.
    pub fn call(&mut self, func: &'m Func, frame: &Frame, args: Vec<PerProcess>, active: &Active) -> Results {
        let mut env = Env::new(&func.body);
        self.region(&mut env, frame, func.body.entry(), args, active)
    }

    /// Runs a region with these arguments for the active processes. Returns the operands of its terminator. Fails if an
    /// op fails or makes a number that the checks refuse, or if calls and regions nest more than [`MAX_DEPTH`] deep.
    pub fn region(
        &mut self,
        env: &mut Env<'m>,
        frame: &Frame,
        region: Region,
        args: Vec<PerProcess>,
        active: &Active,
    ) -> Results {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(&self.main.map_or(Loc::UNKNOWN, |f| f.loc.clone())));
        }
        let body = env.body;
        for (&v, arg) in body[region].args.iter().zip(args) {
            env.set(v, arg, active);
        }
        let (&last, ops) = body[region].ops.split_last().expect("verified: a region has a terminator");
        for &op in ops {
            let results = self.op(env, frame, op, active)?;
            if self.checks.any() {
                self.check_numbers(env, frame, op, &results, active)?;
            }
            for (&v, r) in body[op].results.iter().zip(results) {
                env.set(v, r, active);
            }
        }
        self.depth -= 1;
        Ok(env.all(&body[last].operands))
    }

    /// Fails with `not-finite` if an op made a number that the checks refuse: if a process has one in a result, and
    /// none in the operands. The operands of a collective are those of all active processes. Loops, branches, calls and
    /// the other ops whose semantics are [`Semantics::Control`] are not checked, only the ops inside of them are. A
    /// constant is not checked, because its numbers are given.
    fn check_numbers(
        &self,
        env: &Env<'m>,
        frame: &Frame,
        op: Op,
        results: &[PerProcess],
        active: &Active,
    ) -> Result<(), Diagnostic> {
        let view = OpView::new(self.module, env.body, op);
        let semantics = Opcode::of_view(&view).facts().semantics(&view);
        if semantics == Semantics::Control || constant_value(&view).is_some() {
            return Ok(());
        }
        let count = |of: &PerProcess, v: Value, p: usize| match &of[p] {
            Some(Datum::Tensor(x)) => {
                let (ty, padding) = (TensorType::new(x.dtype(), x.shape().to_vec()), &view.body[v].padding);
                let padding = padding.as_ref().map(|dims| &dims[..]);
                self.checks.count_in_part(&ty, x.to_dense().raw_bytes(), padding, frame.mesh.as_deref(), p)
            }
            _ => (0, 0),
        };
        let processes = || (0..frame.process_count).filter(|&p| active[p]);
        let is_given = |p: usize| view.operands().iter().any(|&v| count(env.get(v), v, p).0 > 0);
        for (result, &v) in results.iter().zip(view.results()) {
            let made: Vec<(usize, (usize, usize))> = processes().map(|p| (p, count(result, v, p))).collect();
            if made.iter().all(|(_, (count, _))| *count == 0) {
                continue;
            }
            let is_together = semantics == Semantics::Collective;
            if is_together && processes().any(is_given) {
                continue;
            }
            let made = made.into_iter().filter(|&(p, (count, _))| count > 0 && (is_together || !is_given(p)));
            let found = made.map(|(p, (count, size))| Found { devices: vec![p], count, size });
            let found: Vec<Found> = found.collect();
            if !found.is_empty() {
                let ty = view.body.ty(v).as_tensor().expect("only arrays have numbers").short();
                return Err(self.checks.error(view.name(), view.loc(), &ty, &found, frame.mesh.as_deref()));
            }
        }
        Ok(())
    }

    /// Runs one op for the active processes, and returns its results. Fails if the op cannot run, or if its evaluation
    /// fails.
    pub fn op(&mut self, env: &mut Env<'m>, frame: &Frame, op: Op, active: &Active) -> Results {
        let view = OpView::new(self.module, env.body, op);
        self.step(&view);
        // Reducers and comparators run without a mesh, because their scalars are those of one device.
        if self.is_by_shards && frame.mesh.is_some() {
            return self.op_by_shards(env, frame, &view, active);
        }
        match Opcode::of_view(&view).facts().semantics(&view) {
            Semantics::Pure => self.pure(env, frame, &view, active),
            Semantics::Identity => Ok(env.all(unchanged_operands(&view))),
            Semantics::Control => self.control(env, frame, &view, active),
            Semantics::Collective => self.collective(env, frame, &view, active),
        }
    }

    fn step(&mut self, view: &OpView<'m>) {
        self.running = Some((view.body, view.op));
        budget::take_steps(1);
    }

    fn stoppable<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        Stop::catch(|| f(self)).unwrap_or_else(|stop| Err(self.stopped(&stop)))
    }

    fn stopped(&self, stop: &Stop) -> Diagnostic {
        match self.running {
            Some((body, op)) => {
                let view = OpView::new(self.module, body, op);
                stop.diagnostic(view.loc()).facts(format!("stopped at `{}`", view.name()))
            }
            None => stop.diagnostic(&self.main.map_or(Loc::UNKNOWN, |f| f.loc.clone())),
        }
    }

    /// Evaluates a pure op for each active process. Inactive processes get no results. A process shares the results of
    /// the last process for which the op was evaluated, without an evaluation of its own, if the operands of both have
    /// the same storage. Fails if an evaluation does.
    fn pure(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>, active: &Active) -> Results {
        let operands = env.all(view.operands());
        let mut results: Vec<PerProcess> = vec![vec![None; frame.process_count]; view.results().len()];
        let mut last: Option<usize> = None;
        for p in (0..frame.process_count).filter(|&p| active[p]) {
            let same = last.filter(|&q| operands.iter().all(|o| o[p].as_ref().unwrap().same(o[q].as_ref().unwrap())));
            match same {
                Some(q) => results.iter_mut().for_each(|r| r[p] = r[q].clone()),
                None => {
                    budget::take_steps(u64::from(last.is_some()));
                    let values = self.pure_once(env, view, &operands, p)?;
                    results.iter_mut().zip(values).for_each(|(r, v)| r[p] = Some(v));
                    last = Some(p);
                }
            }
        }
        Ok(results)
    }

    pub(crate) fn pure_once(
        &mut self,
        env: &mut Env<'m>,
        view: &OpView<'m>,
        operands: &[PerProcess],
        p: usize,
    ) -> Result<Vec<Datum>, Diagnostic> {
        let literals: Vec<Literal> = operands.iter().map(|o| o[p].as_ref().expect("active").tensor().clone()).collect();
        let mut regions =
            Regions { machine: self, env, process: p, process_count: operands.first().map_or(1, Vec::len) };
        let values = shardwise_ops::evaluate(view, &literals, &mut regions)?;
        Ok(values.into_iter().map(Datum::Tensor).collect())
    }

    /// Runs an op that controls its regions, or that otherwise needs more than its operands. Fails if the interpreter
    /// does not implement the op, or if the op itself, one of its regions or the function that it calls fails.
    pub(crate) fn control(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>, active: &Active) -> Results {
        match Opcode::of_view(view) {
            Opcode::Call | Opcode::Composite => self.call_op(env, frame, view, active),
            Opcode::While => self.while_loop(env, frame, view, active),
            Opcode::Case => self.case(env, frame, view, active),
            Opcode::If => self.case(env, frame, view, active),
            Opcode::OptimizationBarrier => Ok(env.all(view.operands())),
            Opcode::NamedComputation => {
                let args = env.all(view.operands());
                self.region(env, frame, view.regions()[0], args, active)
            }
            Opcode::ManualComputation => self.manual_computation(env, frame, view, active),
            Opcode::RunParallel => self.run_parallel(env, frame, view),
            Opcode::Probe => self.probe(env, view, active),
            Opcode::PrintValue => self.print_value(env, view, active),
            Opcode::CustomCall if Inspect::of(view).is_some() => Ok(vec![]),
            Opcode::CustomCall => self.print(env, frame, view, active),
            Opcode::ExpectSerializedEq => self.expect_probed(env, view, active),
            Opcode::Send => self.send(env, frame, view, active),
            Opcode::Recv => self.recv(frame, view, active),
            Opcode::Infeed => self.infeed(frame, view, active),
            Opcode::Outfeed => Ok(vec![vec![Some(Datum::Token); frame.process_count]]),
            Opcode::AfterAll | Opcode::CreateToken => Ok(vec![vec![Some(Datum::Token); frame.process_count]]),
            Opcode::Tuple => Ok(vec![tuple(&env.all(view.operands()), frame)]),
            Opcode::GetTupleElement => Ok(vec![tuple_element(view, env.get(view.operand(0)))]),
            _ => Err(cannot_run(view)),
        }
    }

    /// Runs a print, once for all active processes with the same coordinates. Fails if the op is no print.
    fn print(&mut self, env: &Env<'m>, frame: &Frame, view: &OpView<'m>, active: &Active) -> Results {
        let print = Print::of(view).ok_or_else(|| cannot_run(view))?;
        let operands = env.all(view.operands());
        let mut seen: BTreeSet<Vec<i128>> = BTreeSet::new();
        for p in (0..frame.process_count).filter(|&p| active[p]) {
            let values = operands.iter().map(|o| o[p].as_ref().expect("active").tensor().clone());
            let values: Vec<Literal> = values.collect();
            let coordinates = values[..print.coordinate_count()].iter().map(|c| c.get_i128(0));
            if seen.insert(coordinates.collect()) {
                print.run(&values);
            }
        }
        Ok(vec![])
    }

    fn call_op(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>, active: &Active) -> Results {
        let module = self.module;
        let callee = callee(view).map(|id| &module[id]).ok_or_else(|| cannot_run(view))?;
        let args = env.all(view.operands());
        self.depth += 1;
        let results = self.call(callee, frame, args, active);
        self.depth -= 1;
        results
    }

    /// Runs a loop until the condition holds for no active process. Processes that are done keep their last values.
    /// Fails if the condition or the body does.
    fn while_loop(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>, active: &Active) -> Results {
        let (cond, body) = (view.regions()[0], view.regions()[1]);
        let mut carry = env.all(view.operands());
        let mut running = active.clone();
        loop {
            self.step(view);
            let go = self.region(env, frame, cond, carry.clone(), &running)?.remove(0);
            for (p, running) in running.iter_mut().enumerate() {
                *running = *running && go[p].as_ref().is_some_and(Datum::is_true);
            }
            if !running.contains(&true) {
                return Ok(carry);
            }
            let next = self.region(env, frame, body, carry.clone(), &running)?;
            for (old, new) in carry.iter_mut().zip(next) {
                merge(old, new, &running);
            }
        }
    }

    /// Runs each branch of a `case` or `if` with the processes that take it. A branch that no process takes is not run.
    /// A `case` with an index out of range takes the last branch, as the spec requires. Fails if a branch that is run
    /// does.
    fn case(&mut self, env: &mut Env<'m>, frame: &Frame, view: &OpView<'m>, active: &Active) -> Results {
        let last = view.regions().len() - 1;
        let is_if = Opcode::of_view(view) == Opcode::If;
        let index = env.get(view.operand(0)).clone();
        let branch = |p: usize| {
            let i = index[p].as_ref().expect("active").tensor().get_i128(0);
            let i = if is_if { 1 - i } else { i };
            usize::try_from(i).map_or(last, |i| i.min(last))
        };
        let taken: Vec<Option<usize>> = (0..frame.process_count).map(|p| active[p].then(|| branch(p))).collect();
        let mut results = vec![vec![None; frame.process_count]; view.results().len()];
        for (i, &region) in view.regions().iter().enumerate() {
            let those: Active = taken.iter().map(|t| *t == Some(i)).collect();
            if those.contains(&true) {
                let values = self.region(env, frame, region, vec![], &those)?;
                results.iter_mut().zip(values).for_each(|(old, new)| merge(old, new, &those));
            }
        }
        Ok(results)
    }
}

fn merge(old: &mut PerProcess, new: PerProcess, active: &Active) {
    for ((old, new), active) in old.iter_mut().zip(new).zip(active) {
        if *active {
            *old = new;
        }
    }
}

fn tuple(parts: &[PerProcess], frame: &Frame) -> PerProcess {
    let of = |p: usize| parts.iter().map(|d| d[p].clone()).collect::<Option<Vec<_>>>().map(Datum::Tuple);
    (0..frame.process_count).map(of).collect()
}

fn tuple_element(view: &OpView<'_>, tuples: &PerProcess) -> PerProcess {
    let index = shardwise_ops::token::Tuple::index(view).expect("verified");
    let element = |t: &Datum| match t {
        Datum::Tuple(parts) => parts[index].clone(),
        other => panic!("expected a tuple, found {other:?}"),
    };
    tuples.iter().map(|t| t.as_ref().map(element)).collect()
}

/// Runs the reducers and comparators of an op for one process.
pub(crate) struct Regions<'a, 'm> {
    pub machine: &'a mut Machine<'m>,
    pub env: &'a mut Env<'m>,
    pub process: usize,
    pub process_count: usize,
}

impl RegionEval for Regions<'_, '_> {
    /// Runs a region with this process as the only active one of the surrounding grid, whose values the region may
    /// capture. Its ops may make any numbers: the op with the region is checked as a whole. Fails as
    /// [`Machine::region`] does.
    fn region(&mut self, region: Region, args: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
        // A region may have no op that takes steps.
        budget::take_steps(1);
        let count = self.process_count;
        let frame = Frame::grid(None, count);
        let mut active = vec![false; count];
        active[self.process] = true;
        let spread = |l: Literal| {
            let mut v = vec![None; count];
            v[self.process] = Some(Datum::Tensor(l));
            v
        };
        let args = args.into_iter().map(spread).collect();
        let checks = std::mem::take(&mut self.machine.checks);
        let results = self.machine.region(self.env, &frame, region, args, &active);
        self.machine.checks = checks;
        let results = results?;
        let own = |r: PerProcess| r[self.process].as_ref().expect("it ran").tensor().clone();
        Ok(results.into_iter().map(own).collect())
    }
}

/// Returns the error for an op that the interpreter cannot run.
pub fn cannot_run(view: &OpView<'_>) -> Diagnostic {
    let what = match shardwise_ops::control::CustomCall::target(view) {
        Some(target) => format!("`{}` @{target}", view.name()),
        None => format!("`{}`", view.name()),
    };
    Diagnostic::error("op-unsupported", view.loc(), format!("{what} cannot be run"))
        .help("write it with other ops, or, if it is a custom call, register a kernel for it")
}

fn too_deep(loc: &Loc) -> Diagnostic {
    Diagnostic::error(
        "run-depth",
        loc,
        format!("calls and regions nest more than {MAX_DEPTH} deep while running; a call counts twice"),
    )
    .help("turn deep chains of calls into loops")
}

/// Returns process numbers as text for messages, separated by commas.
pub fn processes(list: impl IntoIterator<Item = usize>) -> Arc<str> {
    let names: Vec<String> = list.into_iter().map(|p| p.to_string()).collect();
    names.join(", ").into()
}

/// Runs reducers and comparators for an engine that evaluates single ops itself.
pub struct RegionRunner<'m> {
    module: &'m Module,
    body: &'m Body,
    /// The machine and the values, which are made when the first region runs or the first value is defined: most ops
    /// need neither.
    state: Option<(Machine<'m>, Env<'m>)>,
}

impl<'m> RegionRunner<'m> {
    /// Returns a runner of the regions of ops in `body`.
    pub fn new(module: &'m Module, body: &'m Body) -> RegionRunner<'m> {
        RegionRunner { module, body, state: None }
    }

    /// Returns the most bytes that the runner of a body reserves for its values: a list of values, each a list of one
    /// datum.
    pub fn reserved_bytes(body: &Body) -> usize {
        body.value_count() * (size_of::<Option<PerProcess>>() + size_of::<Option<Datum>>())
    }

    /// Defines a value of the surrounding program, for regions that capture it. Replaces an earlier definition.
    pub fn define(&mut self, v: Value, literal: Literal) {
        self.state().1.set(v, vec![Some(Datum::Tensor(literal))], &vec![true]);
    }

    fn state(&mut self) -> &mut (Machine<'m>, Env<'m>) {
        let (module, body) = (self.module, self.body);
        self.state.get_or_insert_with(|| (Machine::new(module), Env::new(body)))
    }
}

impl RegionEval for RegionRunner<'_> {
    fn region(&mut self, region: Region, args: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
        let (machine, env) = self.state();
        Regions { machine, env, process: 0, process_count: 1 }.region(region, args)
    }
}
