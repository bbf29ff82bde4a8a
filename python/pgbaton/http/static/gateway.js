// Asking the gateway, and what this caller may do there.
import { $, setNow, setText } from "./dom.js";

const token = () => sessionStorage.getItem("token");

// `isLost`: what was asked for may have been done all the same.
const failure = (text, isLost) => Object.assign(new Error(text), { isLost });

export async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const answer = await fetch(path, { ...options, headers }).catch(() => { throw failure("the gateway cannot be reached", true); });
  if (answer.status === 401) {
    signIn();
    throw new Error("a token is needed");
  }
  return answer;
}

export async function askJson(path, options) {
  const answer = await ask(path, options);
  // A proxy between may answer in HTML.
  const body = await answer.json().catch(() => ({ error: `the gateway answered ${answer.status}, and no JSON` }));
  if (!answer.ok || body.error) throw failure(body.hint ? `${body.error}. ${body.hint}` : body.error, answer.status >= 500);
  return body;
}

export const post = (path, body = {}) => askJson(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

function signIn() {
  const form = $("#login");
  if (form.hidden) {
    setText($("#login-error"), token() ? "That token is not known here." : "");
    form.hidden = false;
    $("#token").focus();
  }
}

// Rights: what may not be done is not offered. The database refuses it in any case. ---------------

let calls = new Set();
let queues = null; // null: all

export async function loadRights() {
  const mine = await askJson("/ui/me");
  setNow(mine.at);
  calls = new Set(mine.calls);
  queues = mine.queues === null ? null : new Set(mine.queues);
  document.dispatchEvent(new Event("rights"));
}

export const may = (call, queue = null) => calls.has(call) && (queue === null || queues === null || queues.has(queue));
export const isNarrowed = () => queues !== null;

// Live: server-sent events, read with fetch since EventSource cannot send a token ----------------

let retryIn = 1000;

// `take` has what is to be done with each kind of event.
export async function live(take) {
  for (;;) {
    try {
      const answer = await ask("/ui/live");
      if (!answer.ok) throw new Error((await answer.json()).error);
      await read(answer.body.pipeThrough(new TextDecoderStream()).getReader(), take);
      connection("lost", "the gateway has ended");
    } catch (error) {
      connection("lost", `not connected: ${error.message}`);
      if (!$("#login").hidden) return;
    }
    await new Promise((resolve) => setTimeout(resolve, retryIn));
    retryIn = Math.min(retryIn * 2, 15000);
  }
}

async function read(reader, take) {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const part = (name) => event.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      if (part("data") === undefined) continue;
      retryIn = 1000;
      connection("live", `live, ${new Date().toLocaleTimeString("sv-SE")}`);
      take[part("event")]?.(JSON.parse(part("data")));
    }
  }
}

function connection(state, text) {
  const where = $("#connection");
  where.className = state;
  setText(where, text);
}
