// Making elements, and words for what they show. What jobs say is only ever text.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (selector, within = document) => within.querySelector(selector);

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svg(tag, attributes = {}) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function button(word, act, label, more = {}) {
  return el("button", { type: "button", "aria-label": label, onclick: act, ...more }, word);
}

// A long text scrolls by keyboard, too.
export const scrolling = (text, label, more = {}) => el("pre", { tabindex: 0, role: "group", "aria-label": label, ...more }, text);

// Rows keep their elements while their key is there, so that focus stays where it is.
export function keepRows(table, rows, keyOf, make, update = () => {}) {
  const body = table.tBodies[0];
  body.made ??= new Map();
  const labels = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const wanted = new Set(rows.map(keyOf));
  for (const [key, row] of body.made) {
    if (!wanted.has(key)) {
      row.remove();
      body.made.delete(key);
    }
  }
  rows.forEach((data, place) => {
    const key = keyOf(data);
    let row = body.made.get(key);
    if (!row) {
      row = make(data);
      [...row.cells].forEach((cell, n) => cell.setAttribute("data-label", labels[n]));
      body.made.set(key, row);
    }
    update(row, data);
    if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] ?? null);
  });
  table.classList.toggle("empty", rows.length === 0);
}

// What stands below a table: that there is nothing, how much more there is, or why it cannot be seen.
export function note(section, text, isBad = false) {
  const where = $(".nothing", section);
  setText(where, text);
  where.classList.toggle("bad", isBad);
}

export function setCount(section, count) {
  setText($(".count", section), count ? number(count) : "");
}

// Of what is asked for again before it was answered, only the last answer counts: an earlier one may come later.
export function turns() {
  let last = 0;
  return () => {
    last += 1;
    const mine = last;
    return () => mine === last;
  };
}

// Time is that of the database, whatever the clock of this computer says. -------------------------

let ahead = 0; // milliseconds

export function setNow(instant) {
  if (instant) ahead = Date.now() - Date.parse(instant);
}

export const now = () => Date.now() - ahead;

// Words ----------------------------------------------------------------------------------------

export function duration(seconds) {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${Number.isInteger(seconds) ? seconds : seconds.toFixed(1)} s`;
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  let rest = Math.round(seconds);
  const words = [];
  for (const [unit, size] of units) {
    const amount = Math.floor(rest / size);
    rest %= size;
    if (amount || words.length) words.push(amount ? `${amount} ${unit}` : "");
  }
  return words.slice(0, 2).filter(Boolean).join(" ");
}

export function ago(instant) {
  const seconds = (now() - Date.parse(instant)) / 1000;
  return seconds < -1 ? `in ${duration(-seconds)}` : duration(Math.max(0, seconds));
}

export function rate(value) {
  if (value === null) return "–";
  return `${value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1)}/s`;
}

export const number = (value) => value.toLocaleString("en");
export const many = (count, one, more = `${one}s`) => `${number(count)} ${count === 1 ? one : more}`;
// The gateway counts live jobs no further than this (MOST_COUNTED).
const MOST_COUNTED = 10_000;
const atLeast = (count) => (count >= MOST_COUNTED ? "+" : "");
export const counted = (count) => number(count) + atLeast(count);
export const manyCounted = (count, one) => `${counted(count)} ${count === 1 ? one : `${one}s`}`;
export const clock = (instant) => new Date(instant).toLocaleString("sv-SE");
// An instant as an input of the kind datetime-local has it, and back.
export const toLocal = (instant) => clock(instant).replace(" ", "T");
export const fromLocal = (text) => new Date(text).toISOString();

export function say(text, isBad = false) {
  const said = $("#said");
  said.className = isBad ? "bad" : "";
  said.textContent = text;
}

export const jobLink = (id) => el("a", { href: `#job/${id}`, "aria-label": `Show job ${id}` }, String(id));
export const keyLine = (key) => el("span", { class: "sub" }, key === null ? "" : `key ${key}`);
