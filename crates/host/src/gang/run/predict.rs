//! Computes how much memory a run of a plan needs, by a run that makes the same allocations as the real run in the same
//! order and computes nothing.
//!
//! Buffers come from [`Memory::counted`], which only charges an account. Lifetimes, sharing and reuse in place are the
//! same as in the real run, because the same code decides them from the same counts of owners. Three things are not
//! known before a run:
//!
//! - How often a loop runs. Its rounds are repeated until the carried buffers have the same owners as in an earlier
//!   round. It may also run for no round, and then keeps the buffers with which it begins.
//! - Which branch is taken. Every branch runs, and its results count as new arrays unless all branches return the same
//!   one.
//! - What the reference evaluation of an op needs in addition to its operands and results. This is at most as much as
//!   these, or twice as much for a collective, in addition to the tables of a region runner, and [`WORKING_BYTES`] for
//!   each of their elements if it works on copies.
//!
//! The result is therefore exact for runs without these three, and an upper bound for the others.

use super::*;
use shardwise_base::{Account, Budget};
use shardwise_engine::RunMemory;
use shardwise_interp::RegionRunner;
use shardwise_ops::Opcode;
use shardwise_view::MemoryPart;
use smallvec::smallvec;
use std::collections::BTreeMap;

/// An argument of a run.
pub struct Given {
    /// The instances of the array.
    pub points: Points,
    /// True if the run is the only owner of the argument's buffers.
    pub is_donated: bool,
}

/// The memory that a run of a plan needs.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    pub memory: RunMemory,
    /// The number of the visit of a step by whose end the peak was reached. The first visit of the run has number 1. If
    /// the memory cannot be counted, this is the last visit that began. It is 0 if no step was visited or no memory is
    /// needed.
    visit: usize,
}

/// If the owners of the carried buffers have not been as in an earlier round after this many rounds of a loop, one last
/// round is run, in which the carried buffers count as new.
const MAX_ROUNDS: usize = 6;
/// The average number of visits of each step after which loops are run for one last round only, as after
/// [`MAX_ROUNDS`].
const MAX_VISITS: usize = 64;

/// The number of bytes for each element of an op whose reference evaluation works on copies in wider types.
const WORKING_BYTES: usize = 48;

struct Predicting<'a> {
    run: Run<'a>,
    account: Account,
    visits: usize,
    peak: usize,
    peak_visit: usize,
    /// The number of the visit at which the arrays that are alive are listed, if a list is wanted.
    wanted: Option<usize>,
    named: Option<(Step<'a>, Vec<String>)>,
    /// The slots whose buffers are alive at the wanted visit, with the bytes of each buffer. A buffer is listed once.
    alive: Vec<(Slot, usize)>,
}

impl Run<'_> {
    /// Returns the memory that a run of the plan needs, given its arguments. Nothing is computed. If the memory cannot
    /// be counted because its size overflows, the peak and the bytes of the results are `usize::MAX`. If the arguments
    /// and constants alone overflow, their bytes are 0. Unwinds if the run of the current budget is cancelled.
    pub fn predict(plan: &Plan, module: &Module, func: &Func, given: &[Given]) -> Predicted {
        let memory = Memory::counted();
        counted(|account| Predicting::new(Run::new(plan, module, func, &memory), account, None).predict(given))
    }

    /// Returns the diagnostic for a run that is refused because of the memory that it needs. It lists the largest
    /// arrays that are alive at the peak that was predicted, unless no step runs at that time. Unwinds as
    /// [`Run::predict`] does.
    pub fn refused(
        plan: &Plan,
        module: &Module,
        func: &Func,
        given: &[Given],
        predicted: &Predicted,
        refusal: &Stop,
    ) -> Diagnostic {
        let memory = Memory::counted();
        counted(|account| {
            let run = Run::new(plan, module, func, &memory);
            let mut predicting = Predicting::new(run, account, Some(predicted.visit));
            predicting.predict(given);
            match predicting.named {
                Some((step, largest)) => {
                    let when = format!("the most memory is needed by `{}`, when these arrays are alive", step.name);
                    named(refusal.diagnostic(&step.loc).facts(when), largest)
                }
                None => refusal.diagnostic(&func.loc),
            }
        })
    }

    /// Returns the arrays that are in memory at the peak that was predicted, the largest first, or none if no step
    /// runs. Those of one op and one place are one part. Unwinds as [`Run::predict`] does.
    pub fn at_peak(
        plan: &Plan,
        module: &Module,
        func: &Func,
        given: &[Given],
        predicted: &Predicted,
    ) -> Vec<MemoryPart> {
        let memory = Memory::counted();
        let alive = counted(|account| {
            let run = Run::new(plan, module, func, &memory);
            let mut predicting = Predicting::new(run, account, Some(predicted.visit));
            predicting.predict(given);
            predicting.alive
        });
        let names = names(plan);
        let mut parts: BTreeMap<(String, String), MemoryPart> = BTreeMap::new();
        for (slot, bytes) in alive {
            let (name, loc) = (names.get(&slot).cloned().unwrap_or_default(), &plan.slots[slot].loc);
            let new = MemoryPart { name: name.clone(), loc: loc.clone(), bytes: 0 };
            let part = parts.entry((name, loc.to_string())).or_insert(new);
            part.bytes = part.bytes.saturating_add(bytes as u64);
        }
        let mut parts: Vec<MemoryPart> = parts.into_values().filter(|part| part.bytes > 0).collect();
        // The sort is stable, so that equal sizes stay in the order of their names.
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        parts
    }
}

fn distinct(buffers: impl Iterator<Item = (Slot, usize, usize)>) -> Vec<(Slot, usize)> {
    let mut seen = HashSet::new();
    buffers.filter(|&(_, address, _)| seen.insert(address)).map(|(slot, _, bytes)| (slot, bytes)).collect()
}

/// Returns what each slot holds: `argument 1`, `constant`, or the op that makes it.
fn names(plan: &Plan) -> HashMap<Slot, String> {
    let mut names = HashMap::new();
    names_in(&plan.code, &mut names);
    names.extend(plan.constants.iter().map(|(slot, _)| (*slot, "constant".to_string())));
    names.extend(plan.params.iter().enumerate().map(|(i, &slot)| (slot, format!("argument {i}"))));
    names
}

fn names_in(code: &Code, names: &mut HashMap<Slot, String>) {
    for step in &code.steps {
        let name = step.name.trim_start_matches("stablehlo.");
        for block in step.kind.blocks() {
            names.extend(block.params.iter().map(|&slot| (slot, name.to_string())));
            names_in(block, names);
        }
        names.extend(step.outputs.iter().map(|&slot| (slot, name.to_string())));
    }
}

/// Runs `f` under a budget with an account of its own, which refuses only sums that overflow. Unwinds if the run of the
/// current budget is cancelled.
fn counted<T>(f: impl FnOnce(Account) -> T) -> T {
    let account = Account::with_limit(usize::MAX);
    let cancel = Budget::current().map(|b| b.cancel_token().clone()).unwrap_or_default();
    let done = Budget::new(account.clone(), None, cancel).run(|| f(account));
    done.unwrap_or_else(|stop| stop.raise())
}

/// The result of a branch for one instance.
enum Made {
    Nothing,
    /// A buffer that existed before the branch.
    Old(Buffer),
    New,
}

impl<'a> Predicting<'a> {
    fn new(run: Run<'a>, account: Account, wanted: Option<usize>) -> Self {
        Predicting { run, account, visits: 0, peak: 0, peak_visit: 0, wanted, named: None, alive: vec![] }
    }

    fn predict(&mut self, given: &[Given]) -> Predicted {
        let placed = self.place(given);
        let is_possible = placed.is_ok() && self.steps(&self.run.plan.code, &[]).is_ok();
        self.note(self.visits);
        let (argument_bytes, constant_bytes) = placed.as_ref().map_or((0, 0), |(_, bytes)| *bytes);
        // If the run cannot be allocated, its size is not a number.
        let peak_bytes = if is_possible { self.peak } else { usize::MAX };
        let visit = if is_possible { self.peak_visit } else { self.visits };
        // No step has released the arguments that none reads.
        let plan = self.run.plan;
        let results: HashSet<Slot> = plan.code.results.iter().copied().collect();
        let others: Vec<Slot> = plan.params.iter().copied().filter(|slot| !results.contains(slot)).collect();
        self.run.clear(&others);
        let held = placed.as_ref().map_or(0, |(held, _)| held.iter().map(Buffer::reserved_bytes).sum::<usize>());
        let result_bytes = if is_possible { self.account.in_use().saturating_sub(held) } else { usize::MAX };
        Predicted { memory: RunMemory { argument_bytes, constant_bytes, peak_bytes, result_bytes }, visit }
    }

    /// Puts constants and arguments into their slots. Returns the buffers that have owners outside of the run
    /// (constants and arguments that are not donated), and the bytes of all arguments and those of all constants. Fails
    /// if the buffers do not fit into the budget.
    fn place(&mut self, given: &[Given]) -> Result<(Vec<Buffer>, (usize, usize)), OutOfMemory> {
        let (plan, mut held) = (self.run.plan, vec![]);
        for (slot, buffers) in &plan.constants {
            let own = self.buffers(buffers.len(), plan.slots[*slot].bytes)?;
            held.extend(own.iter().cloned());
            self.run.values[*slot] = own.into_iter().map(Some).collect();
        }
        let constants = self.account.in_use();
        for (slot, given) in plan.params.iter().zip(given) {
            let info = &plan.slots[*slot];
            let own = self.buffers(given.points.count(), info.bytes)?;
            let instances = info.points.map_to(&given.points).into_iter();
            self.run.values[*slot] = instances.map(|i| Some(own[i as usize].clone())).collect();
            held.extend(own.into_iter().filter(|_| !given.is_donated));
        }
        Ok((held, (self.account.in_use() - constants, constants)))
    }

    fn buffers(&self, count: usize, bytes: usize) -> Result<Vec<Buffer>, OutOfMemory> {
        (0..count).map(|_| self.run.memory.allocate(bytes)).collect()
    }

    fn steps(&mut self, code: &'a Code, selected: &[Selection<'a>]) -> Result<(), RunError> {
        for step in &code.steps {
            let visit = self.visit(step);
            let before = if self.wanted == Some(visit) { self.buffers_in_use() } else { vec![] };
            self.step(step, selected)?;
            self.note(visit);
            if self.wanted == Some(visit) {
                self.alive = distinct(before.into_iter().chain(self.buffers_in_use()));
            }
            self.run.clear(&step.drops);
        }
        Ok(())
    }

    /// Returns the slot, the address and the charged bytes of each buffer that a slot has.
    fn buffers_in_use(&self) -> Vec<(Slot, usize, usize)> {
        let of = |slot: Slot| {
            let buffers = self.run.values[slot].iter().flatten();
            buffers.map(move |buffer| (slot, buffer.address(), buffer.reserved_bytes()))
        };
        self.run.plan.slots.keys().flat_map(of).collect()
    }

    fn visit(&mut self, step: Step<'a>) -> usize {
        budget::poll();
        self.visits += 1;
        if self.wanted == Some(self.visits) {
            self.named = Some((step, self.run.largest(step)));
        }
        self.visits
    }

    fn note(&mut self, visit: usize) {
        if self.account.peak() > self.peak {
            (self.peak, self.peak_visit) = (self.account.peak(), visit);
        }
    }

    fn step(&mut self, step: Step<'a>, selected: &[Selection<'a>]) -> Result<(), RunError> {
        match &step.kind {
            StepKind::Evaluate { op, .. } => self.evaluate(step, *op, selected)?,
            StepKind::Watch(_) => {}
            StepKind::Alias => self.run.alias(step),
            StepKind::Kernel(kernel) => {
                let mut cx = self.run.context(step, selected);
                kernel.predict(&mut cx)?;
                self.run.finish(cx, selected);
            }
            StepKind::Exchange { members, .. } => self.exchange(step, members, selected)?,
            StepKind::Permute(sources) => self.run.permute(step, sources, selected)?,
            StepKind::While { cond, body, divergence } => {
                for inner in selections(divergence, selected) {
                    self.loop_together(step, cond, body, &inner)?;
                }
            }
            StepKind::Case { branches, divergence, .. } => {
                for inner in selections(divergence, selected) {
                    self.case(step, branches, &inner)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the number of bytes of the literals of some slots, one instance of each, padded to multiples of 8 bytes.
    fn literals(&self, slots: impl IntoIterator<Item = Slot>) -> usize {
        let bytes = |slot: Slot| self.run.plan.slots[slot].bytes.saturating_add(7) / 8 * 8;
        slots.into_iter().map(bytes).fold(0, usize::saturating_add)
    }

    /// Returns an upper bound of the number of bytes that the reference evaluation of an op needs in addition to the
    /// literals of its operands and results, which have `literals` bytes.
    fn working_bytes(&self, step: Step<'a>, op: shardwise_ir::Op, literals: usize) -> usize {
        let slots = step.inputs.iter().map(|input| input.slot).chain(step.outputs.iter().copied());
        let elements = slots.map(|slot| self.run.plan.slots[slot].ty.size()).fold(0, usize::saturating_add);
        let view = self.run.module.view(&self.run.func.body, op);
        let copies = match Opcode::of_view(&view).facts().eval_copies(&view) {
            true => elements.saturating_mul(WORKING_BYTES),
            false => 0,
        };
        literals.saturating_add(copies).saturating_add(RegionRunner::reserved_bytes(&self.run.func.body))
    }

    fn bytes(&self, slots: impl IntoIterator<Item = Slot>) -> usize {
        slots.into_iter().fold(0, |sum, slot| self.run.plan.slots[slot].bytes.saturating_add(sum))
    }

    /// Charges, for each selected instance, the literals of its operands and results and what the evaluation needs.
    /// Then puts new buffers into the outputs while the literals of the results are charged. Fails if this does not fit
    /// into the budget.
    fn evaluate(
        &mut self,
        step: Step<'a>,
        op: shardwise_ir::Op,
        selected: &[Selection<'a>],
    ) -> Result<(), OutOfMemory> {
        let results = self.literals(step.outputs.iter().copied());
        let literals = self.literals(step.inputs.iter().map(|i| i.slot)).saturating_add(results);
        let working = self.working_bytes(step, op, literals);
        for i in Run::instances(step, selected).iter().copied() {
            drop(self.account.reserve(literals.saturating_add(working))?);
            let _results = self.account.reserve(results)?;
            for &slot in &step.outputs {
                let buffer = self.run.memory.allocate(self.bytes([slot]))?;
                self.run.set(step, slot, i, buffer);
            }
        }
        Ok(())
    }

    /// Charges, once for each group, the literals of its operands and results and what the reference needs, which is
    /// counted as twice as much, in addition to the tables of a region runner. The literals of the results stay charged
    /// until all groups are done. Puts a new buffer into the output for each selected instance. Fails if this does not
    /// fit into the budget.
    fn exchange(&mut self, step: Step<'a>, members: &Members, selected: &[Selection<'a>]) -> Result<(), OutOfMemory> {
        let (slot, result) = (step.outputs[0], self.literals([step.outputs[0]]));
        let [part, others] =
            [&step.inputs[..1], &step.inputs[1..]].map(|inputs| self.literals(inputs.iter().map(|input| input.slot)));
        let mut known: HashMap<(&[u32], usize), shardwise_base::Reservation> = HashMap::new();
        for i in Run::instances(step, selected).iter().copied() {
            let group = &members.groups[i][..];
            let each = (group, members.firsts[i]);
            if !group.is_empty() && !known.contains_key(&each) {
                let literals = part.saturating_add(result).saturating_mul(group.len()).saturating_add(others);
                let working =
                    literals.saturating_mul(2).saturating_add(RegionRunner::reserved_bytes(&self.run.func.body));
                drop(self.account.reserve(literals.saturating_add(working))?);
                known.insert(each, self.account.reserve(result.saturating_mul(group.len()))?);
            }
            let buffer = self.run.memory.allocate(self.bytes([slot]))?;
            self.run.set(step, slot, i, buffer);
        }
        Ok(())
    }

    fn loop_together(
        &mut self,
        step: Step<'a>,
        cond: &'a Code,
        body: &'a Code,
        selected: &[Selection<'a>],
    ) -> Result<(), RunError> {
        self.run.enter_loop(step, body, selected);
        let initial = self.carried(body);
        let (mut seen, most) = (vec![], MAX_VISITS * self.run.plan.step_count);
        loop {
            let owners = self.owners(body);
            if seen.contains(&owners) {
                break;
            }
            if seen.len() == MAX_ROUNDS || self.visits > most {
                let _held = self.renew(body, selected)?;
                self.round(cond, body, selected)?;
                break;
            }
            seen.push(owners);
            self.round(cond, body, selected)?;
        }
        self.keep_initial(body, &initial, selected)?;
        self.run.leave_loop(step, body, selected);
        Ok(())
    }

    fn round(&mut self, cond: &'a Code, body: &'a Code, selected: &[Selection<'a>]) -> Result<(), RunError> {
        self.run.bind(&body.params, &cond.params, selected);
        self.steps(cond, selected)?;
        self.run.clear(&cond.params);
        self.steps(body, selected)?;
        self.run.hand_over(body, &body.params, selected);
        Ok(())
    }

    /// Returns, for each buffer that a loop carries, the number of its owners and the index of the first carried buffer
    /// that is the same one.
    fn owners(&self, body: &Code) -> Vec<(usize, usize)> {
        let carried: Vec<&Buffer> =
            body.params.iter().flat_map(|&slot| self.run.values[slot].iter().flatten()).collect();
        let mut first: HashMap<usize, usize> = HashMap::new();
        let of = |(i, buffer): (usize, &&Buffer)| (buffer.owners(), *first.entry(buffer.address()).or_insert(i));
        carried.iter().enumerate().map(of).collect()
    }

    /// Returns the addresses of the buffers that a loop carries, for all instances of each parameter. An instance
    /// without a buffer has `None`.
    fn carried(&self, body: &Code) -> Vec<Option<usize>> {
        let carried = body.params.iter().flat_map(|&slot| &self.run.values[slot]);
        carried.map(|buffer| buffer.as_ref().map(Buffer::address)).collect()
    }

    /// Replaces buffers that a loop returns and that have other owners by new ones, except where an instance of a
    /// parameter has the buffer with which it began. `initial` has the addresses of these, as [`Predicting::carried`]
    /// returns them. A loop that runs for no round returns what it began with, which may have no other owner. Fails if
    /// the new ones do not fit into the budget.
    fn keep_initial(
        &mut self,
        body: &Code,
        initial: &[Option<usize>],
        selected: &[Selection<'a>],
    ) -> Result<(), OutOfMemory> {
        let last = self.carried(body);
        let mut is_other = initial.iter().zip(last).map(|(&initial, last)| initial != last);
        for &slot in &body.params {
            let info = &self.run.plan.slots[slot];
            let new = |(i, old): (usize, &Option<Buffer>)| {
                let is_shared = old.as_ref().is_some_and(|buffer| buffer.owners() > 1);
                let is_new = is_other.next().unwrap_or(false) && is_shared && takes_part(&info.points, i, selected);
                if is_new { self.run.memory.allocate(info.bytes).map(Some) } else { Ok(old.clone()) }
            };
            let kept = self.run.values[slot].iter().enumerate().map(new).collect::<Result<Buffers, _>>()?;
            self.run.assign(&[slot], smallvec![kept], selected);
        }
        Ok(())
    }

    /// Replaces the buffers that a loop carries by new ones. They are also returned, so that they have a second owner
    /// and no step writes into them. No round needs more than one that starts in this way. Fails if they do not fit
    /// into the budget.
    fn renew(&mut self, body: &Code, selected: &[Selection<'a>]) -> Result<Vec<Buffer>, OutOfMemory> {
        let mut held = vec![];
        for &slot in &body.params {
            let info = &self.run.plan.slots[slot];
            let new = |i: usize| {
                takes_part(&info.points, i, selected).then(|| self.run.memory.allocate(info.bytes)).transpose()
            };
            let values = (0..info.count).map(new).collect::<Result<Buffers, _>>()?;
            held.extend(values.iter().flatten().cloned());
            self.run.assign(&[slot], smallvec![values], selected);
        }
        Ok(held)
    }

    /// Runs every branch, and sets each output to what [`Predicting::join`] returns for the results of the branches.
    /// Fails if a branch does, or if a new buffer does not fit into the budget.
    fn case(&mut self, step: Step<'a>, branches: &'a [Code], selected: &[Selection<'a>]) -> Result<(), RunError> {
        let made = branches.iter().map(|branch| self.branch(step, branch, selected));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        for (k, &slot) in step.outputs.iter().enumerate() {
            let count = made.iter().map(|branch| branch[k].len()).max().unwrap_or(0);
            let joined = (0..count).map(|i| self.join(slot, made.iter().filter_map(|branch| branch[k].get(i))));
            let joined = joined.collect::<Result<Buffers, _>>()?;
            self.run.assign(&[slot], smallvec![joined], selected);
        }
        Ok(())
    }

    /// Runs a branch and clears the results that it defines. Returns, for each output and instance, where the result of
    /// the branch comes from. Fails if a step of the branch does.
    fn branch(
        &mut self,
        step: Step<'a>,
        branch: &'a Code,
        selected: &[Selection<'a>],
    ) -> Result<Vec<Vec<Made>>, RunError> {
        self.steps(branch, selected)?;
        let results: Several =
            branch.results.iter().zip(&step.outputs).map(|(&from, &to)| self.run.moved(from, to)).collect();
        self.run.clear(&branch.own_results);
        let mut own: HashMap<usize, usize> = HashMap::new();
        results.iter().flatten().flatten().for_each(|buffer| *own.entry(buffer.address()).or_default() += 1);
        let of = |buffer: &Option<Buffer>| match buffer {
            None => Made::Nothing,
            Some(buffer) if buffer.owners() > own[&buffer.address()] => Made::Old(buffer.clone()),
            Some(_) => Made::New,
        };
        Ok(results.iter().map(|values| values.iter().map(&of).collect()).collect())
    }

    /// Returns the buffer that stands for the results of several branches: the one that existed before and that all of
    /// them return, or else a new one. Returns `None` if no branch has a result. Fails if the new one does not fit into
    /// the budget.
    fn join<'m>(
        &self,
        slot: Slot,
        made: impl Iterator<Item = &'m Made> + Clone,
    ) -> Result<Option<Buffer>, OutOfMemory> {
        let mut first: Option<&Buffer> = None;
        let is_same = made.clone().all(|made| match made {
            Made::Old(buffer) => first.get_or_insert(buffer).same_as(buffer),
            _ => false,
        });
        match first {
            Some(buffer) if is_same => Ok(Some(buffer.clone())),
            _ if made.clone().all(|made| matches!(made, Made::Nothing)) => Ok(None),
            _ => self.run.memory.allocate(self.bytes([slot])).map(Some),
        }
    }
}
