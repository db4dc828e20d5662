// A recording that is open: its messages in the list, and beside them what is in it. main switches
// between it and what passes now.

import { $, appWord, bytes, clock, count, h, many, milliseconds, setText, span } from './dom.js';
import { Refused, headers, refusal } from './api.js';
import { read } from './stream.js';
import { KEPT, Store } from './store.js';

/** Messages asked for at once, the most that relayd gives. */
const PAGE = 1000;
/** Milliseconds: relayd answers a page after about two seconds, and with what it has. */
const PATIENCE = 60_000;
/** Rows of a table; relayctl trace has all. */
const ROWS = 30;

export class Recorded {
  /** @param {{changed: () => void, failed: (words: string) => void}} listener */
  constructor(name, listener) {
    this.name = name;
    this.listener = listener;
    this.store = new Store();
    this.path = `/v1/recordings/${encodeURIComponent(name)}`;
    this.cursor = undefined;
    this.isAtEnd = false;
    this.isLoading = false;
    this.loaded = 0;
    this.problem = '';
    this.abort = new AbortController();
  }

  /** Nothing of it comes any more. */
  close() {
    this.abort.abort();
  }

  /** The next messages, as many as the list keeps. */
  async more() {
    if (this.isLoading || this.isAtEnd) return;
    this.isLoading = true;
    const end = this.loaded + KEPT;
    try {
      while (!this.isAtEnd && this.loaded < end) {
        await this.page(Math.min(PAGE, end - this.loaded));
        this.listener.changed();
      }
    } catch (error) {
      if (!this.abort.signal.aborted) this.fail(error);
    }
    this.isLoading = false;
    if (!this.abort.signal.aborted) this.listener.changed();
  }

  async page(limit) {
    const after = this.cursor === undefined ? '' : `&after=${this.cursor.next}&instance=${this.cursor.instance}`;
    const lines = (await this.text(`/messages?limit=${limit}${after}`)).split('\n');
    // The first line is the head, then one message in each.
    const { instance, next, at_end: isAtEnd, problem } = JSON.parse(`${lines[0]}]}`);
    const messages = lines.slice(1).filter((line) => line.startsWith('{"n":'))
      .map((line) => read(line.endsWith(',') ? line.slice(0, -1) : line)).filter(Boolean);
    this.cursor = { instance, next };
    this.isAtEnd = isAtEnd === true;
    this.problem = problem ?? '';
    this.loaded += messages.length;
    this.store.add(messages);
  }

  /** What is in it, for the panel. */
  async learn() {
    try {
      this.info = JSON.parse(await this.text('/info'));
      this.drawPanel();
      this.stats = JSON.parse(await this.text('/stats'));
      this.drawPanel();
    } catch (error) {
      if (!this.abort.signal.aborted) this.fail(error);
    }
  }

  async text(path) {
    const signal = AbortSignal.any([this.abort.signal, AbortSignal.timeout(PATIENCE)]);
    const answer = await fetch(this.path + path, { headers: headers(), cache: 'no-store', signal });
    if (!answer.ok) throw await refusal(answer);
    return answer.text();
  }

  fail(error) {
    this.problem = error instanceof Refused ? error.message : 'relayd did not answer';
    this.listener.failed(this.problem);
  }

  /** One line about how much of it is in the list. */
  get words() {
    if (this.isLoading) return `${many(this.loaded, 'message')} so far …`;
    if (this.problem) return this.problem;
    const kept = this.store.all.length;
    const some = kept < this.loaded ? `, the last ${count(kept)} of them in the list` : '';
    return this.isAtEnd ? `${many(this.loaded, 'message')}${some}` : `the first ${many(this.loaded, 'message')}${some}`;
  }

  // The panel

  drawPanel() {
    const { info, stats } = this;
    if (!info) return;
    const [from, to] = [Date.parse(info.from), Date.parse(info.to)];
    const facts = [
      ['Recorded', Number.isNaN(from) ? '' : `${new Date(from).toLocaleDateString()} ${clock(new Date(from), false)}, ${span(to - from)}`],
      ['Head unit', info.accessory],
      ['By', info.files[0]?.program],
      ['From apps', amount(info.from_apps)],
      ['From head unit', amount(info.from_head_unit)],
      ['Not passed on', Object.entries(info.dropped).map(([reason, frames]) => `${reason} ${count(frames)}`).join(', ')],
      ['Not recorded', info.gaps > 0 ? `${amount(info.missed)} in ${many(info.gaps, 'gap')}` : ''],
      ['Overwritten', info.masked.join(', ')],
      ['Closed', info.files.map((file) => file.problem ?? file.closed ?? 'not closed').join(', ')],
      ['Not listed', Object.entries(info.more).map(([what, number]) => `${count(number)} more ${what}`).join(', ')],
    ].filter(([, value]) => value);
    $('recorded-body').replaceChildren(
      h('dl', { class: 'facts' }, facts.flatMap(([name, value]) => [h('dt', { text: name }), h('dd', { text: value })])),
      this.apps(info.apps), stats ? this.functions(stats) : h('p', { class: 'quiet', text: 'counting …' }),
      stats && stats.streams.length > 0 ? this.streams(stats.streams) : '', this.notes(info.notes));
  }

  apps(apps) {
    if (apps.length === 0) return h('p', { class: 'quiet', text: 'No app was connected.' });
    return section(`Apps (${apps.length})`, apps.length, table(['App', 'Sent', 'Received'], apps.slice(0, ROWS).map((app) => [
      h('button', { type: 'button', class: 'link', text: app.name ?? `app ${app.app}`, title: `${[`app ${app.app}`, app.app_id, app.peer, app.reason && `left: ${app.reason}`].filter(Boolean).join(' · ')}; show only its messages`,
        onclick: () => this.listener.filter(app.app) }),
      bytes(app.sent.bytes), bytes(app.received.bytes),
    ])));
  }

  functions({ functions, unanswered }) {
    const rows = functions.slice(0, ROWS).map((one) => {
      const failed = Object.entries(one.results).reduce((sum, [code, number]) => sum + (FINE.has(code) ? 0 : number), 0);
      return [one.function, count(one.requests + one.notifications), failed > 0 ? count(failed) : '', one.p95_ms === undefined ? '' : milliseconds(one.p95_ms)];
    });
    return section(`RPCs (${functions.length})${unanswered > 0 ? `, ${many(unanswered, 'request')} without an answer` : ''}`, functions.length,
      table(['RPC', 'Used', 'Failed', 'p95'], rows));
  }

  streams(streams) {
    return section('Streams', streams.length, table(['App', 'Service', 'Bytes', 'Gaps'], streams.slice(0, ROWS).map((one) =>
      [one.app, one.service, bytes(one.bytes), one.gaps > 0 ? count(one.gaps) : ''])));
  }

  notes(notes) {
    if (notes.length === 0) return '';
    return section(`Notices, advice, marks (${notes.length})`, notes.length, h('ul', { class: 'notes' }, notes.slice(0, ROWS).map((one) =>
      h('li', {}, h('time', { class: 'quiet number', text: clock(new Date(one.at)) }), ` ${one.app === undefined ? '' : `${appWord(`#${one.app}`)}: `}${one.kind === 'mark' ? 'mark: ' : ''}${one.text}`))));
  }
}

const FINE = new Set(['SUCCESS', 'WARNINGS']);

const amount = ({ frames, bytes: size }) => `${many(frames, 'frame')}, ${bytes(size)}`;

function section(title, total, content) {
  return h('details', { class: 'more', open: true }, h('summary', { text: title }), content,
    total > ROWS ? h('p', { class: 'quiet', text: `and ${count(total - ROWS)} more: relayctl trace` }) : null);
}

function table(heads, rows) {
  return h('table', { class: 'counts' },
    h('tr', {}, heads.map((head) => h('th', { scope: 'col', text: head }))),
    rows.map((cells) => h('tr', {}, cells.map((cell, index) =>
      h('td', { class: index > 0 ? 'number' : null }, cell)))));
}

/** The line above the list that says that this is no live traffic. */
export function drawBar(recorded) {
  $('recorded-bar').hidden = recorded === undefined;
  $('recorded').hidden = recorded === undefined;
  document.body.classList.toggle('is-recorded', recorded !== undefined);
  setText($('console-title'), recorded ? 'Recorded messages' : 'Messages');
  if (!recorded) return;
  setText($('recorded-name'), recorded.name);
  setText($('recorded-words'), recorded.words);
  $('recorded-more').hidden = recorded.isLoading || recorded.isAtEnd || recorded.problem !== '';
}
