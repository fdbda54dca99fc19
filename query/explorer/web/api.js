// The public API, as the page uses it. The token is kept in this tab only.
import { t } from './texts.js';

const base = new URL('../', import.meta.url); // the address of the service
const kept = 'preismon.token';
let token = sessionStorage.getItem(kept);
let onLost = () => {};

/** serviceURL returns the absolute address of a path with its parameters; empty ones are left out. */
export function serviceURL(path, params = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(params)) {
    if (value !== '' && value !== undefined && value !== null && value !== false) url.searchParams.set(name, value);
  }
  return url;
}

/** Problem is an error answer of the service (RFC 9457). */
export class Problem extends Error {
  constructor(status, body, retryAfter) {
    super(body?.detail ?? body?.title ?? `HTTP ${status}`);
    this.status = status;
    this.code = body?.code ?? '';
    this.retryAfter = retryAfter;
  }
}

const patience = 5; // s that a read waits at most before it retries by itself when the service is busy

async function ask(path, params, options = {}) {
  const mine = token;
  for (let tries = 0; ; tries++) {
    const headers = { ...options.headers };
    if (mine) headers.Authorization = `Bearer ${mine}`;
    const answer = await fetch(serviceURL(path, params), { ...options, headers, credentials: 'omit', referrerPolicy: 'no-referrer' });
    if (answer.ok) return answer;
    const body = await answer.json().catch(() => null);
    if (answer.status === 401 && token && mine === token) { // a late answer says nothing of the next login
      forget();
      onLost();
    }
    const after = Number(answer.headers.get('Retry-After')) || 0;
    if (answer.status !== 429 || !mine || mine !== token || tries === 3 || !after || after > patience) throw new Problem(answer.status, body, after);
    await pause(after * 1e3, options.signal);
  }
}

/** pause waits; it rejects when the signal aborts. */
export const pause = (ms, signal) => new Promise((ok, no) => {
  signal?.throwIfAborted();
  const aborted = () => no(signal.reason);
  signal?.addEventListener('abort', aborted, { once: true });
  setTimeout(() => {
    signal?.removeEventListener('abort', aborted);
    ok();
  }, ms);
});

function forget() {
  token = null;
  sessionStorage.removeItem(kept);
}

/** whenLost sets the function to call when the service no longer accepts the token. */
export function whenLost(f) { onLost = f; }

export function loggedIn() { return token !== null; }

export async function login(loginIdentifier, password) {
  token = (await sent('v1/auth/token', { loginIdentifier, password })).accessToken;
  sessionStorage.setItem(kept, token);
}

/** logout revokes the token. The tab forgets it at once, whatever the service answers. */
export function logout() {
  ask('v1/auth/logout', {}, { method: 'POST' }).catch(() => {});
  forget();
}

/** page reads one JSON answer. */
export async function page(path, params, signal) {
  return (await ask(path, params, { signal })).json();
}

/** sent posts a JSON body and reads the JSON answer. */
async function sent(path, body, signal) {
  return (await ask(path, {}, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal })).json();
}

/** file reads the complete content of a file; accept names its format where there are several. */
export async function file(path, params, accept) {
  return (await ask(path, params, accept && { headers: { Accept: accept } })).blob();
}

/** pages reads a list page by page, to its end or until onPage returns true. It reports whether there is more. */
export async function pages(path, params, signal, onPage) {
  let cursor;
  do {
    const answer = await page(path, { ...params, cursor }, signal);
    cursor = answer.paging.nextCursor;
    if (onPage(answer)) break;
  } while (cursor);
  return Boolean(cursor);
}

/** all reads a list to its end or until there are at least `most` records. */
export async function all(path, params, most, signal) {
  const data = [];
  const more = await pages(path, params, signal, (answer) => data.push(...answer.data) >= most);
  return { data, more };
}

/**
 * stream reads NDJSON while it arrives. It calls onLines(lines, bytes) for each
 * chunk that completes a line, with complete lines only; bytes is the total so
 * far. It returns when the stream is complete, and throws when the stream breaks,
 * since the service then breaks the transfer.
 */
export async function stream(path, params, signal, onLines) {
  const answer = await ask(path, params, { signal, headers: { Accept: 'application/x-ndjson' } });
  let bytes = 0;
  const counted = new TransformStream({ transform(piece, to) { bytes += piece.byteLength; to.enqueue(piece); } });
  const reader = answer.body.pipeThrough(counted).pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    if (lines.length) onLines(lines, bytes);
  }
  if (rest !== '') throw new Error('the last line is not whole');
}

/** said returns an error as text for people. */
export function said(e) {
  if (!(e instanceof Problem)) return e instanceof TypeError ? t.unreachable : e.message;
  return e.message + (e.retryAfter ? ` ${t.tryAgain(e.retryAfter)}` : '');
}
