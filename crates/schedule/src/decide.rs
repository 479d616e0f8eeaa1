//! Tries changes in the simulator, one kind of site at a time, and keeps those that pay.

use crate::change::{self, Like, Site, Variant};
use crate::site::Sites;
use crate::times::Times;
use crate::write::write;
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Module, Op};
use shardwise_sim::{self as sim, Issue, LOOK_AHEAD, Overlap, Summary, Topology, simulate};
use shardwise_view::{Picoseconds, Timeline};
use std::collections::BTreeSet;
use std::fmt;

/// Options of [`schedule`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// The least gain for which [`Overlap::Auto`] makes a change, as a fraction of the time of the collectives that are
    /// changed.
    pub threshold: f64,
    /// The part of the planned peak of memory by which the peak may grow in any case. It may grow further as long as it
    /// stays within [`Options::memory_share`] of the memory of a device.
    pub memory_growth: f64,
    /// The part of the memory of a device up to which the planned peak may grow. A peak that is larger already may
    /// still grow by [`Options::memory_growth`].
    pub memory_share: f64,
    /// The number of ops that may be simulated to try changes. A change is tried, in all of its ways, as long as at
    /// least as many are left as the program has ops.
    pub op_budget: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { threshold: 0.05, memory_growth: 0.05, memory_share: 0.9, op_budget: 1 << 19 }
    }
}

/// A program with its overlap written down, and why it is as it is.
pub struct Scheduled {
    /// The program of one device.
    pub module: Module,
    /// The decisions on possible changes, in the order in which they were made: next comes the change whose collectives
    /// the core waits for longest in the program changed so far. On a host, one decision states that all collectives
    /// are left as they are, if there are any. There are none with [`Overlap::Off`].
    pub decisions: Vec<Decision>,
    /// The predicted time of the given program, in its own order.
    pub before: Picoseconds,
    /// The predicted time of the returned program, in its own order.
    pub after: Picoseconds,
    /// The predicted peak of memory of the given program, in bytes.
    pub peak_before: u64,
    /// The predicted peak of memory of the returned program, in bytes.
    pub peak_after: u64,
}

impl Scheduled {
    /// Returns the predicted timeline of the scheduled program, with the decisions as notes.
    ///
    /// # Errors
    /// Fails as [`simulate`] does.
    pub fn timeline(&self, topology: &Topology) -> Result<Timeline, Diagnostics> {
        let mut timeline = simulate(&self.module, topology, &sim::Options { overlap: Overlap::Off })?;
        timeline.notes.extend(self.decisions.iter().map(|decision| format!("{decision}.")));
        if self.decisions.iter().any(|decision| decision.after.is_some_and(|after| after != timeline.end())) {
            timeline.notes.push("the times of changes are those of the whole program when each was tried.".into());
        }
        Ok(timeline)
    }
}

impl fmt::Debug for Scheduled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Scheduled");
        f.field("decisions", &self.decisions).field("before", &self.before).field("after", &self.after);
        f.field("peak_before", &self.peak_before).field("peak_after", &self.peak_after).finish_non_exhaustive()
    }
}

/// The decision on a change, made or not.
#[derive(Clone, PartialEq, Debug)]
pub struct Decision {
    /// The ops that are or would be changed and, if a change was simulated that fits into memory, into what.
    pub what: String,
    /// The origin of the first product beside a gather or scatter. For other changes, it is that of the first
    /// collective.
    pub loc: Loc,
    /// The number of places that are alike, which are decided together. On a host, the number of collectives.
    pub count: usize,
    /// True if the change was made and was not undone later.
    pub is_taken: bool,
    /// The predicted time of the program without the change, but with those that were made before it, in the order of
    /// the trial. On a host, that of the given program.
    pub before: Picoseconds,
    /// The predicted time of the program with the change, in the order of the trial. `None` if the change was not
    /// simulated, or if no way to make it that was simulated fits into memory.
    pub after: Option<Picoseconds>,
    /// The reason for the decision, in words without a full stop.
    pub why: String,
}

impl Decision {
    /// Returns the decision as a message about the place.
    pub fn note(&self) -> Diagnostic {
        let message = match self.is_taken {
            true => format!("changed: {}", self.what),
            false => format!("change not made: {}", self.what),
        };
        Diagnostic::remark("schedule", &self.loc, message).note(self.why.clone())
    }

    fn undo(&mut self) {
        if self.is_taken {
            self.is_taken = false;
            self.why += "; undone, because the program in its written order is no faster, or needs too much memory";
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_taken { "changed" } else { "change not made" };
        write!(f, "{mark}: {} (", self.what)?;
        if !self.loc.is_unknown() {
            write!(f, "{}; ", self.loc)?;
        }
        if self.count > 1 {
            write!(f, "{} places; ", self.count)?;
        }
        write!(f, "{})", self.why)
    }
}

/// Returns a program that computes the same as a localized module and hides its collectives behind other ops, as far as
/// the simulator predicts that this is faster on the topology.
///
/// With [`Overlap::Off`], the program is returned as it is. With [`Overlap::Auto`], a change is made only if the
/// predicted gain is at least [`Options::threshold`] and the program fits into memory, and the predicted time never
/// grows. With [`Overlap::Force`], a change is made whether it pays or not, if it fits into memory: of several changes
/// of one collective, the fastest one. After simulations of about [`Options::op_budget`] ops, no more changes are
/// tried. A program for a host is returned as it is, too, because a host runs one instruction after the other.
///
/// Floats that are summed in another order are rounded in other places. Integers and exact sums stay equal.
///
/// # Errors
/// Fails as [`simulate`] does.
pub fn schedule(
    module: &Module,
    topology: &Topology,
    overlap: Overlap,
    options: &Options,
) -> Result<Scheduled, Diagnostics> {
    let given = simulate(module, topology, &sim::Options { overlap: Overlap::Off })?;
    let (before, peak_before) = (given.end(), peak(&given));
    let mut scheduled = Scheduled {
        module: module.clone(),
        decisions: vec![],
        before,
        after: before,
        peak_before,
        peak_after: peak_before,
    };
    if overlap == Overlap::Off {
        return Ok(scheduled);
    }
    if topology.machine().is_host() {
        scheduled.decisions.extend(left_on_host(module, before));
        return Ok(scheduled);
    }
    let room = (Summary::of(&given, topology).capacity_bytes as f64 * options.memory_share) as u64;
    let most = room.max((peak_before as f64 * (1.0 + options.memory_growth)) as u64);
    let mut search = Search { topology, overlap, options, most, budget: options.op_budget, tried: vec![] };
    let changed = search.changes(module, &mut scheduled.decisions)?;
    search.write(module, changed, &mut scheduled)?;
    Ok(scheduled)
}

fn left_on_host(module: &Module, before: Picoseconds) -> Option<Decision> {
    let sites = Sites::new(module, &module.main()?.body);
    let loc = sites.collectives().next()?.origin().clone();
    Some(Decision {
        what: "all collectives".into(),
        loc,
        count: sites.collectives().count(),
        is_taken: false,
        before,
        after: None,
        why: "a host runs one instruction after the other, so that nothing hides a collective".into(),
    })
}

fn peak(timeline: &Timeline) -> u64 {
    timeline.peak_memory().map_or(0, |peak| peak.bytes)
}

/// How far ahead ops are issued when the order is written, in the order in which these are tried. Smaller numbers keep
/// fewer values in memory.
const LOOK_AHEADS: [usize; 4] = [LOOK_AHEAD, 16, 4, 1];

struct Search<'a> {
    topology: &'a Topology,
    overlap: Overlap,
    options: &'a Options,
    /// The largest peak of memory that a program may have in the order that is written. While changes are tried, a
    /// larger peak may stay as it is.
    most: u64,
    /// The number of ops that may still be simulated.
    budget: usize,
    tried: Vec<Like>,
}

/// Places that are alike, which are decided together.
struct Class {
    like: Like,
    sites: Vec<Site>,
    /// The time for which the core waits for the collectives, in all their runs.
    exposed: Picoseconds,
    /// The time of the collectives, in all their runs.
    transfer: Picoseconds,
}

/// The simulation of a program whose collectives run beside other ops.
struct Trial {
    issue: Issue,
    time: Picoseconds,
    peak: u64,
}

/// A change of a class, as it was tried.
struct Tried {
    variant: Variant,
    module: Module,
    trial: Trial,
}

impl Search<'_> {
    fn trial(&mut self, module: &Module) -> Result<Trial, Diagnostics> {
        let op_count = module.main().map_or(0, |main| main.body.op_count());
        self.budget = self.budget.saturating_sub(op_count);
        let issue = sim::issue(module, self.topology, self.overlap, LOOK_AHEAD)?;
        Ok(Trial { time: issue.timeline.end(), peak: peak(&issue.timeline), issue })
    }

    /// Returns the program with all changes that are made. Adds the decisions to `decisions`, in the order in which
    /// they were made. Fails if the program or a changed one cannot be simulated.
    fn changes(&mut self, module: &Module, decisions: &mut Vec<Decision>) -> Result<Module, Diagnostics> {
        let mut module = module.clone();
        let mut trial = self.trial(&module)?;
        loop {
            let Some(main) = module.main() else { return Ok(module) };
            let sites = Sites::new(&module, &main.body);
            let classes = self.classes(&sites, &trial.issue);
            // The first one of several with the same time.
            let Some(first) = classes.iter().rev().max_by_key(|class| class.exposed) else { return Ok(module) };
            let collectives: BTreeSet<Op> = first.collectives().collect();
            let is_rival = |class: &&Class| class.collectives().any(|op| collectives.contains(&op));
            let rivals: Vec<&Class> = classes.iter().filter(is_rival).collect();
            let (decision, changed) = self.decide(&sites, first, &rivals, &trial)?;
            for class in rivals.iter().filter(|class| class.collectives().all(|op| collectives.contains(&op))) {
                self.tried.push(class.like.clone());
            }
            decisions.push(decision);
            if let Some(changed) = changed {
                (module, trial) = (changed.module, changed.trial);
            }
        }
    }

    fn classes(&self, sites: &Sites<'_>, issue: &Issue) -> Vec<Class> {
        let times = Times::of(issue);
        let mut classes: Vec<Class> = vec![];
        for site in change::find(sites, &times) {
            let like = site.like();
            if self.tried.contains(&like) {
                continue;
            }
            let (mut transfer, mut exposed) = (0u64, 0u64);
            for &op in site.collectives() {
                let (runs, (time, waits)) = (sites.runs(op), times.of_op(op));
                transfer = transfer.saturating_add(time.saturating_mul(runs));
                exposed = exposed.saturating_add(waits.saturating_mul(runs));
            }
            match classes.iter_mut().find(|class| class.like == like) {
                Some(class) => {
                    class.transfer = class.transfer.saturating_add(transfer);
                    class.exposed = class.exposed.saturating_add(exposed);
                    class.sites.push(site);
                }
                None => classes.push(Class { like, sites: vec![site], exposed, transfer }),
            }
        }
        classes
    }

    /// Tries the changes of the classes `rivals`, which share collectives with `first`, one of them. Tries none if the
    /// collectives of `first` are hidden already and changes are not forced, or if the budget is spent. Returns the
    /// decision, and the changed program if a change is to be made. Fails if a changed program cannot be simulated.
    fn decide(
        &mut self,
        sites: &Sites<'_>,
        first: &Class,
        rivals: &[&Class],
        now: &Trial,
    ) -> Result<(Decision, Option<Tried>), Diagnostics> {
        let mut decision = first.decision(sites, now);
        if self.overlap == Overlap::Auto && first.exposed == 0 {
            decision.why = "the collective is hidden already".into();
            return Ok((decision, None));
        }
        if self.budget < sites.op_count() {
            decision.why = "not tried, because no more ops may be simulated to try changes".into();
            return Ok((decision, None));
        }
        let mut best: Option<(&Class, Tried)> = None;
        for &class in rivals {
            for tried in self.variants(sites, class, now)? {
                if best.as_ref().is_none_or(|(_, known)| tried.trial.time < known.trial.time) {
                    best = Some((class, tried));
                }
            }
        }
        let Some((class, tried)) = best else {
            decision.why = format!("it would need more than {} bytes of memory", self.most);
            return Ok((decision, None));
        };
        decision = class.decision(sites, now);
        decision.what = format!("{}, {}", decision.what, tried.variant.words());
        decision.after = Some(tried.trial.time);
        let gain = now.time.saturating_sub(tried.trial.time);
        let least = (class.transfer as f64 * self.options.threshold) as Picoseconds;
        let pays = gain > 0 && gain >= least;
        decision.is_taken = self.overlap == Overlap::Force || pays;
        decision.why = why(self.overlap, pays, now.time, tried.trial.time, (least, self.options.threshold));
        let taken = decision.is_taken.then_some(tried);
        Ok((decision, taken))
    }

    /// Tries the ways to make the change of a class. Leaves out those that are not possible or need too much memory.
    /// Fails if a changed program cannot be simulated.
    fn variants(&mut self, sites: &Sites<'_>, class: &Class, now: &Trial) -> Result<Vec<Tried>, Diagnostics> {
        let mut tried = vec![];
        for variant in class.sites[0].variants() {
            let Some(module) = variant.apply(sites.module, &class.sites)? else { continue };
            let trial = self.trial(&module)?;
            if trial.peak <= self.most.max(now.peak) {
                tried.push(Tried { variant, module, trial });
            }
        }
        Ok(tried)
    }

    /// Writes an order into the changed program and puts the result into `out`. If that is no faster than the given
    /// program in its own order, or needs too much memory, undoes the changes and writes an order into the given one,
    /// and leaves `out` as it is if that is no better. With [`Overlap::Force`], only the memory counts. Fails if an
    /// ordered program cannot be simulated.
    fn write(&mut self, given: &Module, changed: Module, out: &mut Scheduled) -> Result<(), Diagnostics> {
        let is_kept = |time: Picoseconds| self.overlap == Overlap::Force || time < out.before;
        let found = self.in_order(&changed)?.filter(|&(time, ..)| is_kept(time));
        let is_changed = out.decisions.iter().any(|decision| decision.is_taken);
        match found {
            Some((time, peak, module)) => (out.after, out.peak_after, out.module) = (time, peak, module),
            None if is_changed => {
                out.decisions.iter_mut().for_each(Decision::undo);
                self.write(given, given.clone(), out)?;
            }
            None => {}
        }
        Ok(())
    }

    /// Returns the program in the first order of [`LOOK_AHEADS`] that does not need too much memory, with its predicted
    /// time and peak of memory. Returns `None` if each of them needs too much. Fails if an ordered program cannot be
    /// simulated.
    fn in_order(&self, module: &Module) -> Result<Option<(Picoseconds, u64, Module)>, Diagnostics> {
        for look_ahead in LOOK_AHEADS {
            let issue = sim::issue(module, self.topology, self.overlap, look_ahead)?;
            let written = write(module, &issue)?;
            let timeline = simulate(&written, self.topology, &sim::Options { overlap: Overlap::Off })?;
            if peak(&timeline) <= self.most {
                return Ok(Some((timeline.end(), peak(&timeline), written)));
            }
        }
        Ok(None)
    }
}

impl Class {
    fn collectives(&self) -> impl Iterator<Item = Op> + '_ {
        self.sites.iter().flat_map(|site| site.collectives().iter().copied())
    }

    fn decision(&self, sites: &Sites<'_>, now: &Trial) -> Decision {
        Decision {
            what: self.sites[0].describe(sites),
            loc: self.sites[0].loc(sites),
            count: self.sites.len(),
            is_taken: false,
            before: now.time,
            after: None,
            why: String::new(),
        }
    }
}

fn microseconds(time: Picoseconds) -> String {
    format!("{:.1} us", time as f64 / 1e6)
}

fn why(
    overlap: Overlap,
    pays: bool,
    before: Picoseconds,
    after: Picoseconds,
    (least, threshold): (Picoseconds, f64),
) -> String {
    let times = format!("predicted {} in place of {}", microseconds(after), microseconds(before));
    let least = format!("{}, {:.0} % of the time of the collectives", microseconds(least), 100.0 * threshold);
    match (pays, overlap) {
        (true, _) => format!("{times}; the least gain is {least}"),
        (false, Overlap::Force) => format!("{times}; forced, although the least gain is {least}"),
        (false, _) => format!("{times}: the gain is less than the least gain of {least}"),
    }
}
