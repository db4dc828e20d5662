// Talks to relayd: requests, with the token where there is one. Used by main, stream, actions and drive.

const KEY = 'relayd-token';
/** Milliseconds after which an answer is not worth waiting for; relayd answers within some. */
const PATIENCE = 8000;
/** relayd gives a sign of life every 15 s; milliseconds without any after which the connection is dead. */
export const SILENCE = 40_000;

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

/** What a request has: JSON of `body`, or `yaml` as it is. */
function content(accept, { body, yaml }) {
  const type = yaml !== undefined ? 'application/yaml' : body !== undefined ? 'application/json' : undefined;
  return {
    headers: type === undefined ? headers(accept) : { ...headers(accept), 'Content-Type': type },
    body: yaml ?? (body === undefined ? undefined : JSON.stringify(body)),
    cache: 'no-store',
  };
}

/** The answer's JSON; throws `Refused`, or what fetch throws when relayd does not answer. */
export async function ask(path, { method = 'GET', body, yaml, patience = PATIENCE } = {}) {
  const answer = await fetch(path, { method, ...content('application/json', { body, yaml }), signal: AbortSignal.timeout(patience) });
  if (!answer.ok) throw await refusal(answer);
  const text = await answer.text();
  return text ? JSON.parse(text) : {};
}

/** An answer that comes line by line, each handed to `take` as it comes; returns at its end. Throws as `ask`. */
export async function askLines(path, { method, yaml }, take) {
  const abort = new AbortController();
  let watch;
  const listen = () => {
    clearTimeout(watch);
    watch = setTimeout(() => abort.abort(), SILENCE);
  };
  listen();
  try {
    const answer = await fetch(path, { method, ...content('application/x-ndjson', { yaml }), signal: abort.signal });
    if (!answer.ok) throw await refusal(answer);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      listen();
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      for (const line of lines) if (line !== '') take(line);
    }
  } finally {
    clearTimeout(watch);
  }
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
