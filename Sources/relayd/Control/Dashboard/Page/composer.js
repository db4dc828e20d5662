// The composer: an RPC as a form and as JSON, compared with the specification by relayd while it is typed,
// sent in an app's place or said in the head unit's. Part of the drawer.

import { $, clock, h, milliseconds, rebuild, setText } from './dom.js';
import { Form, isObject } from './form.js';
import { LARGEST, pieces } from './upload.js';
import { reason } from './drive.js';

/** The app that relayd itself is for this page. */
const OWN = 'RPC tester';
/** Milliseconds without a keystroke after which relayd is asked. */
const PAUSE = 300;
/** What was sent last, in this page only. */
const HISTORY = 20;
/** How long answers are waited for: milliseconds. relayd waits 10 s, and its own apps need two answers. */
const PATIENCE = 25_000;

const TYPES = { send: ['request', 'notification', 'response'], inject: ['notification', 'response'] };

export class Composer {
  constructor(drive) {
    this.drive = drive;
    this.apps = [];
    this.value = {};
    this.history = [];
    this.asked = 0;
    this.form = new Form($('compose-form'), () => this.edited());
    $('compose-app').addEventListener('change', () => this.edited());
    $('compose-way').addEventListener('change', () => this.chooseWay());
    $('compose-type').addEventListener('change', () => this.chooseRPC());
    $('compose-rpc').addEventListener('input', () => this.chooseRPC());
    $('compose-json').addEventListener('input', () => this.readJSON());
    $('compose-unchecked').addEventListener('change', () => this.edited());
    $('compose-correlation').addEventListener('input', () => this.edited());
    $('compose-file').addEventListener('change', () => this.chooseFile($('compose-file').files[0]));
    $('compose-file-none').addEventListener('click', () => this.chooseFile(undefined));
    $('compose-leave').addEventListener('click', () => this.leave());
    $('compose').addEventListener('submit', (event) => {
      event.preventDefault();
      this.send();
    });
    const panel = $('panel-compose');
    panel.addEventListener('dragover', (event) => {
      if (this.way === 'send' && event.dataTransfer?.types.includes('Files')) event.preventDefault();
    });
    panel.addEventListener('drop', (event) => {
      if (this.way !== 'send' || !event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.chooseFile(event.dataTransfer.files[0]);
    });
    this.offerTypes();
  }

  get way() {
    return $('compose-way').value;
  }

  get type() {
    return $('compose-type').value;
  }

  get rpc() {
    return $('compose-rpc').value.trim();
  }

  get isUnchecked() {
    return $('compose-unchecked').checked;
  }

  learned() {
    this.drawSend();
    this.soon();
  }

  /** Apps that are there now. */
  know(apps) {
    this.apps = apps;
    const select = $('compose-app');
    const chosen = select.value;
    const rows = apps.map((app) => [String(app.id), `${app.app_name ?? app.peer} (app ${app.id})`]);
    const own = this.ownApp;
    if (!own) rows.push(['own', `${OWN}, an app of relayd’s own`]);
    rebuild(select, rows, () => rows.map(([value, text]) => h('option', { value, text })));
    const wanted = chosen === 'own' && own ? String(own.id) : chosen;
    select.value = rows.some(([value]) => value === wanted) ? wanted : rows[0][0];
    $('compose-leave').hidden = !own || !this.drive.isAllowed;
    if (select.value !== chosen) this.soon();
  }

  get ownApp() {
    return this.apps.find((one) => one.peer === 'relayd' && one.app_name === OWN);
  }

  use(specification) {
    this.specification = specification;
    setText($('compose-specification'), `RPC specification ${specification.version}${specification.file ? ` of ${specification.file}` : ''}`);
    this.offerRPCs();
    this.chooseRPC();
  }

  // Which RPC

  chooseWay() {
    this.offerTypes();
    this.offerRPCs();
    this.chooseRPC();
  }

  offerTypes(wanted) {
    const types = TYPES[this.way];
    const chosen = wanted ?? this.type;
    $('compose-type').replaceChildren(...types.map((value) => h('option', { value, text: value })));
    $('compose-type').value = types.includes(chosen) ? chosen : types[0];
  }

  offerRPCs() {
    const names = this.specification?.names(this.type) ?? [];
    rebuild($('compose-rpcs'), names, () => names.map((value) => h('option', { value })));
  }

  /** Another RPC; what is filled in stays, as far as it is the same. */
  chooseRPC() {
    this.offerRPCs();
    $('compose-correlation-row').hidden = this.type !== 'response';
    $('compose-file-row').hidden = this.way !== 'send';
    const found = this.specification?.find(this.rpc, this.type);
    if (found !== this.definition) {
      const names = new Set(found?.parameters.map((one) => one.name));
      const isOther = Object.keys(this.value).some((name) => !names.has(name));
      if (found && isOther) this.value = {};
      this.definition = found;
    }
    this.draw();
    this.edited();
  }

  /** Fills all of it in, as with a message that passed. */
  fill({ app, appName, way, rpc, type, parameters, correlation }) {
    const there = this.apps.find((one) => one.id === app) ?? this.apps.find((one) => appName && one.app_name === appName);
    if (there) $('compose-app').value = String(there.id);
    $('compose-way').value = way;
    this.offerTypes(type);
    $('compose-rpc').value = rpc;
    $('compose-correlation').value = correlation ?? '';
    this.chooseFile(undefined);
    this.value = isObject(parameters) ? structuredClone(parameters) : {};
    this.definition = this.specification?.find(rpc, this.type);
    this.chooseRPC();
    $('compose-send').focus();
  }

  // Form and JSON

  draw() {
    const { definition } = this;
    $('compose-form').hidden = !definition;
    $('compose-unknown').hidden = Boolean(definition) || this.rpc === '';
    setText($('compose-unknown'), this.specification && !definition && this.rpc
      ? `${this.rpc} is no ${this.type} of the specification; unchecked, a number such as 0x8001 stands for any function.` : '');
    if (definition) this.form.show(this.specification, definition.parameters, this.value);
    this.writeJSON();
  }

  writeJSON() {
    $('compose-json').value = JSON.stringify(this.value, null, 2);
    this.jsonProblem = undefined;
    $('compose-json').removeAttribute('aria-invalid');
  }

  readJSON() {
    try {
      const value = JSON.parse($('compose-json').value.trim() || '{}');
      if (!isObject(value)) throw new SyntaxError('expected an object, such as {}');
      this.value = value;
      this.jsonProblem = undefined;
      $('compose-json').removeAttribute('aria-invalid');
      if (this.definition) this.form.show(this.specification, this.definition.parameters, value);
    } catch (error) {
      this.jsonProblem = `JSON: ${error.message}`;
      $('compose-json').setAttribute('aria-invalid', 'true');
    }
    this.judge();
    this.soon();
  }

  /** Something has changed, but not the JSON by hand. */
  edited() {
    this.writeJSON();
    this.judge();
    this.soon();
  }

  // What is wrong

  /** What this page sees by itself, at once. */
  judge() {
    const problems = this.isUnchecked || !this.definition ? [] : this.specification.problems(this.definition.parameters, this.value);
    this.mark(problems);
    this.say(this.jsonProblem ?? '', 'wrong');
    this.drawSend();
  }

  mark(problems) {
    const rest = this.definition ? this.form.mark(problems) : problems;
    rebuild($('compose-problems'), rest, () => rest.map((one) => h('li', { text: [one.path, one.message].filter(Boolean).join(': ') })));
    this.problems = problems;
  }

  /** Has relayd compare it once nothing is typed any more. */
  soon() {
    clearTimeout(this.timer);
    this.asked += 1;
    this.timer = setTimeout(() => this.check(), PAUSE);
  }

  async check() {
    const app = $('compose-app').value;
    if (!this.drive.isOpen || !this.drive.isAllowed || this.rpc === '' || this.jsonProblem || !/^\d+$/.test(app)) return;
    const mine = this.asked;
    try {
      const report = await this.drive.request(`/v1/apps/${app}/${this.way}`, { method: 'POST', body: { ...this.body, check: true } });
      if (mine !== this.asked) return;
      if (report.problems?.length) this.mark(report.problems.map((one) => ({ path: one.path, message: without(one) })));
      else if (!report.refusal) this.mark([]);
      const remarks = report.remarks.length > 0 ? `; ${report.remarks.join('; ')}` : '';
      this.say(report.refusal ? `relayd would refuse it: ${report.refusal}` : `relayd would say it${remarks}`, report.refusal ? 'wrong' : 'right');
    } catch (error) {
      if (mine === this.asked) this.say(reason(error), 'wrong');
    }
  }

  get body() {
    const body = { rpc: this.rpc, type: this.type, parameters: this.value };
    if (this.isUnchecked) body.unchecked = true;
    const correlation = $('compose-correlation').value.trim();
    if (this.type === 'response' && /^-?\d+$/.test(correlation)) body.correlation_id = Number(correlation);
    return body;
  }

  say(words, state) {
    setText($('compose-verdict'), words);
    $('compose-verdict').dataset.state = words ? state : '';
  }

  drawSend() {
    const button = $('compose-send');
    setText(button, this.way === 'send' ? 'Send to the head unit' : 'Say to the app');
    button.disabled = !this.drive.isAllowed || this.isSending || this.rpc === '' || this.jsonProblem !== undefined;
  }

  // Bulk data

  chooseFile(file) {
    if (file && file.size > LARGEST) {
      this.say(`${file.name} is larger than ${LARGEST >> 20} MiB`, 'wrong');
      return;
    }
    this.file = file?.size > 0 ? file : undefined;
    setText($('compose-file-name'), this.file ? `${this.file.name}, ${this.file.size} bytes` : file ? `${file.name} is empty` : 'no file');
    $('compose-file-none').hidden = !this.file;
    if (!file) $('compose-file').value = '';
  }

  // Saying it

  async send() {
    if ($('compose-send').disabled) return;
    const { way, body, file } = this;
    const entry = { at: Date.now(), way, body, app: $('compose-app').value, name: $('compose-app').selectedOptions[0]?.text ?? '' };
    this.isSending = true;
    this.drawSend();
    this.answer(h('p', { class: 'quiet', text: 'waiting for the answer …' }));
    try {
      const app = entry.app === 'own' ? await this.register() : entry.app;
      const all = file && way === 'send' ? await pieces(body, file) : [body];
      for (const one of all) {
        entry.report = await this.drive.request(`/v1/apps/${app}/${way}`, { method: 'POST', body: one, patience: PATIENCE });
        if (entry.report.success === false) break;
      }
    } catch (error) {
      entry.problem = reason(error);
    }
    this.isSending = false;
    this.drawSend();
    this.history = [entry, ...this.history].slice(0, HISTORY);
    this.answer(answerOf(entry));
    this.drawHistory();
  }

  /** Has relayd be an app, or finds that it is. */
  async register() {
    const { app } = await this.drive.request('/v1/apps', { method: 'POST', body: { name: OWN }, patience: PATIENCE });
    return app;
  }

  async leave() {
    try {
      const { summary } = await this.drive.request('/v1/apps', { method: 'POST', body: { name: OWN, leave: true }, patience: PATIENCE });
      this.answer(h('p', { class: 'quiet', text: summary }));
    } catch (error) {
      this.answer(h('p', { class: 'wrong', text: reason(error) }));
    }
  }

  answer(...parts) {
    $('compose-answer').replaceChildren(...parts);
  }

  drawHistory() {
    $('compose-history').hidden = this.history.length === 0;
    $('compose-history-list').replaceChildren(...this.history.map((entry) => h('li', {},
      h('time', { class: 'number quiet', text: clock(new Date(entry.at), false) }),
      h('span', { class: 'what', text: `${entry.body.rpc} ${JSON.stringify(entry.body.parameters)}` }),
      h('span', { class: entry.problem || entry.report.success === false ? 'c-failure' : 'c-success', text: entry.problem ? 'not said' : entry.report.result_code ?? 'said' }),
      h('button', { type: 'button', class: 'small', text: 'Again', 'aria-label': `Fill in ${entry.body.rpc} again`, onclick: () => this.fill({
        app: Number(entry.app), way: entry.way, rpc: entry.body.rpc, type: entry.body.type, parameters: entry.body.parameters, correlation: entry.body.correlation_id,
      }) }))));
  }
}

/** Without the path, which stands beside it. */
function without({ path, message }) {
  return path && message.startsWith(`${path} `) ? message.slice(path.length + 1) : message;
}

function answerOf({ report, problem }) {
  if (problem) return h('p', { class: 'wrong', text: problem });
  const isAnswered = report.result_code !== undefined;
  return h('div', {},
    h('p', {},
      isAnswered ? h('b', { class: report.success ? 'c-success' : 'c-failure', text: report.result_code || 'no result code' }) : h('b', { class: 'c-success', text: 'said' }),
      h('span', { class: 'quiet number', text: ` after ${milliseconds(report.milliseconds)}` }),
      report.info ? h('span', { text: ` “${report.info}”` }) : null),
    h('p', { class: 'quiet', text: [report.summary, ...report.remarks].join('; ') }),
    report.response === undefined ? null : h('pre', { class: 'json', tabindex: '0', 'aria-label': 'The answer as JSON', text: JSON.stringify(report.response, null, 2) }));
}
