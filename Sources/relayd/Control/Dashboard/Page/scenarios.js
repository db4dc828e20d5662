// Scenarios as a panel of the drawer: chosen, opened or typed, checked by relayd while they are typed, run by
// relayd, and watched step by step.

import { $, h, milliseconds, rebuild, setText } from './dom.js';
import { Refused, ask, askLines } from './api.js';
import { reason } from './drive.js';

/** Milliseconds without a keystroke after which relayd is asked. */
const PAUSE = 300;
/** Bytes that relayd takes. */
const LARGEST = 1 << 20;
/** Milliseconds between two looks at the clock. */
const TICK = 200;

const SIGNS = { open: '·', running: '▸', passed: '✓', failed: '✗', unusable: '✗', skipped: '·' };
const OUTCOMES = { passed: 'passed', failed: 'failed', unusable: 'could not be used' };

export class ScenarioPanel {
  constructor(drive) {
    this.drive = drive;
    this.asked = 0;
    this.rows = new Map();
    this.isRunning = false;
    /** Whether relayd runs one for somebody else. */
    this.isBusy = false;
    $('scenario-ready').addEventListener('change', () => this.chooseReady());
    $('scenario-file').addEventListener('change', () => this.chooseFile($('scenario-file').files[0]));
    $('scenario-text').addEventListener('input', () => {
      $('scenario-ready').value = '';
      this.edited();
    });
    $('scenario-stop').addEventListener('click', () => this.stop());
    $('scenario-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.run();
    });
    this.drawButtons();
  }

  learned() {
    // What could not be checked before.
    if (!this.checked && $('scenario-text').value.trim() !== '') this.edited();
    this.drawButtons();
  }

  /** Which one relayd runs now; the ready ones when they are needed first. */
  async look() {
    try {
      const list = await ask('/v1/scenarios');
      if (!this.ready) $('scenario-ready').append(...list.scenarios.map((one) => h('option', { value: one.name, text: `${one.name}: ${one.scenario}` })));
      this.ready = list.scenarios;
      this.isBusy = !this.isRunning && list.running !== undefined;
      if (this.isBusy) this.say(`relayd runs “${list.running}” for somebody else`, '');
    } catch (error) {
      this.say(reason(error), 'wrong');
    }
    this.drawButtons();
  }

  // What is to be run

  chooseReady() {
    const chosen = this.ready?.find((one) => one.name === $('scenario-ready').value);
    if (chosen) this.use(chosen.text);
  }

  async chooseFile(file) {
    if (!file) return;
    $('scenario-ready').value = '';
    if (file.size > LARGEST) {
      this.say(`${file.name} is larger than 1 MiB, which no scenario is`, 'wrong');
      return;
    }
    this.use(await file.text());
    // The same file can be chosen again when it has changed.
    $('scenario-file').value = '';
  }

  use(text) {
    $('scenario-text').value = text;
    this.edited();
  }

  edited() {
    this.checked = undefined;
    this.asked += 1;
    clearTimeout(this.timer);
    if ($('scenario-text').value.trim() === '') {
      this.draw({ problems: [], apps: [], variables: {} });
      if (!this.isRunning) this.say('', '');
    } else if (this.drive.isAllowed) {
      this.timer = setTimeout(() => this.check(), PAUSE);
    }
    this.drawButtons();
  }

  async check() {
    const asked = this.asked;
    try {
      const report = await this.drive.request('/v1/scenarios/check', { method: 'POST', yaml: $('scenario-text').value });
      if (asked !== this.asked) return;
      this.draw(report);
      this.checked = report.problems.length === 0 ? report : undefined;
      if (!this.isRunning) this.say(report.summary, this.checked ? 'right' : 'wrong');
    } catch (error) {
      if (asked === this.asked && !this.isRunning) this.say(reason(error), 'wrong');
    }
    this.drawButtons();
  }

  /** Mistakes with their lines; of a scenario without, its apps and variables. */
  draw({ problems, apps, variables }) {
    rebuild($('scenario-problems'), problems, () => problems.map((one) => h('li', {},
      one.line === undefined ? null : h('button', { type: 'button', class: 'link', text: `line ${one.line}`, onclick: () => this.goTo(one.line, one.column) }),
      ` ${[one.path, one.message].filter(Boolean).join(': ')}`)));
    if (problems.length > 0) return;
    const row = (kind, name, example) => h('label', { class: 'field' }, h('span', { text: name }),
      h('input', { type: 'text', placeholder: example, 'data-choice': kind, 'data-name': name, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' }));
    rebuild($('scenario-choices'), { apps, variables }, () => [
      ...apps.map((name) => row('app', name, 'the app, as written')),
      ...Object.entries(variables).map(([name, value]) => row('set', name, typeof value === 'string' ? value : JSON.stringify(value))),
    ]);
  }

  goTo(line, column) {
    const text = $('scenario-text');
    const start = text.value.split('\n').slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    text.focus();
    text.setSelectionRange(start + (column ?? 1) - 1, start + (text.value.split('\n')[line - 1] ?? '').length);
  }

  // Running

  get query() {
    const query = new URLSearchParams();
    for (const one of $('scenario-choices').querySelectorAll('input')) {
      if (one.value.trim() !== '') query.append(one.dataset.choice, `${one.dataset.name}=${one.value.trim()}`);
    }
    if ($('scenario-harm').checked) query.append('may_harm_others', '1');
    const text = query.toString();
    return text && `?${text}`;
  }

  async run() {
    if ($('scenario-run').disabled) return;
    this.isRunning = true;
    this.isBusy = false;
    this.isOver = false;
    this.rows.clear();
    $('scenario-steps').replaceChildren();
    this.say('it begins …', '');
    this.drawButtons();
    const clock = setInterval(() => this.tick(), TICK);
    try {
      await askLines(`/v1/scenarios/run${this.query}`, { method: 'POST', yaml: $('scenario-text').value }, (line) => this.take(JSON.parse(line)));
      if (!this.isOver) this.say('relayd has not told its end', 'wrong');
    } catch (error) {
      this.drive.refused(error);
      this.isBusy = error instanceof Refused && error.status === 409;
      this.say(reason(error), 'wrong');
    }
    clearInterval(clock);
    this.isRunning = false;
    this.drawButtons();
  }

  /** Has relayd end it; what came of this page's own is told as at any other end, perhaps before the answer. */
  async stop() {
    const isOwn = this.isRunning;
    $('scenario-stop').disabled = true;
    try {
      const { summary } = await this.drive.request('/v1/scenarios/run', { method: 'DELETE' });
      if (isOwn) return;
      this.isBusy = false;
      this.say(summary, 'right');
    } catch (error) {
      this.say(reason(error), 'wrong');
    }
    this.drawButtons();
  }

  /** A line of the stream. */
  take(event) {
    if (event.event === 'begun') {
      $('scenario-steps').replaceChildren(...event.steps.map((step) => this.row(step)));
      this.say(`${event.scenario} runs`, '');
    } else if (event.event === 'step') {
      this.drawStep(event.step);
    } else if (event.event === 'ended') {
      this.isOver = true;
      const outcome = `${OUTCOMES[event.outcome] ?? event.outcome} after ${milliseconds(event.seconds * 1000)}`;
      this.say([outcome, event.problem].filter(Boolean).join(': '), event.outcome === 'passed' ? 'right' : 'wrong');
    }
  }

  row(step) {
    const row = {
      sign: h('span', { class: 'sign', 'aria-hidden': 'true' }), state: h('span', { class: 'unseen' }),
      time: h('span', { class: 'quiet number' }), reason: h('div', { class: 'reason' }),
    };
    row.item = h('li', { 'data-step': step.number }, row.sign, h('span', { class: 'what', text: step.words, title: `line ${step.line}` }), row.state, row.time, row.reason);
    this.rows.set(step.number, row);
    this.drawStep(step);
    return row.item;
  }

  drawStep(step) {
    const row = this.rows.get(step.number);
    if (!row) return;
    row.since = step.outcome === 'running' ? performance.now() : undefined;
    row.item.dataset.state = step.outcome;
    row.item.toggleAttribute('aria-current', step.outcome === 'running');
    setText(row.sign, SIGNS[step.outcome] ?? '·');
    setText(row.state, step.outcome);
    setText(row.time, ['passed', 'failed', 'unusable'].includes(step.outcome) ? milliseconds(step.seconds * 1000) : '');
    if (step.failure) row.reason.replaceChildren(...failureLines(step.failure).map(([kind, text]) => h('p', { class: kind, text })));
  }

  /** How long the step takes so far. */
  tick() {
    for (const row of this.rows.values()) {
      if (row.since !== undefined) setText(row.time, `${Math.floor((performance.now() - row.since) / 1000)} s`);
    }
  }

  drawButtons() {
    $('scenario-run').disabled = !this.drive.isAllowed || this.isRunning || !this.checked;
    $('scenario-stop').hidden = !this.isRunning && !this.isBusy;
    $('scenario-stop').disabled = !this.drive.isAllowed;
  }

  say(words, state) {
    setText($('scenario-said'), words);
    $('scenario-said').dataset.state = state;
  }
}

/** As relayctl run shows it: "-" is what was expected, "+" is what came. */
function failureLines({ summary, expected, came, differences }) {
  return [
    ['', summary],
    ...expected.map((text) => ['', `expected: ${text}`]),
    ...came.map((text) => ['', `came: ${text}`]),
    ...differences.flatMap(({ path, expected: wanted, found }) => [['wanted', `- ${path}: ${wanted}`], ['found', `+ ${path}: ${found ?? 'is not there'}`]]),
  ];
}
