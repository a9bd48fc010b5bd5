// Draws the slices of a step on a canvas; at most one rectangle a pixel and line.
import { countText, styleValue, timeText } from "./dom.js";
import { causeGroup } from "./top.js";
import { sizeText } from "./memory.js";

export const LINE = 17; // pixels from one line to the next
export const HEADER = 18; // pixels of the title of a row
const RULER = 22, LETTER = 6.3, CURVE = 44;
const FONT = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
const CAUSES = ["loading", "waiting", "launching", "python", "optimizer", "compute", "communication", "copy", "other"];

// Where each line lies: causes and tracks from the top down.
export function layout(slices) {
  const rows = [];
  let y = RULER;
  const addMemory = (device) => slices.memory.filter((each) => each.device === device).forEach((memory) =>
    add({ memory, title: `${memory.label} memory, up to ${sizeText(memory.peak_nbytes)}` }, HEADER + CURVE + 4));
  const causes = (device) => slices.causes.filter((each) => each.device === device);
  const add = (row, height) => { rows.push({ ...row, y, height }); y += height; };
  const addTrack = (track) => {
    const lanes = slices.lanes[track];
    const skip = enclosing(slices, lanes);
    const { label } = slices.data.tracks[track];
    const title = skip ? `${label}, within ${countText(skip, "frame")} that last${skip === 1 ? "s" : ""} longer` : label;
    add({ track, lanes, skip, title }, HEADER + (lanes.length - skip) * LINE + 4);
  };
  const tracks = slices.data.tracks.map((track, at) => ({ ...track, at, size: slices.lanes[at].reduce((sum, lane) => sum + lane.length, 0) }));
  const hosts = tracks.filter((track) => track.device === null).sort((one, other) => other.size - one.size);
  // Devices first: they take a few lines each, and threads many.
  const devices = [...new Set([tracks, slices.causes, slices.memory].flat().map((each) => each.device))].filter((device) => device !== null);
  for (const device of devices.sort((one, other) => one - other)) {
    for (const cause of causes(device)) add({ cause, title: cause.label }, HEADER + LINE + 4);
    tracks.filter((track) => track.device === device).forEach((track) => addTrack(track.at));
    addMemory(device);
  }
  for (const cause of causes(null)) add({ cause, title: cause.label }, HEADER + LINE + 4);
  hosts.forEach((track) => addTrack(track.at));
  addMemory(null);
  return { rows, height: y + 4 };
}

// How many lines hold nothing but one slice that encloses the whole step.
function enclosing(slices, lanes) {
  const length = slices.data.duration_ns;
  let skip = 0;
  while (skip < lanes.length - 1 && lanes[skip].length === 1) {
    const [slice] = lanes[skip];
    if (slices.start[slice] > 0 || slices.end(slice) < length) break;
    skip++;
  }
  return skip;
}

// The first of disjoint stretches that ends after a time; without durations the first time after it.
export function firstAfter(starts, durations, time) {
  let low = 0, high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] + (durations?.[middle] ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The number of the stretch that a time lies in, or -1.
export function stretchAt({ start_ns: starts, duration_ns: durations }, time) {
  const at = firstAfter(starts, durations, time);
  return at < starts.length && starts[at] <= time ? at : -1;
}

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.takeColours();
  }

  takeColours() {
    const of = (name) => styleValue(`--${name}`);
    this.slices = {}; // colours by name, asked for once
    this.busy = of("slice-kernel");
    this.causes = Object.fromEntries(CAUSES.map((name) => [name, of(`cause-${name}`)]));
    this.ink = of("ink");
    this.quiet = of("quiet");
    this.paper = of("paper");
    this.line = of("line");
    this.accent = of("accent");
  }

  // Fits the canvas to the size that it has on the screen.
  fit() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    [this.width, this.height] = [width, height];
  }

  // view: {slices, rows, from, to, top, selected, matches, moment}
  paint(view) {
    this.fit();
    const { context, width, height } = this;
    this.view = view;
    this.scale = width / (view.to - view.from);
    context.fillStyle = this.paper;
    context.fillRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    for (const row of view.rows) {
      const y = row.y - view.top;
      if (y > height || y + row.height < 0) continue;
      if (row.cause) this.#causes(row, y);
      else if (row.memory) this.#memory(row.memory, y + HEADER);
      else row.lanes.forEach((lane, depth) => {
        const at = y + HEADER + (depth - row.skip) * LINE;
        if (depth >= row.skip && at < height && at + LINE > 0) this.#lane(lane, at);
      });
      context.fillStyle = this.quiet;
      context.fillText(row.title, 6, y + HEADER / 2 + 1);
    }
    this.#links();
    this.#ruler();
  }

  x(time) {
    return (time - this.view.from) * this.scale;
  }

  colour(slice) {
    return this.#colourOf(this.view.slices.kind(slice).colour);
  }

  #colourOf(name) {
    return (this.slices[name] ??= styleValue(`--slice-${name}`));
  }

  #lane(lane, y) {
    const { context, view, width } = this;
    const { slices, matches } = view;
    let upto = -1; // the pixel before which all is drawn
    // Short neighbours of one colour become one rectangle: there are thousands of them in a line.
    let from = 0, colour = null;
    const flush = () => {
      if (colour === null) return;
      context.fillStyle = colour;
      context.fillRect(from, y, upto - from, LINE - 2);
      colour = null;
    };
    const dim = matches !== null;
    context.globalAlpha = dim ? 0.3 : 1;
    const marked = [];
    for (let at = slices.firstEndingAfter(lane, view.from); at < lane.length; at++) {
      const slice = lane[at];
      const start = slices.start[slice];
      if (start >= view.to) break;
      const left = Math.max(this.x(start), 0), right = Math.min(this.x(slices.end(slice)), width);
      if (slice === view.selected || (dim && matches.has(slice))) marked.push([slice, left, Math.max(right - left, 1)]);
      if (right <= upto) {
        // Everything up to the next pixel would be drawn over what is there.
        const next = dim ? at : slices.firstEndingAfter(lane, view.from + (upto + 0.5) / this.scale);
        if (next > at + 1) at = Math.min(next, this.#before(lane, next, view.selected, at)) - 1;
        continue;
      }
      const wide = Math.max(right - left, 1);
      const own = this.colour(slice);
      if (wide > 3) {
        flush();
        context.fillStyle = own;
        context.fillRect(left, y, wide - 0.5, LINE - 2);
        if (wide > 28) this.#text(slices.name(slice), left, wide, y);
      } else if (own !== colour || left > upto + 0.5) {
        flush();
        [from, colour] = [left, own];
      }
      upto = Math.max(Math.ceil(left + 0.5), left + wide);
    }
    flush();
    context.globalAlpha = 1;
    for (const [slice, left, wide] of marked) {
      context.fillStyle = this.colour(slice);
      context.fillRect(left, y, wide, LINE - 2);
      if (wide > 28) this.#text(slices.name(slice), left, wide, y);
      this.#outline(left, y, wide, slice === view.selected ? 2 : 1);
    }
  }

  // Where in a lane the selected slice lies, if it is between two places; else the second one.
  #before(lane, next, selected, at) {
    if (selected < lane[at] || selected >= lane[next]) return next;
    const found = lane.indexOf(selected, at);
    return found < 0 ? next : Math.max(found, at + 1);
  }

  #outline(left, y, wide, thick) {
    this.context.strokeStyle = this.accent;
    this.context.lineWidth = thick;
    this.context.strokeRect(left + 0.5, y + 0.5, Math.max(wide - 1, 1), LINE - 3);
  }

  #text(name, left, wide, y) {
    const letters = Math.floor((wide - 6) / LETTER);
    this.context.fillStyle = this.ink;
    this.context.fillText(name.length <= letters ? name : `${name.slice(0, letters - 1)}…`, left + 3, y + LINE / 2 - 1);
  }

  #causes(row, y) {
    const { context, view } = this;
    const { start_ns: starts, duration_ns: durations, cause: causes, causes: words } = row.cause;
    let upto = -1;
    for (let at = firstAfter(starts, durations, view.from); at < starts.length && starts[at] < view.to; at++) {
      const left = Math.max(this.x(starts[at]), 0);
      const right = Math.min(this.x(starts[at] + durations[at]), this.width);
      if (right <= upto) {
        at = Math.max(firstAfter(starts, durations, view.from + (upto + 0.5) / this.scale) - 1, at);
        continue;
      }
      const { word, text } = words[causes[at]];
      const wide = Math.max(right - left, 1);
      context.fillStyle = this.causes[causeGroup(word)];
      context.fillRect(left, y + HEADER, wide, LINE - 2);
      upto = left + wide;
      if (wide > 40) this.#text(text, left, wide, y + HEADER);
    }
    if (view.moment?.row?.cause !== row.cause) return;
    const chosen = stretchAt(row.cause, view.moment.time);
    if (chosen < 0) return;
    const left = this.x(starts[chosen]);
    this.#outline(left, y + HEADER, Math.max(durations[chosen] * this.scale, 1), 2);
  }

  // What is in use, as high as the line at the peak: it stays up to the next change.
  #memory({ at_ns: times, nbytes, peak_nbytes: peak }, y) {
    const { context, view, width } = this;
    const last = firstAfter(times, null, view.to);
    context.fillStyle = this.#colourOf("copy");
    for (let at = Math.max(firstAfter(times, null, view.from) - 1, 0); at < last; at++) {
      const left = Math.floor(Math.max(this.x(times[at]), 0)), tall = (CURVE * nbytes[at]) / Math.max(peak, 1);
      const right = Math.min(at + 1 < times.length ? this.x(times[at + 1]) : this.x(view.slices.data.duration_ns), width);
      if (right > left) context.fillRect(left, y + CURVE - tall, Math.ceil(right) - left, tall);
    }
  }

  // Where a slice lies on the canvas; null where its line is not shown.
  place(slice) {
    const { slices, rows, top } = this.view;
    const row = rows.find((each) => each.track === slices.track[slice]);
    if (!row || slices.depth[slice] < row.skip) return null;
    const y = row.y - top + HEADER + (slices.depth[slice] - row.skip) * LINE;
    return { left: this.x(slices.start[slice]), right: this.x(slices.end(slice)), y };
  }

  #links() {
    const { slices, selected } = this.view;
    if (selected < 0) return;
    const to = slices.launched(selected).slice(0, 200);
    for (const other of to) this.#link(selected, other, []);
    if (slices.caller[selected] >= 0) this.#link(slices.caller[selected], selected, []);
    if (slices.forward[selected] >= 0) this.#link(slices.forward[selected], selected, [4, 3]);
  }

  #link(from, to, dash) {
    const one = this.place(from), other = this.place(to);
    if (!one || !other) return;
    const { context } = this;
    context.strokeStyle = this.accent;
    context.lineWidth = 1.2;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(one.right, one.y + LINE / 2);
    context.bezierCurveTo(one.right + 30, one.y + LINE, other.left - 30, other.y, other.left, other.y + LINE / 2);
    context.stroke();
    context.setLineDash([]);
  }

  #ruler() {
    const { context, view, width } = this;
    const rough = ((view.to - view.from) / width) * 110;
    const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
    context.fillStyle = this.paper;
    context.fillRect(0, 0, width, RULER - 2);
    context.fillStyle = this.quiet;
    context.strokeStyle = this.line;
    context.lineWidth = 1;
    for (let time = Math.ceil(view.from / step) * step; time < view.to; time += step) {
      const x = Math.round(this.x(time)) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, RULER - 2);
      context.stroke();
      context.fillText(timeText(time), x + 4, RULER / 2);
    }
  }

  // The line at a height of the canvas.
  row(y) {
    const { rows, top } = this.view;
    return rows.find((each) => y + top >= each.y && y + top < each.y + each.height);
  }

  // The time at a place of the canvas.
  time(x) {
    return this.view.from + x / this.scale;
  }

  // The slice at a point of the canvas, or -1.
  hit(x, y) {
    const { slices, top } = this.view;
    const row = this.row(y);
    if (!row?.lanes) return -1;
    const depth = Math.floor((y + top - row.y - HEADER) / LINE) + row.skip;
    const lane = row.lanes[depth];
    if (depth < row.skip || !lane) return -1;
    const reach = 2 / this.scale; // short slices are hard to meet
    const time = this.time(x);
    const at = slices.firstEndingAfter(lane, time - reach);
    return at < lane.length && slices.start[lane[at]] <= time + reach ? lane[at] : -1;
  }
}
