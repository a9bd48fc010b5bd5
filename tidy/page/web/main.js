// The page: takes its data, and puts the views together.
import { countText, el } from "./dom.js";
import { CAN_UNPACK, unpack } from "./columns.js";
import { accountView, afterAll, heading, ranksView, stepsView } from "./top.js";
import { memoryView } from "./memory.js";
import { sourcesView } from "./sources.js";
import { findingsView } from "./findings.js";
import { TimelineView } from "./timeline.js";
import { diffView } from "./diff.js";
import { FlameView } from "./flame.js";

function jobView(job, rules) {
  let current = 0;
  const perRank = el("div");
  const timeline = new TimelineView();
  const flame = new FlameView();
  const memory = el("div");
  // Of many ranks some are there whole, of the others the lengths of their steps.
  const whole = job.ranks.filter((rank) => rank.timelines);
  const timed = whole.filter((rank) => !rank.no_timeline);
  const chooseRank = (number) => {
    current = number;
    const rank = job.ranks[number];
    const missing = rank.timelines ? rank.no_timeline : `Of ${rank.label} this page has the lengths of its ${job.unit}s alone; the rest is in a report of its trace. Ranks ${timed.length ? "with a timeline" : "that are here whole"}: ${(timed.length ? timed : whole).map((each) => each.label).join(", ")}.`;
    perRank.replaceChildren(...[
      ...(rank.accounts ?? []).map((account) => accountView(account, CAN_UNPACK && rank.timelines?.length ? showPart : null)),
      stepsView(rank, job.unit, (at) => timeline.show(rank, at)),
      missing ? el("p", { class: "note" }, missing) : null,
    ].filter(Boolean));
    const timelines = rank.timelines ?? [];
    const usual = timelines.findIndex((each) => each.why === "median");
    flame.show(rank.flame);
    memory.replaceChildren(guarded(memoryView, rank.memory ?? []) ?? "");
    if (timelines.length) timeline.show(rank, Math.max(usual, 0));
    else timeline.clear();
  };
  const forgetPart = () => perRank.querySelectorAll(".of-part").forEach((each) => { each.textContent = ""; });
  timeline.onload = forgetPart;
  const showPart = async (device, part) => {
    const found = await timeline.showPart(device, part);
    forgetPart();
    return found;
  };
  const unpacked = new Map();
  const show = async (finding, number) => {
    let left = number;
    for (const match of finding.matches) {
      if (!unpacked.has(match)) unpacked.set(match, (await unpack(match.slices)).slice);
      const slices = unpacked.get(match);
      let from = 0;
      for (const [at, count] of match.counts.entries()) {
        if (left < count) {
          if (match.rank !== current) { select.value = match.rank; chooseRank(match.rank); }
          await timeline.show(job.ranks[match.rank], at);
          return timeline.select(slices[from + left], slices.subarray(from, from + count));
        }
        left -= count;
        from += count;
      }
    }
  };
  const select = el("select", { "aria-label": "rank", onchange: () => chooseRank(Number(select.value)) },
    rankGroups(job.ranks).map(([label, group]) => el("optgroup", { label }, group.map(([rank, at]) => el("option", { value: at }, rank.label)))));
  const made = el("article", {},
    heading(job),
    job.ranks.length > 1 ? el("p", {}, el("label", {}, "Rank ", select),
      whole.length < job.ranks.length ? el("span", { class: "quiet" }, ` ${whole.length} of ${countText(job.ranks.length, "rank")} ${timed.length === whole.length ? "have a timeline" : "are here whole"}: the first, those with the longest, the median and the shortest ${job.unit}s, those with the costliest findings, and the next by number`) : null) : null,
    afterAll(job),
    guarded(ranksView, job, (number) => { select.value = number; chooseRank(number); }),
    perRank,
    findingsView(job, rules, show),
    timeline.element,
    flame.element,
    memory,
    guarded(sourcesView, job.sources));
  chooseRank(0);
  return made;
}

// The ranks to choose from, each with its number: those that are there whole first.
function rankGroups(ranks) {
  const all = ranks.map((rank, at) => [rank, at]);
  return [
    ["with a timeline", all.filter(([rank]) => rank.timelines && !rank.no_timeline)],
    ["without a timeline", all.filter(([rank]) => rank.no_timeline)],
    ["lengths of steps alone", all.filter(([rank]) => !rank.timelines)],
  ].filter(([, group]) => group.length);
}

// A view, or a line that says that it failed: the others are shown all the same.
function guarded(view, ...given) {
  try {
    return view(...given);
  } catch (error) {
    return el("p", { class: "note" }, `A part of this page could not be shown: ${error.message}`);
  }
}

// On paper nothing can be unfolded: findings are printed with their fixes, and folded again.
function unfoldForPrint() {
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.finding:not([open])")].filter((each) => !each.parentElement.closest("details:not([open])"));
    folded.forEach((each) => { each.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((each) => { each.open = false; }));
}

function main() {
  unfoldForPrint();
  const content = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  if (!CAN_UNPACK) page.append(el("p", { class: "note" }, "This browser cannot unpack the timeline and the flame graph: it has no DecompressionStream."));
  const footer = el("footer", { class: "quiet" }, `Written by tidy ${content.tool.version}.`);
  if (content.diff) {
    document.title = "tidy diff";
    page.append(el("header", { class: "page" }, el("h1", {}, "tidy diff")), diffView(content.diff), footer);
    return;
  }
  const name = content.jobs[0]?.paths[0];
  document.title = name ? `${name}: tidy` : "tidy";
  page.append(
    el("header", { class: "page" }, el("h1", {}, "tidy"), el("p", { class: "summary" }, content.summary)),
    ...content.unreadable.map(({ path, problem }) => el("p", { class: "note" }, `${path}: ${problem}`)),
    ...content.jobs.map((job) => guarded(jobView, job, content.rules)),
    ...content.gone.map((text) => el("p", { class: "quiet" }, `gone, but in the baseline: ${text}`)),
    content.script_status ? el("p", { class: "note" }, `The script itself ended with ${content.script_status}.`) : "",
    footer);
}

main();
