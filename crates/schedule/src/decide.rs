//! Tries changes in the simulator, one kind of site at a time, and keeps those that pay.

use crate::matmul::{self, Matmul};
use crate::ring::Ways;
use crate::site::Sites;
use crate::write::write;
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Module, Op};
use shardwise_sim::{self as sim, Issue, LOOK_AHEAD, Overlap, Summary, Takes, Topology, simulate};
use shardwise_view::{LaneKind, Picoseconds, SpanKind, Timeline};
use std::collections::BTreeMap;
use std::fmt;

/// Options of [`schedule`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// The least gain for which [`Overlap::Auto`] makes a change, as a fraction of the time of the collectives that are
    /// changed.
    pub threshold: f64,
    /// The part of the planned peak of memory by which it may grow in any case. It may grow further as long as it stays
    /// within [`Options::memory_share`] of the memory of a device.
    pub memory_growth: f64,
    /// The part of the memory of a device that may be used.
    pub memory_share: f64,
    /// The number of ops that may be simulated to try changes.
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
    /// The changes that were tried, in the order of the time that they could hide.
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

impl fmt::Debug for Scheduled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Scheduled");
        f.field("decisions", &self.decisions).field("before", &self.before).field("after", &self.after);
        f.field("peak_before", &self.peak_before).field("peak_after", &self.peak_after).finish_non_exhaustive()
    }
}

/// A change that was tried.
#[derive(Clone, PartialEq, Debug)]
pub struct Decision {
    /// The ops that are changed, and into what.
    pub what: String,
    /// The place of the first op that is changed.
    pub loc: Loc,
    /// The number of places that are alike, which are decided together.
    pub count: usize,
    /// True if the change was made.
    pub is_taken: bool,
    /// The predicted time of the program without the change.
    pub before: Picoseconds,
    /// The predicted time of the program with it, or `None` if it was not simulated.
    pub after: Option<Picoseconds>,
    /// The reason for the decision, as a sentence.
    pub why: String,
}

impl Decision {
    /// Returns the decision as a message about the place.
    pub fn note(&self) -> Diagnostic {
        let verb = if self.is_taken { "changed" } else { "left as it is" };
        let message = format!("{verb}: {}", self.what);
        Diagnostic::remark("schedule", &self.loc, message).note(self.why.clone())
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_taken { "changed" } else { "left" };
        write!(f, "{mark}: {} ({})", self.what, self.why)
    }
}

/// Returns a program that computes the same as a localized module and hides its collectives behind other ops, as far as
/// the simulator predicts that this is faster on the topology.
///
/// With [`Overlap::Off`], the program is returned as it is. With [`Overlap::Auto`], a change is made if the predicted
/// gain is at least [`Options::threshold`], and the predicted time never grows. With [`Overlap::Force`], every change
/// is made that is possible.
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
    let room = (Summary::of(&given, topology).capacity_bytes as f64 * options.memory_share) as u64;
    let most = room.max((peak_before as f64 * (1.0 + options.memory_growth)) as u64);
    let mut search = Search { topology, overlap, options, most, budget: options.op_budget, tried: vec![] };
    let changed = search.changes(module, &mut scheduled.decisions)?;
    search.write(module, changed, &mut scheduled)?;
    Ok(scheduled)
}

fn peak(timeline: &Timeline) -> u64 {
    timeline.peak_memory().map_or(0, |peak| peak.bytes)
}

/// How far ahead ops are issued when the order is written. Smaller numbers keep fewer values in memory.
const LOOK_AHEADS: [usize; 4] = [LOOK_AHEAD, 16, 4, 1];

struct Search<'a> {
    topology: &'a Topology,
    overlap: Overlap,
    options: &'a Options,
    /// The largest peak of memory.
    most: u64,
    /// The number of ops that may still be simulated.
    budget: usize,
    tried: Vec<matmul::Like>,
}

/// Sites that are alike.
struct Class {
    sites: Vec<Matmul>,
    /// The time for which the core waits for the collectives.
    exposed: Picoseconds,
    /// The time of the collectives.
    transfer: Picoseconds,
}

/// The simulation of a program whose collectives run beside other ops.
struct Trial {
    issue: Issue,
    time: Picoseconds,
    peak: u64,
}

impl Search<'_> {
    fn trial(&mut self, module: &Module, op_count: usize) -> Result<Trial, Diagnostics> {
        self.budget = self.budget.saturating_sub(op_count);
        let issue = sim::issue(module, self.topology, self.overlap, LOOK_AHEAD)?;
        Ok(Trial { time: issue.timeline.end(), peak: peak(&issue.timeline), issue })
    }

    /// Returns the program with all changes that pay.
    fn changes(&mut self, module: &Module, decisions: &mut Vec<Decision>) -> Result<Module, Diagnostics> {
        let mut module = module.clone();
        let mut known: Option<Trial> = None;
        loop {
            let Some(main) = module.main() else { return Ok(module) };
            let sites = Sites::new(&module, &main.body);
            let op_count = sites.op_count();
            let found = matmul::find(&sites);
            if found.iter().all(|site| self.tried.contains(&site.like)) {
                return Ok(module);
            }
            let trial = match known.take() {
                Some(trial) => trial,
                None => self.trial(&module, op_count)?,
            };
            let Some(class) = self.next(&sites, found, &trial.issue) else { return Ok(module) };
            self.tried.push(class.sites[0].like.clone());
            let (decision, changed) = self.decide(&sites, &class, &trial)?;
            decisions.push(decision);
            match changed {
                Some((changed, trial)) => (module, known) = (changed, Some(trial)),
                None => known = Some(trial),
            }
        }
    }

    /// Returns the class of sites that has not been tried for which the core waits longest, or `None` if all have been.
    fn next(&self, sites: &Sites<'_>, found: Vec<Matmul>, issue: &Issue) -> Option<Class> {
        let times = Times::of(issue);
        let mut classes: Vec<Class> = vec![];
        for site in found.into_iter().filter(|site| !self.tried.contains(&site.like)) {
            let runs = sites.runs(site.collective);
            let (transfer, exposed) = times.of_op(site.collective);
            let (transfer, exposed) = (transfer.saturating_mul(runs), exposed.saturating_mul(runs));
            match classes.iter_mut().find(|class| class.sites[0].like == site.like) {
                Some(class) => {
                    class.transfer = class.transfer.saturating_add(transfer);
                    class.exposed = class.exposed.saturating_add(exposed);
                    class.sites.push(site);
                }
                None => classes.push(Class { sites: vec![site], exposed, transfer }),
            }
        }
        // The first one of several with the same time.
        classes.into_iter().rev().max_by_key(|class| class.exposed)
    }

    /// Tries the changes of a class, and returns the decision, and the changed program if it is to be changed.
    fn decide(
        &mut self,
        sites: &Sites<'_>,
        class: &Class,
        now: &Trial,
    ) -> Result<(Decision, Option<(Module, Trial)>), Diagnostics> {
        let first = &class.sites[0];
        let mut decision = Decision {
            what: first.describe(sites.module, sites.body),
            loc: sites.view(first.product).loc().clone(),
            count: class.sites.len(),
            is_taken: false,
            before: now.time,
            after: None,
            why: String::new(),
        };
        if self.overlap == Overlap::Auto && class.exposed == 0 {
            decision.why = "the collective is hidden already".into();
            return Ok((decision, None));
        }
        if self.budget < sites.op_count() {
            decision.why = "not tried, because the program is large and other changes were tried first".into();
            return Ok((decision, None));
        }
        let mut best: Option<(Ways, Module, Trial)> = None;
        let mut is_too_large = false;
        for &ways in first.ways() {
            let changed = matmul::apply(sites.module, &class.sites.iter().collect::<Vec<_>>(), ways)?;
            let trial = self.trial(&changed, sites.op_count())?;
            if trial.peak > self.most.max(now.peak) {
                is_too_large = true;
                continue;
            }
            if best.as_ref().is_none_or(|(_, _, known)| trial.time < known.time) {
                best = Some((ways, changed, trial));
            }
        }
        let Some((ways, changed, trial)) = best else {
            debug_assert!(is_too_large);
            decision.why = format!("it would need more than {} bytes of memory", self.most);
            return Ok((decision, None));
        };
        decision.what = format!("{}, {}", decision.what, ways.words());
        decision.after = Some(trial.time);
        let gain = now.time.saturating_sub(trial.time);
        let least = (class.transfer as f64 * self.options.threshold) as Picoseconds;
        let pays = gain > 0 && gain >= least;
        decision.is_taken = self.overlap == Overlap::Force || pays;
        decision.why = why(self.overlap, pays, now.time, trial.time, (least, self.options.threshold));
        Ok((decision, Some((changed, trial)).filter(|_| self.overlap == Overlap::Force || pays)))
    }

    /// Writes the order of the changed program, or of the given one if that is faster or the changed one is too large.
    fn write(&mut self, given: &Module, changed: Module, out: &mut Scheduled) -> Result<(), Diagnostics> {
        let is_changed = out.decisions.iter().any(|decision| decision.is_taken);
        let mut best: Option<(Picoseconds, u64, Module)> = None;
        for look_ahead in LOOK_AHEADS {
            let issue = sim::issue(&changed, self.topology, self.overlap, look_ahead)?;
            let written = write(&changed, &issue)?;
            let timeline = simulate(&written, self.topology, &sim::Options { overlap: Overlap::Off })?;
            let (time, peak) = (timeline.end(), peak(&timeline));
            if peak <= self.most && best.as_ref().is_none_or(|(known, ..)| time < *known) {
                best = Some((time, peak, written));
            }
            if best.is_some() {
                break;
            }
        }
        let is_forced = self.overlap == Overlap::Force;
        match best {
            Some((time, peak, module)) if is_forced || time < out.before => {
                (out.after, out.peak_after, out.module) = (time, peak, module);
            }
            _ if is_changed => {
                let undone = "the order of its ops would take longer, or more memory";
                out.decisions.iter_mut().filter(|decision| decision.is_taken).for_each(|decision| {
                    decision.is_taken = false;
                    decision.why = format!("{}; undone, because {undone}", decision.why);
                });
                self.write(given, given.clone(), out)?;
            }
            _ => {}
        }
        Ok(())
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
        (false, _) => format!("{times}, which is less than the least gain of {least}"),
    }
}

/// The times of ops in a timeline, and the times for which the core waits.
struct Times {
    spans: BTreeMap<Op, (Picoseconds, Picoseconds, Takes)>,
    /// The periods in which the core waits, in order.
    waits: Vec<(Picoseconds, Picoseconds)>,
}

impl Times {
    fn of(issue: &Issue) -> Times {
        let issued = issue.blocks.values().flatten();
        let spans = issued.filter_map(|item| Some((*item.ops.last()?, (item.start, item.end, item.takes)))).collect();
        let timeline = &issue.timeline;
        let is_wait = |lane, kind| timeline.lanes[lane].kind == LaneKind::Core && kind == SpanKind::Wait;
        let waits = timeline.spans.iter().filter(|span| is_wait(span.lane, span.kind));
        Times { spans, waits: waits.map(|span| (span.start, span.end)).collect() }
    }

    /// Returns the time of one run of a collective, and the part of it for which the core waits.
    fn of_op(&self, op: Op) -> (Picoseconds, Picoseconds) {
        let Some(&(start, end, takes)) = self.spans.get(&op) else { return (0, 0) };
        let time = end - start;
        if takes != Takes::Links {
            return (time, time);
        }
        let first = self.waits.partition_point(|&(_, until)| until <= start);
        let beside = self.waits[first..].iter().take_while(|&&(from, _)| from < end);
        (time, beside.map(|&(from, until)| until.min(end) - from.max(start)).sum())
    }
}
