// The filters above the list as the part of the page's address after "#", so that a link shows the same to
// whoever opens it. The token is never in it. No DOM in here; console writes and reads it.

const KINDS = ['request', 'response', 'notification', 'other'];
/** What need not be encoded after "#". Browsers encode > themselves, so it is not here. */
const READABLE = { '%3A': ':', '%21': '!', '%2A': '*', '%28': '(', '%29': ')', '%40': '@', '%2C': ',', '%7C': '|', '%7E': '~' };

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

/** One character more than a filter may have: a longer one is refused, not cut to one that means something else. */
const MOST = 2001;

/** The reverse; ignores what it does not know. */
export function viewOf(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ''));
  const hidden = new Set((parts.get('hide') ?? '').split(','));
  const app = parts.get('app') ?? '';
  return {
    // The box would drop line ends and join the words around them.
    text: [...(parts.get('filter') ?? '').slice(0, 2 * MOST).replace(/[\r\n]/g, ' ')].slice(0, MOST).join(''),
    app: /^\d{1,15}$/.test(app) ? `#${app}` : '',
    kinds: new Set(KINDS.filter((kind) => !hidden.has(kind))),
    failed: parts.get('failed') === '1',
  };
}
