// The timeline: one step on a canvas, with a map of the whole step, a search and the details of a slice.
import { countText, el, timeText } from "./dom.js";
import { HEADER, LINE, Painter, layout } from "./drawing.js";
import { CAN_UNPACK } from "./columns.js";
import { Slices } from "./slices.js";
import { momentDetails, momentText, sliceDetails } from "./details.js";

const HELP = "W and S zoom, A and D move, arrows go from slice to slice, F fits the chosen one, Escape lets go.";
const SHORTEST = 20; // ns across the canvas

export class TimelineView {
  constructor(title = "Timeline") {
    this.others = []; // which show the same part of their own step
    this.onload = () => {}; // called when another step is shown
    this.loaded = new Map();
    this.canvas = el("canvas", { class: "slices", tabindex: "0", role: "application", "aria-label": `${title}. ${HELP}` });
    this.map = el("canvas", { class: "map", "aria-hidden": "true" });
    this.steps = el("select", { "aria-label": "step", onchange: () => this.show(this.rank, Number(this.steps.value)) });
    this.wanted = el("input", { type: "search", placeholder: "search names", "aria-label": "search names", onkeydown: (event) => this.#searchKey(event), oninput: () => this.#search() });
    this.found = el("span", { class: "quiet", role: "status" });
    this.printed = el("span", { class: "printed", "aria-hidden": "true" }); // on paper there is no choice
    this.details = el("div", { class: "details", "aria-live": "polite" });
    this.element = el("section", { class: "timeline", hidden: true },
      el("h3", {}, title, this.printed),
      el("div", { class: "tools" }, this.steps, this.wanted, this.found,
        el("button", { type: "button", onclick: () => this.#zoom(0.5) , "aria-label": "zoom in" }, "+"),
        el("button", { type: "button", onclick: () => this.#zoom(2), "aria-label": "zoom out" }, "−"),
        el("button", { type: "button", onclick: () => this.fit() }, "Whole step")),
      this.map, this.canvas,
      el("p", { class: "quiet help" }, `Drag, or hold Ctrl and turn the wheel. ${HELP}`),
      this.details);
    this.painter = new Painter(this.canvas);
    this.mapPainter = this.map.getContext("2d");
    this.#listen();
  }

  // Shows one of the steps of a rank; done when it is there.
  show(rank, at) {
    if (!CAN_UNPACK) return Promise.resolve();
    if (this.rank === rank && this.at === at) return this.shown;
    [this.rank, this.at] = [rank, at];
    this.shown = this.#load(rank, at);
    return this.shown;
  }

  // Shows nothing: this rank has no timeline.
  clear() {
    [this.rank, this.at, this.slices] = [null, -1, null];
    this.element.hidden = true;
  }

  async #load(rank, at) {
    const data = rank.timelines[at];
    this.element.hidden = false;
    this.steps.replaceChildren(...rank.timelines.map((each, number) =>
      el("option", { value: number }, stepText(each))));
    this.steps.value = at;
    this.printed.textContent = `: ${stepText(data)}`;
    if (!this.loaded.has(data)) this.loaded.set(data, Slices.of(data));
    const slices = await this.loaded.get(data);
    if (this.rank !== rank || this.at !== at) return;
    this.slices = slices;
    Object.assign(this, layout(slices), { top: 0, selected: -1, matches: null, moment: null, part: null });
    this.onload();
    // A finger that moves up or down scrolls the page, so that all lines have to be there.
    const most = window.matchMedia("(pointer: coarse)").matches ? 4000 : 560;
    this.canvas.style.height = `${Math.min(Math.max(this.height, 160), most)}px`;
    this.#search();
    this.fit();
    this.#describe();
  }

  fit() {
    const length = Math.max(this.slices.data.duration_ns, SHORTEST);
    // Beside others on the scale of the longest.
    const longest = Math.max(length, ...this.others.map((other) => other.slices?.data.duration_ns ?? 0));
    [this.from, this.to] = [-0.01 * longest, 1.01 * longest];
    this.#draw();
    this.#lead();
  }

  // Others follow when this one moves.
  #lead() {
    for (const other of this.others) other.follow(this.from, this.to);
  }

  follow(from, to) {
    if (!this.slices) return;
    [this.from, this.to] = [from, to];
    this.#draw();
  }

  // Chooses a slice and brings it into view; `matches` are those to be seen beside it.
  select(slice, matches = null) {
    const { slices } = this;
    const row = this.rows.find((each) => each.track === slices.track[slice]);
    this.#bring(slices.start[slice], slices.duration[slice], row.y + HEADER + Math.max(slices.depth[slice] - row.skip, 0) * LINE);
    this.#chosen(slice, null, matches);
  }

  // Goes to what is next in length of a part of an account; gives its place among them, and their number.
  async showPart(device, part) {
    await this.shown;
    if (this.part !== part) [this.part, this.partAt, this.ofPart] = [part, -1, this.slices.ofPart(device, part)];
    const { ofPart: all } = this;
    if (!all.length) return [0, 0];
    this.partAt = (this.partAt + 1) % all.length;
    const one = all[this.partAt];
    if (Array.isArray(one)) {
      const [line, at] = one, start = line.start_ns[at], length = line.duration_ns[at];
      const row = this.rows.find((each) => each.cause === line);
      this.#bring(start, length, row.y + HEADER);
      this.#chosen(-1, { row, time: start + length / 2 });
    } else this.select(one, all);
    this.element.scrollIntoView({ block: "nearest" });
    return [this.partAt + 1, all.length];
  }

  // Chooses a slice, or a moment of a line without slices, and says what it is.
  #chosen(slice, moment, matches = null) {
    [this.selected, this.moment] = [slice, moment];
    this.matches = matches === null ? null : new Set(matches);
    this.#describe();
    this.#draw();
    this.#lead();
    if (matches !== null) this.element.scrollIntoView({ block: "nearest" });
  }

  // Brings a stretch of time into view that lies at a height of all lines.
  #bring(start, duration, y) {
    const length = Math.max(duration, SHORTEST), span = this.to - this.from;
    if (start < this.from || start + duration > this.to || length > span || length < span / 400) {
      const around = Math.max(length * 8, SHORTEST);
      const middle = start + length / 2;
      [this.from, this.to] = [middle - around / 2, middle + around / 2];
    }
    const room = this.canvas.clientHeight;
    if (y < this.top + 30 || y + LINE > this.top + room) this.#scroll(y - room / 2 - this.top);
  }

  #scroll(by) {
    this.top = Math.max(0, Math.min(this.top + by, this.height - this.canvas.clientHeight));
  }

  #draw() {
    if (this.waiting || !this.slices) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const { slices, rows, from, to, top, selected, matches, moment } = this;
      this.painter.paint({ slices, rows, from, to, top, selected, matches, moment });
      this.#drawMap();
    });
  }

  // The whole step: how busy each piece of it is, and what part the canvas shows.
  #drawMap() {
    const { mapPainter: context, map, slices, painter } = this;
    const [width, height] = [map.clientWidth, map.clientHeight];
    map.width = width;
    map.height = height;
    const length = Math.max(slices.data.duration_ns, 1);
    this.density ??= new Map();
    if (!this.density.has(slices)) this.density.set(slices, density(slices, 300));
    const heights = this.density.get(slices);
    context.fillStyle = painter.paper;
    context.fillRect(0, 0, width, height);
    context.fillStyle = painter.busy;
    heights.forEach((part, at) => {
      const tall = part * (height - 4);
      context.fillRect((at * width) / heights.length, height - tall, width / heights.length + 0.5, tall);
    });
    const x = (time) => (time / length) * width;
    context.strokeStyle = painter.accent;
    context.lineWidth = 2;
    const left = Math.max(x(this.from), 1);
    context.strokeRect(left, 1, Math.max(Math.min(x(this.to), width - 1) - left, 2), height - 2);
  }

  #zoom(factor, x = this.canvas.clientWidth / 2) {
    const part = x / this.canvas.clientWidth;
    const at = this.from + part * (this.to - this.from);
    const longest = 1.2 * Math.max(this.slices.data.duration_ns, SHORTEST);
    const span = Math.min(Math.max((this.to - this.from) * factor, SHORTEST), longest);
    this.from = at - part * span;
    this.to = this.from + span;
    this.#stay();
    this.#draw();
    this.#lead();
  }

  #pan(part) {
    const by = part * (this.to - this.from);
    this.from += by;
    this.to += by;
    this.#stay();
    this.#draw();
    this.#lead();
  }

  // Some of the step stays in view.
  #stay() {
    const span = this.to - this.from, length = this.slices.data.duration_ns;
    const middle = Math.min(Math.max((this.from + this.to) / 2, 0), length);
    [this.from, this.to] = [middle - span / 2, middle + span / 2];
  }

  #listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey || (document.activeElement === canvas && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX))) {
        event.preventDefault();
        this.#zoom(Math.exp(Math.max(-0.5, Math.min(event.deltaY / 300, 0.5))), event.offsetX);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.#pan((event.deltaX || event.deltaY) / canvas.clientWidth);
      }
    }, { passive: false });
    const pointers = new Map();
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      canvas.setPointerCapture(event.pointerId);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return this.#hover(event.offsetX, event.offsetY);
      const now = [event.offsetX, event.offsetY];
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (pointers.size === 2) this.#pinch(pointers, event.pointerId, now);
      else {
        if (event.pointerType !== "touch") this.#scroll(before[1] - now[1]);
        this.#pan((before[0] - now[0]) / canvas.clientWidth);
      }
      pointers.set(event.pointerId, now);
    });
    const end = (event) => {
      if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved < 4) this.#choose(event.offsetX, event.offsetY);
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("keydown", (event) => this.#key(event));
    this.map.addEventListener("pointerdown", (event) => this.#moveTo(event));
    this.map.addEventListener("pointermove", (event) => event.buttons && this.#moveTo(event));
    new ResizeObserver(() => this.#draw()).observe(canvas);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.painter.takeColours();
      this.#draw();
    });
  }

  #pinch(pointers, moving, now) {
    const [other] = [...pointers].filter(([id]) => id !== moving).map(([, at]) => at);
    const before = pointers.get(moving);
    const apart = (one) => Math.max(Math.abs(one[0] - other[0]), 10);
    this.#zoom(apart(before) / apart(now), (now[0] + other[0]) / 2);
  }

  #moveTo(event) {
    const span = this.to - this.from;
    const middle = (event.offsetX / this.map.clientWidth) * this.slices.data.duration_ns;
    [this.from, this.to] = [middle - span / 2, middle + span / 2];
    this.#stay();
    this.#draw();
    this.#lead();
  }

  // Says what is under the pointer, where no name is written.
  #hover(x, y) {
    if (!this.slices) return;
    const slice = this.painter.hit(x, y);
    const text = slice >= 0 ? `${this.slices.name(slice)}, ${timeText(this.slices.duration[slice])}`
      : momentText({ row: this.painter.row(y), time: this.painter.time(x) });
    if (this.canvas.title !== text) this.canvas.title = text;
  }

  #choose(x, y) {
    this.selected = this.painter.hit(x, y);
    this.moment = { row: this.painter.row(y), time: this.painter.time(x) };
    if (this.selected < 0) this.matches = null;
    this.#describe();
    this.#draw();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.slices) return;
    const { selected, slices } = this;
    const does = {
      w: () => this.#zoom(0.7), s: () => this.#zoom(1 / 0.7), a: () => this.#pan(-0.15), d: () => this.#pan(0.15),
      f: () => selected >= 0 && this.#fitSelected(),
      Escape: () => { this.selected = -1; this.matches = this.moment = null; this.#describe(); this.#draw(); },
      ArrowRight: () => this.#neighbour(1), ArrowLeft: () => this.#neighbour(-1),
      ArrowDown: () => this.#step(selected < 0 ? undefined : slices.children(selected)[0]),
      ArrowUp: () => this.#step(selected < 0 ? undefined : slices.parent(selected)),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  #fitSelected() {
    const { slices, selected } = this;
    const room = Math.max(slices.duration[selected], SHORTEST) * 0.05;
    [this.from, this.to] = [slices.start[selected] - room, slices.start[selected] + Math.max(slices.duration[selected], SHORTEST) + room];
    this.#draw();
    this.#lead();
  }

  #neighbour(by) {
    const { slices, selected } = this;
    if (selected < 0) {
      const row = this.rows.find((each) => each.lanes);
      const lane = row?.lanes[row.skip];
      return this.#step(lane?.[Math.min(slices.firstEndingAfter(lane, this.from), lane.length - 1)]);
    }
    const lane = slices.lanes[slices.track[selected]][slices.depth[selected]];
    return this.#step(lane[lane.indexOf(selected) + by]);
  }

  #step(slice) {
    if (slice !== undefined && slice >= 0) this.select(slice, this.matches);
  }

  #search() {
    const text = this.wanted.value.trim();
    this.hits = text && this.slices ? this.slices.search(text) : [];
    this.hit = -1;
    this.matches = this.hits.length ? new Set(this.hits) : null;
    this.found.textContent = text ? `${countText(this.hits.length, "slice")}, Enter goes to the next` : "";
    this.#draw();
  }

  #searchKey(event) {
    if (event.key !== "Enter" || !this.hits?.length) return;
    event.preventDefault();
    this.hit = (this.hit + (event.shiftKey ? -1 : 1) + this.hits.length) % this.hits.length;
    this.found.textContent = `${this.hit + 1} of ${this.hits.length.toLocaleString("en-US")}`;
    this.select(this.hits[this.hit], this.hits);
  }

  // What is known of what was chosen: of a slice, else of a moment in a line without slices.
  #describe() {
    const { slices, selected, moment } = this;
    if (!slices || (selected < 0 && !moment)) this.details.replaceChildren();
    else if (selected < 0) this.details.replaceChildren(...momentDetails(moment));
    else this.details.replaceChildren(...sliceDetails(slices, selected, (slice) => this.select(slice, this.matches)));
  }
}

function stepText({ label, why, duration_ns: ns }) {
  return `${label}${why ? ` (${why})` : ""}, ${timeText(ns)}`;
}

// The part of each piece of a step in which a device works; without devices, in which the host does.
function density(slices, pieces) {
  const length = Math.max(slices.data.duration_ns, 1);
  const works = (slice) => slices.kind(slice).is_work;
  let chosen = slices.lanes.flatMap((lanes) => lanes.map((lane) => lane.filter(works)));
  if (!chosen.some((lane) => lane.length)) chosen = slices.lanes.map((lanes) => lanes.find((lane) => lane.length > 1) ?? []);
  const found = new Float64Array(pieces);
  for (const slice of chosen.flatMap((lane) => [...lane])) {
    const first = Math.max(0, Math.floor((slices.start[slice] / length) * pieces));
    const last = Math.min(pieces - 1, Math.floor((slices.end(slice) / length) * pieces));
    for (let at = first; at <= last; at++) {
      const begin = Math.max(slices.start[slice], (at * length) / pieces);
      const end = Math.min(slices.end(slice), ((at + 1) * length) / pieces);
      found[at] = Math.min(found[at] + ((end - begin) * pieces) / length, 1);
    }
  }
  return found;
}
