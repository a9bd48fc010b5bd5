// Memory over time, and what holds it at the peak.
import { el, timeText } from "./dom.js";

const WIDTH = 1000, HEIGHT = 120;
const SIZES = [[1 << 30, "GiB"], [1 << 20, "MiB"], [1 << 10, "KiB"]];

export function memoryView(devices) {
  if (!devices.length) return null;
  return el("section", { class: "memory" }, el("h3", {}, "Memory"), devices.map(deviceView));
}

export function sizeText(nbytes) {
  const [size, unit] = SIZES.find(([each]) => nbytes >= each) ?? [1, "bytes"];
  const value = nbytes / size;
  return `${size === 1 || value >= 99.95 ? value.toFixed(0) : value.toPrecision(3)} ${unit}`;
}

function deviceView(device) {
  const said = `${device.label}: ${sizeText(device.peak_nbytes)} in use at most, at ${timeText(device.peak_at_ns)}`
    + (device.is_known ? "" : " (of what the recording saw)")
    + (device.reserved_nbytes ? `; the allocator holds ${sizeText(device.reserved_nbytes)}` : "")
    + (device.total_nbytes ? ` of ${sizeText(device.total_nbytes)}` : "");
  return el("div", { "data-peak-nbytes": device.peak_nbytes },
    el("p", {}, said),
    chart(device, said),
    el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "in use at the peak"), el("th", { scope: "col" }, "taken at"))),
      el("tbody", {}, device.holders.map(({ what, nbytes }) =>
        el("tr", { "data-nbytes": nbytes }, el("td", { class: "number left" }, sizeText(nbytes)), el("td", { class: "where" }, what))))));
}

function chart(device, said) {
  const x = (ns) => ((ns / Math.max(device.length_ns, 1)) * WIDTH).toFixed(1);
  const y = (nbytes) => (HEIGHT * (1 - nbytes / Math.max(device.peak_nbytes, 1))).toFixed(1);
  // In use stays as it is up to the next change.
  let path = `M0 ${HEIGHT}`, before = HEIGHT;
  for (const [ns, nbytes] of device.points) {
    path += `L${x(ns)} ${before}L${x(ns)} ${y(nbytes)}`;
    before = y(nbytes);
  }
  path += `L${WIDTH} ${before}L${WIDTH} ${HEIGHT}Z`;
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": said },
    svg("path", { d: path, class: "area" }));
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
