// The slices of one step: their columns, and the questions that a view asks of them.
import { unpack } from "./columns.js";

export class Slices {
  static async of(data) {
    const [columns, causes, memory] = await Promise.all([
      unpack(data.slices),
      Promise.all(data.causes.map((each) => unpack(each.slices))),
      Promise.all(data.memory.map((each) => unpack(each.points))),
    ]);
    return new Slices(data, columns, causes, memory);
  }

  constructor(data, columns, causes, memory) {
    this.data = data;
    this.count = data.slices.count;
    Object.assign(this, {
      start: columns.start_ns, duration: columns.duration_ns, track: columns.track,
      depth: columns.depth, nameOf: columns.name, kindOf: columns.kind, placeOf: columns.place,
      inputsOf: columns.inputs, merged: columns.count, workOf: columns.work,
    });
    this.caller = linked(columns.caller);
    this.forward = linked(columns.forward);
    this.causes = data.causes.map((each, at) => ({ ...each, ...causes[at] }));
    this.memory = data.memory.map((each, at) => ({ ...each, ...memory[at] }));
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

  // All that were launched by each slice: asked for in each frame while one is chosen.
  #byCaller() {
    const found = new Map();
    this.caller.forEach((slice, other) => {
      if (slice < 0) return;
      if (found.has(slice)) found.get(slice).push(other);
      else found.set(slice, [other]);
    });
    return found;
  }

  name(slice) {
    const name = this.data.names[this.nameOf[slice]];
    return this.merged[slice] > 1 ? `${this.merged[slice]} short slices, the first: ${name}` : name;
  }

  // What a slice is: its text, its colour and whether a device works meanwhile.
  kind(slice) {
    return this.data.kinds[this.kindOf[slice]];
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
    this.byCaller ??= this.#byCaller();
    return this.byCaller.get(slice) ?? [];
  }

  // What of a part of a device's account (null: the host's) lies in this step, the longest first:
  // slices of its work, or stretches [line of causes, number] in which it idles.
  ofPart(device, { part, cause, tensor_cores: cores }) {
    if (part === "idle" || part === "host") {
      const line = this.causes.find((each) => each.device === device);
      const stretches = line ? [...line.cause.keys()].filter((at) => line.causes[line.cause[at]].word === cause) : [];
      return stretches.sort((one, other) => line.duration_ns[other] - line.duration_ns[one]).map((at) => [line, at]);
    }
    const work = this.data.works.findIndex((each) => each.word === cause && each.tensor_cores === cores);
    const found = [];
    if (work >= 0) for (let slice = 0; slice < this.count; slice++) {
      if (this.workOf[slice] === work && this.data.tracks[this.track[slice]].device === device) found.push(slice);
    }
    return found.sort((one, other) => this.duration[other] - this.duration[one]);
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
