"""Perfetto's and JAX's own readers against our traces.

    python oracle/traces.py DIR

DIR has timelines, each as NAME.json (Chrome's format), NAME.pftrace and NAME.xplane.pb. The readers must find the same spans
in all of them, and Perfetto's slices must be nested and their flows complete.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from jax.profiler import ProfileData
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

Spans = list[tuple[str, int, int]]


def chrome(path: Path) -> Spans:
    """The spans of a file in Chrome's format: names, starts and durations in nanoseconds."""
    events = json.loads(path.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    return [(event["name"], round(event["ts"] * 1000), round(event["dur"] * 1000)) for event in spans]


def perfetto(path: Path) -> Spans:
    """The slices of a trace. Fails if one ends before it starts, if they are not nested, or if a flow has no end."""
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    spans, names, tracks, flows, ends = [], {}, set(), set(), set()
    running, last = defaultdict(list), Counter()
    for packet in trace.packet:
        names |= {name.iid: name.name for name in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            tracks.add(packet.track_descriptor.uuid)
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert event.track_uuid in tracks, "a track without a descriptor"
        assert last[event.track_uuid] <= packet.timestamp, "events of a track are not in order"
        last[event.track_uuid] = packet.timestamp
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            running[event.track_uuid].append((event.name or names[event.name_iid], packet.timestamp))
            flows |= set(event.flow_ids)
            ends |= set(event.terminating_flow_ids)
        elif event.type == TrackEvent.TYPE_SLICE_END:
            name, start = running[event.track_uuid].pop()
            spans.append((name, start, packet.timestamp - start))
    assert not any(running.values()), "a slice without an end"
    assert ends <= flows, "a flow without a start"
    return spans


def xspace(path: Path) -> Spans:
    """The events of a profile, without those that show the memory in use."""
    planes = [plane for plane in ProfileData.from_file(str(path)).planes if not plane.name.endswith("memory")]
    events = [event for plane in planes for line in plane.lines for event in line.events]
    return [(event.name, round(event.start_ns), round(event.duration_ns)) for event in events]


def difference(expected: Spans, found: Spans) -> str | None:
    """How the spans differ, by more than the rounding of times to nanoseconds."""
    if len(expected) != len(found):
        return f"{len(found)} spans for {len(expected)}"
    for a, b in zip(sorted(expected, key=lambda s: (s[0], s[1], s[2])), sorted(found, key=lambda s: (s[0], s[1], s[2]))):
        if a[0] != b[0] or abs(a[1] - b[1]) > 1 or abs(a[2] - b[2]) > 2:
            return f"{b} for {a}"
    return None


def main(folder: Path) -> int:
    wrong, count = [], 0
    for path in sorted(folder.glob("*.json")):
        expected = chrome(path)
        count += len(expected)
        for extension, read in [(".pftrace", perfetto), (".xplane.pb", xspace)]:
            why = difference(expected, read(path.with_suffix(extension)))
            wrong += [f"{path.stem}{extension}: {why}"] if why else []
    print(f"traces: {count} spans, read by Perfetto and JAX" + "".join(f"\n{line}" for line in wrong))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
