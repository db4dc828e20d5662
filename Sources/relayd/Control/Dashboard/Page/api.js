// Talks to relayd: requests, with the token where there is one. Used by main, stream, actions and drive.

const KEY = 'relayd-token';
/** Milliseconds after which an answer is not worth waiting for; relayd answers within some. */
const PATIENCE = 8000;

/** relayd answered, and said no. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let token = '';
try {
  token = sessionStorage.getItem(KEY) ?? '';
} catch {
  // Storage may be switched off; then the token lives as long as the page.
}

/** Takes the token out of the address, so that it is not in history, bookmarks and screenshots. */
export function takeTokenFromAddress() {
  const parts = location.hash.slice(1).split('&');
  const found = parts.find((one) => one.startsWith('token='));
  if (found === undefined) return false;
  const rest = parts.filter((one) => !one.startsWith('token=')).join('&');
  history.replaceState(null, '', location.pathname + location.search + (rest && `#${rest}`));
  const text = found.slice('token='.length);
  if (!/^[\w-]+$/.test(text)) return false;
  setToken(text);
  return true;
}

export function setToken(text) {
  token = text;
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // As above.
  }
}

export const hasToken = () => token !== '';

export function headers(accept = 'application/json') {
  return token ? { Accept: accept, Authorization: `Bearer ${token}` } : { Accept: accept };
}

/** The answer's JSON; throws `Refused`, or what fetch throws when relayd does not answer. */
export async function ask(path, { method = 'GET', body, patience = PATIENCE } = {}) {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? headers() : { ...headers(), 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: 'no-store',
    signal: AbortSignal.timeout(patience),
  });
  if (!answer.ok) throw await refusal(answer);
  const text = await answer.text();
  return text ? JSON.parse(text) : {};
}

/** What stays the same while relayd runs: sent once, and after that only asked whether it is another. */
export async function conditional(path) {
  const answer = await fetch(path, { headers: headers(), cache: 'no-cache', signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok) throw await refusal(answer);
  return answer.json();
}

export async function refusal(answer) {
  let error = {};
  try {
    error = (await answer.json()).error ?? {};
  } catch {
    // Whoever answered this was not relayd.
  }
  return new Refused(answer.status, error.code ?? '', error.message ?? `HTTP ${answer.status}`);
}
