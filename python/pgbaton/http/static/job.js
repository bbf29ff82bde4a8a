// One job: what it is, why it does not run, how its time went, its attempts, its payload.
import { $, clock, duration, el, jobLink, now, number, scrolling, setNow, setText, svg, turns } from "./dom.js";
import { askJson, may } from "./gateway.js";
import { jobButtons, pauseKeyButton } from "./acts.js";
import { jsonView } from "./json.js";
import { entryList } from "./lists.js";

const KEYED = ["fifo", "singleton", "stately"];
const LATER = ["pending", "waiting", "retry", "unknown_retry"];
const PAUSE = 400; // milliseconds without a further digit: the id is whole
const turn = turns();
let shownId = null;
// The gateway sends no more of either kind (MOST_DEPENDENCIES).
const MOST_OTHERS = 100;

export async function openJob(id) {
  const where = $("#job-detail");
  const isLast = turn();
  if (shownId !== id) where.replaceChildren(); // no button is that of another job
  if (document.activeElement !== $("#job-id")) $("#job-id").value = id; // somebody may go on typing
  shownId = id;
  setText($("#job-title"), `Job ${id}`);
  try {
    const found = await askJson(`/ui/jobs/${encodeURIComponent(id)}`);
    const [isPaused, audit] = await Promise.all([keyIsPaused(found.job), auditOf(id, found.job)]);
    if (!isLast()) return;
    setNow(found.at); // a picture may be older: a job that was let run just now would still be later
    where.replaceChildren(...detail({ ...found, isPaused, audit }));
  } catch (error) {
    if (isLast()) where.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

export function openAgain() {
  if (shownId !== null) openJob(shownId);
}

async function keyIsPaused(job) {
  if (job.singleton_key === null || !may("list_paused_keys", job.queue)) return false;
  const keys = await askJson(`/ui/paused?${new URLSearchParams({ queue: job.queue })}`);
  return keys.some((key) => key.singleton_key === job.singleton_key);
}

async function auditOf(id, job) {
  if (!may("list_audit", job.queue)) return [];
  return (await askJson(`/ui/audit?${new URLSearchParams({ job: id })}`)).rows;
}

function detail({ job, why, policy, failed_at: failedAt, attempts, dependencies, isPaused, audit }) {
  const headers = Object.entries(job.headers ?? {}).map(([name, value]) => `${name}: ${value}`).join(", ");
  const facts = [
    ["Queue", job.queue],
    ["State", job.resolution ? `${job.state}, ${job.resolution}` : job.state],
    ["Key", job.singleton_key === null ? null : `${job.singleton_key}${job.holds_key ? " (holds it)" : ""}${isPaused ? " (paused)" : ""}`],
    ["Type", job.job_type || null],
    ["Tags", job.tags.join(", ") || null],
    ["Priority", String(job.priority)],
    ["Attempts", job.max_attempts === null ? String(job.attempt) : `${job.attempt} of ${job.max_attempts}`],
    ["Progress", job.progress === null ? null : `${job.progress} %${job.current_stage ? `, ${job.current_stage}` : ""}`],
    ["Own id", job.dedup_id],
    ["Headers", headers || null],
  ];
  const list = el("dl");
  for (const [name, value] of facts) {
    if (value !== null) list.append(el("dt", {}, name), el("dd", {}, value));
  }
  const parts = [why === null ? null : el("p", { class: "why" }, why), actions(job, policy, dependencies, isPaused), list];
  parts.push(el("h3", {}, "Time"), ...timeBar(job, failedAt, attempts));
  parts.push(el("ol", { class: "history" }, ...happenings(job, failedAt)));
  parts.push(...others(dependencies, "It waits for", (one) => one.job_id === job.id, "waits_for"));
  parts.push(...others(dependencies, "Jobs that wait for it", (one) => one.job_id !== job.id, "job_id"));
  if (attempts.length > 0) parts.push(el("h3", {}, "Attempts"), attemptList(job, attempts));
  if (audit.length > 0) parts.push(el("h3", {}, "What was done to it"), entryList(audit));
  parts.push(el("h3", {}, "Payload"), ...jsonView(job.payload));
  if (job.result !== null) parts.push(el("h3", {}, "Result"), ...jsonView(job.result));
  return parts.filter(Boolean);
}

function actions(job, policy, dependencies, isPaused) {
  const isDead = job.state === "failed" && job.finished_at === null;
  const state = job.state === "failed" && !isDead ? "given_up" : job.state;
  const waits = dependencies.some((one) => one.job_id === job.id && one.on_failed !== null && !one.is_settled);
  const isLater = job.run_at !== null && Date.parse(job.run_at) > now() && LATER.includes(state);
  const buttons = jobButtons({ queue: job.queue, job_id: job.id, holds_key: job.holds_key, waits, is_later: isLater }, state);
  const call = isPaused ? "resume_key" : "pause_key";
  const isLive = job.finished_at === null && job.singleton_key !== null;
  if (isLive && KEYED.includes(policy) && may(call, job.queue)) {
    buttons.push(pauseKeyButton(job.queue, job.singleton_key, isPaused));
  }
  return buttons.length === 0 ? null : el("p", { class: "tools" }, ...buttons);
}

// Jobs that it waits for, or waited for, or that wait for it.
function others(dependencies, title, isMine, id) {
  const mine = dependencies.filter(isMine);
  if (mine.length === 0) return [];
  const words = (one) => [
    one.queue === null ? "of another queue, or gone" : `of ${one.queue}`,
    one.resolution ? `${one.state}, ${one.resolution}` : one.state,
    one.is_settled ? "settled" : null,
  ].filter(Boolean).join(", ");
  const more = mine.length >= MOST_OTHERS ? el("p", {}, `These are the first ${number(MOST_OTHERS)}; there may be more.`) : null;
  return [
    el("h3", {}, title),
    el("ul", { class: "others" }, ...mine.map((one) => el("li", {}, jobLink(one[id]), ` ${words(one)}`))),
    more,
  ];
}

// Time -----------------------------------------------------------------------------------------

// What the job did, as [kind, from, to] in milliseconds: it waited for its time, in line, ran, or was between attempts.
function stretches(job, failedAt, attempts) {
  const at = (instant) => Date.parse(instant);
  const end = job.finished_at ?? failedAt;
  const until = end === null ? now() : at(end);
  const runs = attempts.filter((attempt) => attempt.claimed_at !== null).reverse();
  const known = [];
  let from = at(job.created_at);
  const first = runs.length > 0 ? at(runs[0].claimed_at) : until;
  const due = job.run_at === null ? from : Math.min(at(job.run_at), first);
  if (job.attempt <= 1 && due > from) {
    known.push(["later", from, due]);
    from = due;
  }
  for (const run of runs) {
    const begun = at(run.claimed_at);
    const ended = run.ended_at === null ? until : at(run.ended_at);
    if (begun > from) known.push([known.some(([kind]) => kind !== "later") ? "between" : "line", from, begun]);
    known.push([run.outcome === "failed" || run.outcome === "lost" ? "failed" : "ran", begun, ended]);
    from = ended;
  }
  if (until > from) known.push([runs.length === 0 ? "line" : "between", from, until]);
  return known.filter(([, start, stop]) => stop > start);
}

const KINDS = { later: "waited for its time", line: "waited in line", ran: "ran", failed: "ran and failed", between: "between attempts" };

function timeBar(job, failedAt, attempts) {
  const found = stretches(job, failedAt, attempts);
  if (found.length === 0) return [];
  const [begin, end] = [found[0][1], found.at(-1)[2]];
  const sums = new Map();
  for (const [kind, from, to] of found) sums.set(kind, (sums.get(kind) ?? 0) + to - from);
  const words = [...sums].map(([kind, sum]) => `${KINDS[kind]} ${duration(sum / 1000)}`);
  const bar = svg("svg", {
    class: "bar", viewBox: "0 0 1000 10", preserveAspectRatio: "none", role: "img", "aria-label": words.join(", "),
  });
  for (const [kind, from, to] of found) {
    const [x, width] = [(1000 * (from - begin)) / (end - begin), (1000 * (to - from)) / (end - begin)];
    bar.append(svg("rect", { class: kind, x: x.toFixed(2), y: 0, width: Math.max(width, 2).toFixed(2), height: 10 }));
  }
  const legend = [...sums].map(([kind], n) => el("span", { class: `key ${kind}` }, words[n]));
  return [bar, el("p", { class: "legend" }, ...legend)];
}

function attemptList(job, attempts) {
  const list = el("ol", { class: "attempts", reversed: true });
  const latest = attempts.find((attempt) => attempt.error_stack !== null);
  for (const attempt of attempts) {
    const took = attempt.claimed_at !== null && attempt.ended_at !== null
      ? `after ${duration((Date.parse(attempt.ended_at) - Date.parse(attempt.claimed_at)) / 1000)}` : null;
    const at = attempt.ended_at ?? attempt.claimed_at;
    const by = attempt.worker_id === null ? null : `by ${attempt.worker_id}`;
    const words = [`${attempt.outcome}`, at === null ? null : clock(at), took, by].filter(Boolean).join(", ");
    list.append(el(
      "li", { value: attempt.attempt }, words,
      attempt.error_message === null ? null : el("p", { class: "error" }, attempt.error_message),
      attempt.error_stack === null ? null
        : el("details", { open: attempt === latest }, el("summary", {}, "Where it failed"), scrolling(attempt.error_stack, "Stack", { class: "stack" })),
    ));
  }
  const left = job.attempt - attempts.length;
  return left > 0 ? el("div", {}, list, el("p", {}, `and ${number(left)} earlier ones`)) : list;
}

function happenings(job, failedAt) {
  const by = job.worker_id === null ? "" : ` by ${job.worker_id}`;
  const error = job.error_message === null ? "" : `: ${job.error_message}`;
  const happened = [
    [job.created_at, "enqueued"],
    [job.last_retry_at === failedAt ? null : job.last_retry_at, `an attempt failed${error}`],
    [failedAt, `failed for good${error}`],
    [job.claimed_at, `claimed${by}, attempt ${job.attempt}`],
    [job.started_at, "started"],
    [job.run_at, Date.parse(job.run_at) > now() ? "will run" : "was due"],
    [job.state === "active" || job.state === "cancelling" ? job.lease_until : null, "its lease ends"],
    [job.finished_at, `ended: ${job.resolution ? `${job.state}, ${job.resolution}` : job.state}`],
  ];
  return happened
    .filter(([at]) => at !== null)
    .sort((one, other) => Date.parse(one[0]) - Date.parse(other[0]))
    .map(([at, what]) => el("li", {}, el("time", { datetime: at }, clock(at)), what));
}

// The id in the header: what is typed is shown after a pause, or at once.
export function startJob() {
  let timer = null;
  const show = () => {
    const wanted = `#job/${$("#job-id").value}`;
    if (location.hash === wanted) openJob($("#job-id").value);
    else if (location.hash.startsWith("#job/")) location.replace(wanted); // one step back leaves the job, not a digit
    else location.hash = wanted;
  };
  $("#job-id").addEventListener("input", () => {
    clearTimeout(timer);
    if ($("#find").checkValidity()) timer = setTimeout(show, PAUSE);
  });
  $("#find").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    $("#job-id").blur(); // to what is found
    show();
  });
}
