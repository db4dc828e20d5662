// What is chosen above the list, as the part of the page's address behind "#": a link shows the same
// to whoever opens it. The token is never in it. No DOM in here; console writes and reads it.

const KINDS = ['request', 'response', 'notification', 'other'];
/** What may stand behind "#" as it is. */
const READABLE = { '%3A': ':', '%21': '!', '%2A': '*', '%28': '(', '%29': ')', '%40': '@', '%2C': ',', '%3E': '>', '%3C': '<', '%7C': '|', '%7E': '~' };

/** @param {{text: string, app: string, kinds: Set<string>, failed: boolean}} view `app` as "#1" or "". */
export function addressOf({ text, app, kinds, failed }) {
  const parts = new URLSearchParams();
  const hidden = KINDS.filter((kind) => !kinds.has(kind));
  if (text !== '') parts.set('filter', text);
  if (app !== '') parts.set('app', app.slice(1));
  if (hidden.length > 0) parts.set('hide', hidden.join(','));
  if (failed) parts.set('failed', '1');
  const words = parts.toString().replace(/%[0-9A-F]{2}/g, (one) => READABLE[one] ?? one);
  return words === '' ? '' : `#${words}`;
}

/** Undoes it; what it does not know it leaves out. */
export function viewOf(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ''));
  const hidden = new Set((parts.get('hide') ?? '').split(','));
  const app = parts.get('app') ?? '';
  return {
    text: (parts.get('filter') ?? '').slice(0, 2000),
    app: /^\d{1,15}$/.test(app) ? `#${app}` : '',
    kinds: new Set(KINDS.filter((kind) => !hidden.has(kind))),
    failed: parts.get('failed') === '1',
  };
}
