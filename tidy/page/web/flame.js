// The flame graph: callers above what they call, as wide as their share of the time.
import { el, shareText, timeText } from "./dom.js";
import { CAN_UNPACK, unpack } from "./columns.js";

const NARROWEST = 0.0015; // of the width: less cannot be met

export class FlameView {
  constructor() {
    this.side = el("select", { "aria-label": "time of", onchange: () => this.#zoom(-1) },
      el("option", { value: "host" }, "host time"), el("option", { value: "device" }, "device time"));
    this.wanted = el("input", { type: "search", placeholder: "search frames", "aria-label": "search frames", oninput: () => this.#draw() });
    this.found = el("span", { class: "quiet", role: "status" });
    this.out = el("button", { type: "button", onclick: () => this.#zoom(-1) }, "Whole graph");
    this.nodes = el("div", { class: "nodes" });
    this.said = el("p", { class: "quiet said" });
    this.element = el("section", { class: "flame", hidden: true },
      el("h3", {}, "Flame graph"),
      el("div", { class: "tools" }, this.side, this.wanted, this.found, this.out),
      this.nodes, this.said);
  }

  async show(data) {
    this.data = data;
    this.element.hidden = !data || !CAN_UNPACK;
    if (this.element.hidden) return;
    const columns = await unpack(data.nodes);
    if (this.data !== data) return;
    Object.assign(this, { parent: columns.parent, nameOf: columns.name, times: { host: columns.host_ns, device: columns.device_ns } });
    this.children = Array.from(this.parent, () => []);
    this.roots = [];
    this.parent.forEach((above, node) => (above < 0 ? this.roots : this.children[above]).push(node));
    const hasDevice = data.whole_ns.device > 0;
    this.side.hidden = !hasDevice;
    this.side.value = hasDevice ? "device" : "host";
    this.#zoom(-1);
  }

  name(node) {
    return this.data.names[this.nameOf[node]];
  }

  // Makes a node as wide as the graph; -1 for all roots.
  #zoom(node, chosen = -1) {
    this.root = node;
    this.#draw();
    this.nodes.querySelector(`[data-node="${chosen}"]`)?.focus({ preventScroll: true });
  }

  #draw() {
    const times = this.times[this.side.value], whole = this.data.whole_ns[this.side.value];
    const text = this.wanted.value.trim().toLowerCase();
    const path = [];
    for (let node = this.root; node >= 0; node = this.parent[node]) path.unshift(node);
    const width = this.root < 0 ? whole : times[this.root];
    const boxes = [];
    let deepest = 0, met = 0;
    const box = (node, left, wide, level, isHit) => {
      const share = shareText(times[node] / Math.max(whole, 1));
      deepest = Math.max(deepest, level);
      const title = `${this.name(node)}: ${timeText(times[node])} in all, ${share}`;
      boxes.push(el("button", {
        type: "button", class: `node ${nodeClass(this.name(node))}${isHit ? " hit" : ""}`, title,
        "data-node": node, "data-ns": times[node],
        style: { left: `${100 * left}%`, width: `${100 * wide}%`, top: `${level * 21}px` },
        onclick: () => this.#zoom(node === this.root ? this.parent[node] : node, node),
        onfocus: () => { this.said.textContent = title; },
        onmouseenter: () => { this.said.textContent = title; },
      }, this.name(node)));
    };
    // Stacks may be deeper than calls may be.
    const waiting = [];
    const below = (nodes, left, level, inHit) => {
      for (const node of sorted(nodes, times)) {
        waiting.push([node, left, level, inHit]);
        left += times[node] / Math.max(width, 1);
      }
    };
    path.slice(0, -1).forEach((node, level) => box(node, 0, 1, level, false));
    below(this.root < 0 ? this.roots : [this.root], 0, Math.max(path.length - 1, 0), false);
    for (let at = 0; at < waiting.length; at++) {
      const [node, left, level, inHit] = waiting[at];
      const isHit = text !== "" && this.name(node).toLowerCase().includes(text);
      if (isHit && !inHit) met += times[node];
      const wide = times[node] / Math.max(width, 1);
      if (wide >= NARROWEST) box(node, left, wide, level, isHit);
      below(this.children[node], left, level + 1, inHit || isHit);
    }
    this.nodes.replaceChildren(...boxes);
    this.nodes.style.height = `${(deepest + 1) * 21}px`;
    this.found.textContent = text ? `${timeText(met)}, ${shareText(met / Math.max(whole, 1))}` : "";
    this.said.textContent = `${timeText(whole)} in all steps that count; a backward operator is below its forward. Click to zoom.`;
  }
}

function sorted(nodes, times) {
  return nodes.filter((node) => times[node] > 0).sort((one, other) => times[other] - times[one]);
}

function nodeClass(name) {
  if (name.startsWith("nn.Module: ")) return "module";
  if (/^[^(]*\(\d+\): /.test(name)) return "frame";
  return name.startsWith("autograd::engine") || /Backward\d*$/.test(name) ? "backward" : "op";
}
