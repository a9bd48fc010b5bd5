// The findings, costliest first: what was seen, the fix, its saving as a range, and its rule's page.
import { countText, el, timeText } from "./dom.js";

// show(finding, number): brings a match of a finding into the timeline.
export function findingsView(job, rules, show) {
  const large = job.findings.filter((finding) => !finding.is_small);
  const small = job.findings.filter((finding) => finding.is_small);
  return el("section", { class: "findings" },
    el("h3", {}, large.length ? countText(large.length, "finding") : "Nothing found"),
    large.map((each, at) => findingView(each, rules, show, at === 0)),
    folded(small.length, "finding", `that cost${small.length === 1 ? "s" : ""} next to nothing`, small.map((each) => findingView(each, rules, show))),
    folded(job.accepted.length, "finding", "accepted by a comment or a baseline", job.accepted.map((each) => findingView(each, rules, show))),
    job.crashed.map((text) => el("p", { class: "note" }, text)),
    folded(codes(job.not_checked), "rule", "not checked", job.not_checked.map(gap)),
    folded(codes(job.not_applicable), "rule", "without anything to check here", job.not_applicable.map(gap)));
}

function codes(gaps) {
  return gaps.reduce((sum, each) => sum + each.codes.length, 0);
}

function folded(count, noun, what, views) {
  return count ? el("details", { class: "fold" }, el("summary", {}, `${countText(count, noun)} ${what}`), views) : null;
}

function gap({ codes, text, ranks }) {
  return el("p", {}, el("b", {}, codes.join(", ")), `: ${text}`, ranks ? ` (${ranks})` : "");
}

function findingView(finding, rules, show, isFirst = false) {
  const head = el("summary", {},
    el("span", { class: `severity ${finding.severity}` }, finding.severity),
    el("span", { class: "code" }, `${finding.code} ${finding.name}`),
    el("span", { class: "where" }, finding.where),
    el("span", { class: "saving" }, finding.saving ? finding.saving.text : finding.costs.join(", ")),
    rangeBar(finding));
  return el("details", { class: "finding", "data-code": finding.code, "data-cost-ns": finding.cost_ns, open: isFirst || finding.severity !== "info" },
    head,
    el("p", {}, finding.message),
    el("p", { class: "fix" }, `→ ${finding.fix}`),
    // Without a saving the heading has the costs.
    el("p", { class: "quiet" }, [
      finding.saving ? finding.costs.join(", ") : "",
      finding.saving?.why ?? "",
      finding.why_no_saving ? `saving not estimated: ${finding.why_no_saving}` : "",
    ].filter(Boolean).join("; ")),
    finding.accepted ? el("p", { class: "quiet" }, `accepted by ${finding.accepted}`) : null,
    matchesView(finding, show),
    ruleView(rules[finding.code]));
}

// The saving as a part of the step: what is sure, and up to where it may go.
function rangeBar({ saving, cost_share: share }) {
  if (!saving && !share) return null;
  const of = saving ? (ns) => `${Math.min((100 * ns) / Math.max(saving.step_ns, 1), 100)}%` : null;
  const label = saving ? `saves ${timeText(saving.low_ns)} to ${timeText(saving.high_ns)} of ${timeText(saving.step_ns)}` : "cost";
  return el("span", {
    class: "range-bar", role: "img", "aria-label": label, title: label,
    ...(saving ? { "data-low-ns": saving.low_ns, "data-high-ns": saving.high_ns, "data-step-ns": saving.step_ns } : {}),
  },
    saving ? [
      el("span", { class: "sure", style: { width: of(saving.low_ns) } }),
      el("span", { class: "maybe", style: { width: of(saving.high_ns - saving.low_ns) } }),
    ] : el("span", { class: "cost", style: { width: `${100 * Math.min(share, 1)}%` } }));
}

// Steps through the matches that the timeline has.
function matchesView(finding, show) {
  const total = finding.matches.reduce((sum, each) => sum + each.counts.reduce((one, other) => one + other, 0), 0);
  if (!total) return el("p", { class: "quiet" }, finding.count && finding.matches.length ? "Its matches are outside of the steps shown." : "");
  let number = -1;
  const said = el("span", { class: "quiet", role: "status" }, total === 1 ? "1 match" : `${total.toLocaleString("en-US")} matches`);
  const go = (by) => () => {
    number = number < 0 && by < 0 ? total - 1 : (number + by + total) % total;
    said.textContent = `${number + 1} of ${total.toLocaleString("en-US")}`;
    show(finding, number);
  };
  return el("p", { class: "matches" },
    el("button", { type: "button", class: "show", onclick: go(1) }, "Show on the timeline"),
    el("button", { type: "button", "aria-label": "previous match", onclick: go(-1) }, "‹"),
    el("button", { type: "button", "aria-label": "next match", onclick: go(1) }, "›"),
    said);
}

function ruleView(rule) {
  if (!rule) return null;
  return el("details", { class: "rule" },
    el("summary", {}, "What this rule looks for"),
    rule.sections.map(({ heading, paragraphs }) => [
      heading ? el("h4", {}, heading) : null,
      paragraphs.map((text) => text.startsWith(" ") ? el("pre", { tabindex: "0" }, text) : el("p", {}, text)),
    ]));
}
