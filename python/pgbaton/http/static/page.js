// The page: one view at a time, named by the address, drawn anew whenever the gateway sees something.
import { $, el, setNow, setText } from "./dom.js";
import { live, loadRights, may } from "./gateway.js";
import { startAsking } from "./asking.js";
import { showHome, showPast, startHome } from "./home.js";
import { loadBlocked, showBlocked, startKeys } from "./keys.js";
import { countDead, loadDead, showDead, startDead } from "./dead.js";
import { forgetSearch, searchAgain, searchOnce, startJobs } from "./jobs.js";
import { openAgain, openJob, startJob } from "./job.js";
import { loadAudit, loadSchedules, showWorkers, startLists } from "./lists.js";
import { showLatency } from "./latency.js";

// A view: its sections, the call that it needs, the queue that it may be about, and how it is filled.
const VIEWS = {
  home: { sections: ["wrong", "queues"], call: null },
  blocked: { sections: ["blocked", "blocked-jobs", "paused"], call: "find_blocked_keys", filter: "#blocked-queue", load: loadBlocked },
  dead: { sections: ["dead"], call: "list_dead_jobs", filter: "#dead-queue", load: loadDead },
  jobs: { sections: ["jobs"], call: "find_jobs", load: searchOnce },
  job: { sections: ["job"], call: "find_jobs", open: openJob, load: openAgain },
  schedules: { sections: ["schedules"], call: "list_schedules", load: loadSchedules },
  workers: { sections: ["workers"], call: "list_workers" },
  latency: { sections: ["latency"], call: "live_stats" },
  audit: { sections: ["audit"], call: "list_audit", filter: "#audit-queue", load: loadAudit },
};
let view = "home";

// An address may be written by hand.
function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readAddress() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  return [name in VIEWS ? name : "home", rest.length > 0 ? plain(rest.join("/")) : null];
}

function go() {
  const [name, about] = readAddress();
  view = name;
  for (const [other, { sections }] of Object.entries(VIEWS)) {
    for (const section of sections) $(`#${section}`).hidden = other !== name;
  }
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name !== "job" && document.activeElement !== $("#job-id")) $("#job-id").value = "";
  const { filter, open, load } = VIEWS[name];
  if (filter && about !== null) choose($(filter), about);
  if (open && about !== null) open(about);
  else load?.();
}

function choose(select, queue) {
  if (![...select.options].some((option) => option.value === queue)) select.append(el("option", { value: queue }, queue));
  select.value = queue;
}

// By the keyboard or the mouse: who follows a link goes on from what it shows.
function follow() {
  go();
  const first = $(`#${VIEWS[view].sections.at(-1) === "queues" ? "queues" : VIEWS[view].sections[0]}`);
  if (document.activeElement !== $("#job-id")) first.focus({ preventScroll: true }); // its next digit may come
  window.scrollTo({ top: 0, behavior: "instant" });
}

// What the caller may not see has no link.
function offer() {
  for (const link of document.querySelectorAll("nav a")) {
    const { call } = VIEWS[link.getAttribute("href").slice(1)];
    link.hidden = call !== null && !may(call);
  }
  $("#find").hidden = !may(VIEWS.job.call);
}

// All of it ------------------------------------------------------------------------------------

let names = "";
let seen = "";

function show(picture) {
  const queues = picture.queues.rows ?? [];
  setNow(picture.at);
  nameQueues(queues);
  showHome(picture);
  showWorkers(picture.workers);
  showLatency(picture.totals);
  countDead(queues.reduce((sum, queue) => sum + queue.dlq, 0));
  showBlocked();
  showDead();
  // Lists are read again when the numbers of what they show have changed.
  const now = queues.map((queue) => `${queue.queue} ${queue.dlq} ${queue.blocked_keys}`).join("\n");
  if (now !== seen) {
    seen = now;
    if (view === "blocked" || view === "dead") reload();
  }
}

let reloading = null; // numbers may change faster than a list is read
let isStale = false;

async function reload() {
  isStale = true;
  if (reloading) return;
  while (isStale) {
    isStale = false;
    reloading = VIEWS[view].load?.();
    await reloading;
  }
  reloading = null;
}

function nameQueues(queues) {
  const found = queues.map((queue) => queue.queue);
  if (found.join("\n") === names) return;
  names = found.join("\n");
  for (const select of document.querySelectorAll("select.queue")) {
    const chosen = select.value;
    select.replaceChildren(select.options[0], ...found.map((name) => el("option", { value: name }, name)));
    if (chosen !== "") choose(select, chosen);
  }
  $("#queue-names").replaceChildren(...found.map((name) => el("option", { value: name })));
  loadRights().catch(() => {}); // a queue that is new may be ours
}

async function start() {
  try {
    await loadRights();
  } catch (error) {
    if (!$("#login").hidden) return;
    setText($("#connection"), error.message);
  }
  go();
  live({ past: showPast, picture: show });
}

$("#login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("#token").value);
  $("#token").value = "";
  $("#login").hidden = true;
  start();
});
document.addEventListener("rights", offer);
document.addEventListener("acted", () => (view === "jobs" ? searchAgain() : VIEWS[view].load?.()));
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.search");
  if (!link) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  forgetSearch();
  follow();
});
window.addEventListener("hashchange", follow);
startAsking();
startHome();
startKeys();
startDead();
startJobs();
startJob();
startLists();
start();
