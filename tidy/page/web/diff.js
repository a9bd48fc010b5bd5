// Two runs: what changed in a step, and a step of each, one above the other on one scale of time.
import { countText, el } from "./dom.js";
import { partClass } from "./top.js";
import { TimelineView } from "./timeline.js";

export function diffView(diff) {
  const whole = Math.max(...["base_ns", "new_ns"].map((side) => (diff.account ?? []).reduce((sum, each) => sum + each[side], 0)), 1);
  return el("article", {},
    el("dl", { class: "sides" }, el("dt", {}, "base"), el("dd", {}, diff.base), el("dt", {}, "new"), el("dd", {}, diff.new)),
    el("h2", { class: `verdict ${diff.verdict}` }, diff.verdict_text),
    diff.differences.map((text) => el("p", { class: "note" }, `not comparable: ${text}`)),
    (diff.notes ?? []).map((text) => el("p", { class: "quiet" }, text)),
    diff.account?.length ? [
      el("h3", {}, "Where an average step goes"),
      el("div", { class: "beside" }, ["base", "new"].map((side) => [
        el("span", { class: "label" }, side),
        el("div", { class: "bar" }, diff.account.map((part) => el("span", {
          class: `stretch ${partClass(part)}`, title: `${part.text}: ${part[`${side}_text`]}`, style: { flex: `0 0 ${(100 * part[`${side}_ns`]) / whole}%` },
        }, part[`${side}_ns`] >= 0.1 * whole ? part.text : ""))),
      ])),
      table(["base", "new", "where it goes"], diff.account.map((part) => [part.base_text, part.new_text, part.text])),
    ] : null,
    listed("What came, went, grew or shrank in a step", (diff.ops ?? []).map(({ what, text, times, grows }) =>
      el("tr", {}, el("td", { class: grows ? "grows" : "shrinks" }, what), el("td", { class: "where" }, text), el("td", {}, times)))),
    diff.uncertain ? el("p", { class: "quiet" }, `${countText(diff.uncertain, "more operator")} may have changed by chance.`) : null,
    listed("Findings", (diff.findings ?? []).map(({ what, text }) =>
      el("tr", {}, el("td", { class: what === "new" ? "grows" : "shrinks" }, what), el("td", {}, text)))),
    diff.memory?.length ? [el("h3", {}, "Most memory at once"), diff.memory.map((text) => el("p", {}, text))] : null,
    panes(diff.panes));
}

function table(names, rows) {
  return el("table", {},
    el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, at) => el("td", { class: at < 2 ? "number left" : "" }, cell))))));
}

function listed(title, rows) {
  return rows.length ? [el("h3", {}, title), el("table", {}, el("tbody", {}, rows))] : null;
}

function panes(sides) {
  const views = sides.map((side) => {
    const view = new TimelineView(`Timeline: ${side.name}`);
    if (side.timelines.length) view.show(side, 0);
    return view;
  });
  for (const view of views) view.others = views.filter((other) => other !== view);
  return views.map((view) => view.element);
}
