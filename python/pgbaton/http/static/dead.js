// Dead letters, the latest first.
import { $, ago, counted, el, jobLink, keepRows, keyLine, note, number, scrolling, setCount, setText, turns } from "./dom.js";
import { askJson } from "./gateway.js";
import { jobButtons, offerBulk } from "./acts.js";

const PAGE = 20;
let from = 0;
let rows = [];
const turn = turns();

export async function loadDead() {
  const isLast = turn();
  const section = $("#dead");
  const wanted = new URLSearchParams({ queue: $("#dead-queue").value, limit: PAGE + 1, offset: from });
  let found = [];
  try {
    found = await askJson(`/ui/dead?${wanted}`);
    if (!isLast()) return;
    if (found.length === 0 && from > 0) { // those of this page are gone
      from = 0;
      return loadDead();
    }
    note(section, found.length === 0 ? "No job has failed for good." : "");
  } catch (error) {
    if (!isLast()) return;
    note(section, error.message, true);
  }
  $("#dead-older").disabled = found.length <= PAGE;
  $("#dead-newer").disabled = from === 0;
  rows = found.slice(0, PAGE);
  showDead();
  const queue = $("#dead-queue").value;
  const letters = new URLSearchParams(queue === "" ? { state: "failed" } : { queue, state: "failed" });
  const about = `dead letters${queue === "" ? "" : ` of ${queue}`}`;
  offerBulk($("#dead-bulk"), about, letters, found.length > 0 ? ["retry", "skip", "requeue"] : []);
}

export function showDead() {
  keepRows($("#dead table"), rows, (job) => job.id, makeDead, (row, job) => setText(row.cells[2], ago(job.failed_at)));
}

export const countDead = (total) => setText($("#dead .count"), total ? counted(total) : "");

function makeDead(job) {
  const wanted = { queue: job.queue, job_id: job.id, holds_key: job.holds_key };
  const holds = job.holds_key ? el("span", { class: "sub" }, "its key waits for it") : null;
  return el(
    "tr", {},
    el("th", { scope: "row", class: "number" }, jobLink(job.id)),
    el("td", {}, el("div", {}, job.queue, keyLine(job.singleton_key), holds)),
    el("td", { class: "since" }),
    el("td", { class: "number" }, number(job.attempts)),
    el(
      "td", {},
      el("div", {}, el("span", { class: "error" }, job.error_message ?? "no error message"),
        el("details", {}, el("summary", {}, "Payload"), scrolling(job.payload, "Payload"))),
    ),
    el("td", { class: "actions" }, ...jobButtons(wanted, "failed", ["retry", "skip", "requeue"])),
  );
}

export function startDead() {
  $("#dead-queue").addEventListener("change", () => {
    $("#dead-bulk").hidden = true; // it is about the letters that are still shown
    from = 0;
    loadDead();
  });
  $("#dead-newer").addEventListener("click", () => { from = Math.max(0, from - PAGE); loadDead(); });
  $("#dead-older").addEventListener("click", () => { from += PAGE; loadDead(); });
}
