// Fault rules as a panel of the drawer: those there are, with what they have taken, and a form for a new one.

import { $, count, h, many, rebuild, setText } from './dom.js';
import { ask } from './api.js';
import { reason } from './drive.js';
import { ruleText, taken } from './faults.js';

/** What can happen, with its fields: their words in front, and an example. */
const ACTIONS = {
  delay: [{ label: 'Time', example: '2s', required: true }, { label: 'Jitter', before: 'jitter', example: '500ms' }],
  drop: [],
  answer: [{ label: 'Result code', example: 'REJECTED', required: true }, { label: 'Words', example: 'no space', isQuoted: true }],
  nak: [{ label: 'Reason', example: 'no video', isQuoted: true }],
  corrupt: [],
  truncate: [],
  duplicate: [],
  reorder: [],
  disconnect: [],
  hold: [{ label: 'At most', example: '5s' }],
  rate: [{ label: 'Rate', example: '20KB/s', required: true }],
};
const LINK = {
  unplug: [],
  freeze: [{ label: 'Time', example: '5s', required: true }],
  slow: [{ label: 'Rate', example: '20KB/s', required: true }],
  'half-open': [],
};
const OPTIONS = [
  { label: 'Probability', before: 'probability', example: '30%' }, { label: 'Count', before: 'count', example: '5' },
  { label: 'From', before: 'from', example: '10s' }, { label: 'Until', before: 'until', example: '1m' },
];

export class FaultPanel {
  constructor(drive) {
    this.drive = drive;
    this.isLooking = false;
    const select = $('fault-action');
    select.append(
      h('optgroup', { label: 'Messages' }, Object.keys(ACTIONS).map((value) => h('option', { value, text: value }))),
      h('optgroup', { label: 'The link' }, Object.keys(LINK).map((value) => h('option', { value: `link ${value}`, text: `link ${value}` }))));
    select.addEventListener('change', () => this.drawFields());
    $('fault-form').addEventListener('input', () => this.drawPreview());
    $('fault-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.add();
    });
    $('fault-clear').addEventListener('click', () => this.change('/v1/faults', 'DELETE'));
    this.drawFields();
  }

  learned() {
    const isAllowed = this.drive.isAllowed;
    $('fault-add').disabled = !isAllowed;
    $('fault-clear').disabled = !isAllowed;
    this.draw();
  }

  // The form

  get isLink() {
    return $('fault-action').value.startsWith('link ');
  }

  get name() {
    return $('fault-action').value.replace(/^link /, '');
  }

  drawFields() {
    const fields = (this.isLink ? LINK : ACTIONS)[this.name];
    $('fault-filter-row').hidden = this.isLink;
    $('fault-filter').required = !this.isLink;
    const row = (field, group) => h('label', { class: 'field' }, h('span', { text: field.label }),
      h('input', {
        type: 'text', placeholder: field.example, required: field.required, spellcheck: 'false', autocomplete: 'off',
        'data-before': field.before, 'data-quoted': field.isQuoted, 'data-group': group,
      }));
    $('fault-fields').replaceChildren(...fields.map((one) => row(one, 'action')), ...(this.name === 'unplug' ? [] : OPTIONS.map((one) => row(one, 'option'))));
    this.drawPreview();
  }

  /** The rule as relayctl takes it, behind the filter. */
  get words() {
    const words = [...$('fault-fields').querySelectorAll('input')].filter((one) => one.value.trim() !== '').map((one) => {
      const text = one.value.trim();
      const value = one.hasAttribute('data-quoted') ? `"${text.replace(/["\\]/g, '\\$&')}"` : text;
      return [one.dataset.before, value].filter(Boolean).join(' ');
    });
    return [this.name, ...words].join(' ');
  }

  drawPreview() {
    setText($('fault-preview'), this.isLink ? `link ${this.words}` : `${$('fault-filter').value.trim() || '…'} → ${this.words}`);
  }

  async add() {
    if ($('fault-add').disabled) return;
    const body = this.isLink ? { link: this.words } : { rules: [{ filter: $('fault-filter').value.trim(), action: this.words }] };
    if ($('fault-harm').checked) body.may_harm_others = true;
    await this.change('/v1/faults', 'POST', body);
  }

  async change(path, method, body) {
    try {
      const { summary } = await this.drive.request(path, { method, body });
      this.say(summary ?? 'done', 'right');
    } catch (error) {
      this.say(reason(error), 'wrong');
    }
    this.look();
  }

  say(words, state) {
    setText($('fault-said'), words);
    $('fault-said').dataset.state = state;
  }

  // The rules

  async look() {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      this.list = await ask('/v1/faults');
    } catch (error) {
      this.list = undefined;
      this.say(reason(error), 'wrong');
    }
    this.isLooking = false;
    this.draw();
  }

  draw() {
    const rules = this.list?.rules ?? [];
    const isAllowed = this.drive.isAllowed;
    const rows = rules.map((rule) => ({ id: rule.id, text: ruleText(rule), taken: taken(rule), matched: rule.matched, state: rule.state }));
    rebuild($('fault-list'), { rows, isAllowed }, () => rows.map((row) => h('li', { class: row.state === 'over' ? 'quiet' : '', 'data-rule': row.id },
      h('span', { class: 'rule number', text: `${row.id}` }),
      h('code', { class: 'what', text: row.text }),
      h('span', { class: 'taken number', title: `${count(row.matched)} could have been taken`, text: [row.taken, { waiting: 'not yet', over: 'over' }[row.state]].filter(Boolean).join(', ') }),
      h('button', { type: 'button', class: 'small', text: 'Remove', 'aria-label': `Remove fault rule ${row.id}`, disabled: !isAllowed, onclick: () => this.change(`/v1/faults/${row.id}`, 'DELETE') }))));
    $('fault-clear').hidden = rules.length === 0;
    const held = this.list?.held_frames > 0 ? ` ${many(this.list.held_frames, 'frame')} held.` : '';
    setText($('fault-none'), rules.length === 0 && this.list ? `There are no fault rules.${held}` : held.trim());
  }
}
