// Jobs that fit a filter, which stands in the address, and what is done to all of them.
import { $, clock, el, fromLocal, jobLink, keepRows, keyLine, note, number, setText, toLocal, turns } from "./dom.js";
import { askJson } from "./gateway.js";
import { offerBulk } from "./acts.js";
import { working } from "./asking.js";

const PAUSE = 400; // milliseconds without a further change: the form says what is wanted
const TIMES = ["created_after", "created_before", "ended_after", "ended_before"];
const PAGE = 50;
let nextAfter = null;
let filter = new URLSearchParams(); // that of the jobs that are shown: the form may have been changed since
const turn = turns();

// What the form says. A time that was not changed stays the instant of the address, to the microsecond, and in the
// hour that comes twice.
function inForm() {
  const given = new URLSearchParams();
  for (const { name, value, dataset } of $("#search").elements) {
    if (!name || value === "") continue;
    const instant = () => (dataset.shown === value ? dataset.instant : fromLocal(value));
    given.set(name, TIMES.includes(name) ? instant() : value);
  }
  return given;
}

async function search(after = null) {
  const isLast = turn();
  const wanted = new URLSearchParams(filter);
  if (after !== null) wanted.set("after", after);
  history.replaceState(null, "", wanted.size ? `?${wanted}#jobs` : `${location.pathname}#jobs`);
  const section = $("#jobs");
  const show = (jobs) => keepRows($("table", section), jobs, (job) => job.id, makeFound, updateFound);
  try {
    const found = await lookedFor(wanted, isLast);
    if (!isLast()) return;
    show(found);
    const some = found.length === 0 ? "None" : number(found.length);
    note(section, nextAfter === null ? `${some} here, and no more.` : `${some} so far; go on to look at earlier ones.`);
  } catch (error) {
    if (!isLast()) return;
    nextAfter = null;
    show([]);
    note(section, error.message, true);
  }
  $("#search-more").disabled = nextAfter === null;
  offer();
}

// A page of jobs. The gateway looks at so many and answers; where few fit it is asked again, until the user stops it.
async function lookedFor(wanted, isLast) {
  const found = [];
  const further = new URLSearchParams(wanted);
  await working("Found", null, async () => {
    const step = await askJson(`/ui/jobs?${further}`);
    if (!isLast()) return { done: found.length, more: false };
    found.push(...step.jobs);
    nextAfter = step.next_after;
    further.set("after", nextAfter);
    return { done: found.length, more: nextAfter !== null && found.length < PAGE };
  });
  return found;
}

function makeFound(job) {
  return el(
    "tr", {},
    el("th", { scope: "row", class: "number" }, jobLink(job.id)),
    el("td", {}, el("div", {}, job.queue, keyLine(job.singleton_key))),
    el("td"), el("td", { class: "since" }), el("td", { class: "since" }), el("td", { class: "number" }),
    el("td", {}, el("div", {}, el("span", { class: "error" }))),
  );
}

function updateFound(row, job) {
  const words = [
    job.resolution === null ? job.state : `${job.state}, ${job.resolution}`,
    clock(job.created_at), job.ended_at === null ? "" : clock(job.ended_at), number(job.attempt),
  ];
  words.forEach((text, n) => setText(row.cells[n + 2], text));
  setText($(".error", row), job.error_message ?? "");
}

// All that match -------------------------------------------------------------------------------

const ENDED = ["completed", "stopped", "unscheduled", "unknown_stopped", "given_up"];
const ACTIONS = {
  "": ["retry", "skip", "reschedule", "prioritize", "cancel", "requeue", "delete"], failed: ["retry", "skip", "requeue", "delete", "erase"],
  active: ["cancel"], cancelling: [],
};

// An empty filter is no selection: nothing is offered for all jobs there are.
function offer() {
  const state = filter.get("state") ?? "";
  const actions = ACTIONS[state] ?? (ENDED.includes(state) ? ["erase"] : ["reschedule", "prioritize", "cancel", "delete"]);
  offerBulk($("#bulk"), "jobs that match", filter, filter.size > 0 ? actions : []);
}

// The filter of the address, unless its jobs are shown already: what the form cannot show counts all the same.
export function searchOnce() {
  if ($("#jobs .nothing").textContent) return;
  const given = new URLSearchParams(location.search);
  filter = new URLSearchParams();
  for (const field of $("#search").elements) {
    if (!field.name) continue;
    const value = given.get(field.name) ?? "";
    if (value !== "") filter.set(field.name, value);
    field.value = value !== "" && TIMES.includes(field.name) ? toLocal(value) : value;
    Object.assign(field.dataset, { instant: value, shown: field.value });
  }
  if (filter.size > 0) search(given.get("after"));
}

export const forgetSearch = () => note($("#jobs"), "");
export const searchAgain = () => search(new URLSearchParams(location.search).get("after"));

// Half a JSON value, or half a number, is nothing to look for yet.
function isWhole() {
  try {
    JSON.parse($("#search-payload").value || "null");
    return $("#search").checkValidity();
  } catch {
    return false;
  }
}

export function startJobs() {
  let timer = null;
  const searchNow = () => {
    clearTimeout(timer);
    $("#bulk").hidden = true; // it is about the jobs that are still shown
    filter = inForm();
    search();
  };
  $("#search").addEventListener("submit", (event) => {
    event.preventDefault();
    searchNow();
  });
  $("#search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (isWhole() && inForm().toString() !== filter.toString()) searchNow(); }, PAUSE);
  });
  $("#search").addEventListener("reset", () => setTimeout(searchNow));
  $("#search-more").addEventListener("click", () => search(nextAfter));
}
