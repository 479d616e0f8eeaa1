//! Decides along which factors an op runs sharded, by translating the op for [`assign`].

use crate::halo;
use crate::kinds::{Kinds, OpKind};
use crate::plan::{Layout, MovePrices, hash_layout};
use crate::rewrite::facts;
use rustc_hash::FxHashMap;
use shardwise_base::{AxisKind, AxisRef, Loc, Mesh, Reason, Sharding};
use shardwise_ir::{OpView, TensorType, Value};
use shardwise_ops::{Combine, Facts, Opcode, ReduceKind, Splits};
use shardwise_sharding::cost::{CollectiveCost, MOST_BYTES, local_work, start, start_if_timed};
use shardwise_sharding::{
    AssignInput, Assignment, DimFactors, Exchanged, Factor, FactorConflict, FactorKind, KnownChoices, LeastPrice,
    Mapping, Price, Prices, Rule, RunnerUp, assign, runner_up,
};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

/// The shardings of the operands, then of the results. `None` for a value that takes no part, such as a token.
pub(crate) type Shardings = SmallVec<[Option<Sharding>; 4]>;

/// For each operand, how often the op runs for each time that the operand is moved, at least 1, or [`NEVER`] if it is
/// not moved, but made again where it is wanted in another layout. [`Turns`](crate::turns::Turns) counts it.
pub(crate) type Served = SmallVec<[u64; 4]>;

/// States that an operand is never moved.
pub(crate) const NEVER: u64 = u64::MAX;

/// The decisions made so far, by what they depend on. Many ops of a program have the same key.
pub(crate) struct Decisions {
    pub kinds: Kinds,
    /// The axes over which a product may be split though no tensor has them: the Auto axes that are not manual.
    free: Rc<[AxisRef]>,
    known: FxHashMap<DecisionKey, Rc<Decision>>,
    traits: FxHashMap<OpKind, Rc<Traits>>,
    pub prices: Rc<MovePrices>,
    /// True to decide in less time, without the finest choices ([`AssignInput::is_coarse`]).
    is_coarse: bool,
    /// The number of calls of [`Decisions::decide`] whose decision was not known yet and had to be made.
    pub made: usize,
}

/// Everything that a decision depends on.
#[derive(Clone, PartialEq, Eq)]
struct DecisionKey {
    kind: OpKind,
    shardings: Shardings,
    served: Served,
    free: Rc<[AxisRef]>,
}

impl Hash for DecisionKey {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.kind.hash(h);
        self.shardings.iter().flatten().for_each(|s| hash_layout(s, h));
    }
}

/// A [`Task`], and how its op runs.
pub(crate) struct Decision {
    pub task: Task,
    pub assignment: Assignment,
    /// The closed layout of each tensor while the op runs; `None` if the tensor takes no part.
    pub layouts: Shardings,
    /// The axes over which results are partial after the op. Empty for an op that gathers its partial results itself.
    pub partial: Vec<AxisRef>,
    /// The axes over which the op gathers partial results itself.
    pub gathered: Vec<AxisRef>,
    /// The factors that are split and along which elements move.
    pub moved: Vec<Factor>,
    prices: Rc<MovePrices>,
    /// The axes over which a product may be split though no tensor has them.
    free: Rc<[AxisRef]>,
    runner_up: OnceCell<Option<RunnerUp>>,
    conflicts: OnceCell<Vec<FactorConflict>>,
    reasons: RefCell<Vec<(Cause, Arc<Reason>)>>,
}

/// Identifies a reason within a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Tensor(usize),
    Sum,
    Exchange,
}

impl Decisions {
    pub fn new(mesh: &Mesh) -> Decisions {
        let is_auto = |a: &AxisRef| mesh.axes[a.axis.index()].kind == AxisKind::Auto;
        let free = mesh.all_axes().filter(is_auto).collect();
        let (known, traits) = (FxHashMap::default(), FxHashMap::default());
        Decisions { kinds: Kinds::default(), free, known, traits, prices: Rc::default(), is_coarse: false, made: 0 }
    }

    /// Begins with another program on the same mesh. The decisions made so far stay known, without their reasons.
    pub fn start_program(&mut self) {
        self.kinds.start_body();
        self.prices.start_program();
        self.known.values().for_each(|decision| decision.reasons.borrow_mut().clear());
    }

    /// Returns an empty store of decisions. Those that it will make take less time, because the finest choices for
    /// products are left out.
    pub fn coarse(mesh: &Mesh) -> Decisions {
        Decisions { is_coarse: true, ..Decisions::new(mesh) }
    }

    /// Decides for the body of a computation that is manual over `manual` from now on. Returns the free axes outside of
    /// it, for [`Decisions::leave`].
    pub fn enter(&mut self, mesh: &Mesh, manual: &[AxisRef]) -> Rc<[AxisRef]> {
        let free = self.free.iter().flat_map(|a| a.minus(mesh, manual)).collect();
        std::mem::replace(&mut self.free, free)
    }

    /// Decides for the ops around a manual computation again. `free` are the axes that [`Decisions::enter`] returned.
    pub fn leave(&mut self, free: Rc<[AxisRef]>) {
        self.free = free;
    }

    /// Decides how an op of a kind with a rule runs. `shardings` are the layouts that the operands have, then the
    /// layouts that the results should have. `served` states how often the op runs for each move of each operand. Equal
    /// arguments are decided only once.
    ///
    /// # Panics
    /// Panics if the kind has no rule.
    pub fn decide(
        &mut self,
        view: &OpView<'_>,
        kind: OpKind,
        mesh: &Arc<Mesh>,
        shardings: Shardings,
        served: Served,
    ) -> Rc<Decision> {
        let key = DecisionKey { kind, shardings, served, free: self.free.clone() };
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        self.made += 1;
        let rule = self.kinds.rule(kind).expect("the kind has a rule");
        let traits = self.traits.entry(kind).or_insert_with(|| Rc::new(Traits::new(view, rule, mesh)));
        let (shardings, served) = (key.shardings.clone(), key.served.clone());
        let task = Task { is_coarse: self.is_coarse, ..Task::new(view, traits, mesh, shardings, served) };
        let decision = Rc::new(task.decide(view, &self.prices, &self.free));
        self.known.insert(key, decision.clone());
        decision
    }
}

impl Decision {
    /// Returns true if a tensor is split over a part of one of the axes while the op runs, or if the results are
    /// partial over such a part after it.
    pub fn splits_over(&self, axes: &[AxisRef]) -> bool {
        let split = self.layouts.iter().flatten().flat_map(|s| s.split_axes()).chain(self.partial.iter().copied());
        !axes.is_empty() && split.into_iter().any(|a| axes.iter().any(|b| a.overlaps(*b)))
    }

    /// Returns the conflicts that the decision settles, which are listed in the first call.
    pub fn conflicts(&self) -> &[FactorConflict] {
        let Task { rule, mesh, .. } = &self.task;
        self.conflicts.get_or_init(|| self.assignment.conflicts(rule, mesh, &self.task.views()))
    }

    /// Returns an estimate of the bytes that a device receives when the op's elements move along split factors. All
    /// other split factors of the operands with such a factor are taken to split what is exchanged, also those that
    /// only an operand has whose elements do not move.
    pub fn bytes_exchanged(&self, view: &OpView<'_>) -> u64 {
        let Task { rule, mesh, .. } = &self.task;
        let shards = |f: Factor| AxisRef::total_size(mesh, &self.assignment.axes[f.index()]) as u64;
        let price = |f: Factor| {
            let whole = halo::bytes_exchanged(view, rule, f, mesh, &self.assignment.axes[f.index()]).unwrap_or(0);
            whole / rule.factors_beside(f).map(shards).product::<u64>()
        };
        self.moved.iter().map(|&f| price(f)).sum()
    }

    /// Returns the second best choice for an op with this decision, which is searched for in the first call. Returns
    /// `None` if there was no other choice.
    pub fn runner_up(&self, view: &OpView<'_>) -> Option<&RunnerUp> {
        let find = || self.task.ask(view, &self.prices, &self.free, runner_up);
        self.runner_up.get_or_init(find).as_ref()
    }

    /// Returns the reason for `cause` at an op. The reason is made once and shared by all ops with the same decision,
    /// each with its own location.
    pub fn reason(&self, cause: Cause, at: &Loc, make: impl FnOnce() -> Reason) -> Arc<Reason> {
        let mut reasons = self.reasons.borrow_mut();
        match reasons.iter().find(|(c, _)| *c == cause) {
            Some((_, known)) if known.consumer_loc == *at => known.clone(),
            Some((_, known)) => Arc::new(Reason { consumer_loc: at.clone(), ..(**known).clone() }),
            None => {
                let reason = Arc::new(make());
                reasons.push((cause, reason.clone()));
                reason
            }
        }
    }
}

fn tensors<'v>(view: &OpView<'v>) -> impl Iterator<Item = Value> + use<'v> {
    view.operands().iter().chain(view.results()).copied()
}

/// The facts of an op that decisions need, and that are equal for all ops of a kind.
pub(crate) struct Traits {
    /// The rule. Factors that cannot be split at all are marked as needing replication, except permutation factors.
    rule: Arc<Rule>,
    pub types: SmallVec<[Option<TensorType>; 4]>,
    pub operand_count: usize,
    /// The price of running the op unsplit, in bytes as [`local_work`] counts them.
    pub work: u64,
    /// For each factor, how the op runs if it is split.
    modes: Vec<RunMode>,
    /// For each factor, whether the op reads windows along it.
    reads_windows: Vec<bool>,
    needs_even: bool,
    is_product: bool,
    /// How partial results are combined.
    combine: Combine,
    /// The choices that are known of the ops of the kind.
    choices: KnownChoices,
}

impl Traits {
    fn new(view: &OpView<'_>, rule: &Arc<Rule>, mesh: &Mesh) -> Traits {
        let facts = facts(view);
        let types: SmallVec<[Option<TensorType>; 4]> =
            tensors(view).map(|v| view.body.ty(v).as_tensor().cloned()).collect();
        let cost = facts.cost(view);
        let modes: Vec<RunMode> = rule.all_factors().map(|f| run_mode(view, facts, rule, f)).collect();
        let mut restricted = rule.clone();
        for factor in rule.all_factors() {
            if let RunMode::Whole(_) = modes[factor.index()] {
                restrict(&mut restricted, factor);
            }
        }
        let reads_windows = |f: Factor| halo::blocks_of(view, &restricted, f).is_some();
        Traits {
            operand_count: view.operands().len(),
            work: local_work(cost.flops, cost.bytes_read.saturating_add(cost.bytes_written), mesh.rates.as_ref()),
            reads_windows: rule.all_factors().map(reads_windows).collect(),
            needs_even: facts.splits(view) == Splits::Evenly,
            is_product: is_product(rule, &types, cost.flops),
            combine: facts.combine(view),
            choices: KnownChoices::default(),
            rule: restricted,
            types,
            modes,
        }
    }
}

/// Marks a factor that cannot be split as needing replication. A permutation factor is left as it is, because
/// [`Prices::exchanged`] states whether it can be split.
fn restrict(rule: &mut Arc<Rule>, factor: Factor) {
    if !matches!(rule.kind(factor), FactorKind::NeedReplication | FactorKind::Permutation) {
        Arc::make_mut(rule).factors[factor.index()].kind = FactorKind::NeedReplication;
    }
}

/// An op that should run sharded.
pub(crate) struct Task {
    pub mesh: Arc<Mesh>,
    /// The rule. Factors that cannot be split are marked as needing replication, except permutation factors.
    pub rule: Arc<Rule>,
    /// The layouts that the operands have, then the layouts that the results should have; `None` if a tensor takes no
    /// part.
    pub shardings: Shardings,
    pub traits: Rc<Traits>,
    served: Served,
    /// True to choose without free axes and smaller parts of axes ([`AssignInput::is_coarse`]).
    is_coarse: bool,
}

impl Task {
    fn new(view: &OpView<'_>, traits: &Rc<Traits>, mesh: &Arc<Mesh>, mut shardings: Shardings, served: Served) -> Task {
        for (i, sharding) in shardings.iter_mut().enumerate() {
            let rank = traits.types[i].as_ref().map(TensorType::rank);
            if rank != Some(traits.rule.mapping(i).rank()) {
                *sharding = None;
            }
        }
        let (mesh, rule) = (mesh.clone(), traits.rule.clone());
        let mut task = Task { mesh, rule, shardings, traits: traits.clone(), served, is_coarse: false };
        task.restrict(view);
        task
    }

    fn decide(self, view: &OpView<'_>, prices: &Rc<MovePrices>, free: &Rc<[AxisRef]>) -> Decision {
        let assignment = self.ask(view, prices, free, assign);
        let layouts = (0..self.shardings.len()).map(|i| self.layout(&assignment, i)).collect();
        let summed = assignment.reduction_axes(&self.rule, &self.mesh);
        let (partial, gathered) = if self.is_gathered() { (vec![], summed) } else { (summed, vec![]) };
        let is_split = |f: &Factor| !assignment.axes[f.index()].is_empty();
        let moved = self.rule.all_factors().filter(|f| is_split(f) && self.reads_windows(*f)).collect();
        Decision {
            task: self,
            assignment,
            layouts,
            partial,
            gathered,
            moved,
            prices: prices.clone(),
            free: free.clone(),
            runner_up: OnceCell::new(),
            conflicts: OnceCell::new(),
            reasons: RefCell::default(),
        }
    }

    fn ask<T>(
        &self,
        view: &OpView<'_>,
        prices: &MovePrices,
        free: &[AxisRef],
        search: impl FnOnce(AssignInput<'_>, &dyn Prices) -> T,
    ) -> T {
        let (rule, mesh, work, summed) = (&self.rule, &self.mesh, self.traits.work, &self.asked_sums()[..]);
        let (is_coarse, known) = (self.is_coarse, Some(&self.traits.choices));
        let input = AssignInput { rule, mesh, shardings: &self.views(), work, summed, free, is_coarse, known };
        search(input, &Priced { task: self, view, prices })
    }

    fn views(&self) -> SmallVec<[Option<&Sharding>; 4]> {
        self.shardings.iter().map(Option::as_ref).collect()
    }

    /// Returns the reduction factors that all operands with the factor split in the same way, over Explicit axes that
    /// no earlier of these factors has. The program itself places the remaining sum over devices, so gathering operands
    /// does not avoid it. Factors along which the op reads windows are left out.
    fn asked_sums(&self) -> Vec<Factor> {
        let (mut asked, mut used) = (vec![], vec![]);
        if self.mesh.axes.iter().all(|a| a.kind != AxisKind::Explicit) {
            return asked;
        }
        let is_summed = |f: &Factor| self.rule.kind(*f) == FactorKind::Reduction && !self.reads_windows(*f);
        for factor in self.rule.all_factors().filter(is_summed) {
            let Some(axes) = self.split_alike(factor) else { continue };
            let is_typed = |a: &AxisRef| self.mesh.axes[a.axis.index()].kind == AxisKind::Explicit;
            let is_free = |a: &AxisRef| used.iter().all(|u: &AxisRef| !u.overlaps(*a));
            if !axes.is_empty() && axes.iter().all(|a| is_typed(a) && is_free(a)) {
                used.extend_from_slice(axes);
                asked.push(factor);
            }
        }
        asked
    }

    /// Returns the axes of the dimensions that consist of this factor alone, if these are equal in all operands that
    /// have the factor. Returns `None` if they differ, if no operand has the factor, or if one has it but no such
    /// dimension or no layout.
    fn split_alike(&self, factor: Factor) -> Option<&[AxisRef]> {
        let holders = (0..self.traits.operand_count).filter(|&i| self.rule.operands[i].contains(factor));
        let mut found = holders.map(|i| {
            let dim = self.rule.operands[i].dims.iter().position(|d| d[..] == [factor])?;
            Some(&self.shardings[i].as_ref()?.dims[dim].axes[..])
        });
        let first = found.next()??;
        found.all(|axes| axes == Some(first)).then_some(first)
    }

    fn layout(&self, assignment: &Assignment, index: usize) -> Option<Sharding> {
        let own = self.shardings[index].as_ref()?;
        let axes = self.rule.mapping(index).axes(&self.rule, &self.mesh, |f| &assignment.axes[f.index()]);
        // Equal layouts share one copy.
        Some(match Layout::Axes(&self.mesh, &axes).is(own) {
            true => own.canonical(),
            false => Sharding::closed(&self.mesh, axes.into_iter().map(Cow::into_owned).collect()),
        })
    }

    /// Returns the name of a tensor for messages: `operand 1`, `result 0`.
    pub fn tensor_name(&self, index: usize) -> String {
        match index.checked_sub(self.traits.operand_count) {
            None => format!("operand {index}"),
            Some(i) => format!("result {i}"),
        }
    }

    /// Calls [`restrict`] for the factors that cannot be split, except for those for which [`Traits::new`] did.
    fn restrict(&mut self, view: &OpView<'_>) {
        for factor in self.rule.all_factors() {
            let fits = match self.traits.modes[factor.index()] {
                RunMode::Whole(_) | RunMode::Exchanged => continue,
                RunMode::Combined(_) | RunMode::Gathered => self.can_pad(view, factor),
                RunMode::Parts => !(self.traits.needs_even && self.is_uneven(factor)),
            };
            if !fits {
                restrict(&mut self.rule, factor);
            }
        }
    }

    fn can_pad(&self, view: &OpView<'_>, factor: Factor) -> bool {
        let holds = |i: &usize| self.rule.operands[*i].contains(factor);
        let has_neutral = |i: usize| facts(view).neutral(view, i).is_some();
        !self.is_uneven(factor) || (0..self.traits.operand_count).filter(holds).all(has_neutral)
    }

    fn reads_windows(&self, factor: Factor) -> bool {
        self.traits.reads_windows[factor.index()] && self.rule.kind(factor) != FactorKind::NeedReplication
    }

    fn is_gathered(&self) -> bool {
        self.traits.combine == Combine::Gather
    }

    fn has_sizes_of_rule(&self, index: usize) -> bool {
        let size = |factors: &DimFactors| factors.iter().map(|&f| self.rule.size(f)).product::<usize>();
        let sizes = self.rule.mapping(index).dims.iter().map(size);
        self.traits.types[index].as_ref().is_some_and(|ty| sizes.eq(ty.shape.iter().copied()))
    }

    fn is_uneven(&self, factor: Factor) -> bool {
        let is_uneven = |i: usize| {
            let (Some(sharding), Some(ty)) = (&self.shardings[i], &self.traits.types[i]) else { return false };
            let dims = self.rule.mapping(i).dims.iter().enumerate().filter(|(_, d)| d.contains(&factor));
            dims.into_iter().any(|(d, _)| !ty.shape[d].is_multiple_of(sharding.dims[d].shard_count(&self.mesh)))
        };
        (0..self.shardings.len()).any(is_uneven)
    }
}

impl Task {
    /// Returns the price, for one run of the op, of moving a tensor if the op runs with the tensor in `layout`. A
    /// result is partial over the axes `partial`, and the price includes that of combining it. A tensor that takes no
    /// part costs nothing, and neither does an operand that is never moved ([`NEVER`]).
    pub fn price<'a>(
        &'a self,
        index: usize,
        layout: impl Into<Layout<'a>>,
        partial: &[AxisRef],
        prices: &MovePrices,
    ) -> Price {
        let (Some(own), Some(ty)) = (&self.shardings[index], &self.traits.types[index]) else {
            return Price::default();
        };
        let layout = layout.into();
        if index < self.traits.operand_count {
            let served = self.served.get(index).copied().unwrap_or(1);
            if served == NEVER || layout.is(own) {
                return Price::default();
            }
            let price = prices.of(own, &[], layout, &ty.shape, ty.dtype);
            return Price { bytes: price.bytes.div_ceil(served), extra: price.extra.div_ceil(served) };
        }
        if self.is_gathered() {
            let others = AxisRef::total_size(&self.mesh, partial) as u64 - 1;
            let price = prices.of(layout, &[], own, &ty.shape, ty.dtype);
            let bytes = others.saturating_mul(layout.local_bytes(&ty.shape, ty.dtype)).min(MOST_BYTES);
            let starts = if partial.is_empty() { 0 } else { start_if_timed(&self.mesh) };
            let extra = CollectiveCost::AllGather.price(bytes, &self.mesh, partial) - bytes + starts;
            return Price { bytes: price.bytes + bytes, extra: price.extra + extra };
        }
        if partial.is_empty() && layout.is(own) {
            return Price::default();
        }
        prices.of(layout, &self.summed(own, partial), own, &ty.shape, ty.dtype)
    }

    /// Returns those of the axes over which a result is partial that are summed if it is wanted in the layout `own`.
    /// Only partial sums can be left unreduced, partial maxima cannot.
    fn summed<'p>(&self, own: &Sharding, partial: &'p [AxisRef]) -> Cow<'p, [AxisRef]> {
        let is_sum = matches!(self.traits.combine, Combine::With(ReduceKind::Add));
        if own.unreduced.is_empty() || !is_sum {
            return Cow::Borrowed(partial);
        }
        partial.iter().flat_map(|a| a.minus(&self.mesh, &own.unreduced)).collect()
    }

    /// Returns true if the op counts as a product: it has a reduction factor, and its cost has more arithmetic
    /// operations than its tensors have elements, as that of a product of matrices has.
    pub fn is_product(&self) -> bool {
        self.traits.is_product
    }
}

/// The prices of a task's op.
struct Priced<'a> {
    task: &'a Task,
    view: &'a OpView<'a>,
    prices: &'a MovePrices,
}

impl Prices for Priced<'_> {
    fn price(&self, index: usize, layout: &[Cow<'_, [AxisRef]>], partial: &[AxisRef]) -> Price {
        self.task.price(index, Layout::Axes(&self.task.mesh, layout), partial, self.prices)
    }

    fn least(&self, index: usize) -> LeastPrice {
        let known = self.task.traits.types[index].as_ref().filter(|_| self.task.has_sizes_of_rule(index));
        let element_bytes = known.map_or(0, |ty| ty.dtype.storage_bytes() as u64);
        // `NEVER` is more than any number of bytes.
        LeastPrice {
            element_bytes,
            start: start(&self.task.mesh),
            runs: self.task.served.get(index).copied().unwrap_or(1),
        }
    }

    fn is_summed(&self, index: usize) -> bool {
        let is_whole = self.task.shardings[index].as_ref().is_some_and(|s| s.unreduced.is_empty());
        is_whole && !self.task.is_gathered()
    }

    fn exchanged(&self, factor: Factor, axes: &[AxisRef]) -> Option<Exchanged> {
        if !self.task.reads_windows(factor) {
            return (self.task.rule.kind(factor) != FactorKind::Permutation).then(Exchanged::default);
        }
        halo::exchanged(self.view, &self.task.rule, factor, &self.task.mesh, axes)
    }

    fn is_product(&self) -> bool {
        self.task.is_product()
    }
}

/// Returns true if an op with this rule and these tensors counts as a product: the rule has a reduction factor, and
/// `flops`, the op's arithmetic operations, are more than the elements of all tensors together.
fn is_product(rule: &Rule, types: &[Option<TensorType>], flops: f64) -> bool {
    let elements: usize = types.iter().flatten().map(|t| t.shape.iter().product::<usize>()).sum();
    flops > elements as f64 && rule.all_factors().any(|f| rule.kind(f) == FactorKind::Reduction)
}

/// How an op runs if its operands are split along a factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunMode {
    /// The op runs on each device's parts alone.
    Parts,
    /// The op runs on each device's parts. The devices then combine their results by this reduction.
    Combined(ReduceKind),
    /// The op runs on each device's parts. It then gathers the partial results and reduces them again itself.
    Gathered,
    /// Devices exchange elements until each has the windows of the operands that it needs. The op runs on these.
    Exchanged,
    /// The operands are gathered first, and the op runs with the whole factor. Holds the reason.
    Whole(&'static str),
}

/// Returns, for each factor of its rule, how an op runs if its operands are split along the factor into parts of one
/// size. Along a factor that is split unevenly, some ops run with the whole factor instead.
pub fn run_modes(view: &OpView<'_>, rule: &Rule) -> Vec<(Factor, RunMode)> {
    let facts = Opcode::of_view(view).facts();
    rule.all_factors().map(|f| (f, run_mode(view, facts, rule, f))).collect()
}

pub(crate) fn run_mode(view: &OpView<'_>, facts: &dyn Facts, rule: &Rule, factor: Factor) -> RunMode {
    let needs_all = facts.splits(view) == Splits::Shared;
    let is_exchanged = halo::blocks_of(view, rule, factor).is_some();
    match (rule.kind(factor), facts.combine(view)) {
        (FactorKind::NeedReplication, _) => RunMode::Whole("each element needs all of it"),
        (FactorKind::Permutation, _) if is_exchanged => RunMode::Exchanged,
        (FactorKind::Permutation, _) => RunMode::Whole("elements move along it"),
        _ if !is_exchanged && !is_same_size_everywhere(view, rule, factor) => {
            RunMode::Whole("its blocks differ between tensors")
        }
        _ if needs_all && !rule.mappings().all(|m| m.contains(factor)) => RunMode::Whole("one side lacks it"),
        (FactorKind::Reduction, Combine::With(kind)) => RunMode::Combined(kind),
        (FactorKind::Reduction, Combine::Gather) if is_reduced_first(rule, factor) => RunMode::Gathered,
        (FactorKind::Reduction, Combine::Gather) => RunMode::Whole("elements of other dimensions come before its own"),
        (FactorKind::Reduction, Combine::No(why)) => RunMode::Whole(why),
        (FactorKind::PassThrough, _) => RunMode::Parts,
    }
}

/// Returns true if this factor is the first reduction factor of more than one element in each operand that has one.
fn is_reduced_first(rule: &Rule, factor: Factor) -> bool {
    let comes_first = |mapping: &Mapping| {
        let mut reduced = mapping.factors().filter(|&f| rule.kind(f) == FactorKind::Reduction && rule.size(f) > 1);
        reduced.next().is_none_or(|first| first == factor)
    };
    rule.operands.iter().all(comes_first)
}

/// Returns true if each dimension that consists of this factor alone has the factor's size, so that blocks are equal in
/// all tensors.
fn is_same_size_everywhere(view: &OpView<'_>, rule: &Rule, factor: Factor) -> bool {
    let size = rule.size(factor);
    view.operands().iter().chain(view.results()).enumerate().all(|(i, &v)| {
        let Some(ty) = view.body.ty(v).as_tensor() else { return true };
        let mut dims = rule.mapping(i).dims.iter().enumerate();
        dims.all(|(d, factors)| factors[..] != [factor] || ty.shape[d] == size)
    })
}
