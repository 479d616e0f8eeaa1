//! Generated timelines for tests: nested spans in several lanes, with absent facts and names that need escaping.

use crate::{Lane, LaneIndex, LaneKind, Maker, MemoryUse, Picoseconds, Span, SpanIndex, SpanKind, Timeline, Work};
use shardwise_base::{DType, Loc};
use std::cmp::Reverse;

const NAMES: [&str; 12] = [
    "dot_general",
    "all_gather",
    "fused(multiply, add)",
    "",
    "</script><script>alert(1)</script>",
    "<!-- & ' \" \\",
    "line\u{2028}separator\u{2029}",
    "a\nb\tc\u{1b}[31m\0",
    "{{data}}{{script}}",
    "größe-ノード-🙂",
    "__proto__",
    "http:",
];

/// A generator of random numbers (SplitMix64), made from a seed.
pub(crate) struct Draw(u64);

impl Draw {
    /// Returns the next number, which is at least 0 and below `count`. Panics if `count` is 0.
    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % count
    }

    fn of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize].clone()
    }

    fn maybe<T>(&mut self, item: impl FnOnce(&mut Draw) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| item(self))
    }

    fn name(&mut self) -> String {
        self.of(&NAMES).into()
    }
}

pub(crate) fn timeline(seed: u64) -> Timeline {
    let mut draw = Draw(seed);
    let machine = draw.name();
    let maker = draw.of(&[Maker::Measured { machine: machine.clone() }, Maker::Predicted { machine }]);
    let mut timeline = Timeline::new(draw.name(), maker);
    timeline.device_count = 1 + draw.below(8) as usize;
    let mut times = vec![];
    for _ in 0..draw.below(6) {
        let kind = draw.of(&LaneKind::ALL);
        let lane = timeline.lanes.push(Lane { name: draw.name(), kind });
        periods(&mut draw, lane, 0, 1_000_000, 0, &mut times);
    }
    // The order of the lanes is no order of the spans.
    times.sort_by_key(|&(lane, start, end)| (start, Reverse(end), Reverse(lane)));
    for (lane, start, end) in times {
        let span = span(&mut draw, &timeline, lane, start, end);
        timeline.spans.push(span);
    }
    let mut start = 0;
    for _ in 0..draw.below(10) {
        timeline.memory.push(MemoryUse { start, bytes: draw.below(1 << 40) });
        start += draw.below(100_000);
    }
    timeline
}

/// Adds up to six periods of a lane between two times to `times`, and others inside of them, nested at most four deep.
fn periods(
    draw: &mut Draw,
    lane: LaneIndex,
    mut from: Picoseconds,
    to: Picoseconds,
    depth: usize,
    times: &mut Vec<(LaneIndex, Picoseconds, Picoseconds)>,
) {
    for _ in 0..draw.below(7) {
        // Many times are equal, and some periods take no time or less than a nanosecond.
        let start = from + draw.below(3) * draw.below(to - from + 1) / 8;
        let longest = draw.of(&[0, 700, 50_000, 400_000]);
        let end = (start + draw.below(longest + 1)).min(to);
        if start > to {
            return;
        }
        times.push((lane, start, end));
        if depth < 3 && end > start {
            periods(draw, lane, start, end, depth + 1, times);
        }
        from = end;
    }
}

fn span(draw: &mut Draw, timeline: &Timeline, lane: LaneIndex, start: Picoseconds, end: Picoseconds) -> Span {
    let before: Vec<SpanIndex> = timeline.spans.keys().filter(|&s| timeline.spans[s].end <= start).collect();
    let mut after: Vec<SpanIndex> =
        (0..draw.below(3)).filter(|_| !before.is_empty()).map(|_| draw.of(&before)).collect();
    after.sort();
    after.dedup();
    let loc = draw.maybe(|draw| Loc::file(draw.name(), 1 + draw.below(20) as u32, draw.below(9) as u32));
    let loc = loc.unwrap_or(Loc::UNKNOWN);
    Span {
        ops: (0..draw.below(3)).map(|_| format!("stablehlo.{}", draw.name())).collect(),
        loc: draw.maybe(Draw::name).map_or(loc.clone(), |scope| loc.named(scope)),
        shape: draw.maybe(|_| "f32[128,256]".into()),
        sharding: draw.maybe(|_| r#"<@mesh, [{"data"}, {}]>"#.into()),
        reason: draw.maybe(|draw| format!("because of {}", draw.name())),
        note: draw.maybe(|draw| format!("assumed of {}", draw.name())),
        turn: draw.maybe(|draw| draw.below(4)),
        runs: 1 + draw.below(2) * draw.below(100),
        devices: 1 + draw.below(8) as usize,
        instances: 1 + draw.below(2) as usize * draw.below(8) as usize,
        dtype: draw.maybe(|draw| draw.of(&[DType::F32, DType::BF16])),
        uncertainty: draw.maybe(|draw| draw.below(2000) as f64 / 1000.0),
        work: Work {
            flops: draw.maybe(|draw| draw.below(1 << 50)),
            memory_bytes: draw.maybe(|draw| draw.below(1 << 40)),
            received_bytes: draw.maybe(|draw| draw.below(2) * draw.below(1 << 40)),
            least_time: draw.maybe(|draw| draw.below(end - start + 1)),
        },
        after,
        ..Span::new(lane, draw.name(), draw.of(&SpanKind::ALL), start..end)
    }
}
