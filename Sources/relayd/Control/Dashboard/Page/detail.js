// One message whole: its JSON with what is wrong marked, the one it belongs to, and the advice
// that applies. The console opens and closes it.

import { $, h, appWord, bytes, clock, milliseconds } from './dom.js';
import { ask } from './api.js';
import { colour } from './store.js';
import { canResend, resendButton } from './drive.js';
import { faultWords, title, whole } from './summary.js';

/** Lines of JSON that are shown; more belongs into a file: relayctl show. */
const LINES = 3000;

export class Detail {
  constructor(select, onClose) {
    this.select = select;
    this.onClose = onClose;
    this.root = $('detail');
    this.message = null;
    /** Opens the composer with a message. */
    this.resend = undefined;
    /** Else its number is another message's at relayd. */
    this.isLive = true;
  }

  get isOpen() {
    return !this.root.hidden;
  }

  close() {
    if (this.root.hidden) return;
    const hadFocus = this.root.contains(document.activeElement);
    this.root.hidden = true;
    this.message = null;
    if (hadFocus) this.onClose();
  }

  /** Shows what the page knows at once, and what relayd knows beyond it when it has answered. */
  async show(message) {
    if (this.message === message && this.isOpen) return;
    this.message = message;
    this.root.hidden = false;
    const facts = { ...whole(message), ...{ n: message.n } };
    this.draw(message, facts, {}, []);
    if (!this.isLive) return;
    const [found, advice] = await Promise.allSettled([ask(`/v1/messages/${message.n}`), ask('/v1/advice')]);
    if (this.message !== message) return;
    // After a restart the number is another message's.
    const isSame = found.status === 'fulfilled' && found.value.message?.time === message.time;
    const entries = new Set([message.n, message.request, message.partner?.n]);
    const applies = advice.status === 'fulfilled' ? advice.value.advice.filter((one) => entries.has(one.entry)) : [];
    this.draw(message, isSame ? found.value.message : facts, isSame ? found.value : {}, applies);
  }

  /** Opens the composer with this message, if it is one that can be said again. */
  edit() {
    if (this.isOpen && this.canEdit) this.resend(this.message, this.facts.params);
  }

  get canEdit() {
    return this.resend !== undefined && canResend(this.message) && !this.facts.params_truncated;
  }

  draw(message, facts, { bulk, request, response }, advice) {
    const other = request ?? response ?? (message.partner && whole(message.partner));
    const problems = facts.problems ?? [];
    this.facts = facts;
    this.root.replaceChildren(
      h('header', {},
        h('h3', { class: `c-${colour(message)}` }, h('span', { text: title(message) }),
          message.correlation_id && message.kind !== 'notification' ? h('span', { class: 'id', text: ` corr ${message.correlation_id}` }) : null),
        h('button', { type: 'button', class: 'plain icon', text: '✕', 'aria-label': 'Close (Esc)', onclick: () => {
          this.close();
          this.onClose();
        } })),
      h('p', { class: 'quiet', text: this.about(message, facts, bulk) }),
      this.canEdit ? resendButton(() => this.edit()) : '',
      ...advice.map((one) => h('div', { class: 'advice' },
        h('p', { class: 'cause', text: one.text }), h('p', { class: 'remedy', text: one.remedy }),
        h('p', { class: 'quiet' }, h('code', { text: `relayctl explain ${one.code}` })))),
      problems.length > 0 ? h('ul', { class: 'problems' }, problems.map((one) => h('li', { class: `severity-${one.severity}` },
        one.path ? h('code', { text: one.path }) : null, ` ${told(one)}`,
        one.did_you_mean ? h('span', { text: `; did you mean ${one.did_you_mean}?` }) : null))) : '',
      this.json(facts, problems),
      other ? this.partner(message, other) : '',
      this.isLive ? h('p', { class: 'quiet' }, h('code', { text: `relayctl show ${message.n}` })) : '');
  }

  about(message, facts, bulk) {
    const from = { app: 'app → head unit', accessory: 'head unit → app' }[message.from];
    return [
      `[${message.n}]`, clock(new Date(message.at)), message.kind, from,
      message.app_name ? `${message.app_name} (${appWord(message.app)})` : message.app && appWord(message.app),
      message.session ? `session ${message.session}` : '',
      message.bytes ? bytes(message.bytes) + (message.frames ? ` in ${message.frames} frames` : '') : '',
      bulk ? `${bytes(bulk.bytes)} of data${bulk.kind ? ` (${bulk.kind})` : ''}` : '',
      facts.latency_ms !== undefined ? `after ${milliseconds(facts.latency_ms)}` : '',
      { amended: 'changed by relayd', by_relay: 'written by relayd', to_relay: 'for relayd',
        replaced: 'not forwarded as it is' }[facts.fate] ?? faultWords(facts),
      message.info ? `“${message.info}”` : '',
    ].filter(Boolean).join(' · ');
  }

  partner(message, other) {
    const isRequest = message.kind === 'request';
    const words = isRequest
      ? `Answer: ${other.result_code ?? ''} after ${milliseconds(other.latency_ms ?? 0)}`
      : 'The request';
    return h('details', { class: 'more', open: true },
      h('summary', { text: words }),
      message.partner ? h('button', { type: 'button', class: 'plain small', text: 'Go there (o)', onclick: () => this.select(message.partner) }) : null,
      this.json(other, other.problems ?? []));
  }

  /** Parameters, or what else there is besides what the line above says. */
  json(facts, problems) {
    const shown = facts.params ?? facts.payload;
    if (facts.params_truncated) return h('p', { class: 'quiet', text: 'The parameters are too long to be kept.' });
    if (shown === undefined) {
      const { n, time, kind, priority, app, app_name, app_id, line, ...rest } = facts;
      return h('pre', { class: 'json', tabindex: '0' }, printed(rest, []));
    }
    return h('pre', { class: 'json', tabindex: '0', 'aria-label': 'JSON' }, printed(shown, problems));
  }
}

/** Lines of JSON; behind the value, or where it is missing at the end of its object, what is wrong. */
function printed(value, problems) {
  const open = problems.filter((one) => one.path !== '').map((one) => ({ ...one, steps: steps(one.path, value) }));
  const lines = [];
  const line = (depth, parts, found = []) => {
    if (lines.length > LINES) return;
    const worst = found.some((one) => one.severity === 'error') ? 'error' : found.some((one) => one.severity === 'warning') ? 'warning' : 'note';
    lines.push(h('span', { class: found.length > 0 ? `marked severity-${worst}` : null },
      '  '.repeat(depth), parts, found.map((one) => h('em', { text: `  ← ${told(one)}` })),
      // A marked line is a block, which ends by itself.
      found.length > 0 ? null : '\n'));
  };
  const walk = (one, path, depth, name, comma) => {
    const found = open.filter((problem) => problem.steps.join('\0') === path.join('\0'));
    for (const problem of found) problem.isShown = true;
    const start = name === undefined ? [] : [h('b', { text: JSON.stringify(name) }), ': '];
    const isList = Array.isArray(one);
    if (one === null || typeof one !== 'object' || Object.keys(one).length === 0) {
      line(depth, [...start, scalar(one), comma], found);
      return;
    }
    line(depth, [...start, isList ? '[' : '{'], found);
    const entries = Object.entries(one);
    entries.forEach(([key, child], index) =>
      walk(child, [...path, key], depth + 1, isList ? undefined : key, index < entries.length - 1 ? ',' : ''));
    for (const problem of open) {
      const parent = problem.steps.slice(0, -1).join('\0');
      if (problem.isShown || parent !== path.join('\0') || problem.steps.at(-1) in one) continue;
      problem.isShown = true;
      line(depth + 1, h('b', { text: problem.steps.at(-1) }), [problem]);
    }
    line(depth, [isList ? ']' : '}', comma]);
  };
  walk(value, [], 0, undefined, '');
  if (lines.length > LINES) lines.push(h('em', { text: '… and more: relayctl show' }));
  return lines;
}

/** What is wrong, without the path where that stands anyway. */
function told({ path, message }) {
  return path && message.startsWith(`${path} `) ? message.slice(path.length + 1) : message;
}

/** "softButtons[0].type" as keys; some say "params" first. */
function steps(path, value) {
  const all = path.split(/[.[\]/]+/).filter(Boolean);
  return ['params', 'parameters'].includes(all[0]) && !(all[0] in value) ? all.slice(1) : all;
}

function scalar(value) {
  const kind = value === null ? 'null' : typeof value;
  return h('span', { class: `json-${kind}`, text: JSON.stringify(value) });
}
