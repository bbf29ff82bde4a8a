// Workers, schedules, and the audit.
import { $, ago, clock, el, jobLink, keepRows, note, number, setCount, setText, turns } from "./dom.js";
import { askJson, isNarrowed } from "./gateway.js";
import { scheduleButtons } from "./acts.js";

export function showWorkers(part) {
  const section = $("#workers");
  const rows = part.rows ?? [];
  setCount(section, rows.length);
  note(section, part.error ?? (rows.length === 0 ? "No worker was seen within the last day." : ""), part.error !== undefined);
  keepRows($("table", section), rows, (worker) => worker.worker_id, makeWorker, updateWorker);
}

function makeWorker(worker) {
  return el(
    "tr", {},
    el("th", { scope: "row" }, worker.worker_id),
    el("td", { class: "number" }), el("td", { class: "number" }),
    el("td"), el("td", { class: "since" }), el("td", { class: "since" }),
  );
}

function updateWorker(row, worker) {
  const words = [
    number(worker.running_jobs),
    worker.capacity === null ? "" : number(worker.capacity),
    (worker.tags ?? []).join(", "),
    worker.heartbeat_at === null ? "" : ago(worker.heartbeat_at),
    worker.asleep_at === null ? "" : ago(worker.asleep_at),
  ];
  words.forEach((text, n) => setText(row.cells[n + 1], text));
}

// Schedules ------------------------------------------------------------------------------------

const scheduleTurn = turns();

export async function loadSchedules() {
  const isLast = scheduleTurn();
  const section = $("#schedules");
  try {
    const rows = await askJson("/ui/schedules");
    if (!isLast()) return;
    setCount(section, rows.length);
    note(section, rows.length === 0 ? "There is no schedule." : "");
    keepRows($("table", section), rows, (schedule) => schedule.name, makeSchedule, updateSchedule);
  } catch (error) {
    if (isLast()) note(section, error.message, true);
  }
}

function makeSchedule(schedule) {
  const cron = `${schedule.cron} ${schedule.time_zone}`;
  return el(
    "tr", {},
    el("th", { scope: "row" }, schedule.name, el("span", { class: "sub" }, cron)),
    el("td", {}, schedule.queue),
    el("td", { class: "since" }),
    el("td", {}, el("div", {}, el("span", { class: "last" }), el("span", { class: "error" }))),
    el("td", { class: "actions" }),
  );
}

function updateSchedule(row, schedule) {
  const next = schedule.next_run_at === null ? "never" : `${clock(schedule.next_run_at)}, ${ago(schedule.next_run_at)}`;
  setText(row.cells[2], schedule.is_paused ? "paused" : next);
  const last = $(".last", row);
  const said = schedule.last_run_at === null ? "" : clock(schedule.last_run_at);
  if (last.dataset.said !== `${said} ${schedule.last_job_id}`) {
    last.dataset.said = `${said} ${schedule.last_job_id}`;
    last.replaceChildren(said, ...(schedule.last_job_id === null ? [] : [", job ", jobLink(schedule.last_job_id)]));
  }
  setText($(".error", row), schedule.last_error ?? "");
  const actions = row.cells[4];
  const offered = `${schedule.is_paused} ${isNarrowed()}`;
  if (actions.dataset.offered === offered) return;
  actions.dataset.offered = offered;
  actions.replaceChildren(...scheduleButtons(schedule, !isNarrowed()));
}

// Audit ----------------------------------------------------------------------------------------

let nextBefore = null;
let audited = [];
const auditTurn = turns();

export async function loadAudit(before = null) {
  const isLast = auditTurn();
  const section = $("#audit");
  const wanted = new URLSearchParams({ queue: $("#audit-queue").value, before: before ?? "" });
  try {
    const found = await askJson(`/ui/audit?${wanted}`);
    if (!isLast()) return;
    audited = before === null ? found.rows : [...audited, ...found.rows];
    nextBefore = found.next_before;
    note(section, audited.length === 0 ? "Nothing was done." : "");
  } catch (error) {
    if (!isLast()) return;
    [audited, nextBefore] = [[], null];
    note(section, error.message, true);
  }
  $("#audit-older").disabled = nextBefore === null;
  keepRows($("table", section), audited, (entry) => entry.id, makeEntry);
}

function makeEntry(entry) {
  const key = entry.singleton_key === null ? null : el("span", { class: "sub" }, `key ${entry.singleton_key}`);
  return el(
    "tr", {},
    el("th", { scope: "row", class: "since" }, clock(entry.at)),
    el("td", {}, entry.actor),
    el("td", {}, entry.action),
    el("td", {}, el("div", {}, entry.queue ?? "", key)),
    el("td", { class: "number" }, entry.job_id === null ? null : jobLink(entry.job_id)),
    el("td", {}, el("div", {}, el("span", { class: "error" }, entry.reason ?? ""))),
  );
}

// What was done to one job.
export const entryList = (entries) => el("ol", { class: "history" }, ...entries.map((entry) => el(
  "li", {}, el("time", { datetime: entry.at }, clock(entry.at)), `${entry.action} by ${entry.actor}${entry.reason ? `: ${entry.reason}` : ""}`,
)));

export function startLists() {
  $("#audit-queue").addEventListener("change", () => loadAudit());
  $("#audit-older").addEventListener("click", () => loadAudit(nextBefore));
}
