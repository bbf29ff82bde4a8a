// How long jobs waited and ran, as histograms: a bar for each class.
import { $, duration, el, keepRows, many, note, setText, svg } from "./dom.js";

const HEIGHT = 28;

export function showLatency(totals) {
  const section = $("#latency");
  const rows = (totals.rows ?? []).filter((total) => sum(total.run_jobs) > 0);
  note(section, totals.error ?? (rows.length === 0 ? "No job that ended is counted yet." : ""), totals.error !== undefined);
  keepRows($("table", section), rows, (total) => total.queue, makeRow, updateRow);
}

const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);

function makeRow(total) {
  const cell = () => el("td", {}, el("div", {}, svg("svg", { class: "chart wide", role: "img" }), el("span", { class: "figure" })));
  return el("tr", {}, el("th", { scope: "row" }, total.queue, el("span", { class: "sub" })), cell(), cell());
}

function updateRow(row, total) {
  setText($(".sub", row), many(sum(total.run_jobs), "job"));
  draw(row.cells[1], total.bounds, total.wait_jobs);
  draw(row.cells[2], total.bounds, total.run_jobs);
}

function draw(cell, bounds, jobs) {
  const words = `half within ${within(bounds, jobs, 0.5)}, 95 % within ${within(bounds, jobs, 0.95)}, 99 % within ${within(bounds, jobs, 0.99)}`;
  setText($(".figure", cell), words);
  const key = jobs.join(" ");
  const chart = $("svg", cell);
  if (chart.dataset.jobs === key) return;
  chart.dataset.jobs = key;
  const most = Math.max(1, ...jobs);
  chart.setAttribute("viewBox", `0 0 ${jobs.length * 10} ${HEIGHT}`);
  chart.setAttribute("preserveAspectRatio", "none");
  chart.setAttribute("aria-label", jobs.map((count, n) => count && `${many(count, "job")} ${named(bounds, n)}`).filter(Boolean).join(", "));
  chart.replaceChildren(...jobs.map((count, n) => {
    const height = count === 0 ? 0.5 : Math.max(1, (HEIGHT * count) / most);
    const bar = svg("rect", { x: n * 10 + 1, y: HEIGHT - height, width: 8, height });
    bar.append(Object.assign(svg("title"), { textContent: `${many(count, "job")} ${named(bounds, n)}` }));
    return bar;
  }));
}

const named = (bounds, n) => (n < bounds.length ? `up to ${duration(bounds[n])}` : `above ${duration(bounds.at(-1))}`);

// The upper bound of the class in which that part of the jobs is reached.
function within(bounds, jobs, part) {
  let left = part * sum(jobs);
  const place = jobs.findIndex((count) => (left -= count) <= 0);
  return place < bounds.length ? duration(bounds[place]) : `more than ${duration(bounds.at(-1))}`;
}
