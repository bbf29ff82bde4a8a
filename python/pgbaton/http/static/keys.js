// Keys that are blocked, and keys that somebody paused.
import { $, ago, el, jobLink, keepRows, note, now, number, setText, turns } from "./dom.js";
import { askJson, may } from "./gateway.js";
import { jobButtons, pauseKeyButton } from "./acts.js";

const MANY = 1000; // From here on list_blocked_keys may not count all that wait.
// The gateway sends no more of them (MOST_PAUSED, MOST_BLOCKED_JOBS).
const MOST_PAUSED = 1000;
const MOST_WAITING = 100;
// Where the pages begin that lead here, the one shown last.
let places = [""];
let nextAfter = null;
let rows = [];
let paused = new Set(); // queue and key
const turn = turns();
const nameOf = (key) => `${key.queue}\n${key.singleton_key}`;

export async function loadBlocked() {
  const isLast = turn();
  const section = $("#blocked");
  const wanted = new URLSearchParams({ queue: $("#blocked-queue").value, key: $("#blocked-key").value, after: places.at(-1) });
  try {
    const found = await askJson(`/ui/blocked?${wanted}`);
    if (!isLast()) return;
    if (found.rows.length === 0 && found.next_after === null && places.length > 1) {
      places = [""];
      return loadBlocked();
    }
    ({ rows, next_after: nextAfter } = found);
    note(section, said());
  } catch (error) {
    if (!isLast()) return;
    [rows, nextAfter] = [[], null];
    note(section, error.message, true);
  }
  setText($(".count", section), rows.length === 0 ? "" : nextAfter === null && places.length === 1 ? number(rows.length) : `page ${number(places.length)}`);
  $("#blocked-before").disabled = places.length === 1;
  $("#blocked-next").disabled = nextAfter === null;
  showBlocked();
  await loadPaused(isLast);
  await loadBlockedJobs(isLast);
}

function said() {
  if (nextAfter !== null && rows.length === 0) return "None here yet: Next looks further.";
  if (rows.length === 0) return "No key is blocked.";
  return nextAfter === null && places.length > 1 ? "These are the last ones." : "";
}

export function showBlocked() {
  keepRows($("#blocked-table"), rows, (key) => `${key.queue}\n${key.job_id}`, makeBlocked, updateBlocked);
}

function makeBlocked(blocked) {
  return el(
    "tr", {},
    el("th", { scope: "row" }, blocked.singleton_key, el("span", { class: "sub" }, blocked.queue)),
    el("td", { class: "since" }),
    el("td", {}, el("div", {}, el("span", { class: "error" }), el("span", { class: "sub" }))),
    el("td", { class: "number" }),
    el("td", { class: "number" }, jobLink(blocked.job_id)),
    el("td", { class: "actions" }),
  );
}

function updateBlocked(row, blocked) {
  setText(row.cells[1], ago(blocked.blocked_since));
  setText($(".error", row), blocked.last_error ?? "no error message");
  const isFailed = blocked.state === "failed";
  const next = blocked.next_run_at ? `, runs again ${ago(blocked.next_run_at)}` : "";
  const times = blocked.attempts === 1 ? "once" : `${number(blocked.attempts)} times`;
  setText($("td .sub", row), isFailed ? `failed for good, tried ${times}` : `tried ${times}${next}`);
  setText(row.cells[3], number(blocked.waiting_count) + (blocked.waiting_count >= MANY ? "+" : ""));
  const isPaused = paused.has(nameOf(blocked));
  setText($("th .sub", row), isPaused ? `${blocked.queue} · paused` : blocked.queue);
  const actions = row.cells[5];
  const isLater = !isFailed && blocked.next_run_at !== null && Date.parse(blocked.next_run_at) > now();
  const offered = `${blocked.state} ${isPaused} ${isLater}`;
  if (actions.dataset.offered === offered) return;
  actions.dataset.offered = offered;
  const job = {
    queue: blocked.queue, job_id: blocked.job_id, holds_key: true,
    about: `job ${blocked.job_id} of key ${blocked.singleton_key}`,
  };
  const pause = may(isPaused ? "resume_key" : "pause_key", blocked.queue) ? [pauseKeyButton(blocked.queue, blocked.singleton_key, isPaused)] : [];
  actions.replaceChildren(...jobButtons(job, blocked.state, isFailed ? ["retry", "skip"] : [...(isLater ? ["run_now"] : []), "reschedule", "cancel"]), ...pause);
}

// Paused keys ----------------------------------------------------------------------------------

// A list that may have been cut says so.
function countUpTo(section, rows, most, nothing = "") {
  const isCut = rows.length >= most;
  setText($(".count", section), rows.length === 0 ? "" : number(rows.length) + (isCut ? "+" : ""));
  note(section, rows.length === 0 ? nothing : isCut ? `These are the first ${number(most)}; there may be more.` : "");
}

async function loadPaused(isLast) {
  const section = $("#paused");
  section.hidden = !may("list_paused_keys");
  if (section.hidden) return;
  try {
    const found = await askJson(`/ui/paused?${new URLSearchParams({ queue: $("#blocked-queue").value })}`);
    if (!isLast()) return;
    paused = new Set(found.map(nameOf));
    showBlocked();
    keepRows($("table", section), found, nameOf, makePaused, (row, key) => setText(row.cells[1], ago(key.paused_at)));
    countUpTo(section, found, MOST_PAUSED, "No key is paused.");
  } catch (error) {
    if (isLast()) note(section, error.message, true);
  }
}

function makePaused(key) {
  const resume = may("resume_key", key.queue) ? pauseKeyButton(key.queue, key.singleton_key, true) : null;
  return el(
    "tr", {},
    el("th", { scope: "row" }, key.singleton_key, el("span", { class: "sub" }, key.queue)),
    el("td", { class: "since" }),
    el("td", { class: "actions" }, resume),
  );
}

// Jobs that wait for a job that failed, or ended otherwise than completed -------------------------

async function loadBlockedJobs(isLast) {
  const section = $("#blocked-jobs");
  let found = [];
  try {
    if (may("blocked_jobs")) found = await askJson(`/ui/blocked_jobs?${new URLSearchParams({ queue: $("#blocked-queue").value })}`);
    if (!isLast()) return;
    countUpTo(section, found, MOST_WAITING);
  } catch (error) {
    if (!isLast()) return;
    setText($(".count", section), "");
    note(section, error.message, true);
  }
  section.hidden = found.length === 0 && !$(".nothing", section).textContent;
  keepRows($("table", section), found, (job) => `${job.job_id} ${job.waits_for} ${job.state}`, makeBlockedJob, (row, job) => setText(row.cells[1], ago(job.blocked_since)));
}

function makeBlockedJob(job) {
  const state = job.state === null ? "not there, or not yours" : job.resolution ? `${job.state}, ${job.resolution}` : job.state;
  const wanted = { queue: job.queue, job_id: job.job_id, waits: true };
  return el(
    "tr", {},
    el("th", { scope: "row" }, jobLink(job.job_id), el("span", { class: "sub" }, job.queue)),
    el("td", { class: "since" }),
    el("td", {}, el("div", {}, jobLink(job.waits_for), el("span", { class: "sub" }, state))),
    el("td", {}, el("div", {}, el("span", { class: "error" }, job.last_error ?? ""))),
    el("td", { class: "actions" }, ...jobButtons(wanted, "pending", ["stop_waiting", "cancel"])),
  );
}

export function startKeys() {
  const restart = () => { places = [""]; loadBlocked(); };
  $("#blocked-queue").addEventListener("change", restart);
  $("#blocked-key").addEventListener("input", restart);
  $("#blocked-before").addEventListener("click", () => { places.pop(); loadBlocked(); });
  $("#blocked-next").addEventListener("click", () => { places.push(nextAfter); loadBlocked(); });
}
