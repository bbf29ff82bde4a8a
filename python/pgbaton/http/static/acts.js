// What may be done to a job, a key, a queue and a schedule. What can't be taken back asks first; each says what it did.
import { button, clock, el, fromLocal, many, number, say } from "./dom.js";
import { may, post } from "./gateway.js";
import { confirmed, REASON, working } from "./asking.js";

const RUN_AT = { name: "run_at", label: "Not before, your local time; empty: at once", type: "datetime-local", step: 1 };
const PRIORITY = { name: "priority", label: "A whole number; larger is claimed first", type: "number", step: 1, required: "" };
const sendTime = (given) => ({ ...given, run_at: given.run_at && fromLocal(given.run_at) });

const of = (job) => `Job ${job.job_id} of queue ${job.queue}`;
const inLine = (done) => (done.said === "in_line" ? "; others of its key run before it" : "");

// For one job: the call that it takes, what is asked unless it is done at once, and what is said afterwards.
const ACTS = {
  retry: {
    call: "retry_job", word: "Retry",
    said: () => "will run once more",
  },
  run_now: {
    call: "reschedule_job", path: "reschedule", word: "Run now",
    said: (done) => `runs at once${inLine(done)}`,
  },
  skip: {
    call: "skip_job", word: "Skip", title: "Skip this job?", fields: [REASON],
    text: (job) => `${of(job)} is given up and never runs again. The next job of its key goes on.`,
    said: () => "was skipped",
  },
  requeue: {
    call: "requeue_dead_job", word: "Requeue", title: "Enqueue this job anew?",
    text: (job) => `${of(job)} is enqueued anew, at the end of its line and of its key, with a new id: jobs that came later run before it. Retry keeps its place.`,
    said: (done) => `is enqueued anew as job ${done.id}`,
  },
  reschedule: {
    call: "reschedule_job", word: "Reschedule", title: "When is this job to run?",
    fields: [RUN_AT],
    text: (job) => `${of(job)} keeps its attempts and its place within its key.`,
    send: sendTime,
    said: (done, given) => `runs ${given.run_at ? `from ${clock(given.run_at)} on` : "at once"}${inLine(done)}`,
  },
  priority: {
    call: "change_priority", word: "Priority", title: "Which priority has this job?",
    fields: [PRIORITY],
    text: (job) => `${of(job)} keeps its place within its key, and the time from which it may run.`,
    said: (done, given) => `has priority ${given.priority}${inLine(done)}`,
  },
  stop_waiting: {
    call: "stop_waiting", word: "Stop waiting", title: "Let this job run?", fields: [REASON],
    text: (job) => `${of(job)} runs as if all jobs that it waits for had completed.`,
    said: () => "waits for no other job",
  },
  cancel: {
    call: "cancel_jobs", word: "Cancel", title: "Cancel this job?",
    text: (job) => `${of(job)} does not run; if it does, its worker is asked to stop. The next job of its key goes on.`,
    said: () => "is cancelled, or asked to stop",
  },
  delete: {
    call: "delete_job", word: "Delete", title: "Delete this job?",
    text: (job) => `${of(job)} goes to history as deleted. The next job of its key goes on.`,
    said: () => "was deleted",
  },
  erase: {
    call: "delete_jobs", word: "Erase", title: "Erase this job?",
    text: (job) => `Nothing of job ${job.job_id} is kept: no payload, no error, no result.`,
    said: () => "was erased",
  },
};
const AFTER = new Event("acted"); // what is shown is looked up anew

const LIVE = ["reschedule", "priority", "cancel", "delete"];
const BY_STATE = {
  pending: LIVE, waiting: LIVE, retry: LIVE, unknown_retry: LIVE,
  active: ["cancel"], cancelling: [], failed: ["retry", "skip", "requeue", "delete"],
};

function namesOf(job, state) {
  const names = BY_STATE[state] ?? ["erase"];
  return [job.waits ? "stop_waiting" : null, job.is_later ? "run_now" : null, ...names].filter(Boolean);
}

// The buttons of a job in that state; retry first and strong where others wait for it.
export function jobButtons(job, state, names = namesOf(job, state)) {
  return names.filter((name) => may(ACTS[name].call, job.queue)).map((name) => button(
    ACTS[name].word, ACTS[name].title ? () => ask(name, job) : atOnce(() => act(name, job)), `${ACTS[name].word} ${job.about ?? `job ${job.job_id}`}`,
    name === "retry" && job.holds_key ? { class: "strong" } : {},
  ));
}

async function ask(name, job) {
  const { title, word, text, fields, send = (given) => given } = ACTS[name];
  const given = await confirmed(title, word, text(job), fields);
  if (given !== null) await doing(() => act(name, job, send(given)));
}

async function act(name, job, given = {}) {
  const { path = name, said } = ACTS[name];
  const done = await post(`/ui/queues/${encodeURIComponent(job.queue)}/jobs/${job.job_id}/${path}`, given);
  return `Job ${job.job_id} ${said(done, given)}.`;
}

// For a button that asks nothing: a second click while it goes on, or that of a double click, is no second wish.
function atOnce(call) {
  let goesOn = false;
  return async ({ detail }) => {
    if (goesOn || detail > 1) return;
    goesOn = true;
    await doing(call);
    goesOn = false;
  };
}

async function doing(call) {
  try {
    say(await call());
  } catch (error) {
    say(error.message, true);
  }
  document.dispatchEvent(AFTER);
}

// Queues, keys, schedules ----------------------------------------------------------------------

export function pauseButton(queue, isPaused) {
  const [word, name] = isPaused ? ["Resume", "resume"] : ["Pause", "pause"];
  return button(word, atOnce(async () => {
    await post(`/ui/queues/${encodeURIComponent(queue)}/${name}`);
    return isPaused ? `Queue ${queue} is resumed: workers get its jobs again.`
      : `Queue ${queue} is paused: what runs may finish, and jobs are still taken.`;
  }), `${word} queue ${queue}`);
}

export function pauseKeyButton(queue, key, isPaused) {
  const [word, name] = isPaused ? ["Resume key", "resume"] : ["Pause key", "pause"];
  return button(word, atOnce(async () => {
    await post(`/ui/queues/${encodeURIComponent(queue)}/keys/${name}`, { key });
    return isPaused ? `Key ${key} is resumed: its jobs run again, in their order.`
      : `Key ${key} is paused: what runs may finish, and jobs are still taken.`;
  }), `${word} ${key}`);
}

export function scheduleButtons(schedule, canRun) {
  const { name, is_paused: isPaused } = schedule;
  const [word, change] = isPaused ? ["Resume", "resume"] : ["Pause", "pause"];
  const path = `/ui/schedules/${encodeURIComponent(name)}`;
  const run = atOnce(async () => {
    const { id } = await post(`${path}/run`);
    return `Schedule ${name} enqueued job ${id}.`;
  });
  const pause = atOnce(async () => {
    await post(`${path}/${change}`);
    return `Schedule ${name} is ${isPaused ? "resumed" : "paused: it enqueues no jobs until it is resumed"}.`;
  });
  return [
    canRun && may("run_schedule") ? button("Run now", run, `Run now: schedule ${name}`) : null,
    canRun && may("pause_schedule") ? button(word, pause, `${word} schedule ${name}`) : null,
  ].filter(Boolean);
}

// All jobs that match a filter: counted before, done in steps that can be stopped, counted after ---

// A word, what is said afterwards, what is asked, and the fields beside the reason.
const BULK = {
  retry: ["Retry all", "Retried", "They run once more, in their old places."],
  skip: ["Skip all", "Skipped", "They are given up and never run again. The next jobs of their keys go on."],
  cancel: ["Cancel all", "Cancelled", "They do not run; those that do are asked to stop."],
  requeue: ["Requeue all", "Requeued", "They go to the end of their line and of their keys, with new ids: jobs that came later run before them. Retry keeps their places."],
  reschedule: ["Reschedule all", "Rescheduled", "They keep their attempts and their places within their keys.", [RUN_AT]],
  prioritize: ["Priority of all", "Moved", "They keep their places within their keys, and the times from which they may run.", [PRIORITY]],
  delete: ["Delete all", "Deleted", "They go to history as deleted. The next jobs of their keys go on."],
  erase: ["Erase all", "Erased", "Nothing of them is kept."],
};

// Buttons for all that match a filter, in an element that is hidden when there are none.
export function offerBulk(where, about, search, actions) {
  const buttons = !may("act_on_jobs", search.get("queue")) ? [] : actions.map((action) => button(
    BULK[action][0], () => actOnAll(action, about, search.toString()), `${BULK[action][0]} ${about}`,
  ));
  where.hidden = buttons.length === 0;
  where.replaceChildren(el("span", {}, `All ${about}, here and on further pages:`), ...buttons);
}

async function actOnAll(action, about, search) {
  const [word, past, text, fields = []] = BULK[action];
  const step = { action, search, after: "", before: "" };
  let count = 0;
  try {
    const isAll = await working("Counted", null, async () => {
      const found = await nextStep({ ...step, dry_run: true }, step);
      count += found.done;
      return { done: count, more: step.after !== "" };
    });
    if (!isAll) return say("Nothing was done.");
  } catch (error) {
    return say(error.message, true);
  }
  if (count === 0) return say(`No job that matches is one to ${action}.`);
  const title = `${word.replace(" all", "")} ${many(count, "job")}?`;
  const given = await confirmed(title, word, `These are all ${about}. ${text}`, [...fields, REASON]);
  if (given !== null) await carryOut({ ...step, after: "", ...sendTime(given) }, count, past);
}

async function carryOut(step, count, past) {
  let [done, passedOver] = [0, 0];
  const result = () => `${past} ${many(done, "job")}${passedOver ? `; ${number(passedOver)} passed over: changed meanwhile, or their policy has no place` : ""}.`;
  await doing(async () => {
    try {
      const isAll = await working(past, count, async () => {
        const found = await nextStep(step, step);
        done += found.done;
        passedOver += found.passed_over;
        return { done, more: step.after !== "" };
      });
      return isAll ? result() : `Stopped. ${result()} The others are as they were.`;
    } catch (error) {
      const last = error.isLost ? " The step that was under way may have been done, too." : "";
      throw new Error(`${error.message.replace(/\.$/, "")}. ${result()}${last} The others are as they were.`);
    }
  });
}

async function nextStep(body, step) {
  const found = await post("/ui/act", body);
  step.after = found.next_after ?? "";
  step.before = found.before;
  return found;
}
