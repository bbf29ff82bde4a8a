// The page: what the gateway sees, drawn anew whenever it says so. What jobs say is only ever text.
"use strict";

const WINDOW = 300; // seconds that a chart shows at most
const LEAST_WINDOW = 60;
const PAGE = 50; // dead letters at once
const SVG = "http://www.w3.org/2000/svg";
const $ = (selector, within = document) => within.querySelector(selector);

// Making elements ------------------------------------------------------------------------------

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(tag, attributes = {}) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Rows keep their elements while their key is there, so that focus stays where it is.
function keepRows(table, rows, keyOf, make, update) {
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

function showSection(id, part, nothing) {
  const section = $(`#${id}`);
  const failed = part.error !== undefined;
  const count = failed ? "" : part.count.toLocaleString("en");
  setText($(".count", section), part.count === 0 ? "" : count);
  const note = $(".nothing", section);
  const more = failed || part.count === part.rows.length ? "" : `and ${part.count - part.rows.length} more`;
  setText(note, failed ? part.error : part.count === 0 ? nothing : more);
  note.classList.toggle("bad", failed);
  return failed ? [] : part.rows;
}

// Words ----------------------------------------------------------------------------------------

function duration(seconds) {
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
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

function ago(instant) {
  const seconds = (Date.now() - Date.parse(instant)) / 1000;
  return seconds < -1 ? `in ${duration(-seconds)}` : duration(Math.max(0, seconds));
}

function rate(value) {
  if (value === null) return "–";
  return `${value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1)}/s`;
}

const number = (value) => value.toLocaleString("en");
const clock = (instant) => new Date(instant).toLocaleString("sv-SE");

function say(text, isBad = false) {
  const said = $("#said");
  said.className = isBad ? "bad" : "";
  said.textContent = text;
}

// Asking the gateway ---------------------------------------------------------------------------

const token = () => sessionStorage.getItem("token");

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const answer = await fetch(path, { ...options, headers });
  if (answer.status === 401) {
    signIn();
    throw new Error("a token is needed");
  }
  return answer;
}

async function askJson(path, options) {
  const answer = await ask(path, options);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.hint ? `${body.error}. ${body.hint}` : body.error);
  return body;
}

function signIn() {
  const form = $("#login");
  if (form.hidden) {
    setText($("#login-error"), token() ? "That token is not known here." : "");
    form.hidden = false;
    $("#token").focus();
  }
}

// Live: server-sent events, read with fetch since EventSource cannot send a token ----------------

let retryIn = 1000;

async function live() {
  for (;;) {
    try {
      const answer = await ask("/ui/live");
      if (!answer.ok) throw new Error((await answer.json()).error);
      await read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
      connection("lost", "the gateway has ended");
    } catch (error) {
      connection("lost", `not connected: ${error.message}`);
      if (!$("#login").hidden) return;
    }
    await new Promise((resolve) => setTimeout(resolve, retryIn));
    retryIn = Math.min(retryIn * 2, 15000);
  }
}

async function read(reader) {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) {
        retryIn = 1000;
        show(JSON.parse(data.slice(6)));
      }
    }
  }
}

function connection(state, text) {
  const where = $("#connection");
  where.className = state;
  setText(where, text);
}

// Queues ---------------------------------------------------------------------------------------

const ages = new Map(); // queue → [[second, age]]
const counts = new Map(); // queue → [[second, enqueued, completed]]

function note(series, queue, point) {
  const points = series.get(queue) ?? [];
  if (points.length === 0 || points.at(-1)[0] < point[0]) points.push(point);
  while (points.length > 1 && points[1][0] < point[0] - WINDOW) points.shift();
  series.set(queue, points);
}

function noteAll(picture) {
  const now = Date.now() / 1000;
  for (const queue of picture.queues.rows ?? []) note(ages, queue.queue, [now, queue.oldest_ready_age ?? 0]);
  for (const total of picture.totals.rows ?? []) {
    if (total.counted_at) {
      note(counts, total.queue, [Date.parse(total.counted_at) / 1000, total.enqueued, total.completed]);
    }
  }
}

// Jobs a second between two counts: [second, rate].
function rates(queue, column) {
  const points = counts.get(queue) ?? [];
  return points.slice(1).map((point, n) => {
    const before = points[n];
    return [point[0], Math.max(0, point[column] - before[column]) / (point[0] - before[0])];
  });
}

const opened = Date.now() / 1000;

function draw(chart, lines) {
  const end = Date.now() / 1000;
  const span = Math.min(WINDOW, Math.max(LEAST_WINDOW, end - opened));
  const most = Math.max(1e-9, ...lines.flatMap(([, points]) => points.map((point) => point[1])));
  for (const [name, points] of lines) {
    const path = points
      .filter(([at]) => at >= end - span)
      .map(([at, value]) => {
        const x = (100 * (at - end + span)) / span;
        return `${x.toFixed(2)},${(27 - (25 * value) / most).toFixed(2)}`;
      });
    $(`path.${name}`, chart).setAttribute("d", path.length > 1 ? `M${path.join("L")}` : "");
  }
}

function makeChart(...names) {
  const chart = svg("svg", { class: "chart", viewBox: "0 0 100 28", preserveAspectRatio: "none", role: "img" });
  chart.append(svg("line", { x1: 0, x2: 100, y1: 27.5, y2: 27.5 }));
  for (const name of names) chart.append(svg("path", { class: name }));
  return chart;
}

const DOING = ["pending", "scheduled", "waiting", "processing", "retrying", "dlq"];

function makeQueue(queue) {
  const figure = () => el("span", { class: "figure" });
  return el(
    "tr", {},
    el("th", { scope: "row" }, queue.queue, el("span", { class: "sub" })),
    ...DOING.map(() => el("td", { class: "number" })),
    el("td", {}, el("div", {}, makeChart("in", "out"), figure())),
    el("td", {}, el("div", {}, makeChart("age"), figure())),
  );
}

function updateQueue(row, queue) {
  const parts = [queue.policy, queue.is_paused ? "paused" : null, queue.blocked_keys ? `${number(queue.blocked_keys)} blocked` : null];
  setText($(".sub", row), parts.filter(Boolean).join(" · "));
  DOING.forEach((name, n) => {
    const amount = name === "retrying" ? queue.retrying + queue.recovered : queue[name];
    const cell = row.cells[n + 1];
    setText(cell, number(amount));
    cell.className = `number${amount === 0 ? " zero" : name === "dlq" ? " bad" : ""}`;
  });
  const [rateCell, ageCell] = [row.cells[7], row.cells[8]];
  const into = rates(queue.queue, 1);
  const out = rates(queue.queue, 2);
  draw($("svg", rateCell), [["in", into], ["out", out]]);
  const [nowIn, nowOut] = [into.at(-1)?.[1] ?? null, out.at(-1)?.[1] ?? null];
  $("svg", rateCell).setAttribute("aria-label", `${rate(nowIn)} enqueued, ${rate(nowOut)} completed`);
  figures($(".figure", rateCell), [["in", rate(nowIn)], ["out", rate(nowOut)]]);
  draw($("svg", ageCell), [["age", ages.get(queue.queue) ?? []]]);
  const age = queue.oldest_ready_age === null ? "–" : duration(queue.oldest_ready_age);
  $("svg", ageCell).setAttribute("aria-label", `the next job is ${age} old`);
  figures($(".figure", ageCell), [["age", age]]);
}

function figures(where, parts) {
  while (where.children.length < parts.length) where.append(el("b"), " ");
  parts.forEach(([name, text], n) => {
    where.children[n].className = name;
    setText(where.children[n], text);
  });
}

// Blocked keys ---------------------------------------------------------------------------------

function makeBlocked(blocked) {
  const about = `job ${blocked.job_id} of key ${blocked.singleton_key}`;
  return el(
    "tr", {},
    el("th", { scope: "row" }, blocked.singleton_key, el("span", { class: "sub" }, blocked.queue)),
    el("td", { class: "since" }),
    el("td", {}, el("div", {}, el("span", { class: "error" }), el("span", { class: "sub" }))),
    el("td", { class: "number" }),
    el("td", { class: "number" }, jobLink(blocked.job_id)),
    el(
      "td", { class: "actions" },
      el("button", { type: "button", "aria-label": `Retry ${about}`, onclick: () => repair("retry", blocked) }, "Retry"),
      el("button", { type: "button", "aria-label": `Skip ${about}`, onclick: () => repair("skip", blocked) }, "Skip"),
    ),
  );
}

function updateBlocked(row, blocked) {
  setText(row.cells[1], ago(blocked.blocked_since));
  setText($(".error", row), blocked.last_error ?? "no error message");
  const isFailed = blocked.state === "failed";
  const next = blocked.next_run_at ? `, runs again ${ago(blocked.next_run_at)}` : "";
  const times = blocked.attempts === 1 ? "once" : `${blocked.attempts} times`;
  setText($("td .sub", row), isFailed ? `failed for good, tried ${times}` : `tried ${times}${next}`);
  setText(row.cells[3], number(blocked.waiting_count));
  for (const button of row.querySelectorAll(".actions button")) button.disabled = !isFailed;
}

const jobLink = (id) => el("button", { type: "button", class: "link", "aria-label": `Show job ${id}`, onclick: () => openJob(id) }, String(id));

const QUESTIONS = {
  retry: ["Retry this job?", "Retry", (job) => `Job ${job.job_id} of queue ${job.queue} runs once more, in its old place.`],
  skip: ["Skip this job?", "Skip", (job) => `Job ${job.job_id} of queue ${job.queue} is given up and never runs again. The next job of its key goes on.`],
  requeue: ["Enqueue this job anew?", "Requeue", (job) => `Job ${job.job_id} of queue ${job.queue} is enqueued anew, at the end of its line and of its key, with a new id: jobs that came later run before it. Retry keeps its place.`],
};

async function repair(action, job) {
  const [title, word, text] = QUESTIONS[action];
  const reason = await confirmed(title, word, text(job), action === "skip");
  if (reason === null) return;
  try {
    const done = await askJson(`/ui/queues/${encodeURIComponent(job.queue)}/jobs/${job.job_id}/${action}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(reason ? { reason } : {}),
    });
    const what = { retry: "will run once more", skip: "was skipped", requeue: `is enqueued anew as job ${done.id}` };
    say(`Job ${job.job_id} ${what[action]}.`);
  } catch (error) {
    say(error.message, true);
  }
  loadDead();
}

let answer = () => {}; // takes what the open question is answered with

function confirmed(title, word, text, asksReason) {
  const dialog = $("#ask");
  answer(null);
  setText($("#ask-title"), title);
  setText($("#ask-text"), text);
  setText($("#ask-yes"), word);
  $("#ask-reason").hidden = !asksReason;
  $("#reason").value = "";
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => { answer = resolve; });
}

// The event comes later than the closing: the next question may be open by then.
function closed() {
  const dialog = $("#ask");
  if (!dialog.open) answer(dialog.returnValue === "yes" ? $("#reason").value : null);
}

// Dead letters ---------------------------------------------------------------------------------

let deadFrom = 0;
let deadSeen = "";

async function loadDead() {
  const queue = $("#dead-queue").value;
  const wanted = new URLSearchParams({ queue, limit: PAGE + 1, offset: deadFrom });
  let part;
  try {
    const rows = await askJson(`/ui/dead?${wanted}`);
    $("#dead-older").disabled = rows.length <= PAGE;
    part = { rows: rows.slice(0, PAGE), count: Math.min(rows.length, PAGE) };
  } catch (error) {
    part = { error: error.message };
  }
  $("#dead-newer").disabled = deadFrom === 0;
  dead = showSection("dead", part, "No job has failed for good.");
  showDead();
}

let dead = [];
let deadTotal = 0;

function showDead() {
  setText($("#dead .count"), deadTotal ? number(deadTotal) : "");
  keepRows($("#dead table"), dead, (job) => job.id, makeDead, (row, job) => setText(row.cells[2], ago(job.failed_at)));
}

function makeDead(job) {
  const wanted = { queue: job.queue, job_id: job.id };
  return el(
    "tr", {},
    el("th", { scope: "row", class: "number" }, jobLink(job.id)),
    el("td", {}, el("div", {}, job.queue, el("span", { class: "sub" }, job.singleton_key === null ? "" : `key ${job.singleton_key}`))),
    el("td", { class: "since" }),
    el("td", { class: "number" }, number(job.attempts)),
    el(
      "td", {},
      el("div", {}, el("span", { class: "error" }, job.error_message ?? "no error message"),
        el("details", {}, el("summary", {}, "Payload"), el("pre", {}, job.payload))),
    ),
    el(
      "td", { class: "actions" },
      ...[["retry", "Retry"], ["skip", "Skip"], ["requeue", "Requeue"]].map(([action, word]) => el(
        "button", { type: "button", "aria-label": `${word} job ${job.id}`, onclick: () => repair(action, wanted) }, word,
      )),
    ),
  );
}

// The list is read again when the numbers of dead letters have changed.
function watchDead(queues) {
  deadTotal = queues.reduce((sum, queue) => sum + queue.dlq, 0);
  const select = $("#dead-queue");
  const names = queues.map((queue) => queue.queue);
  const have = [...select.options].slice(1).map((option) => option.value);
  if (names.join("\n") !== have.join("\n")) {
    const chosen = select.value;
    select.replaceChildren(select.options[0], ...names.map((name) => el("option", { value: name }, name)));
    select.value = names.includes(chosen) ? chosen : "";
    $("#queue-names").replaceChildren(...names.map((name) => el("option", { value: name })));
  }
  showDead();
  const seen = queues.map((queue) => `${queue.queue} ${queue.dlq}`).join("\n");
  if (seen !== deadSeen) {
    deadSeen = seen;
    loadDead();
  }
}

// Jobs that fit a filter, which stands in the address ------------------------------------------

let nextAfter = null;

// What the form says, or what the address does when the page is opened.
function searched() {
  const given = new URLSearchParams(new FormData($("#search")));
  return new URLSearchParams([...given].filter(([, value]) => value !== ""));
}

async function search(after) {
  const wanted = searched();
  if (after !== null) wanted.set("after", after);
  history.replaceState(null, "", wanted.size ? `?${wanted}#jobs` : location.pathname);
  const note = $("#jobs .nothing");
  note.classList.remove("bad");
  try {
    const found = await askJson(`/ui/jobs?${wanted}`);
    nextAfter = found.next_after;
    keepRows($("#jobs table"), found.jobs, (job) => job.id, makeFound, updateFound);
    const some = found.jobs.length === 0 ? "None" : number(found.jobs.length);
    setText(note, nextAfter === null ? `${some} here, and no more.` : `${some} so far; go on to look at earlier ones.`);
  } catch (error) {
    nextAfter = null;
    keepRows($("#jobs table"), [], (job) => job.id, makeFound, updateFound);
    note.classList.add("bad");
    setText(note, error.message);
  }
  $("#search-more").disabled = nextAfter === null;
}

function makeFound(job) {
  return el(
    "tr", {},
    el("th", { scope: "row", class: "number" }, jobLink(job.id)),
    el("td", {}, el("div", {}, job.queue, el("span", { class: "sub" }, job.singleton_key === null ? "" : `key ${job.singleton_key}`))),
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

function searchFromAddress() {
  const given = new URLSearchParams(location.search);
  let isSome = false;
  for (const field of $("#search").elements) {
    if (field.name && given.get(field.name)) {
      field.value = given.get(field.name);
      isSome = true;
    }
  }
  if (isSome) search(given.get("after"));
}

// One job --------------------------------------------------------------------------------------

async function openJob(id) {
  $("#job-id").value = id;
  const where = $("#job-detail");
  try {
    const { job, why, failed_at, attempts } = await askJson(`/ui/jobs/${encodeURIComponent(id)}`);
    where.replaceChildren(...jobDetail(job, why, failed_at, attempts));
    setText($("#job-title"), `Job ${job.id}`);
  } catch (error) {
    where.replaceChildren(el("p", { class: "bad" }, error.message));
  }
  const section = $("#job");
  section.scrollIntoView();
  section.focus({ preventScroll: true });
}

function jobDetail(job, why, failedAt, attempts) {
  const facts = [
    ["Queue", job.queue],
    ["State", job.resolution ? `${job.state}, ${job.resolution}` : job.state],
    ["Key", job.singleton_key === null ? null : `${job.singleton_key}${job.holds_key ? " (holds it)" : ""}`],
    ["Type", job.job_type || null],
    ["Tags", job.tags.join(", ") || null],
    ["Priority", String(job.priority)],
    ["Attempts", job.max_attempts === null ? String(job.attempt) : `${job.attempt} of ${job.max_attempts}`],
    ["Progress", job.progress === null ? null : `${job.progress} %${job.current_stage ? `, ${job.current_stage}` : ""}`],
    ["Own id", job.dedup_id],
  ];
  const list = el("dl");
  for (const [name, value] of facts) {
    if (value !== null) list.append(el("dt", {}, name), el("dd", {}, value));
  }
  const parts = [why === null ? null : el("p", { class: "why" }, why), list];
  parts.push(el("h3", {}, "History"), el("ol", { class: "history" }, ...happenings(job, failedAt)));
  if (attempts.length > 0) parts.push(el("h3", {}, "Attempts"), attemptList(job, attempts));
  parts.push(el("h3", {}, "Payload"), el("pre", {}, job.payload));
  if (job.result !== null) parts.push(el("h3", {}, "Result"), el("pre", {}, job.result));
  return parts.filter(Boolean);
}

function attemptList(job, attempts) {
  const list = el("ol", { class: "attempts", reversed: true });
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
        : el("details", {}, el("summary", {}, "Where it failed"), el("pre", {}, attempt.error_stack)),
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
    [job.run_at, Date.parse(job.run_at) > Date.now() ? "will run" : "was due"],
    [job.state === "active" || job.state === "cancelling" ? job.lease_until : null, "its lease ends"],
    [job.finished_at, `ended: ${job.resolution ? `${job.state}, ${job.resolution}` : job.state}`],
  ];
  return happened
    .filter(([at]) => at !== null)
    .sort((one, other) => Date.parse(one[0]) - Date.parse(other[0]))
    .map(([at, what]) => el("li", {}, el("time", { datetime: at }, clock(at)), what));
}

// Workers and health ---------------------------------------------------------------------------

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

function showHealth(part) {
  const list = $("#health");
  const wrong = (part.rows ?? []).filter((check) => check.status !== "ok");
  const said = wrong.map((check) => `${check.check_name} ${check.detail}`).join("\n");
  if (list.dataset.said === said) return;
  list.dataset.said = said;
  list.replaceChildren(
    ...wrong.map((check) => el("li", { class: check.status === "bad" ? "is-bad" : "" }, el("b", {}, check.check_name), check.detail)),
  );
}

// All of it ------------------------------------------------------------------------------------

function show(picture) {
  connection("live", `live, ${new Date().toLocaleTimeString("sv-SE")}`);
  noteAll(picture);
  const queues = showSection("queues", picture.queues, "There is no queue yet.");
  keepRows($("#queues table"), queues, (queue) => queue.queue, makeQueue, updateQueue);
  const blocked = showSection("blocked", picture.blocked, "No key is blocked.");
  keepRows($("#blocked table"), blocked, (key) => `${key.queue}\n${key.job_id}`, makeBlocked, updateBlocked);
  const workers = showSection("workers", picture.workers, "No worker was seen within the last day.");
  keepRows($("#workers table"), workers, (worker) => worker.worker_id, makeWorker, updateWorker);
  showHealth(picture.health);
  watchDead(queues);
}

$("#login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("#token").value);
  $("#token").value = "";
  $("#login").hidden = true;
  live();
  searchFromAddress();
});
$("#find").addEventListener("submit", (event) => {
  event.preventDefault();
  openJob($("#job-id").value);
});
$("#search").addEventListener("submit", (event) => {
  event.preventDefault();
  search(null);
});
$("#search-more").addEventListener("click", () => search(nextAfter));
$("#ask").addEventListener("close", closed);
$("#dead-queue").addEventListener("change", () => { deadFrom = 0; loadDead(); });
$("#dead-newer").addEventListener("click", () => { deadFrom = Math.max(0, deadFrom - PAGE); loadDead(); });
$("#dead-older").addEventListener("click", () => { deadFrom += PAGE; loadDead(); });
live();
searchFromAddress();
