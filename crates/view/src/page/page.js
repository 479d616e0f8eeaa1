// The page: canvases, panels, the mouse and the keyboard. Texts of the program are inserted as text, never as HTML.

const get = (id) => document.getElementById(id);
const model = decode(JSON.parse(get("data").textContent));
const totals = sums(model);
const ROW = 18;
const GUTTER = 130;
const AXIS = 22;
/** Tables have at most this number of rows. */
const MAX_ROWS = 200;
const view = { from: 0, to: model.end, top: 0, selected: -1, found: null, marked: null };

/** Returns a new element with a class and a text, both of which may be missing. */
function element(name, className, content) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (content !== undefined) made.textContent = content;
  return made;
}

const spansText = (count) => `${count} ${count === 1 ? "span" : "spans"}`;

/** Returns a button with a text that calls a function. */
function pressed(content, action) {
  const button = element("button", "", content);
  button.type = "button";
  button.addEventListener("click", action);
  return button;
}

/** Returns a mark in the colour of a kind of spans. */
function kindMark(kind) {
  const mark = element("i", "kind");
  mark.style.background = `var(--${kind})`;
  return mark;
}

/** Returns the head of a table, of whose columns the first `numbers` ones have numbers. */
function heading(names, numbers) {
  const row = element("tr");
  names.forEach((name, i) => {
    const cell = element("th", i < numbers ? "number" : "", name);
    cell.setAttribute("scope", "col");
    row.append(cell);
  });
  const head = element("thead");
  head.append(row);
  return head;
}

/**
 * Fills a table with the rows that `rowOf` makes of the first items. Of the others, of which there may be more than
 * those in the list, it only says how many there are. Columns without any text are left out.
 */
function fillTable(id, names, numbers, items, rowOf, count = items.length) {
  const body = element("tbody");
  const rows = items.slice(0, MAX_ROWS).map(rowOf);
  const head = heading(names, numbers);
  for (let i = names.length - 1; i >= 0; i--) {
    if (rows.every((row) => row.children[i].textContent === "")) {
      [head.firstChild, ...rows].forEach((row) => row.children[i].remove());
    }
  }
  body.append(...rows);
  if (count > MAX_ROWS) {
    const cell = element("td", "", `and ${count - MAX_ROWS} more`);
    cell.colSpan = head.firstChild.children.length;
    const row = element("tr", "more");
    row.append(cell);
    body.append(row);
  }
  get(id).append(head, body);
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Returns the context of a canvas with the size in which it is shown, cleared. */
function cleared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  return { context, width, height };
}

let isPending = false;
let isAllPending = false;

/** Draws what depends on the period and the selection before the next frame, and with `all` the roofline as well. */
function redraw(all = false) {
  isAllPending ||= all === true;
  if (isPending) return;
  isPending = true;
  requestAnimationFrame(() => {
    if (isAllPending) drawRoofline();
    [isPending, isAllPending] = [false, false];
    drawLanes();
    drawMemory();
    drawText();
    get("period").textContent = periodText();
  });
}

// Lanes

const tops = [];
let lanesHeight = AXIS;
for (const tracks of model.tracks) {
  tops.push(lanesHeight);
  lanesHeight += tracks.length * ROW + 8;
}

const span = () => view.to - view.from;

/** Returns the period that is shown, as text. */
function periodText() {
  const step = Math.max(1, span() / 200);
  return `${exactText(view.from, step)} to ${exactText(view.to, step)}`;
}

const pixel = (time, width) => GUTTER + ((time - view.from) / span()) * (width - GUTTER);
const time = (x, width) => view.from + ((x - GUTTER) / (width - GUTTER)) * span();

function drawLanes() {
  const { context, width, height } = cleared(get("lanes"));
  const colors = [...KINDS, "on-span", "text"].map(color);
  view.top = Math.min(Math.max(0, view.top), Math.max(0, lanesHeight - height));
  drawAxis(context, width, height);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, width, height - AXIS);
  context.clip();
  model.tracks.forEach((tracks, lane) => {
    const top = tops[lane] - view.top;
    if (top + tracks.length * ROW + 8 < AXIS || top > height) return;
    tracks.forEach((track, depth) => drawTrack(context, track, top + 4 + depth * ROW, width, colors));
    context.fillStyle = color("line");
    context.fillRect(0, top + tracks.length * ROW + 7, width, 1);
    drawLabel(context, lane, top, tracks.length);
  });
  if (view.selected >= 0) drawSelected(context, width);
  context.restore();
}

function drawAxis(context, width, height) {
  const { step, times } = ticks(view.from, view.to, Math.max(2, (width - GUTTER) / 110));
  for (const at of times) {
    const x = pixel(at, width);
    context.fillStyle = color("line");
    context.fillRect(x, AXIS - 6, 1, height);
    const label = exactText(at, step);
    context.fillStyle = color("faint");
    if (x + 3 + context.measureText(label).width < width) context.fillText(label, x + 3, AXIS / 2);
  }
}

function drawLabel(context, lane, top, rows) {
  context.fillStyle = color("inset");
  context.fillRect(0, top, GUTTER - 4, rows * ROW + 7);
  context.fillStyle = color("text");
  context.fillText(fitting(model.data.lanes[lane][0], GUTTER - 12), 6, top + 4 + ROW / 2);
}

/** Returns the start of a text that fits into a width in pixels. A character takes about 6 pixels. */
function fitting(name, width) {
  const room = Math.floor(width / 6);
  if (room < 2) return "";
  return name.length <= room ? name : `${name.slice(0, room - 1)}\u2026`;
}

function drawTrack(context, track, y, width, colors) {
  visible(model, track, view.from, view.to, width - GUTTER, (index, left, right) => {
    const row = model.row[index];
    context.globalAlpha = view.found && !view.found[row] ? 0.2 : 1;
    context.fillStyle = colors[model.data.rows.kind[row]];
    context.fillRect(GUTTER + left, y, Math.max(1, right - left - 0.5), ROW - 2);
    if (view.marked && view.marked.has(row)) outline(context, GUTTER + left, y, right - left, colors[5], 1);
    if (right - left > 24) {
      const label = fitting(text(model, model.data.rows.name[row]), right - left - 6);
      context.fillStyle = colors[4];
      context.fillText(label, GUTTER + left + 3, y + ROW / 2 - 1);
    }
    context.globalAlpha = 1;
  });
}

function outline(context, x, y, width, style, thickness) {
  context.strokeStyle = style;
  context.lineWidth = thickness;
  context.strokeRect(x, y, Math.max(1, width), ROW - 2);
}

const yOf = (index) => tops[model.lane[index]] - view.top + 4 + model.depth[index] * ROW;

/** Outlines the selected span, and draws lines from the spans for which it waits and to those that wait for it. */
function drawSelected(context, width) {
  const box = (index) => [pixel(model.start[index], width), pixel(model.end_of[index], width)];
  const line = (from, to) => {
    context.strokeStyle = color("focus");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(Math.max(GUTTER, box(from)[1]), yOf(from) + ROW / 2);
    context.lineTo(Math.max(GUTTER, box(to)[0]), yOf(to) + ROW / 2);
    context.stroke();
  };
  const [left, right] = box(view.selected);
  if (right >= GUTTER && left <= width) {
    const start = Math.max(GUTTER, left);
    outline(context, start, yOf(view.selected), Math.min(right, width) - start, color("focus"), 2);
  }
  (model.after.get(view.selected) || []).slice(0, 100).forEach((waited) => line(waited, view.selected));
  (model.before.get(view.selected) || []).slice(0, 100).forEach((waiting) => line(view.selected, waiting));
}

/** Returns the span at a point of the canvas, or -1. */
function hit(x, y, width) {
  if (x < GUTTER || y < AXIS) return -1;
  const lane = tops.findLastIndex((top) => top - view.top <= y);
  if (lane < 0) return -1;
  const track = model.tracks[lane][Math.floor((y - tops[lane] + view.top - 4) / ROW)];
  return track === undefined ? -1 : spanAt(model, track, time(x, width), (2 * span()) / (width - GUTTER));
}

// Moving

function show(from, to) {
  const length = Math.min(Math.max(to - from, Math.min(1000, model.end)), model.end);
  view.from = Math.min(Math.max(0, from), model.end - length);
  view.to = view.from + length;
  redraw();
}

/** Changes the period by a factor, and keeps a time where it is. */
function zoom(factor, about = (view.from + view.to) / 2) {
  show(about - (about - view.from) * factor, about + (view.to - about) * factor);
}

const pan = (share) => show(view.from + share * span(), view.to + share * span());
const fit = () => show(0, model.end);

function scrollLanes(by) {
  view.top += by;
  redraw();
}

/** Moves to a span if it cannot be seen. */
function reveal(index) {
  const [from, to] = [model.start[index], model.end_of[index]];
  if (to < view.from || from > view.to) show((from + to) / 2 - span() / 2, (from + to) / 2 + span() / 2);
  const height = get("lanes").clientHeight;
  const y = yOf(index);
  if (y < AXIS || y + ROW > height) view.top += y - height / 2;
}

// The selected span

const NOTHING = "Select a span of the timeline, a line of the program, or a row of a table: its facts are then here.";
/** The labels of facts that are code. */
const CODE = new Set(["ops", "source", "scope", "shape", "sharding"]);

function select(index, marked = null) {
  view.selected = index;
  view.marked = marked;
  get("facts").replaceChildren();
  if (index < 0) {
    get("status").textContent = NOTHING;
  } else {
    const facts = describe(index);
    get("status").textContent = facts.slice(0, 2).map(([, value]) => value).join(", ");
    for (const [label, value] of facts) {
      get("facts").append(element("dt", "", label), element("dd", CODE.has(label) ? "wide" : "", value));
    }
    get("details").scrollTop = 0;
    reveal(index);
    scrollToLine(model.data.rows.text_line[model.row[index]]);
  }
  redraw();
}

/** Selects the first span of a row of facts, marks all of them, and scrolls the page to the timeline. */
function showRow(row) {
  select(model.first[row], new Set([row]));
  get("run").scrollIntoView({ block: "nearest" });
}

/** Returns what is known about a span, as pairs of a label and a text. */
function describe(index) {
  const row = model.row[index];
  const duration = model.end_of[index] - model.start[index];
  const known = (name, format = String) => {
    const value = fact(model, row, name);
    return value === null ? null : format(value);
  };
  const named = (name) => text(model, model.data.rows[name][row]);
  const least = fact(model, row, "least_time");
  const instances = Math.max(1, fact(model, row, "instances"));
  const rate = (format, unit) => (value) => {
    const each = duration > 0 ? `, ${countText((value * instances * 1e12) / duration, unit)}/s` : "";
    return `${format(value)}${instances === 1 ? "" : ` x ${instances}`}${each}`;
  };
  const flops = (value) => countText(value, "flop");
  const error = fact(model, row, "uncertainty_ppm");
  const range = (ppm) => [duration / (1 + ppm / 1e6), duration * (1 + ppm / 1e6)].map(timeText).join(" to ");
  const turn = model.turn && model.turn[index] >= 0 ? String(model.turn[index]) : null;
  const facts = [
    ["name", named("name")],
    ["time", `${timeText(duration)} from ${exactText(model.start[index], Math.max(1, duration / 10))}`],
    ["typical error", error === null ? null : `${percentText(error / 1e6)}: ${range(error)}`],
    ["lane", model.data.lanes[model.lane[index]][0]],
    ["kind", KINDS[model.data.rows.kind[row]]],
    ["ops", named("ops")],
    ["source", source(model, row)],
    ["scope", named("scope")],
    ["shape", named("shape")],
    ["sharding", named("sharding")],
    ["reason", named("reason")],
    ["note", named("note")],
    ["turn", turn],
    ["runs", model.data.rows.runs[row] === 1 ? null : known("runs")],
    ["devices", model.data.rows.devices[row] === 1 ? null : known("devices")],
    ["element type", named("dtype")],
    ["operations", known("flops", rate(flops, "flop"))],
    ["memory", known("memory_bytes", rate(sizeText, "B"))],
    ["received", known("received_bytes", rate(sizeText, "B"))],
    ["least time", least === null ? null : timeText(least)],
    ["share of the limit", least === null || duration === 0 ? null : percentText(least / duration)],
    ["waits for", (model.after.get(index) || []).slice(0, 8).map(nameOf).join(", ") || null],
    ["awaited by", (model.before.get(index) || []).slice(0, 8).map(nameOf).join(", ") || null],
    ["in all", totals.spans[row] > 1 ? `${totals.spans[row]} spans, ${timeText(totals.time[row])}` : null],
  ];
  return facts.filter(([, value]) => value !== null);
}

const nameOf = (index) => text(model, model.data.rows.name[model.row[index]]);

/** Selects the span before or after the selected one in its track. */
function step(by) {
  if (view.selected < 0) {
    if (model.count > 0) select(0);
    return;
  }
  const track = model.tracks[model.lane[view.selected]][model.depth[view.selected]];
  const next = track[track.indexOf(view.selected) + by];
  if (next !== undefined) select(next);
}

// The program

const LINE = 18;
const lines = model.data.lines || [];
const rowsOfLine = new Map();
model.data.rows.text_line.forEach((line, row) => {
  if (line > 0 && line <= lines.length) push(rowsOfLine, line, row);
});

const lineTimes = timesOfLines(model);
const longestLine = [...lineTimes.values()].reduce((a, b) => Math.max(a, b), 1);

/** Makes elements for the lines that can be seen. */
function drawText() {
  if (lines.length === 0) return;
  const box = get("text");
  const selected = view.selected < 0 ? 0 : model.data.rows.text_line[model.row[view.selected]];
  const first = Math.max(0, Math.floor(box.scrollTop / LINE) - 10);
  const last = Math.min(lines.length, first + Math.ceil(box.clientHeight / LINE) + 20);
  const made = [element("div")];
  made[0].style.height = `${lines.length * LINE}px`;
  for (let i = first; i < last; i++) made.push(lineElement(i + 1, i + 1 === selected));
  box.setAttribute("aria-activedescendant", selected > 0 ? `line-${selected}` : "");
  box.replaceChildren(...made);
}

function lineElement(line, isSelected) {
  const made = element("div", "line");
  made.style.top = `${(line - 1) * LINE}px`;
  made.id = `line-${line}`;
  made.setAttribute("role", "option");
  made.setAttribute("aria-selected", String(isSelected));
  const time = lineTimes.get(line);
  const cell = element("span", "time", time === undefined ? "" : timeText(time));
  if (time !== undefined) {
    cell.style.backgroundImage = "linear-gradient(var(--heat), var(--heat))";
    cell.style.backgroundSize = `${(100 * time) / longestLine}% 100%`;
  }
  made.append(cell, element("span", "number", String(line)), element("span", "code", lines[line - 1]));
  if (isSelected) made.classList.add("marked");
  if (rowsOfLine.has(line)) {
    made.classList.add("spans");
    made.addEventListener("click", () => selectLine(line));
  }
  return made;
}

/** Selects the first span of a line, and marks all of them. */
function selectLine(line) {
  const rows = rowsOfLine.get(line) || [];
  const firsts = rows.map((row) => model.first[row]).filter((index) => index >= 0);
  if (firsts.length === 0) return;
  select(Math.min(...firsts), new Set(rows));
  const count = rows.reduce((all, row) => all + totals.spans[row], 0);
  get("status").textContent = `Line ${line} has ${spansText(count)}. The first one is shown.`;
}

/** Selects the first span of a line, and scrolls the page to the program. */
function showLine(line) {
  selectLine(line);
  get("run").scrollIntoView({ block: "nearest" });
}

function scrollToLine(line) {
  const box = get("text");
  const y = (line - 1) * LINE;
  if (line > 0 && (y < box.scrollTop || y + LINE > box.scrollTop + box.clientHeight)) {
    box.scrollTop = y - box.clientHeight / 2;
  }
}

/** Selects the next line with spans, downwards or upwards. */
function stepLine(by) {
  const selected = view.selected < 0 ? 0 : model.data.rows.text_line[model.row[view.selected]];
  const known = [...rowsOfLine.keys()].sort((a, b) => a - b);
  const next = by > 0 ? known.find((line) => line > selected) : known.findLast((line) => line < selected);
  if (next !== undefined) selectLine(next);
}

// Memory

/** Returns the largest use of memory in each pixel of a period, or -1 where it is not known. */
function memoryPeaks(from, to, width) {
  const memory = model.data.memory;
  const peaks = new Float64Array(Math.max(1, Math.floor(width))).fill(-1);
  for (let i = 0; i < memory.length; i += 2) {
    const until = i + 2 < memory.length ? memory[i + 2] : model.end;
    if (until < from || memory[i] > to) continue;
    const place = (at) => Math.min(peaks.length - 1, Math.max(0, Math.floor(((at - from) / (to - from)) * width)));
    for (let x = place(memory[i]); x <= place(until); x++) peaks[x] = Math.max(peaks[x], memory[i + 1]);
  }
  return peaks;
}

function drawMemory() {
  if (model.data.memory.length === 0) return;
  const { context, width, height } = cleared(get("memory"));
  const peak = Math.max(1, ...memoryPeaks(0, model.end, 1));
  const peaks = memoryPeaks(view.from, view.to, width - GUTTER);
  context.fillStyle = color("compute");
  peaks.forEach((bytes, x) => {
    const tall = bytes < 0 ? 0 : (bytes / peak) * (height - 16);
    context.fillRect(GUTTER + x, height - tall, 1, tall);
  });
  context.fillStyle = color("text");
  context.fillText("memory in use", 6, 12);
  context.fillText(`peak ${sizeText(peak)}`, 6, 28);
}

/** Fills the table of the values that are in memory at the peak. */
function fillPeak() {
  const parts = model.data.at_peak;
  if (parts.length === 0) return;
  const whole = parts.reduce((sum, [bytes]) => sum + bytes, 0);
  fillTable("parts", ["bytes", "share", "value", "source"], 2, parts, ([bytes, name, place, line]) => {
    const made = element("tr");
    made.append(element("td", "number", sizeText(bytes)), element("td", "number", percentText(bytes / whole)));
    made.append(element("td", "name", name));
    const isShown = rowsOfLine.has(line);
    made.append(sourceCell(line > 0 ? `line ${line}` : place || "", place, isShown ? () => showLine(line) : null));
    return made;
  });
  get("peak").hidden = false;
}

/** Returns a cell with a place in the source, and with the whole place as its title. It may call a function. */
function sourceCell(shown, place, action) {
  const cell = element("td", "source", action ? undefined : shown);
  if (action) cell.append(pressed(shown, action));
  cell.title = place || "";
  return cell;
}

// Roofline

const ROOF = { left: 74, bottom: 44, margin: 14 };
const points = roofline(model, totals);
let placed = [];

function drawRoofline() {
  if (points.length === 0) return;
  const { context, width, height } = cleared(get("roof"));
  const roof = limits(model);
  const [rates, memory] = [roof.rates.map(([, rate]) => rate), roof.memory.map(([, rate]) => rate)];
  const ridges = rates.flatMap((rate) => memory.map((bytes) => ({ intensity: rate / bytes, rate })));
  const all = [...points, ...ridges];
  const range = (key) => {
    const values = all.map((point) => Math.log10(point[key]));
    return [values.reduce((a, b) => Math.min(a, b)) - 0.5, values.reduce((a, b) => Math.max(a, b)) + 0.5];
  };
  const [[left, right], [low, high]] = [range("intensity"), range("rate")];
  const x = (log) => ROOF.left + ((log - left) / (right - left)) * (width - ROOF.left - ROOF.margin);
  const y = (log) => height - ROOF.bottom - ((log - low) / (high - low)) * (height - ROOF.bottom - ROOF.margin);
  drawGrid(context, { left, right, low, high, x, y, width, height });
  drawRoof(context, roofLines(roof, left, right), { low, x, y });
  const colors = KINDS.map(color);
  placed = points.map((point) => ({ row: point.row, x: x(Math.log10(point.intensity)), y: y(Math.log10(point.rate)) }));
  const drawn = new Set();
  for (const point of placed) {
    const place = Math.round(point.y) * 65536 + Math.round(point.x);
    if (drawn.has(place)) continue;
    drawn.add(place);
    context.fillStyle = colors[model.data.rows.kind[point.row]];
    context.beginPath();
    context.arc(point.x, point.y, 4, 0, 2 * Math.PI);
    context.fill();
  }
}

function drawGrid(context, at) {
  const [bottom, right] = [at.height - ROOF.bottom, at.width - ROOF.margin];
  for (let n = Math.ceil(at.left); n <= at.right; n++) {
    context.fillStyle = color("line");
    context.fillRect(at.x(n), ROOF.margin, 1, bottom - ROOF.margin);
    const label = powerText(n, "");
    context.fillStyle = color("faint");
    context.fillText(label, at.x(n) - context.measureText(label).width / 2, bottom + 12);
  }
  for (let n = Math.ceil(at.low); n <= at.high; n++) {
    context.fillStyle = color("line");
    context.fillRect(ROOF.left, at.y(n), right - ROOF.left, 1);
    const label = powerText(n, "flop/s");
    context.fillStyle = color("faint");
    context.fillText(label, ROOF.left - 6 - context.measureText(label).width, at.y(n));
  }
  const title = "operations for each byte of memory";
  context.fillText(title, (ROOF.left + right - context.measureText(title).width) / 2, at.height - 12);
}

/** Draws the limits of the machine with their names. What is below the picture is left out. */
function drawRoof(context, limitLines, at) {
  context.strokeStyle = color("text");
  context.fillStyle = color("text");
  context.lineWidth = 1.5;
  for (const { name, from, to } of limitLines) {
    const isFlat = from[1] === to[1];
    const start = !isFlat && from[1] < at.low ? [from[0] + at.low - from[1], at.low] : from;
    context.beginPath();
    context.moveTo(at.x(start[0]), at.y(start[1]));
    context.lineTo(at.x(to[0]), at.y(to[1]));
    context.stroke();
    const size = context.measureText(name).width;
    if (isFlat) context.fillText(name, at.x(to[0]) - size - 4, at.y(to[1]) + (to[1] === limitLines[0].to[1] ? -8 : 9));
    else drawAlong(context, name, start.map((from, i) => [from, to[i]]), at);
  }
}

/** Writes the name of a sloped line along it, above its middle. */
function drawAlong(context, name, [[left, right], [low, high]], at) {
  context.save();
  context.translate(at.x((left + right) / 2), at.y((low + high) / 2));
  context.rotate(Math.atan2(at.y(high) - at.y(low), at.x(right) - at.x(left)));
  context.fillText(name, -context.measureText(name).width / 2, -8);
  context.restore();
}

/** Returns the row of the point of the roofline that is nearest to a place, or -1. */
function nearestPoint(x, y) {
  let [row, least] = [-1, 81];
  for (const point of placed) {
    const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (distance < least) [row, least] = [point.row, distance];
  }
  return row;
}

// Communication

/**
 * Returns how many rows of facts there are for which `isWanted` is true, and those with the longest times in a lane,
 * the longest first.
 */
function longestRows(isWanted) {
  const isRow = (kind, row) => isWanted(KINDS[kind]) && totals.spans[row] > 0;
  const rows = model.data.rows.kind.flatMap((kind, row) => (isRow(kind, row) ? [row] : []));
  const shown = rows.length <= MAX_ROWS ? rows : rows.filter(isAtLeast(rows, MAX_ROWS));
  return { count: rows.length, rows: shown.sort((a, b) => timeOf(b) - timeOf(a)) };
}

/** Returns the time of a row of facts in a lane. */
const timeOf = (row) => totals.time[row] / totals.lanes[row];

/** Returns a function that is true for those rows of facts that have the `count` longest times, and as long ones. */
function isAtLeast(rows, count) {
  const least = Float64Array.from(rows, timeOf).sort()[rows.length - count];
  return (row) => timeOf(row) >= least;
}

/** Fills the table of collectives, whose times and bytes are averages over the lanes that have them. */
function fillCommunication() {
  const { count, rows } = longestRows((kind) => kind === "collective");
  if (count === 0) return;
  const columns = ["time", "share", "spans", "received", "share of the limit", "instruction", "source", "reason"];
  fillTable("collectives", columns, 5, rows, (row) => {
    const bytes = fact(model, row, "received_bytes");
    const made = tableRow(row, bytes === null ? "" : sizeText((bytes * totals.spans[row]) / totals.lanes[row]));
    made.append(element("td", "long", text(model, model.data.rows.reason[row]) || ""));
    return made;
  }, count);
  get("communication").hidden = false;
}

/** Fills the table of the instructions that compute. */
function fillInstructions() {
  const { count, rows } = longestRows((kind) => kind === "compute");
  if (count === 0) return;
  const columns = ["time", "share", "spans", "operations", "share of the limit", "instruction", "source", "shape"];
  fillTable("longest", columns, 5, rows, (row) => {
    const time = totals.time[row];
    const done = (fact(model, row, "flops") || 0) * Math.max(1, fact(model, row, "instances")) * totals.spans[row];
    const made = tableRow(row, done > 0 && time > 0 ? `${countText((done * 1e12) / time, "flop")}/s` : "");
    made.append(element("td", "long", text(model, model.data.rows.shape[row]) || ""));
    return made;
  }, count);
  get("instructions").hidden = false;
}

/** Returns a row of a table with the times of a row of facts, the text `amount`, the name and the source. */
function tableRow(row, amount) {
  const [spans, time] = [totals.spans[row], totals.time[row]];
  const least = fact(model, row, "least_time");
  const share = least === null || time === 0 ? "" : percentText((least * spans) / time);
  const numbers = [timeText(timeOf(row)), percentText(timeOf(row) / model.end), String(spans), amount, share];
  const made = element("tr");
  numbers.forEach((value) => made.append(element("td", "number", value)));
  const cell = element("td", "name");
  cell.append(kindMark(KINDS[model.data.rows.kind[row]]), pressed(nameOf(model.first[row]), () => showRow(row)));
  cell.title = nameOf(model.first[row]);
  const line = model.data.rows.text_line[row];
  const place = source(model, row);
  const isShown = rowsOfLine.has(line);
  made.append(cell, sourceCell(isShown ? `line ${line}` : place || "", place, isShown ? () => showLine(line) : null));
  return made;
}

// The mouse and the keyboard

function tip(index, x, y) {
  const box = get("tip");
  box.hidden = index < 0;
  if (index < 0) return;
  box.textContent = describe(index).slice(0, 10).map(([label, value]) => `${label}: ${value}`).join("\n");
  box.style.left = `${Math.min(x + 14, window.innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${Math.min(y + 14, window.innerHeight - box.offsetHeight - 8)}px`;
}

function listenToMouse() {
  const canvas = get("lanes");
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: view.top, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag === null) {
      tip(hit(event.offsetX, event.offsetY, canvas.clientWidth), event.clientX, event.clientY);
      return;
    }
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    drag.moved = drag.moved || Math.hypot(dx, dy) > 4;
    if (!drag.moved) return;
    tip(-1);
    const by = (dx / (canvas.clientWidth - GUTTER)) * (drag.to - drag.from);
    view.top = drag.top - dy;
    show(drag.from - by, drag.to - by);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag !== null && !drag.moved) select(hit(event.offsetX, event.offsetY, canvas.clientWidth));
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => tip(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey) scrollLanes(event.deltaY || event.deltaX);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / canvas.clientWidth);
    else zoom(Math.exp(event.deltaY * 0.002), time(Math.max(GUTTER, event.offsetX), canvas.clientWidth));
  }, { passive: false });
  listenToRoofline();
}

function listenToRoofline() {
  const canvas = get("roof");
  canvas.addEventListener("pointermove", (event) => {
    const row = nearestPoint(event.offsetX, event.offsetY);
    tip(row < 0 ? -1 : model.first[row], event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tip(-1));
  canvas.addEventListener("click", (event) => {
    const row = nearestPoint(event.offsetX, event.offsetY);
    if (row >= 0) showRow(row);
  });
}

function zoomToSelected() {
  if (view.selected < 0) return;
  const [from, to] = [model.start[view.selected], model.end_of[view.selected]];
  show(from - 0.1 * (to - from), to + 0.1 * (to - from));
}

const KEYS = {
  w: () => zoom(0.7), "+": () => zoom(0.7), "=": () => zoom(0.7), s: () => zoom(1 / 0.7), "-": () => zoom(1 / 0.7),
  a: () => pan(-0.15), ArrowLeft: () => pan(-0.15), d: () => pan(0.15), ArrowRight: () => pan(0.15),
  ArrowUp: () => scrollLanes(-3 * ROW), ArrowDown: () => scrollLanes(3 * ROW),
  ",": () => step(-1), ".": () => step(1), f: zoomToSelected, 0: fit, Escape: () => select(-1),
  "/": () => get("search").focus(),
};

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    // The arrows belong to the canvas and to the program only, so that they scroll the page elsewhere.
    const isArrow = event.key.startsWith("Arrow");
    if (isArrow && event.target !== get("lanes") && event.target !== get("text")) return;
    const inText = isArrow && event.target === get("text");
    const action = inText ? { ArrowDown: () => stepLine(1), ArrowUp: () => stepLine(-1) }[event.key] : KEYS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  const input = get("search");
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    view.found = wanted === "" ? null : search(model, wanted);
    const count = (view.found || []).reduce((all, isFound, row) => all + (isFound ? totals.spans[row] : 0), 0);
    get("found").textContent = view.found ? spansText(count) : "";
    redraw();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextFound();
    if (event.key === "Escape") get("lanes").focus();
  });
}

/** Selects the next span that the search has found. */
function nextFound() {
  if (!view.found) return;
  for (let n = 1; n <= model.count; n++) {
    const index = (view.selected + n) % model.count;
    if (view.found[model.row[index]]) {
      select(index);
      return;
    }
  }
  get("status").textContent = "No span has this text.";
}

function isDark() {
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  return (document.documentElement.dataset.theme || preferred) === "dark";
}

/** Draws everything again in the colours that are wanted now. */
function changeTheme() {
  get("theme").textContent = isDark() ? "Light" : "Dark";
  redraw(true);
}

function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  changeTheme();
}

// The start

function fillHeader() {
  get("title").textContent = model.data.title;
  for (const [label, value] of model.data.summary) {
    if (label === "note") {
      get("notes").append(element("li", "", value));
      continue;
    }
    const pair = element("div");
    pair.append(element("dt", "", label), element("dd", "", value));
    get("summary").append(pair);
  }
  get("notes").hidden = get("notes").children.length === 0;
  const used = new Set(model.data.rows.kind.filter((_, row) => totals.spans[row] > 0));
  KINDS.forEach((kind, i) => {
    if (!used.has(i)) return;
    const entry = element("span");
    entry.append(kindMark(kind), document.createTextNode(kind));
    get("legend").append(entry);
  });
}

function start() {
  fillHeader();
  get("lanes").style.height = `${Math.min(lanesHeight + 2, 480)}px`;
  get("status").textContent = NOTHING;
  fillCommunication();
  fillInstructions();
  fillPeak();
  get("memory").hidden = model.data.memory.length === 0;
  get("roofline").hidden = points.length === 0;
  get("program").hidden = lines.length === 0;
  get("run").classList.toggle("plain", lines.length === 0);
  get("zoom-in").addEventListener("click", () => zoom(0.7));
  get("zoom-out").addEventListener("click", () => zoom(1 / 0.7));
  get("fit").addEventListener("click", fit);
  get("theme").addEventListener("click", toggleTheme);
  get("text").addEventListener("scroll", () => redraw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changeTheme);
  new ResizeObserver(() => redraw(true)).observe(document.body);
  listenToMouse();
  listenToKeys();
  changeTheme();
}

start();
