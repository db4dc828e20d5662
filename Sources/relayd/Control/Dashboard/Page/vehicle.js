// A shared OpenXC vehicle interface: its signals, CAN frames and diagnostics, and its clients. main
// has it drawn when the accessory speaks OpenXC.

import { $, bytes, count, h, many, rebuild, s, setText, span } from './dom.js';
import { ask } from './api.js';

/** Size of a sparkline, in pixels. */
const SPARK = { width: 120, height: 18 };

/** The latest answer of `GET /v1/vehicle`, drawn once a second. */
export class VehicleView {
  #report = null;
  #signals = new Rows($('signals'));
  #frames = new Rows($('can-frames'));
  #answers = new Rows($('diagnostics'));
  #clients = new Rows($('vehicle-clients'));

  constructor() {
    $('signal-filter').addEventListener('input', () => this.draw());
    $('signal-filter').addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.target.value = '';
      this.draw();
    });
  }

  /** Asks for it; throws what `ask` throws. */
  async look() {
    this.#report = await ask('/v1/vehicle');
  }

  /** Of a relayd that is gone nothing is kept. */
  forget() {
    this.#report = null;
  }

  /** Messages from the vehicle interface per second; undefined before the first answer. */
  get rate() {
    return this.#report?.interface.messages_per_second;
  }

  draw() {
    const report = this.#report;
    if (!report) return;
    const now = Date.now();
    this.#drawSignals(report, now);
    this.#drawFrames(report, now);
    this.#drawAnswers(report, now);
    this.#drawClients(report);
    drawFacts(report);
    drawWanted(report);
  }

  #drawSignals({ measurements }, now) {
    const wanted = $('signal-filter').value.trim().toLowerCase();
    const shown = measurements.filter((one) => signalName(one).toLowerCase().includes(wanted));
    this.#signals.update(shown, (one) => signalName(one), (one) => [
      signalName(one), signalValue(one), age(one.at, now), perSecond(one.per_second),
      { points: points(one.history), label: trend(one.history) },
    ]);
    setText($('signals-none'), measurements.length === 0 ? 'No signal has come yet.'
      : shown.length === 0 ? `None of ${many(measurements.length, 'signal')} has “${wanted}” in its name.` : '');
    setText($('signals-count'), shown.length === measurements.length ? count(shown.length) : `${count(shown.length)} of ${count(measurements.length)}`);
  }

  #drawFrames({ can }, now) {
    this.#frames.update(can, (one) => `${one.bus}/${one.id}/${one.frame_format}`, (one) => [
      one.bus ?? '', hex(one.id), one.data, age(one.at, now), perSecond(one.per_second),
    ]);
    setText($('can-none'), can.length === 0
      ? 'No CAN frame has come. A client, or relayctl vi can --bus 1 --passthrough, asks for them.' : '');
  }

  #drawAnswers({ diagnostics }, now) {
    this.#answers.update(diagnostics, (one) => `${one.bus}/${one.id}/${one.mode}/${one.pid}`, (one) => [
      one.bus ?? '', hex(one.id), hex(one.mode), one.pid === 0 ? '' : hex(one.pid), answerWords(one), age(one.at, now),
    ], (row, one) => row.classList.toggle('c-failure', !one.success));
    setText($('diagnostics-none'), diagnostics.length === 0
      ? 'No diagnostic answer has come. relayctl vi diag 0x7e0 1 0x0c asks for one.' : '');
  }

  #drawClients({ clients }) {
    this.#clients.update(clients, (one) => one.id, (one) => [
      `#${one.id}`, count(one.lost), bytes(one.queue_bytes), one.peer, one.format, count(one.messages_out), subscription(one),
    ], (row, one) => {
      row.classList.toggle('c-failure', one.lost > 0);
      row.title = [one.problem, one.writes.length > 0 ? `may write ${one.writes.join(', ')}` : 'may not write', one.refused > 0 ? `${count(one.refused)} of its messages were refused` : ''].filter(Boolean).join('\n');
    });
    setText($('vehicle-clients-none'), clients.length === 0 ? 'No client is connected.' : '');
  }
}

/** A table whose rows stay the same elements: a text can be selected while values change. */
class Rows {
  #rows = new Map();

  constructor(table) {
    this.body = table.tBodies[0];
    this.columns = [...table.tHead.rows[0].cells].map((cell) => cell.className);
    this.table = table;
  }

  /**
   * @param {Function} key what makes an item the same as before
   * @param {Function} cells texts, or the points of a sparkline with their words
   */
  update(items, key, cells, finish) {
    const gone = new Set(this.#rows.keys());
    this.table.hidden = items.length === 0;
    items.forEach((item, index) => {
      const name = key(item);
      gone.delete(name);
      let row = this.#rows.get(name);
      if (!row) {
        row = h('tr', {}, this.columns.map((name, column) => h(column === 0 ? 'th' : 'td', { class: name || undefined, scope: column === 0 ? 'row' : undefined })));
        this.#rows.set(name, row);
      }
      if (this.body.children[index] !== row) this.body.insertBefore(row, this.body.children[index] ?? null);
      cells(item).forEach((content, column) => fill(row.cells[column], content));
      finish?.(row, item);
    });
    for (const name of gone) {
      this.#rows.get(name).remove();
      this.#rows.delete(name);
    }
  }
}

function fill(cell, content) {
  if (typeof content !== 'object') {
    setText(cell, String(content));
    return;
  }
  let line = cell.querySelector('polyline');
  if (!line) {
    line = s('polyline');
    cell.replaceChildren(s('svg', { class: 'spark', viewBox: `0 0 ${SPARK.width} ${SPARK.height}`, role: 'img' }, line));
  }
  line.setAttribute('points', content.points);
  line.parentElement.setAttribute('aria-label', content.label);
}

/** Of the last minute, between the least and the greatest value. */
function points(history) {
  if (history.length < 2) return '';
  const [least, greatest] = range(history);
  const spread = greatest - least;
  const step = SPARK.width / (history.length - 1);
  return history.map((value, index) => {
    const share = spread > 0 && Number.isFinite(spread) ? (value - least) / spread : 0.5;
    return `${(index * step).toFixed(1)},${((1 - share) * (SPARK.height - 2) + 1).toFixed(1)}`;
  }).join(' ');
}

function trend(history) {
  if (history.length < 2) return '';
  const [least, greatest] = range(history);
  return `from ${number(least)} to ${number(greatest)} in the last minute`;
}

const range = (values) => [Math.min(...values), Math.max(...values)];

function drawFacts({ interface: unit, limits }) {
  const facts = [
    ['Firmware', unit.version], ['Platform', unit.platform], ['Device ID', unit.device_id], ['VIN', unit.vin], ['Format', unit.format],
    ['Messages', `${count(unit.messages)}, ${perSecond(unit.messages_per_second)} per second`],
    ['Garbage', unit.garbage_bytes > 0 ? `${count(unit.garbage_bytes)} bytes that belonged to no message` : ''],
    ...Object.entries(unit.unreadable).map(([what, times]) => ['Unreadable', `${count(times)}: ${what}`]),
    ...limits.filter((one) => one.left_out > 0).map((one) => ['Left out', `${many(one.left_out, 'message')}: ${one.name.replaceAll('_', ' ')} is ${count(one.limit)}`]),
  ].filter(([, value]) => value);
  rebuild($('vehicle-facts'), facts, () => facts.flatMap(([name, value]) => [h('dt', { text: name }), h('dd', { text: value })]));
}

/** What the vehicle interface does for clients until they leave. */
function drawWanted({ requests, switches }) {
  const lines = [
    ...requests.map((one) => `${number(one.frequency)} per second: ${request(one)}, for ${owners(one)}`),
    ...switches.map((one) => `${one.name === 'af_bypass' ? 'no acceptance filter' : one.name}${one.bus === undefined ? '' : `, bus ${one.bus}`}, for ${owners(one)}`),
  ];
  rebuild($('vehicle-wanted'), lines, () => lines.map((text) => h('li', { text })));
  $('vehicle-wanted-title').hidden = lines.length === 0;
}

function owners({ clients, api }) {
  return [...clients.map((id) => `#${id}`), api > 0 ? many(api, 'request of the control API', 'requests of the control API') : ''].filter(Boolean).join(', ');
}

// How things are written, as in relayctl vi.

/** Of an event the state as well: "door_status driver". */
function signalName({ name, value, event }) {
  return event === undefined ? name : `${name} ${scalar(value)}`;
}

function signalValue({ value, event, unit }) {
  const shown = event ?? value;
  return typeof shown === 'number' && unit ? `${number(shown)} ${unit}` : scalar(shown);
}

function answerWords(one) {
  if (!one.success) return ['refused', one.negative_response_code === undefined ? '' : hex(one.negative_response_code), one.reason].filter(Boolean).join(' ');
  const value = one.decoded === undefined ? one.value === undefined ? '' : scalar(one.value) : `${number(one.decoded)}${one.unit ? ` ${one.unit}` : ''}`;
  return [one.parameter, value, one.payload].filter(Boolean).join(' · ') || 'positive';
}

function request({ bus, id, mode, pid, parameter }) {
  return [bus === undefined ? '' : `bus ${bus}`, hex(id), `mode ${hex(mode)}`, pid === 0 ? '' : `PID ${hex(pid)}`, parameter].filter(Boolean).join(' ');
}

function subscription({ subscription: { names, buses, ids, on_change: onChange, rate } }) {
  return [
    names.join(', '), buses.map((one) => `bus ${one}`).join(', '), ids.join(', '),
    onChange ? 'changes only' : '', rate > 0 ? `${count(rate)} per second` : '',
  ].filter(Boolean).join(' · ') || 'everything';
}

const scalar = (value) => typeof value === 'number' ? number(value) : String(value);

/** At most three digits behind the point. */
function number(value) {
  return Math.abs(value) < 1e12 ? String(Math.round(value * 1000) / 1000) : String(value);
}

const perSecond = (value) => value.toFixed(1);
const hex = (value) => `0x${value.toString(16).padStart(2, '0')}`;

function age(time, now) {
  const ms = Math.max(0, now - Date.parse(time));
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms);
}
