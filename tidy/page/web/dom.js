// Elements, and numbers as people read them. All text becomes text nodes: nothing is parsed as HTML.

// el("p", {class: "note", onclick: f}, "text", child): an element with attributes and children.
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];

function threeDigits(value) {
  return value.toFixed(value >= 99.95 || value === 0 ? 0 : value >= 9.995 ? 1 : 2);
}

// Three significant digits and a unit, as the text report has them: "1.04 s", "272 ms", "0 us".
export function timeText(ns) {
  if (ns < 0) return `-${timeText(-ns)}`;
  const [size, unit] = UNITS.find(([each]) => ns / each >= 0.9995) ?? UNITS[2];
  return `${threeDigits(ns / size)} ${unit}`;
}

export function countText(count, noun) {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

export function shareText(share) {
  return share > 0 && share < 0.0005 ? "<0.1%" : `${(100 * share).toFixed(1)}%`;
}

// The value of a custom property of the style, such as "--ink".
export function styleValue(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
