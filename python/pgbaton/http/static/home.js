// Home: what is wrong, then queues that do something; those that do nothing are folded.
import { $, button, counted, duration, el, keepRows, many, manyCounted, note, now, number, rate, setCount, setText, svg } from "./dom.js";
import { isNarrowed, may } from "./gateway.js";
import { pauseButton } from "./acts.js";
import { limitsButton, limitWords } from "./limits.js";

const WINDOW = 3600; // seconds that a chart shows at most
const STEP = 10; // seconds between two of its points
const LATE = 60; // seconds that a point may come late; what is further ahead is of a clock that was set back since
const LEAST_WINDOW = 60;
const SHOWN = 8; // of what is wrong before it is folded
const DOING = ["pending", "scheduled", "waiting", "processing", "retrying", "dlq"];

const ages = new Map(); // queue → [[second, age]]
const counts = new Map(); // queue → [[second, enqueued, completed]]
let earliest = Infinity;
let latest = []; // the queues as they were last seen
let limits = null; // queue → its limits, of those that have some; null: they cannot be seen

// The latest point, and before it one every few seconds.
function remember(series, queue, point) {
  const points = series.get(queue) ?? [];
  while (points.length > 0 && points.at(-1)[0] > point[0] + LATE) points.pop();
  if (points.length > 0 && points.at(-1)[0] >= point[0]) return;
  if (points.length > 1 && point[0] - points.at(-2)[0] < STEP) points.pop();
  points.push(point);
  while (points.length > 1 && points[1][0] < point[0] - WINDOW) points.shift();
  series.set(queue, points);
}

// What the gateway saw before this page was opened.
export function showPast(past) {
  for (const [series, seen] of [[ages, past.ages], [counts, past.counts]]) {
    for (const [queue, points] of Object.entries(seen)) {
      for (const point of points) remember(series, queue, point);
      earliest = Math.min(earliest, points[0][0]);
    }
  }
}

function rememberAll(picture) {
  const at = now() / 1000;
  earliest = Math.min(earliest, at);
  for (const queue of picture.queues.rows ?? []) remember(ages, queue.queue, [at, queue.oldest_ready_age ?? 0]);
  for (const total of picture.totals.rows ?? []) {
    if (total.counted_at) {
      remember(counts, total.queue, [Date.parse(total.counted_at) / 1000, total.enqueued, total.completed]);
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

// Charts ---------------------------------------------------------------------------------------

function draw(chart, lines) {
  const end = now() / 1000;
  const span = Math.min(WINDOW, Math.max(LEAST_WINDOW, end - earliest));
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

function figures(where, parts) {
  while (where.children.length < parts.length) where.append(el("b"), " ");
  parts.forEach(([name, text], n) => {
    where.children[n].className = name;
    setText(where.children[n], text);
  });
}

// Queues ---------------------------------------------------------------------------------------

function makeQueue(queue) {
  const figure = () => el("span", { class: "figure" });
  const address = `?${new URLSearchParams({ queue: queue.queue })}#jobs`;
  return el(
    "tr", {},
    el("th", { scope: "row" }, el("a", { href: address, class: "search" }, queue.queue), el("span", { class: "sub" })),
    ...DOING.map(() => el("td", { class: "number" })),
    el("td", {}, el("div", {}, makeChart("in", "out"), figure())),
    el("td", {}, el("div", {}, makeChart("age"), figure())),
    el("td", { class: "actions" }),
  );
}

function updateQueue(row, queue) {
  const parts = [
    queue.policy, queue.is_paused ? "paused" : null, queue.blocked_keys ? `${counted(queue.blocked_keys)} blocked` : null,
    ...limitWords(limits?.get(queue.queue)),
  ];
  setText($(".sub", row), parts.filter(Boolean).join(" · "));
  DOING.forEach((name, n) => {
    const amount = name === "retrying" ? queue.retrying + queue.recovered : queue[name];
    const cell = row.cells[n + 1];
    setText(cell, counted(amount));
    cell.className = `number${amount === 0 ? " zero" : name === "dlq" ? " bad" : ""}`;
  });
  const [rateCell, ageCell, actions] = [row.cells[7], row.cells[8], row.cells[9]];
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
  offerActions(actions, queue);
}

// Buttons stay the same elements until others are offered.
function offerActions(where, queue) {
  const pauses = may(queue.is_paused ? "resume_queue" : "pause_queue", queue.queue);
  const limitsIt = limits !== null && may("set_queue_limits", queue.queue);
  const offered = JSON.stringify([pauses, queue.is_paused, limitsIt, queue.policy]);
  if (where.dataset.offered === offered) return;
  where.dataset.offered = offered;
  where.replaceChildren(...[
    pauses ? pauseButton(queue.queue, queue.is_paused) : null,
    limitsIt ? limitsButton(queue, () => limits?.get(queue.queue)) : null,
  ].filter(Boolean));
}

function isIdle(queue) {
  const isStill = [1, 2].every((column) => rates(queue.queue, column).every(([, value]) => value === 0));
  return isStill && !queue.is_paused && queue.recovered === 0 && DOING.every((name) => queue[name] === 0);
}

let showsIdle = false;

function fold(queues) {
  const wanted = $("#queue-filter").value.trim().toLowerCase();
  const rows = $("#queues tbody").made ?? new Map();
  let idle = 0;
  for (const queue of queues) {
    const fits = queue.queue.toLowerCase().includes(wanted);
    const folds = isIdle(queue) && !showsIdle && wanted === "";
    idle += isIdle(queue);
    rows.get(queue.queue).hidden = !fits || folds;
  }
  const more = $("#idle");
  more.hidden = idle === 0 || wanted !== "";
  more.setAttribute("aria-expanded", String(showsIdle));
  setText(more, `${showsIdle ? "Hide" : "Show"} ${many(idle, "idle queue")}`);
  $("#queues table").classList.toggle("empty", ![...rows.values()].some((row) => !row.hidden));
}

// What is wrong --------------------------------------------------------------------------------

function troubles(picture) {
  const checks = (picture.health.rows ?? []).filter((check) => check.status !== "ok" && check.check_name !== "failed jobs");
  if (picture.health.error) checks.push({ status: "warn", check_name: "health", detail: `It cannot be asked: ${picture.health.error}` });
  const said = (check) => ({ isBad: check.status === "bad", weight: check.status === "bad" ? Infinity : 0, what: check.check_name, text: check.detail, links: [] });
  return [...checks.map(said), ...latest.map(troubleOf).filter(Boolean)].sort((one, other) => other.weight - one.weight);
}

function troubleOf(queue) {
  const name = encodeURIComponent(queue.queue);
  const parts = [];
  const links = [];
  if (queue.blocked_keys > 0) {
    parts.push(`${manyCounted(queue.blocked_keys, "key")} blocked, the longest for ${duration(queue.longest_block ?? 0)}`);
    if (may("find_blocked_keys", queue.queue)) links.push(["Blocked keys", `#blocked/${name}`]);
  }
  if (queue.dlq > 0) {
    parts.push(manyCounted(queue.dlq, "dead letter"));
    if (may("list_dead_jobs", queue.queue)) links.push(["Dead letters", `#dead/${name}`]);
  }
  const line = queue.pending + queue.scheduled + queue.waiting + queue.retrying + queue.recovered;
  if (queue.is_paused && line > 0) parts.push(`paused, and ${manyCounted(line, "job")} in line`);
  if (parts.length === 0) return null;
  return {
    isBad: queue.blocked_keys > 0, weight: queue.blocked_keys * 1e6 + queue.dlq + 1,
    what: queue.queue, text: parts.join(" · "), links,
  };
}

let showsAll = false;

function showTroubles(picture) {
  const found = troubles(picture);
  const shown = showsAll ? found : found.slice(0, SHOWN);
  const list = $("#health");
  const key = JSON.stringify([shown, found.length]);
  setText($("#fine"), found.length === 0 && !picture.queues.error ? "Nothing is wrong." : "");
  if (list.dataset.said === key) return;
  list.dataset.said = key;
  list.replaceChildren(...shown.map((trouble) => el(
    "li", { class: trouble.isBad ? "is-bad" : "" }, el("b", {}, trouble.what), trouble.text,
    ...trouble.links.map(([word, href]) => el("a", { href, "aria-label": `${word} of ${trouble.what}` }, word)),
  )));
  if (found.length > SHOWN) {
    const word = showsAll ? "Show fewer" : `${number(found.length - SHOWN)} more`;
    list.append(el("li", { class: "more" }, button(word, () => { showsAll = !showsAll; showTroubles(picture); })));
  }
}

export function showHome(picture) {
  rememberAll(picture);
  const section = $("#queues");
  latest = picture.queues.rows ?? [];
  limits = picture.limits.rows ? new Map(picture.limits.rows.map((limit) => [limit.queue, limit])) : null;
  setCount(section, latest.length);
  const failed = picture.queues.error;
  const none = isNarrowed() ? "There is no queue that you may look at." : "There is no queue yet.";
  note(section, failed ?? (latest.length === 0 ? none : ""), failed !== undefined);
  keepRows($("table", section), latest, (queue) => queue.queue, makeQueue, updateQueue);
  fold(latest);
  showTroubles(picture);
}

export function startHome() {
  $("#idle").addEventListener("click", () => { showsIdle = !showsIdle; fold(latest); });
  $("#queue-filter").addEventListener("input", () => fold(latest));
}
