// What is known of a slice, or of a moment in a line without slices: idle time, memory.
import { el, timeText } from "./dom.js";
import { firstAfter, stretchAt } from "./drawing.js";
import { sizeText } from "./memory.js";

// choose(slice): called for a slice that is linked to.
export function sliceDetails(slices, slice, choose) {
  const launched = slices.launched(slice), kind = slices.kind(slice);
  const link = (other) => el("button", { type: "button", class: "link", onclick: () => choose(other) }, slices.name(other));
  return [
    el("h4", {}, slices.name(slice)),
    facts({ "data-start-ns": slices.start[slice], "data-duration-ns": slices.duration[slice] }, [
      ["what", kind.text],
      ["start", timeText(slices.start[slice])],
      ["duration", timeText(slices.duration[slice])],
      ["self time", timeText(slices.selfTime(slice))],
      ["source", slices.place(slice)],
      ["input shapes", slices.inputs(slice)],
      [kind.is_work ? "launched by" : "called in", slices.caller[slice] >= 0 ? link(slices.caller[slice]) : ""],
      ["forward", slices.forward[slice] >= 0 ? link(slices.forward[slice]) : ""],
      ["launches", launched.length ? [link(launched[0]), launched.length > 1 ? ` and ${launched.length - 1} more` : ""] : ""],
    ]),
  ];
}

// moment: {row, time}; nothing where nothing is drawn.
export function momentDetails({ row, time }) {
  const text = momentText({ row, time });
  if (!text) return [];
  if (row.cause) {
    const at = stretchAt(row.cause, time);
    return [el("h4", {}, text), facts({}, [
      ["start", timeText(row.cause.start_ns[at])],
      ["duration", timeText(row.cause.duration_ns[at])],
    ])];
  }
  const { memory } = row;
  return [
    el("h4", {}, text),
    facts({ "data-peak-nbytes": memory.peak_nbytes }, [
      ["most in this step", `${sizeText(memory.peak_nbytes)} at ${timeText(memory.peak_at_ns)}${memory.is_known ? "" : " (of what the recording saw)"}`],
      ...memory.holders.map(({ what, nbytes }) => [`${sizeText(nbytes)} of it`, what]),
    ]),
  ];
}

// A line about a moment; "" where nothing is drawn.
export function momentText({ row, time }) {
  if (row?.cause) {
    const at = stretchAt(row.cause, time);
    if (at < 0) return "";
    return `${row.cause.label}: ${row.cause.causes[row.cause.cause[at]].text}, ${timeText(row.cause.duration_ns[at])}`;
  }
  if (!row?.memory || time < 0 || time > row.memory.length_ns) return "";
  const at = firstAfter(row.memory.at_ns, null, time) - 1;
  return at < 0 ? "" : `${row.memory.label} memory: ${sizeText(row.memory.nbytes[at])} in use at ${timeText(time)}`;
}

function facts(attributes, rows) {
  return el("dl", attributes, rows.filter(([, value]) => value !== "").map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}
