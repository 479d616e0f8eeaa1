//! The timeline of one run of a program: its lanes, its spans, and the memory in use.

use crate::facts::place;
use crate::limits::Limits;
use shardwise_base::{DType, EntityVec, Loc, entity};

/// A time since the start of the run, or a duration, in 10^-12 seconds.
pub type Picoseconds = u64;

entity! {
    /// A lane of a timeline.
    pub LaneIndex "lane"
}

entity! {
    /// A span of a timeline.
    pub SpanIndex "span"
}

/// One run of a program, or several that follow each other ([`Timeline::append`]): who does what at which time. What
/// its maker does not know of a span is absent, never zero.
///
/// # Examples
///
/// ```
/// use shardwise_view::{Lane, LaneKind, Maker, Span, SpanKind, Timeline};
///
/// let mut timeline = Timeline::new("matmul.mlir", Maker::Predicted { machine: "TPU v5e 2x4".into() });
/// let core = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
/// timeline.spans.push(Span::new(core, "dot_general", SpanKind::Compute, 0..222_500_000));
/// assert_eq!(timeline.end(), 222_500_000);
/// ```
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The name of the program: its file or its function. There may be several, joined by commas.
    pub program: String,
    /// How the times were obtained.
    pub maker: Maker,
    /// The number of devices that run the program, or 0 if the engine measured nothing.
    pub device_count: usize,
    /// The lanes, in the order in which they are shown.
    pub lanes: EntityVec<LaneIndex, Lane>,
    /// The spans, in the order of their starts. A span that is inside of another one in its lane follows it.
    pub spans: EntityVec<SpanIndex, Span>,
    /// The memory in use, from each listed time on, in the order of time: of one device if it is predicted for a
    /// chip, and of all devices together if it is measured or predicted for a host. Empty if it is not known.
    pub memory: Vec<MemoryUse>,
    /// Facts that a reader must know beside the times, one sentence each, such as which runs are not listed.
    pub notes: Vec<String>,
    /// The values that are in memory where its use is highest, the largest first. Empty if they are not known.
    pub at_peak: Vec<MemoryPart>,
    /// The limits of the machine, or `None` if they are not known.
    pub limits: Option<Limits>,
    /// The typical error of the duration of the whole run, as a fraction of it ([`Span::uncertainty`]). `None` if the
    /// duration is measured, or its error is not known, as after [`Timeline::append`].
    pub uncertainty: Option<f64>,
}

/// How the times of a timeline were obtained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Maker {
    /// An engine ran the program and measured it.
    Measured {
        /// The engine and the machine: `host, 2 workers`. Empty if the engine measured nothing.
        machine: String,
    },
    /// A simulator predicted the times.
    Predicted {
        /// The simulated machine: `TPU v5e 2x4`.
        machine: String,
    },
}

/// A resource that does one thing at a time, apart from spans inside of spans.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The name, such as `worker 0` or `links x+ x-`.
    pub name: String,
    /// The kind of the resource.
    pub kind: LaneKind,
}

/// The kind of a lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LaneKind {
    /// The instructions of a program, of which each serves all devices.
    Program,
    /// The unit of a device that computes.
    Core,
    /// Links that communication uses together: those along some axes in some directions, a switch, or a network.
    Link,
    /// A thread of the host engine.
    Worker,
}

/// The kind of a span.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SpanKind {
    /// Ops that compute or move data within a device.
    Compute,
    /// A collective: data moves between devices.
    Collective,
    /// A loop, a branch or a call. The spans inside of it have their own entries.
    Control,
    /// The lane waits for another one, or for the other devices.
    Wait,
}

/// A period in which a lane does one thing, or waits.
#[derive(Clone, Debug)]
pub struct Span {
    /// The lane in which the span is shown.
    pub lane: LaneIndex,
    /// The name that is shown: `dot_general`, `fused(multiply, add)`.
    pub name: String,
    /// The kind of thing that the lane does.
    pub kind: SpanKind,
    /// The start of the span, at most [`Span::end`].
    pub start: Picoseconds,
    /// The end of the span.
    pub end: Picoseconds,
    /// The full names of the ops that ran: `stablehlo.dot_general`. There are several if they were fused or are shown
    /// together, and none if they are not known.
    pub ops: Vec<String>,
    /// The place in the program that made the ops, with the scopes in which it did. For communication that the
    /// partitioner added, the place of the op that needs it. If small instructions are shown together, the place of one
    /// of them, or of the loop or branch around them. [`Loc::UNKNOWN`] if it is not known.
    pub loc: Loc,
    /// The types of the results, if they are known: `f32[128,256]`.
    pub shape: Option<String>,
    /// The layout of the first result, if it is known: `<@mesh, [{"data"}, {}]>`.
    pub sharding: Option<String>,
    /// The reason why the ops are there, if it is known. Ops that the partitioner added have one, such as collectives.
    pub reason: Option<String>,
    /// A remark for readers, if there is one: an assumption behind the times or the work, or how they were measured.
    pub note: Option<String>,
    /// The turn of the innermost loop that contains the span, from 0, or the first one if the span stands for several.
    /// `None` outside of loops, or if it is not known.
    pub turn: Option<u64>,
    /// The number of runs that the span stands for. It is 1 unless small instructions were measured together, or turns
    /// of a loop that are taken to be alike are shown as one. The duration and the work are those of all these runs.
    pub runs: u64,
    /// The number of devices that the span serves. The span counts once in sums of times.
    pub devices: usize,
    /// How often the work is done in the span. An engine that runs all devices on one machine does it once for each
    /// distinct result. It is 1 if the span is that of one device, or if its work is stated for all instances together.
    pub instances: usize,
    /// The type of the elements of the first result, if it is known. If small instructions were measured together, the
    /// type that all of them have. It selects the peak rate ([`Limits::least_time`]).
    pub dtype: Option<DType>,
    /// The typical error of the duration, as a fraction of it, if the duration is predicted and its error is known. Two
    /// of three spans of this kind have no larger error.
    pub uncertainty: Option<f64>,
    /// How much the span does.
    pub work: Work,
    /// The spans for whose ends the span waits.
    pub after: Vec<SpanIndex>,
}

/// How much a span does in all its runs ([`Span::runs`]), for one of its instances ([`Span::instances`]). Of
/// instructions that were measured together, those whose work is not known are left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Work {
    /// The number of arithmetic operations, such as additions and multiplications, if it is known.
    pub flops: Option<u64>,
    /// The bytes that are read from and written to the memory of the device, if they are known.
    pub memory_bytes: Option<u64>,
    /// The bytes that a device receives from others, if they are known.
    pub received_bytes: Option<u64>,
    /// The least time of the whole span, with all instances, at the limits of the machine: its peak rate, its memory
    /// and, in some predictions, its links. `None` if it is not known.
    pub least_time: Option<Picoseconds>,
}

/// The memory that is in use from a time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryUse {
    /// The time from which on the bytes are in use.
    pub start: Picoseconds,
    /// The number of bytes.
    pub bytes: u64,
}

/// A value, or several with the same name and source location, in the memory that [`Timeline::memory`] counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryPart {
    /// The name that is shown: `dot_general`, `argument 1`.
    pub name: String,
    /// The place in the program that made the value.
    pub loc: Loc,
    /// The number of bytes.
    pub bytes: u64,
}

impl Timeline {
    /// Returns a timeline of one device without lanes and spans.
    pub fn new(program: impl Into<String>, maker: Maker) -> Timeline {
        Timeline {
            program: program.into(),
            maker,
            device_count: 1,
            lanes: EntityVec::new(),
            spans: EntityVec::new(),
            memory: vec![],
            notes: vec![],
            at_peak: vec![],
            limits: None,
            uncertainty: None,
        }
    }

    /// Appends another run, which starts when this one ends. Lanes of the same name and kind are the same. If the
    /// numbers of devices differ, the larger one is that of both. The values at the peak are those of the run with the
    /// higher peak, or of this run if both are equal, and the limits are those of the first run that has some. The
    /// typical error of the whole is not known ([`Timeline::uncertainty`]). The program and the maker stay those of
    /// this run.
    pub fn append(&mut self, next: Timeline) {
        let begin = self.end();
        let is_higher = next.peak_memory().map(|peak| peak.bytes) > self.peak_memory().map(|peak| peak.bytes);
        let lanes: Vec<LaneIndex> = next.lanes.iter().map(|lane| self.lane(lane)).collect();
        let first = self.spans.len();
        for span in next.spans.iter() {
            let mut span = span.clone();
            span.lane = lanes[span.lane.index()];
            span.start = span.start.saturating_add(begin);
            span.end = span.end.saturating_add(begin);
            span.after.iter_mut().for_each(|i| *i = SpanIndex::new(first + i.index()));
            self.spans.push(span);
        }
        self.memory
            .extend(next.memory.iter().map(|usage| MemoryUse { start: usage.start.saturating_add(begin), ..*usage }));
        self.notes.extend(next.notes);
        if is_higher {
            self.at_peak = next.at_peak;
        }
        self.limits = self.limits.take().or(next.limits);
        self.uncertainty = None;
        self.device_count = self.device_count.max(next.device_count);
    }

    fn lane(&mut self, lane: &Lane) -> LaneIndex {
        let known = self.lanes.keys().find(|&i| self.lanes[i] == *lane);
        known.unwrap_or_else(|| self.lanes.push(lane.clone()))
    }

    /// Returns the shortest and the longest duration of the run that the typical error allows. Returns `None` if the
    /// error is not known.
    pub fn end_range(&self) -> Option<[Picoseconds; 2]> {
        self.uncertainty.map(|error| range(self.end(), error))
    }

    /// Sets the spans in the order of their starts. Spans that start at the same time stay in the order of the list, in
    /// which a span must follow the spans around it and those for which it waits. Each index in [`Span::after`] is that
    /// of a span in the list, and is changed to that of the same span in [`Timeline::spans`].
    ///
    /// # Panics
    /// Panics if an index in [`Span::after`] is not that of a span in the list.
    pub fn set_spans(&mut self, spans: Vec<Span>) {
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_by_key(|&i| spans[i].start);
        let mut place = vec![SpanIndex::new(0); spans.len()];
        order.iter().enumerate().for_each(|(to, &from)| place[from] = SpanIndex::new(to));
        let mut spans: Vec<Option<Span>> = spans.into_iter().map(Some).collect();
        let placed = order.into_iter().map(|i| {
            let mut span = spans[i].take().expect("each span has one place");
            span.after.iter_mut().for_each(|before| *before = place[before.index()]);
            span.after.sort_unstable();
            span
        });
        self.spans = placed.collect();
    }

    /// Returns the time at which the last span ends, or 0 if there is none.
    pub fn end(&self) -> Picoseconds {
        self.spans.iter().map(|span| span.end).max().unwrap_or(0)
    }
}

impl Maker {
    /// Returns the description of the machine.
    pub fn machine(&self) -> &str {
        match self {
            Maker::Measured { machine } | Maker::Predicted { machine } => machine,
        }
    }

    /// Returns how the times were obtained: `measured` or `predicted`.
    pub fn name(&self) -> &'static str {
        match self {
            Maker::Measured { .. } => "measured",
            Maker::Predicted { .. } => "predicted",
        }
    }
}

impl LaneKind {
    /// All kinds, in the order in which files for other tools list them.
    pub const ALL: [LaneKind; 4] = [LaneKind::Program, LaneKind::Core, LaneKind::Link, LaneKind::Worker];

    /// Returns the name of the kind in files and pages, such as `core`.
    pub fn name(self) -> &'static str {
        match self {
            LaneKind::Program => "program",
            LaneKind::Core => "core",
            LaneKind::Link => "link",
            LaneKind::Worker => "worker",
        }
    }
}

impl SpanKind {
    /// All kinds.
    pub const ALL: [SpanKind; 4] = [SpanKind::Compute, SpanKind::Collective, SpanKind::Control, SpanKind::Wait];

    /// Returns the name of the kind in files and pages, such as `compute`.
    pub fn name(self) -> &'static str {
        match self {
            SpanKind::Compute => "compute",
            SpanKind::Collective => "collective",
            SpanKind::Control => "control",
            SpanKind::Wait => "wait",
        }
    }
}

impl Span {
    /// Returns a span of one run on one device, of which nothing else is known.
    pub fn new(lane: LaneIndex, name: impl Into<String>, kind: SpanKind, time: std::ops::Range<Picoseconds>) -> Span {
        Span {
            lane,
            name: name.into(),
            kind,
            start: time.start,
            end: time.end,
            ops: vec![],
            loc: Loc::UNKNOWN,
            shape: None,
            sharding: None,
            reason: None,
            note: None,
            turn: None,
            runs: 1,
            devices: 1,
            instances: 1,
            dtype: None,
            uncertainty: None,
            work: Work::default(),
            after: vec![],
        }
    }

    /// Returns the file, line and column that made the ops, such as `a.mlir:3:5`, or `None` if they are not known.
    pub fn source(&self) -> Option<String> {
        place(&self.loc)
    }

    /// Returns the duration.
    ///
    /// # Panics
    /// Panics or returns a wrong number if the span ends before it starts.
    pub fn duration(&self) -> Picoseconds {
        self.end - self.start
    }

    /// Returns an amount of work of the span for all instances together, given that for one: [`Span::instances`] times
    /// `amount`, or the largest number if that does not fit.
    pub fn of_all_instances(&self, amount: u64) -> u64 {
        amount.saturating_mul(self.instances as u64)
    }

    /// Returns the flops in a second, of all instances together, or `None` if the flops are not known or if the span
    /// has no duration.
    pub fn flops_per_second(&self) -> Option<f64> {
        let flops = self.work.flops? as f64 * self.instances as f64;
        (self.end > self.start).then(|| flops * 1e12 / self.duration() as f64)
    }

    /// Returns the shortest and the longest duration that the typical error allows. Returns `None` if the error is not
    /// known.
    ///
    /// # Panics
    /// Panics or returns wrong numbers if the error is known and the span ends before it starts.
    pub fn duration_range(&self) -> Option<[Picoseconds; 2]> {
        self.uncertainty.map(|error| range(self.duration(), error))
    }

    /// Returns the least time at the limits of the machine as a share of the duration. It is 1 where the machine is
    /// used as well as possible, and larger where the span took less time than the limits allow. Returns `None` if the
    /// least time is not known or if the span has no duration.
    pub fn achieved_share(&self) -> Option<f64> {
        let least = self.work.least_time? as f64;
        (self.end > self.start).then(|| least / self.duration() as f64)
    }
}

/// Returns the shortest and the longest time for a time with this error, a fraction of it. A time that is larger or
/// smaller by the same factor is as likely.
fn range(time: Picoseconds, error: f64) -> [Picoseconds; 2] {
    // A cast from a float saturates.
    [time as f64 / (1.0 + error), time as f64 * (1.0 + error)].map(|bound| bound.round() as Picoseconds)
}
