"use strict";

// The data of a timeline, without the page: times of spans, rows of spans that do not overlap, and searches in them.

const KINDS = ["compute", "collective", "control", "wait"];

/** Decodes the data of the page. Times are in picoseconds. */
function decode(data) {
  const count = data.spans.start.length;
  // A fact that no span knows is null.
  for (const name in data.rows) data.rows[name] ??= data.rows.name.map(() => -1);
  const model = {
    data,
    count,
    end: Math.max(data.end, 1),
    lane: Uint32Array.from(data.spans.lane),
    row: Uint32Array.from(data.spans.row),
    start: new Float64Array(count),
    end_of: new Float64Array(count),
    depth: new Uint32Array(count),
    turn: data.spans.turn || null,
    after: new Map(),
    before: new Map(),
  };
  let start = 0;
  for (let i = 0; i < count; i++) {
    start += data.spans.start[i];
    model.start[i] = start;
    model.end_of[i] = start + data.spans.duration[i];
  }
  for (let i = 0; i < data.spans.after.length; i += 2) {
    const [span, waited] = [data.spans.after[i], data.spans.after[i + 1]];
    push(model.after, span, waited);
    push(model.before, waited, span);
  }
  model.tracks = tracks(model);
  model.first = firstOfRows(model);
  return model;
}

function push(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** Returns for each lane a list of tracks. The spans of a track are in order and do not overlap. */
function tracks(model) {
  const lanes = model.data.lanes.map(() => [[]]);
  const open = model.data.lanes.map(() => []);
  for (let i = 0; i < model.count; i++) {
    const around = open[model.lane[i]];
    while (around.length > 0 && around[around.length - 1] <= model.start[i]) around.pop();
    model.depth[i] = around.length;
    around.push(model.end_of[i]);
    const own = lanes[model.lane[i]];
    while (own.length <= model.depth[i]) own.push([]);
    own[model.depth[i]].push(i);
  }
  return lanes;
}

/** Returns the first span of each row of facts. */
function firstOfRows(model) {
  const first = new Int32Array(model.data.rows.name.length).fill(-1);
  for (let i = model.count - 1; i >= 0; i--) first[model.row[i]] = i;
  return first;
}

/** Returns the place in a track, from `from` on, of the first span that ends after `time`. */
function firstEndingAfter(model, track, time, from) {
  let [low, high] = [from, track.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (model.end_of[track[middle]] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Calls `draw(span, left, right)` for the spans of a track in a period, in pixels from 0 to `width`. Of the spans that
 * are narrower than a pixel, it calls it once for each pixel, so that the calls are few, however many spans there are.
 */
function visible(model, track, from, to, width, draw) {
  const scale = width / (to - from);
  let i = firstEndingAfter(model, track, from, 0);
  while (i < track.length && model.start[track[i]] < to) {
    const span = track[i];
    const left = Math.max(0, (model.start[span] - from) * scale);
    const right = Math.min(width, (model.end_of[span] - from) * scale);
    if (right - left >= 1) {
      draw(span, left, right);
      i++;
    } else {
      const pixel = Math.floor(left);
      draw(span, pixel, pixel + 1);
      i = firstEndingAfter(model, track, from + (pixel + 1) / scale, i + 1);
    }
  }
}

/** Returns the span of a track at a time, or one that is at most `slack` away, or -1. */
function spanAt(model, track, time, slack) {
  const i = firstEndingAfter(model, track, time, 0);
  if (i < track.length && model.start[track[i]] <= time + slack) return track[i];
  if (i > 0 && model.end_of[track[i - 1]] >= time - slack) return track[i - 1];
  return -1;
}

/** Returns the text of a number of the table of strings, or null if it is -1. */
function text(model, number) {
  return number === undefined || number < 0 ? null : model.data.strings[number];
}

/** Returns a fact of a row of facts, or null if it is not known. */
function fact(model, row, name) {
  const value = model.data.rows[name][row];
  return value < 0 ? null : value;
}

function source(model, row) {
  const file = text(model, model.data.rows.file[row]);
  return file === null ? null : `${file}:${model.data.rows.line[row]}:${model.data.rows.column[row]}`;
}

/** Returns true for each row of facts in which a text occurs, in lower case. */
function search(model, wanted) {
  const columns = ["name", "ops", "scope", "shape", "sharding", "reason", "note"];
  return model.data.rows.name.map((_, row) => {
    const texts = columns.map((column) => text(model, model.data.rows[column][row]));
    return [...texts, source(model, row)].some((t) => t !== null && t.toLowerCase().includes(wanted));
  });
}

/** Returns the sums of each row of facts: the number of spans, their time, and the number of lanes that have them. */
function sums(model) {
  const count = model.data.rows.name.length;
  const sum = { spans: new Uint32Array(count), time: new Float64Array(count), lanes: new Uint32Array(count) };
  const last = new Int32Array(count).fill(-1);
  // Only rows in several lanes need a set of them.
  const several = new Map();
  for (let i = 0; i < model.count; i++) {
    const row = model.row[i];
    const lane = model.lane[i];
    sum.spans[row]++;
    sum.time[row] += model.end_of[i] - model.start[i];
    if (last[row] < 0) sum.lanes[row] = 1;
    else if (last[row] !== lane) {
      if (!several.has(row)) several.set(row, new Set([last[row]]));
      sum.lanes[row] = several.get(row).add(lane).size;
    }
    last[row] = lane;
  }
  return sum;
}

/**
 * Returns the times of the lines of the program, on average over the lanes of instructions: those of the program, or of
 * the cores, or else of the workers. Loops and branches do not count.
 */
function timesOfLines(model) {
  const kinds = model.data.lanes.map(([, kind]) => kind);
  const counted = ["program", "core", "worker"].find((kind) => kinds.includes(kind));
  const count = kinds.filter((kind) => kind === counted).length;
  const times = new Map();
  for (let i = 0; i < model.count; i++) {
    const line = model.data.rows.text_line[model.row[i]];
    const isControl = KINDS[model.data.rows.kind[model.row[i]]] === "control";
    if (line < 0 || isControl || kinds[model.lane[i]] !== counted) continue;
    times.set(line, (times.get(line) || 0) + (model.end_of[i] - model.start[i]) / count);
  }
  return times;
}

/** Returns the points of the roofline: rows of facts with operations, bytes of memory and a duration. */
function roofline(model, sum) {
  const [points, rows] = [[], model.data.rows];
  rows.name.forEach((_, row) => {
    const [flops, bytes] = [rows.flops[row], rows.memory_bytes[row]];
    if (flops > 0 && bytes > 0 && sum.time[row] > 0) {
      const done = flops * Math.max(1, fact(model, row, "instances")) * sum.spans[row];
      points.push({ row, intensity: flops / bytes, rate: (done * 1e12) / sum.time[row] });
    }
  });
  return points;
}

/**
 * Returns the limits of the machine, as pairs of a name and a rate, the highest first: operations by type, and bytes by
 * memory. If the timeline does not have them, they are the highest rates at which least times of spans are computed.
 */
function limits(model) {
  const descending = (a, b) => b[1] - a[1];
  const known = model.data.limits;
  if (known) return { rates: [...known.rates].sort(descending), memory: [...known.memory].sort(descending) };
  let [flops, bytes] = [0, 0];
  model.data.rows.name.forEach((_, row) => {
    const least = fact(model, row, "least_time");
    if (least === null || least === 0) return;
    flops = Math.max(flops, ((fact(model, row, "flops") || 0) * 1e12) / least);
    bytes = Math.max(bytes, ((fact(model, row, "memory_bytes") || 0) * 1e12) / least);
  });
  return { rates: flops > 0 ? [["", flops]] : [], memory: bytes > 0 ? [["", bytes]] : [] };
}

/** Returns the lines of the limits in logarithms: flat ones up to the fastest memory, and sloped ones up to the top. */
function roofLines(roof, left, right) {
  if (roof.rates.length === 0 || roof.memory.length === 0) return [];
  const log = Math.log10;
  const [top, fastest] = [log(roof.rates[0][1]), log(roof.memory[0][1])];
  const rates = [...new Set(roof.rates.map(([, rate]) => rate))];
  const names = (rate) => roof.rates.filter((of) => of[1] === rate).map(([name]) => name).join(", ");
  const flat = rates.map((rate) => ({
    name: names(rate), from: [Math.max(left, log(rate) - fastest), log(rate)], to: [right, log(rate)],
  }));
  const sloped = roof.memory.map(([name, rate]) => ({
    name, from: [left, log(rate) + left], to: [Math.min(right, top - log(rate)), Math.min(log(rate) + right, top)],
  }));
  return [...flat, ...sloped];
}

function withUnit(value, step, units) {
  let unit = 0;
  while (value >= step * 0.99995 && unit + 1 < units.length) {
    value /= step;
    unit++;
  }
  return `${unit === 0 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const timeText = (time) => withUnit(time, 1000, ["ps", "ns", "us", "ms", "s"]);
const sizeText = (bytes) => withUnit(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const countText = (count, unit) => withUnit(count, 1000, ["", "k", "M", "G", "T", "P"].map((prefix) => prefix + unit));
/** Returns ten to the power of `n` as text. */
const powerText = (n, unit) => (n < 0 ? `${(10 ** n).toFixed(-n)} ${unit}` : countText(10 ** n, unit)).trim();
const percentText = (share) => `${(100 * share).toFixed(1)} %`;

/** Returns a time as text that differs from that of a time `step` away. */
function exactText(time, step) {
  if (time === 0) return "0";
  let [size, unit] = [1, 0];
  while (time >= 1000 * size && unit < 4) {
    size *= 1000;
    unit++;
  }
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  return `${(time / size).toFixed(Math.min(digits, 15))} ${["ps", "ns", "us", "ms", "s"][unit]}`;
}

/** Returns a step of 1, 2 or 5 times a power of ten of which at most `parts` fit into a period, and its multiples. */
function ticks(from, to, parts) {
  const rough = (to - from) / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough) || 10 * power;
  const times = [];
  for (let n = Math.ceil(from / step); n * step <= to; n++) times.push(n * step);
  return { step, times };
}
