//! The search for changes of one spec that save communication. Each candidate is tried: the changed program is
//! partitioned, and its figures are compared.

use crate::Options;
use crate::candidates::{MAX_LAYOUTS, first_layouts, promise};
use crate::figures::{Outcome, Trials, Version};
use crate::group::Group;
use crate::near::Nearness;
use crate::place::{Change, Place, Required, Spec, main_of, open_ops, spec, specs};
use shardwise_base::{AxisRef, Loc, Mesh, Reshard, Sharding};
use shardwise_engine::ShardedType;
use shardwise_ir::{Module, Op};
use std::sync::Arc;

/// The largest number of specs of a program that may be searched completely.
const SMALL: usize = 12;

/// The largest number of sources of communication that the order of the trials takes into account.
const MAX_SOURCES: usize = 12;

/// The approximate largest number of candidates of a program with many specs.
const MAX_CANDIDATES: usize = 1 << 16;

/// The factor of the promise of a new constraint, so that an equally promising change of a spec comes before it.
const NEW_CONSTRAINT: f64 = 0.5;

pub(crate) struct Trial {
    pub spec: Spec,
    pub change: Change,
    pub outcome: Outcome,
    /// True if the outcome is the one of a partition with full effort.
    pub is_measured: bool,
}

#[derive(Default)]
pub(crate) struct Found {
    pub trials: Vec<Trial>,
    /// The outcome of the program without a change, with as little effort as for the trials.
    before: Option<Outcome>,
    /// The number of trials that may still be measured with full effort.
    measures_left: usize,
    /// The number of changes that were tried, also of those that the partitioner refused.
    pub tried: usize,
    /// The number of candidates that were left out.
    pub left: usize,
    /// The number of specs that can be changed.
    pub spec_count: usize,
    /// The number of specs that cannot be changed, because collectives require them.
    pub required_count: usize,
    /// True if every layout over whole axes was tried at every spec that can be changed.
    pub is_complete: bool,
}

/// A change that may be tried, with its promise.
struct Candidate {
    spec: usize,
    layout: Option<Sharding>,
    promise: f64,
}

/// Tries changes of a program, each at one place, except at places whose layouts are required. Finds nothing if the
/// program has no mesh.
pub(crate) fn search(
    module: &Module,
    required: &Required,
    now: &Version,
    groups: &[Group],
    options: &Options,
) -> Found {
    let Some(mesh) = module.main_mesh().cloned() else { return Found::default() };
    let is_free = |spec: &Spec| !required.includes(module, spec.place);
    let (mut places, fixed): (Vec<Spec>, Vec<Spec>) = specs(module).into_iter().partition(is_free);
    let spec_count = places.len();
    let near = Nearness::compute(module, &sources(groups));
    places.extend(new_constraints(module, &near).into_iter().filter(is_free));
    let (mut candidates, mut is_cut) = (vec![], false);
    let layout_limit =
        if spec_count <= SMALL { MAX_LAYOUTS } else { (MAX_CANDIDATES / places.len()).clamp(64, MAX_LAYOUTS) };
    for (i, spec) in places.iter().enumerate() {
        let weight = near.of(module, spec) * if i < spec_count { 1.0 } else { NEW_CONSTRAINT };
        let made = of_spec(i, (spec, weight), &mesh, now, groups, layout_limit);
        // A list that was cut has as many layouts as the limit, or one less without that of the place.
        is_cut |= i < spec_count && made.len() + 1 >= layout_limit;
        candidates.extend(made);
    }
    let own = candidates.iter().filter(|c| c.spec < spec_count).count();
    let (default_limit, measures_left) = efforts(module, &mesh);
    let limit = options.trials.unwrap_or(default_limit);
    let is_complete = spec_count <= SMALL && own <= limit && !is_cut;
    let is_first = |c: &Candidate| is_complete && c.spec < spec_count;
    // The sort is stable, so that equal promises stay in the order of the program.
    candidates.sort_by(|a, b| is_first(b).cmp(&is_first(a)).then(b.promise.total_cmp(&a.promise)));
    let left = candidates.len().saturating_sub(limit);
    candidates.truncate(limit);
    let mut shared = Trials::new(candidates.len());
    let mut outcome = |module: &Module| Some(Version::of_trial(module, options, &mut shared).ok()?.outcome);
    let (tried, required_count) = (candidates.len(), fixed.len());
    let before = outcome(module);
    let attempt = |candidate: Candidate| {
        let spec = places[candidate.spec].clone();
        let change = Change { place: spec.place, layout: candidate.layout };
        let outcome = outcome(&change.apply(module))?;
        Some(Trial { spec, change, outcome, is_measured: false })
    };
    let trials = candidates.into_iter().filter_map(attempt).collect();
    Found { trials, before, measures_left, tried, left, spec_count, required_count, is_complete }
}

impl Found {
    /// Returns the outcome of the program without a change that was made with as much effort as that of a trial: that
    /// of `now` for a trial that was measured.
    pub fn before<'a>(&'a self, trial: &Trial, now: &'a Version) -> &'a Outcome {
        self.before.as_ref().filter(|_| !trial.is_measured).unwrap_or(&now.outcome)
    }

    /// Returns true if a trial was measured with full effort, or may still be.
    pub fn may_choose(&self, trial: &Trial) -> bool {
        trial.is_measured || self.measures_left > 0
    }

    /// Replaces the outcome of a trial by that of a partition with full effort. Removes the trial if that fails.
    pub fn measure(&mut self, at: usize, program: &Module, options: &Options) {
        self.measures_left = self.measures_left.saturating_sub(1);
        let trial = &mut self.trials[at];
        match Version::of(&trial.change.apply(program), options) {
            Ok(version) => (trial.outcome, trial.is_measured) = (version.outcome, true),
            Err(_) => _ = self.trials.remove(at),
        }
    }
}

/// Returns how many changes of a program are tried by default, and how many of these are measured with full effort:
/// fewer, the longer it takes to partition the program. With full effort this takes up to 0.5 ms for each op, and a
/// trial takes a fifth of that. It takes longer for values with many layouts, among which the partitioner chooses.
fn efforts(module: &Module, mesh: &Mesh) -> (usize, usize) {
    let axes = mesh.axes.iter().filter(|axis| axis.size > 1).count();
    let mut work = 5;
    for func in module.funcs.iter() {
        for op in func.body.walk() {
            let ranks = func.body[op].results.iter().map(|&v| func.body.ty(v).shape().len());
            work += (layout_count(ranks.max().unwrap_or(0), axes) / USUAL_LAYOUTS).max(1);
        }
    }
    let least = if work < SLOW { 16 } else { 4 };
    ((10_000 / work).clamp(least, 500), (2_000 / work).clamp(4, 16))
}

/// The work from which on a program may take about a second to partition.
const SLOW: usize = 2_000;

/// The number of layouts up to which the time for an op does not depend on it.
const USUAL_LAYOUTS: usize = 16;

/// Returns the number of layouts of a value over whole axes, or 4096 if there are more: the sum over `k` of the ordered
/// choices of `k` axes, times the ways to divide them among the dimensions.
fn layout_count(rank: usize, axes: usize) -> usize {
    let (mut count, mut ways) = (1, 1);
    for k in 0..axes {
        // The k-th axis can stand at any of these places in the lists of the dimensions.
        ways = ways * (axes - k) * (rank + k) / (k + 1);
        count += ways;
        if count >= MAX_LAYOUTS || ways == 0 {
            return count.min(MAX_LAYOUTS);
        }
    }
    count
}

fn sources(groups: &[Group]) -> Vec<(Loc, f64)> {
    let mut sums: Vec<(Loc, f64)> = vec![];
    for group in groups {
        let bytes = group.bytes_received() as f64;
        match sums.iter_mut().find(|(loc, _)| loc == group.loc()) {
            Some((_, sum)) => *sum += bytes,
            None => sums.push((group.loc().clone(), bytes)),
        }
    }
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums.truncate(MAX_SOURCES);
    sums
}

fn new_constraints(module: &Module, near: &Nearness) -> Vec<Spec> {
    let Some((id, main)) = main_of(module) else { return vec![] };
    let open = open_ops(module, main);
    let of_op = |op: Op| {
        let v = main.body[op].results[0];
        let stated = main.body.sharding(v).cloned();
        spec(Place::After(id, op), main.body.ty(v).as_tensor(), stated, main.body[op].loc.clone())
    };
    near.around.iter().copied().filter(|op| open.contains(op)).filter_map(of_op).collect()
}

/// Returns the candidates for one place, around which there is communication of this weight: the layouts between which
/// a value of this type moves, others over whole axes up to the limit, and no layout at all in place of a stated one,
/// except after an op. The layout that the place has is left out.
fn of_spec(
    index: usize,
    (spec, weight): (&Spec, f64),
    mesh: &Arc<Mesh>,
    now: &Version,
    groups: &[Group],
    layout_limit: usize,
) -> Vec<Candidate> {
    let settled = settled(spec, now);
    let stated = spec.stated.as_ref().or(settled.as_ref());
    let moves = moves(spec, mesh, groups);
    let of = |layout: Sharding| {
        let is_move = moves.iter().any(|known| known.same_layout(&layout));
        let promise = if is_move { 1.0 } else { promise(stated, &layout, &spec.ty.shape) };
        Candidate { spec: index, layout: Some(layout), promise: promise * weight }
    };
    let mut all = first_layouts(spec, mesh, layout_limit);
    let is_new = |layout: &&Sharding| !all.iter().chain(&spec.stated).any(|known| known.same_layout(layout));
    let more: Vec<Sharding> = moves.iter().filter(is_new).cloned().collect();
    all.extend(more);
    let is_settled = |layout: &Sharding| {
        spec.stated.is_none() && settled.as_ref().is_some_and(|settled| settled.same_layout(layout))
    };
    let mut candidates: Vec<Candidate> = all.into_iter().filter(|layout| !is_settled(layout)).map(of).collect();
    if spec.stated.is_some() && !matches!(spec.place, Place::After(..)) {
        candidates.push(Candidate { spec: index, layout: None, promise: 0.8 * weight });
    }
    candidates
}

/// Returns the layout that an argument or a result has in the partitioned program, or `None` at other places.
fn settled(spec: &Spec, now: &Version) -> Option<Sharding> {
    let signature = &now.partitioned.signature;
    let of = |list: &[ShardedType], i: usize| list.get(i)?.sharding.clone();
    match spec.place {
        Place::Argument(i) => of(&signature.inputs, i),
        Place::Result(i) => of(&signature.outputs, i),
        Place::Constraint(..) | Place::After(..) => None,
    }
}

/// Returns the layouts from which and to which values of the place's type move in the collectives of `groups`, as far
/// as they are possible at the place, those of the heaviest moves first.
fn moves(spec: &Spec, mesh: &Arc<Mesh>, groups: &[Group]) -> Vec<Sharding> {
    let mut heaviest: Vec<(u64, &Reshard)> = vec![];
    for group in groups {
        let reasons = group.rows.iter().filter_map(|row| row.reason.as_ref());
        let moved = reasons.flat_map(|reason| reason.reshard.iter().chain(&reason.forced));
        heaviest.extend(moved.map(|moved| (group.bytes_received(), &**moved)));
    }
    heaviest.retain(|(_, moved)| moved.shape == spec.ty.shape && moved.dtype == spec.ty.dtype);
    heaviest.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let mut found: Vec<Sharding> = vec![];
    for layout in heaviest.iter().flat_map(|(_, moved)| [&moved.to, &moved.from]) {
        let is_free = |a: AxisRef| !spec.manual.iter().any(|taken| taken.overlaps(a));
        let is_possible = layout.mesh.same_devices(mesh)
            && layout.unreduced == spec.stated.as_ref().map_or(vec![], |stated| stated.unreduced.clone())
            && layout.split_axes().all(is_free);
        if is_possible && !found.iter().any(|known| known.same_layout(layout)) {
            found.push(layout.canonical().with_mesh(mesh.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One axis splits either of two dimensions or none; two axes have 11 layouts, as listed in the tests of places.
    #[test]
    fn layouts_are_counted() {
        assert_eq!(layout_count(0, 3), 1);
        assert_eq!(layout_count(2, 1), 3);
        assert_eq!(layout_count(2, 2), 11);
        assert_eq!(layout_count(3, 3), 106);
        assert_eq!(layout_count(4, 60), MAX_LAYOUTS);
    }
}
