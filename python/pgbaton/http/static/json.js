// JSON as a tree that folds. Numbers stay the text that they are: a browser would round them.
import { button, el, number, scrolling } from "./dom.js";

const AT_ONCE = 100; // entries of a list or object that are shown at first
const OPEN_DEPTH = 2;
const OPEN_ENTRIES = 20;
const DEEPEST = 200;

// A value as {text}, or as {open, entries: [[name or null, value], …]}.
export function parse(text) {
  let at = 0;
  const space = () => { while (" \n\r\t".includes(text[at] ?? "x")) at += 1; };

  function string() {
    const from = at;
    do {
      at = text.indexOf('"', at + 1);
      if (at < 0) throw new SyntaxError("a string without an end");
    } while (isEscaped(text, at));
    at += 1;
    return text.slice(from, at);
  }

  function scalar() {
    if (text[at] === '"') return { text: string(), kind: "string" };
    const from = at;
    while (at < text.length && !",]} \n\r\t".includes(text[at])) at += 1;
    if (from === at) throw new SyntaxError("no value");
    const found = text.slice(from, at);
    return { text: found, kind: /^[-0-9]/.test(found) ? "number" : "word" };
  }

  function value(depth) {
    space();
    const open = text[at];
    if (open !== "{" && open !== "[") return scalar();
    if (depth > DEEPEST) throw new SyntaxError("too deep for a tree");
    const entries = [];
    at += 1;
    space();
    while (text[at] !== "}" && text[at] !== "]") {
      let name = null;
      if (open === "{") {
        name = JSON.parse(string());
        space();
        at += 1; // the colon
      }
      entries.push([name, value(depth + 1)]);
      space();
      if (text[at] === ",") at += 1;
      else if (text[at] === undefined) throw new SyntaxError("no end");
      space();
    }
    at += 1;
    return { open, entries };
  }

  return value(0);
}

function isEscaped(text, at) {
  let before = at;
  while (text[before - 1] === "\\") before -= 1;
  return (at - before) % 2 === 1;
}

// The tree, and the text to copy; the text alone if it is no tree.
export function jsonView(text) {
  let root;
  try {
    root = parse(text);
  } catch {
    return [scrolling(text, "As text")];
  }
  if (root.entries === undefined) return [scrolling(text, "As text")];
  return [
    el("ul", { class: "tree" }, entryOf(null, root, 0)),
    el("details", { class: "raw" }, el("summary", {}, "As text"), scrolling(text, "As text")),
  ];
}

function entryOf(name, value, depth) {
  const label = name === null ? null : el("span", { class: "name" }, name);
  if (value.entries === undefined) {
    return el("li", {}, label, label && ": ", el("span", { class: value.kind }, value.text));
  }
  const close = value.open === "{" ? "}" : "]";
  const count = value.entries.length;
  if (count === 0) return el("li", {}, label, label && ": ", `${value.open}${close}`);
  const list = el("ul");
  const folded = el(
    "details", {},
    el("summary", {}, label, label && ": ", el("span", { class: "size" }, `${value.open} ${number(count)} ${close}`)),
    list,
  );
  const fill = () => { if (!list.hasChildNodes()) more(list, value, 0, depth); };
  folded.addEventListener("toggle", fill);
  if (depth < OPEN_DEPTH && count <= OPEN_ENTRIES) {
    folded.open = true;
    fill();
  }
  return el("li", {}, folded);
}

function more(list, value, from, depth) {
  const until = from + AT_ONCE;
  value.entries.slice(from, until).forEach(([name, child], n) => {
    list.append(entryOf(value.open === "[" ? String(from + n) : name, child, depth + 1));
  });
  const left = value.entries.length - until;
  if (left <= 0) return;
  const further = el("li", {}, button(`${number(left)} more`, () => {
    further.remove();
    more(list, value, until, depth);
  }));
  list.append(further);
}
