// Fault rules while there are any: what each does and how many messages it has taken. Used by main, and its
// words by faultpanel.

import { $, bytes, count, h, many, rebuild } from './dom.js';

const STATES = { waiting: 'not yet', over: 'over' };

/**
 * The panel for what the status says of fault rules; hidden without.
 *
 * @param {() => void} edit opens the drawer with them
 */
export function drawFaults(faults, edit) {
  const panel = $('faults');
  panel.hidden = !faults;
  if (!faults) return;
  const rules = faults.first.map((rule) => ({
    id: rule.id, text: ruleText(rule), taken: taken(rule), state: STATES[rule.state] ?? '',
  }));
  const more = faults.rules - rules.length;
  const held = faults.held_frames > 0 ? `${many(faults.held_frames, 'frame')} held (${bytes(faults.held_bytes)})` : '';
  rebuild(panel, { rules, more, held }, () => [
    h('h3', { text: 'Fault rules' }),
    h('ul', {}, rules.map((rule) => h('li', { class: rule.state === 'over' ? 'quiet' : '' },
      h('span', { class: 'rule number', text: `${rule.id}` }),
      h('span', { class: 'what', text: rule.text }),
      h('span', { class: 'taken number', text: [rule.taken, rule.state].filter(Boolean).join(', ') })))),
    h('p', { class: 'quiet' }, [more > 0 ? `and ${more} more` : '', held].filter(Boolean).join(' · '), ' ',
      h('button', { type: 'button', class: 'link', text: 'Add or remove', onclick: edit })),
  ]);
}

/** As it is written for relayctl. */
export function ruleText(rule) {
  const options = [
    rule.probability < 1 ? `probability ${rule.probability}` : '',
    rule.count === undefined ? '' : `count ${rule.count}`,
    rule.from_ms === undefined ? '' : `from ${time(rule.from_ms)}`,
    rule.until_ms === undefined ? '' : `until ${time(rule.until_ms)}`,
  ];
  const what = rule.link
    ? ['link', rule.filter, rule.filter === 'slow' ? rule.action : '']
    : [rule.filter, '→', rule.action];
  return [...what, ...options].filter(Boolean).join(' ');
}

function time(ms) {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

export function taken(rule) {
  const of = rule.count ?? (rule.probability < 1 ? rule.matched : undefined);
  return `${count(rule.hits)}${of === undefined ? '' : ` of ${count(of)}`} taken`;
}
