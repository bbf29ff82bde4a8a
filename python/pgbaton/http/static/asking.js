// The dialog that asks before something is done, and the bar that shows how far it is.
import { $, el, setText } from "./dom.js";

let answer = () => {}; // takes what the open question is answered with

// Asks, and returns what was filled in, by the names of the fields; null: it is not to be done.
export function confirmed(title, word, text, fields = []) {
  const dialog = $("#ask");
  answer(null);
  setText($("#ask-title"), title);
  setText($("#ask-text"), text);
  setText($("#ask-yes"), word);
  $("#ask-fields").replaceChildren(...fields.flatMap(({ name, label, ...more }) => [
    el("label", { for: `ask-${name}` }, label), el("input", { id: `ask-${name}`, name, ...more }),
  ]));
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => { answer = resolve; });
}

// The event comes later than the closing: the next question may be open by then.
function closed() {
  const dialog = $("#ask");
  if (dialog.open) return;
  const given = Object.fromEntries(new FormData($("form", dialog)));
  answer(dialog.returnValue === "yes" ? given : null);
}

export const REASON = { name: "reason", label: "Reason, for the audit", maxlength: 200 };

// What takes more than a step. Several may go on: the bar and Stop are those of the one that began last.
let going = [];

function showGoing() {
  const one = going.at(-1);
  $("#work").hidden = one === undefined;
  if (one === undefined) return;
  const { word, total, done } = one;
  setText($("#work-text"), `${word}: ${done.toLocaleString("en")}${total === null ? "" : ` of ${total.toLocaleString("en")}`}`);
  const bar = $("#work progress");
  if (total === null) bar.removeAttribute("value");
  else Object.assign(bar, { max: Math.max(total, 1), value: done });
}

// Goes on step by step until it is done or the user stops it. `step` returns how far it is and whether there is more.
export async function working(word, total, step) {
  const mine = { word, total, done: 0, isStopped: false };
  try {
    for (;;) {
      const { done, more } = await step();
      mine.done = done;
      if (!more) return true;
      if (mine.isStopped) return false;
      if (!going.includes(mine)) going.push(mine);
      showGoing();
    }
  } finally {
    going = going.filter((one) => one !== mine);
    showGoing();
  }
}

// The first button of a form takes Enter, and that leaves it: in a field that was filled in, Enter means yes.
function entered(event) {
  const { key, repeat, isComposing, target } = event;
  if (key !== "Enter" || repeat || isComposing || target.value === target.defaultValue) return;
  event.preventDefault();
  $("#ask-yes").click();
}

export function startAsking() {
  $("#ask-fields").addEventListener("keydown", entered);
  $("#ask").addEventListener("close", closed);
  $("#work-stop").addEventListener("click", () => { if (going.length > 0) going.at(-1).isStopped = true; });
}
