// The lines of the project's sources with their cost beside them.
import { el, timeText } from "./dom.js";

export function sourcesView(files) {
  if (!files.length) return null;
  const all = files.flatMap((file) => file.lines);
  const longest = all.reduce((most, line) => Math.max(most, line.host_ns, line.device_ns), 1);
  const hasDevice = all.some((line) => line.device_ns > 0);
  const time = (ns) => el("td", { class: "number" }, ns ? timeText(ns) : "");
  return el("section", { class: "sources" },
    el("h3", {}, "Sources"),
    el("p", { class: "quiet" }, "Time of a step in each line, with what it calls in libraries and its backward."),
    files.map((file, at) => el("details", { class: "fold", open: at === 0 },
      el("summary", { class: "where" }, file.path),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": file.path },
        el("table", {},
          el("thead", {}, el("tr", {}, ["line", "host", ...(hasDevice ? ["device"] : []), "code", "findings"].map((name) => el("th", { scope: "col" }, name)))),
          el("tbody", {}, file.lines.map((line, row) => [
            row && line.number > file.lines[row - 1].number + 1 ? el("tr", {}, el("td", { class: "quiet", colspan: hasDevice ? 5 : 4 }, "⋮")) : null,
            el("tr", { "data-line": line.number, "data-host-ns": line.host_ns, "data-device-ns": line.device_ns },
              el("td", { class: "number quiet" }, line.number), time(line.host_ns), hasDevice ? time(line.device_ns) : null,
              el("td", {}, el("pre", {
                class: "line", style: { background: heat(Math.max(line.host_ns, line.device_ns) / longest) },
              }, line.text || " ")),
              el("td", { class: "where" }, line.codes.join(", "))),
          ])))))));
}

// The colour behind a line, the stronger the more it costs.
function heat(part) {
  return part > 0 ? `color-mix(in srgb, var(--cause-loading) ${Math.round(10 + 60 * part)}%, transparent)` : "transparent";
}
