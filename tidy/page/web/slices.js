// The slices of one step: their columns, and the questions that a view asks of them.
import { unpack } from "./columns.js";

const MERGED = 255;
const KINDS = [
  "operator", "range", "Python", "Python (built-in)", "backend", "allocation", "out of memory",
  "call of the device's runtime", "kernel", "copy", "fill", "synchronisation",
  "range on the device", "profiler's overhead", "other",
];

export class Slices {
  static async of(data) {
    const [columns, causes] = await Promise.all([
      unpack(data.slices),
      Promise.all(data.causes.map((each) => unpack(each.slices))),
    ]);
    return new Slices(data, columns, causes);
  }

  constructor(data, columns, causes) {
    this.data = data;
    this.count = data.slices.count;
    Object.assign(this, {
      start: columns.start_ns, duration: columns.duration_ns, track: columns.track,
      depth: columns.depth, nameOf: columns.name, kind: columns.kind, placeOf: columns.place,
      inputsOf: columns.inputs, merged: columns.count,
    });
    this.caller = linked(columns.caller);
    this.forward = linked(columns.forward);
    this.causes = data.causes.map((each, at) => ({ ...each, ...causes[at] }));
    this.lanes = this.#lanes();
  }

  // By track and depth the slices in it, by start: what is drawn in one line.
  #lanes() {
    const lanes = this.data.tracks.map(() => []);
    for (let slice = 0; slice < this.count; slice++) {
      const track = lanes[this.track[slice]];
      (track[this.depth[slice]] ??= []).push(slice);
    }
    return lanes.map((track) => Array.from(track, (lane) => Int32Array.from(lane ?? [])));
  }

  name(slice) {
    const name = this.data.names[this.nameOf[slice]];
    return this.kind[slice] === MERGED ? `${this.merged[slice]} short slices, the first: ${name}` : name;
  }

  kindText(slice) {
    return this.kind[slice] === MERGED ? "merged" : KINDS[this.kind[slice]] ?? "other";
  }

  // Kernels, copies and fills.
  isWork(slice) {
    return this.kind[slice] >= 8 && this.kind[slice] <= 10;
  }

  isMerged(slice) {
    return this.kind[slice] === MERGED;
  }

  place(slice) {
    return this.data.places[this.placeOf[slice]];
  }

  inputs(slice) {
    return this.data.inputs[this.inputsOf[slice]];
  }

  end(slice) {
    return this.start[slice] + this.duration[slice];
  }

  // The first slice of a lane that ends after a time: where drawing begins.
  firstEndingAfter(lane, time) {
    let low = 0, high = lane.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end(lane[middle]) > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The slices right below one on its track.
  children(slice) {
    const lane = this.lanes[this.track[slice]][this.depth[slice] + 1] ?? [];
    const found = [];
    for (let at = this.firstEndingAfter(lane, this.start[slice]); at < lane.length; at++) {
      if (this.start[lane[at]] >= this.end(slice)) break;
      found.push(lane[at]);
    }
    return found;
  }

  parent(slice) {
    const lane = this.lanes[this.track[slice]][this.depth[slice] - 1] ?? [];
    const at = this.firstEndingAfter(lane, this.start[slice]);
    return at < lane.length && this.start[lane[at]] <= this.start[slice] ? lane[at] : -1;
  }

  selfTime(slice) {
    const end = this.end(slice);
    const inside = (child) => Math.min(this.end(child), end) - Math.max(this.start[child], this.start[slice]);
    return this.duration[slice] - this.children(slice).reduce((sum, child) => sum + inside(child), 0);
  }

  // What was launched by a slice.
  launched(slice) {
    const found = [];
    for (let other = 0; other < this.count; other++) if (this.caller[other] === slice) found.push(other);
    return found;
  }

  // All slices whose name has a text in it, by start.
  search(text) {
    const wanted = text.toLowerCase();
    const fits = this.data.names.map((name) => name.toLowerCase().includes(wanted));
    const found = [];
    for (let slice = 0; slice < this.count; slice++) if (fits[this.nameOf[slice]]) found.push(slice);
    return found.sort((one, other) => this.start[one] - this.start[other]);
  }
}

function linked(distances) {
  return Float64Array.from(distances, (distance, slice) => (distance ? slice + distance : -1));
}
