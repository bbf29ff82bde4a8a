// The limits of a queue: in words, and a form that sets all of them.
import { ago, button, duration, number, say } from "./dom.js";
import { askJson } from "./gateway.js";
import { confirmed } from "./asking.js";

// For example: 4 of 4 run · 60 in 1 min, the next in 12 s · 2 of a key
export function limitWords(limit) {
  if (limit === undefined) return [];
  const next = limit.next_start_at === null ? "" : `, the next ${ago(limit.next_start_at)}`;
  return [
    limit.max_running === null ? null : `${number(limit.running)} of ${number(limit.max_running)} run`,
    limit.rate_count === null ? null : `${number(limit.rate_count)} in ${duration(limit.rate_interval)}${next}`,
    limit.key_limit === null ? null : `${number(limit.key_limit)} of a key`,
    limit.key_rate_count === null ? null : `${number(limit.key_rate_count)} of a key in ${duration(limit.key_rate_interval)}`,
  ];
}

const count = (name, column, label, policies, most) => ({
  name, column, label, policies, type: "number", min: 1, max: most, step: 1,
});
const seconds = (name, column, label, policies) => ({
  name, column, label, policies, type: "number", min: 0.001, max: 31 * 86400, step: "any",
});
// As PUT /queue/limits calls them, the column of list_queue_limits, and the policies that know them (undefined: all).
const FIELDS = [
  count("maxRunning", "max_running", "Run at once, at most", undefined, 1000),
  count("rateCount", "rate_count", "Start in an interval, at most", undefined, 1_000_000),
  seconds("rateInterval", "rate_interval", "This interval, in seconds"),
  count("rateBurst", "rate_burst", "Of these at once (empty: all of them)", undefined, 1_000_000),
  count("keyLimit", "key_limit", "Of each key run at once, at most", ["singleton"], 1000),
  count("keyRateCount", "key_rate_count", "Of each key start in an interval, at most", ["fifo", "singleton"], 100),
  seconds("keyRateInterval", "key_rate_interval", "This interval of a key, in seconds", ["fifo", "singleton"]),
  count("keyRateBurst", "key_rate_burst", "Of these of a key at once (empty: all of them)", ["fifo", "singleton"], 100),
];
const EXPLAINED = "Over all workers; empty is no limit. What runs may finish. Waits for claims that are under way.";

// `limitOf` returns the limits as they are when it is pressed; undefined: none.
export function limitsButton({ queue, policy }, limitOf) {
  return button("Limits", async () => {
    let given = filledIn(limitOf());
    let text = EXPLAINED;
    const isAsked = ({ policies }) => policies === undefined || policies.includes(policy);
    // What is refused is asked for again, with the reason.
    for (;;) {
      given = await confirmed(`Limits of queue ${queue}`, "Set limits", text, FIELDS.filter(isAsked).map(
        ({ name, label, type, min, max, step }) => ({ name, label, type, min, max, step, value: given[name] }),
      ));
      if (given === null) return;
      try {
        return say(words(queue, await setLimits(queue, given)));
      } catch (error) {
        text = `Not set: ${error.message}`;
      }
    }
  }, `Limits of queue ${queue}`);
}

function filledIn(limit) {
  return Object.fromEntries(FIELDS.map(({ name, column }) => [name, String(limit?.[column] ?? "")]));
}

const setLimits = (queue, given) => askJson(`/${encodeURIComponent(queue)}/api/queue/limits`, {
  method: "PUT",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(Object.fromEntries(Object.entries(given).map(([name, text]) => [name, sent(name, text)]))),
});

// Intervals go in milliseconds.
function sent(name, text) {
  if (text === "") return null;
  return name.endsWith("Interval") ? Math.round(1000 * Number(text)) : Number(text);
}

function words(queue, set) {
  return FIELDS.every(({ name }) => set[name] === null) ? `Queue ${queue} has no limits.` : `The limits of queue ${queue} are set.`;
}
