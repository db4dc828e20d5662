// Filters kept under a name in this browser, and what the box offers while a filter is typed. Used by
// console. relayctl keeps its own (relayctl filter), which relayd cannot read: it may run for another
// user, or on another machine.

import { $, h } from './dom.js';
import { FUNCTIONS, Filter, FilterError } from './filter.js';

const KEY = 'relayd-filters';
/** Filters kept at most. */
const MOST = 100;
/** Suggestions shown at most. */
const OFFERED = 100;

export const isName = (name) => /^[A-Za-z0-9_-]{1,40}$/.test(name);

export class SavedFilters {
  constructor() {
    this.list = read() ?? [];
    /** Whether they could be written to the browser's storage. */
    this.isStored = true;
  }

  /** Picks up changes that another page has made. */
  refresh() {
    if (this.isStored) this.list = read() ?? this.list;
  }

  /** The filter of that name, or undefined. */
  text(name) {
    return this.list.find((one) => one.name === name)?.text;
  }

  save(name, text) {
    this.refresh();
    this.list = [...this.list.filter((one) => one.name !== name), { name, text }].slice(-MOST);
    this.write();
  }

  remove(name) {
    this.refresh();
    this.list = this.list.filter((one) => one.name !== name);
    this.write();
  }

  write() {
    try {
      localStorage.setItem(KEY, JSON.stringify(this.list));
      this.isStored = true;
    } catch {
      // Then they last as long as the page.
      this.isStored = false;
    }
  }
}

/** What is stored, perhaps by another version of this page; undefined if there is no storage. */
function read() {
  let text;
  try {
    text = localStorage.getItem(KEY);
  } catch {
    return undefined;
  }
  try {
    return JSON.parse(text ?? '[]')
      .filter((one) => typeof one?.name === 'string' && typeof one.text === 'string' && isName(one.name))
      .map(({ name, text }) => ({ name, text }))
      .slice(-MOST);
  } catch {
    return [];
  }
}

// The menu

/** The button beside the box, and the menu it opens. */
export class SavedMenu {
  /**
   * @param {SavedFilters} saved
   * @param {{box: () => string, use: (text: string) => void, changed: () => void}} owner Returns what is
   *   in the box, puts a filter there, and is told when the kept filters change.
   */
  constructor(saved, owner) {
    this.saved = saved;
    this.owner = owner;
    $('saved').addEventListener('beforetoggle', (event) => {
      if (event.newState !== 'open') return;
      this.say('');
      this.draw();
    });
    $('saved').addEventListener('toggle', (event) => {
      if (event.newState === 'open') this.place();
    });
    window.addEventListener('storage', ({ key }) => {
      if (key !== KEY && key !== null) return;
      this.saved.refresh();
      this.draw();
      this.owner.changed();
    });
    $('saved-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.keep($('saved-name').value.trim());
    });
  }

  /** Puts the menu below its button; its width is only known once it is open. */
  place() {
    const { left, bottom } = $('saved-button').getBoundingClientRect();
    const menu = $('saved');
    menu.style.top = `${Math.round(bottom + 4)}px`;
    menu.style.left = `${Math.round(Math.max(8, Math.min(left, innerWidth - menu.offsetWidth - 8)))}px`;
  }

  draw() {
    const { list } = this.saved;
    $('saved-none').hidden = list.length > 0;
    $('saved-list').replaceChildren(...list.map(({ name, text }) => h('li', {},
      h('button', { type: 'button', class: 'saved-one', title: `Show what ${text} accepts`, onclick: () => this.use(text) },
        h('b', { text: `@${name}` }), h('code', { text })),
      h('button', { type: 'button', class: 'small', 'aria-label': `Forget @${name}`, title: `Forget @${name}`, text: '✕', onclick: () => this.forget(name) }))));
  }

  use(text) {
    $('saved').hidePopover();
    this.owner.use(text);
  }

  keep(name) {
    const text = this.owner.box().trim();
    if (text === '') return this.say('There is no filter in the box to save.');
    if (!isName(name)) return this.say('A name has letters, digits, _ and -, at most 40.');
    try {
      // With others written out, so that it means the same when they are forgotten.
      const { text: written } = new Filter(text, (other) => this.saved.text(other));
      // Written out it may be too long.
      this.saved.save(name, new Filter(written).text);
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      return this.say(`Not kept: ${error.message}.`);
    }
    $('saved-name').value = '';
    this.say(`Saved; write @${name} in the box to use it.`);
    this.draw();
    return this.owner.changed();
  }

  forget(name) {
    this.saved.remove(name);
    this.draw();
    this.owner.changed();
  }

  say(words) {
    $('saved-why').textContent = words;
    $('saved-why').hidden = words === '';
  }
}

// Completion

const TERMS = [
  'app:', 'rpc:', 'kind:', 'service:', 'from:', 'result:', 'ok', '!ok', 'priority:', 'ms>', 'bytes>', 'n:', 'corr:', 'session:',
  'text:', 'param.',
];
const VALUES = {
  rpc: [...FUNCTIONS].sort(),
  kind: ['request', 'response', 'notification', 'control', 'stream', 'security', 'encrypted', 'undecodable', 'dropped', 'event'],
  service: ['control', 'rpc', 'audio', 'video', 'bulk'],
  from: ['app', 'unit'],
  priority: ['debug', 'info', 'warning', 'error'],
};

/** Filters that begin with `text`: its last term completed, as the shell does for relayctl. */
export function offers(text, { apps, names }) {
  const start = Math.max(...[...' (|!\'"'].map((one) => text.lastIndexOf(one))) + 1;
  const [front, term] = [text.slice(0, start), text.slice(start)];
  const colon = term.indexOf(':');
  const key = term.slice(0, Math.max(0, colon)).toLowerCase();
  const values = key === 'app' ? apps.map((name) => (/[\p{White_Space}()|"]/u.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : name)) : Object.hasOwn(VALUES, key) ? VALUES[key] : [];
  const found = colon < 0 ? [...TERMS, ...names.map((name) => `@${name}`)] : values.map((value) => `${term.slice(0, colon)}:${value}`);
  const begun = term.toLowerCase();
  return found.filter((one) => one.toLowerCase().startsWith(begun) && one !== term).slice(0, OFFERED).map((one) => front + one);
}
