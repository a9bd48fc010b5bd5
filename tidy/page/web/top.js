// What ran, where a step goes, how long steps are, and what all fixes together give.
import { countText, el, styleValue, timeText } from "./dom.js";

const FEW_PATHS = 7;

export function heading(job) {
  const [first, ...others] = job.paths;
  return el("header", { class: "run" },
    el("h2", {}, first),
    others.length > FEW_PATHS
      ? el("details", { class: "quiet" }, el("summary", {}, `and ${others.length.toLocaleString("en-US")} more`), others.join(", "))
      : others.length ? el("p", { class: "quiet" }, `and ${others.join(", ")}`) : null,
    el("p", { class: "quiet" }, job.run_line),
    job.notes.map((note) => el("p", { class: "note" }, `note: ${note}`)));
}

// show(device, part): brings what a part is made of into the timeline, and gives its place and their number; or null.
export function accountView(account, show) {
  const device = account.device === "host" ? null : account.device;
  const parts = account.parts.filter((part) => part.time_ns > 0);
  const said = new Map(parts.map((part) => [part, el("span", { class: "quiet of-part", role: "status" })]));
  const go = (part) => async () => {
    const [at, count] = await show(device, part);
    said.get(part).textContent = count ? ` ${at.toLocaleString("en-US")} of ${count.toLocaleString("en-US")} in the step shown` : " no slice of its own in the step shown";
  };
  const bar = el("div", { class: "bar", role: "img", "aria-label": parts.map((part) => `${part.text} ${part.share_text}`).join(", ") },
    parts.map((part) => el("span", {
      class: `stretch ${partClass(part)}`, style: { flexGrow: part.time_ns }, onclick: show && go(part),
      title: `${part.text}: ${part.time_text}, ${part.share_text}`,
    }, part.share >= 0.08 ? `${part.text} ${part.share_text}` : "")));
  const rows = parts.map((part) => el("tr", {
    "data-part": part.part, "data-cause": part.cause, "data-time-ns": part.time_ns, "data-share": part.share,
  },
    el("td", {}, el("span", { class: `swatch ${partClass(part)}`, "aria-hidden": "true" })),
    el("td", { class: "number" }, part.share_text),
    el("td", { class: "number" }, part.time_text),
    el("td", {}, show ? el("button", { type: "button", class: "link", title: "show it on the timeline, the longest first", onclick: go(part) }, part.text) : part.text,
      said.get(part), part.besides ? el("span", { class: "quiet" }, ` (${part.besides})`) : null,
      part.remedy ? el("span", { class: "remedy" }, ` → ${part.remedy}`) : null),
    el("td", { class: "where" }, part.where)));
  return el("section", { class: "account" },
    el("h3", {}, `Where the time goes: ${account.label}, ${account.window_text}`),
    bar,
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "parts of the time" },
      el("table", {},
        el("thead", {}, el("tr", {}, ["", "share", "time", "what", "mostly in"].map((name) =>
          el("th", { scope: "col" }, name || el("span", { class: "hidden" }, "colour"))))),
        el("tbody", {}, rows))),
    account.left_out_texts.map((text) => el("p", { class: "quiet" }, text)));
}

// Parts have the colours of their sorts; causes of idle time, and what hosts do, have their own.
export function partClass(part) {
  return part.part === "idle" || part.part === "host" ? `cause-${causeGroup(part.cause)}` : `part-${part.part}`;
}

const GROUPS = {
  "data-loading": "loading", "device-wait": "waiting", launching: "launching", python: "python",
  "host-code": "python", "optimizer-host": "optimizer", optimizer: "optimizer", "cpu-op": "compute",
  matmul: "compute", convolution: "compute", attention: "compute", normalization: "compute",
  elementwise: "compute", transfer: "communication", "rank-wait": "communication", copy: "copy",
};

export function causeGroup(cause) {
  return GROUPS[cause] ?? "other";
}

// The steps of a rank: number, duration_ns, and left_out, a reason or "".
export function stepsOf({ steps }) {
  return steps.number.map((number, at) => ({ number, duration_ns: steps.duration_ns[at], left_out: steps.left_out[at] ?? "" }));
}

// A bar for each step; those that the timeline shows can be chosen.
export function stepsView(rank, unit, choose) {
  const steps = stepsOf(rank);
  if (steps.length < 2) return null;
  const longest = steps.reduce((most, step) => Math.max(most, step.duration_ns), 0);
  const shown = new Map((rank.timelines ?? []).map((timeline, at) => [timeline.step, at]));
  const bars = steps.map((step, number) => {
    const label = `${unit} ${step.number}`;
    const text = `${label}: ${timeText(step.duration_ns)}${step.left_out ? `, left out: ${step.left_out}` : ""}`;
    const at = shown.get(number);
    const height = { height: `${Math.max((100 * step.duration_ns) / longest, 1)}%` };
    const kind = step.left_out ? "left-out" : at === undefined ? "" : "shown";
    const inside = el("span", { style: height });
    const data = { class: `step ${kind}`, title: text, "data-number": step.number, "data-duration-ns": step.duration_ns };
    if (at === undefined) {
      if (shown.size && !steps.some((other, place) => shown.has(place) && other.number === step.number)) {
        data.title += `; --page-steps ${step.number} shows it in the timeline`;
      }
      return el("li", data, inside, el("span", { class: "hidden" }, text));
    }
    return el("li", data, el("button", { type: "button", "aria-label": `show ${text}`, onclick: () => choose(at) }, inside));
  });
  return el("section", { class: "steps" },
    el("h3", {}, `Length of each ${unit}, up to ${timeText(longest)}`),
    el("ol", { class: "step-bars" }, bars),
    rank.more_steps ? el("p", { class: "quiet" }, `and ${rank.more_steps.toLocaleString("en-US")} later ones, which are not drawn`) : null);
}

const HIGHEST = 12, TALL = 600; // pixels of a rank in the map, and of all ranks if they are many

// The steps of all ranks: a line for each rank, darker where a step is longer.
export function ranksView(job, choose) {
  const ranks = job.ranks.map((rank) => ({ label: rank.label, steps: stepsOf(rank) }));
  if (ranks.length < 2 || !ranks.some((rank) => rank.steps.length > 1)) return null;
  const row = Math.max(Math.min(Math.floor(TALL / ranks.length), HIGHEST), 1);
  const gap = row > 3 ? 1 : 0;
  const counted = ranks.flatMap((rank) => rank.steps.filter((step) => !step.left_out).map((step) => step.duration_ns));
  if (!counted.length) return null;
  const shortest = counted.reduce((least, ns) => Math.min(least, ns), Infinity);
  const longest = counted.reduce((most, ns) => Math.max(most, ns), 0);
  const said = el("p", { class: "quiet", role: "status" }, `${timeText(shortest)} to ${timeText(longest)}; click a rank to see it`);
  const canvas = el("canvas", { class: "ranks", role: "img", "aria-label": `Length of each ${job.unit} on each rank, ${timeText(shortest)} to ${timeText(longest)}` });
  // A column for each number, since ranks need not have the same steps.
  const numbers = [...new Set(ranks.flatMap((rank) => rank.steps.map((step) => step.number)))].sort((one, other) => one - other);
  const columnOf = new Map(numbers.map((number, column) => [number, column]));
  const columns = numbers.length;
  const at = (event) => {
    const rank = Math.max(Math.min(Math.floor((event.offsetY / canvas.clientHeight) * ranks.length), ranks.length - 1), 0);
    const number = numbers[Math.floor((event.offsetX / canvas.clientWidth) * columns)];
    return [rank, ranks[rank].steps.find((step) => step.number === number)];
  };
  canvas.addEventListener("click", (event) => choose(at(event)[0]));
  canvas.addEventListener("pointermove", (event) => {
    const [rank, step] = at(event);
    if (step) said.textContent = `${ranks[rank].label}, ${job.unit} ${step.number}: ${timeText(step.duration_ns)}${step.left_out ? ", left out" : ""}`;
  });
  const draw = () => {
    canvas.width = canvas.clientWidth;
    canvas.height = ranks.length * row;
    const context = canvas.getContext("2d");
    context.fillStyle = styleValue("--slow");
    ranks.forEach((rank, line) => rank.steps.forEach((step) => {
      const wide = canvas.width / columns, column = columnOf.get(step.number);
      // The darkest is a quarter longer than the shortest, at least: less is no difference to see.
      const part = (step.duration_ns - shortest) / Math.max(longest - shortest, shortest / 4, 1);
      context.globalAlpha = step.left_out ? 0.05 : Math.min(0.12 + 0.88 * part, 1);
      context.fillRect(column * wide, line * row, Math.max(wide - 1, 1), row - gap);
    }));
  };
  canvas.style.height = `${ranks.length * row}px`;
  new ResizeObserver(draw).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const more = job.ranks.reduce((most, rank) => Math.max(most, rank.more_steps), 0);
  return el("section", {}, el("h3", {}, `Length of each ${job.unit} on each rank`),
    el("div", { class: "all-ranks", tabindex: "0", role: "region", "aria-label": "map of ranks" }, canvas), said,
    more ? el("p", { class: "quiet" }, `${countText(more, `later ${job.unit}`)} of a rank are not drawn.`) : null);
}

// The step as it is beside the step with everything fixed.
export function afterAll(job) {
  const all = job.after_all;
  if (!all) return null;
  if (all.step_ns === null) return el("p", { class: "note" }, all.text);
  const part = (ns) => `${(100 * ns) / all.step_ns}%`;
  return el("section", { class: "after" },
    el("h3", {}, all.text),
    el("div", { class: "beside", role: "img", "aria-label": all.text },
      el("span", { class: "label" }, "now"),
      el("span", { class: "track" }, el("span", { class: "now", style: { width: "100%" } })),
      el("span", { class: "label" }, "fixed"),
      el("span", { class: "track" },
        el("span", { class: "fixed", style: { width: part(all.after_low_ns) } }),
        el("span", { class: "range", style: { width: part(all.after_high_ns - all.after_low_ns) } }))));
}

