// The dashboard's wiring: asks for the status once a second, follows the messages, and has both
// drawn. Everything else is in the module named for it.

import { $, h, count, many, rebuild, setText, span } from './dom.js';
import { Refused, ask, takeTokenFromAddress } from './api.js';
import { Actions, toast } from './actions.js';
import { Intake, MessageStream, read } from './stream.js';
import { Store } from './store.js';
import { Console } from './console.js';
import { drawChain } from './chain.js';
import { drawCards, forgetCards } from './cards.js';
import { History, Plot, drawLatency, drawThroughput } from './plots.js';
import { connectKeys } from './keys.js';
import { isNews, recentLimits } from './limits.js';
import { drawFaults } from './faults.js';
import { Recordings } from './recordings.js';
import { Recorded, drawBar } from './recorded.js';
import { VehicleView } from './vehicle.js';
import { Drive } from './drive.js';

/** Milliseconds between two questions for the status. */
const PACE = 1000;
/** Apps whose facts are asked for in one round, in turn when there are more. */
const APPS_PER_ROUND = 4;
/** A page nobody has seen for so long lets the stream go, and takes it up where it was. */
const HIDDEN_FOR = 30_000;

takeTokenFromAddress();
const store = new Store();
const view = new Console(store);
const history = new History();
const actions = new Actions(() => restart(), () => look());
const recordings = new Recordings(actions, openRecording);
const drive = new Drive(actions);
actions.onLearned = () => drive.learned();
view.detail.resend = (message, parameters) => drive.resend(message, parameters);
const vehicle = new VehicleView();
/** The recording that is shown instead of what passes. */
let recorded;
const intake = new Intake(deliver);
const stream = new MessageStream({
  lines: (lines) => intake.add(lines),
  note(note) {
    if (note.missed) view.missed += note.missed;
  },
  state: streamChanged,
});
const throughput = new Plot($('throughput'), $('throughput-now'));
const latency = new Plot($('latency'), $('latency-now'));

/** What is known now; `lost` is since when relayd does not answer. */
const known = { status: null, lost: null, until: 0, why: null, reports: new Map(), turn: 0 };
const flow = { unit: { in: 0, out: 0 }, apps: new Map(), streams: new Map(), now: Date.now() };
let lastReceived = { at: performance.now(), count: 0 };

// Messages

function deliver(messages) {
  if (messages.length > 0) {
    for (const message of messages) {
      if (message.kind === 'response' && message.latency_ms !== undefined) history.latency(message);
    }
    store.add(messages);
  }
  view.skipped = intake.skipped;
  view.changed();
}

function streamChanged(state, { error, until }) {
  if (state === 'open') {
    view.note = undefined;
    recovered();
    actions.learn();
  } else if (state === 'another') {
    intake.forget();
    store.anotherInstance({ n: 0, kind: 'restart', at: Date.now(), line: '', priority: 'info' });
    known.reports.clear();
    forgetCards();
    vehicle.forget();
    drive.forget();
    toast('relayd was restarted; the page has reconnected');
  } else if (error instanceof Refused) {
    refused(error);
  } else {
    lose(until);
  }
  view.changed();
}

function refused(error) {
  view.note = error.message;
  if (error.status === 401) {
    actions.access ??= { reads: 'token', writes: 'token', authorized: false };
    actions.draw();
    setVerdict('broken', 'a token is needed: relayctl dashboard prints it');
  } else if (error.code !== 'ring_off') {
    toast(error.message);
  }
}

function lose(until) {
  if (known.lost === null) known.lost = Date.now();
  known.until = until ?? known.until;
  draw();
}

function recovered() {
  if (known.lost === null) return;
  known.lost = null;
  draw();
}

function restart() {
  stream.stop();
  stream.start();
  actions.learn();
  look();
}

// Recordings

/** What passes goes on coming meanwhile, for the way back. */
function openRecording(name) {
  recorded?.close();
  const mine = new Recorded(name, {
    changed() {
      if (recorded !== mine) return;
      drawBar(mine);
      view.updateChoices();
      view.changed();
    },
    failed(words) {
      if (recorded === mine && mine.loaded === 0) view.note = words;
    },
    filter: (app) => view.onlyApp(app),
  });
  recorded = mine;
  $('recorded-body').replaceChildren(h('p', { class: 'quiet', text: 'reading …' }));
  view.use(mine.store, false);
  mine.more();
  mine.learn();
  drawBar(mine);
  document.title = `Recording: ${name}`;
  $('list').focus({ preventScroll: true });
}

function toLive() {
  if (!recorded) return;
  recorded.close();
  recorded = undefined;
  drawBar(undefined);
  view.use(store, true);
  draw();
  $('list').focus({ preventScroll: true });
}

// Status

let isLooking = false;

async function look() {
  if (isLooking) return;
  isLooking = true;
  try {
    const status = await ask('/v1/status');
    measure(status);
    known.status = status;
    drive.know(status);
    if (known.lost !== null) {
      // relayd is back, so the stream need not wait for its next try.
      stream.retry();
      recovered();
    }
    await (isVehicle(status) ? vehicle.look() : lookAtApps(status));
  } catch (error) {
    if (error instanceof Refused) refused(error);
    else lose();
  }
  isLooking = false;
  draw();
}

async function lookAtApps({ apps }) {
  for (const id of known.reports.keys()) if (!apps.some((app) => app.id === id)) known.reports.delete(id);
  const round = [...apps, ...apps].slice(known.turn % Math.max(1, apps.length)).slice(0, Math.min(APPS_PER_ROUND, apps.length));
  known.turn += apps.length > APPS_PER_ROUND ? APPS_PER_ROUND : 0;
  await Promise.all(round.map(async ({ id }) => {
    try {
      const report = await ask(`/v1/apps/${id}`);
      measureStreams(id, report);
      known.reports.set(id, report);
    } catch (error) {
      // It left between the two questions.
      if (!(error instanceof Refused)) throw error;
    }
  }));
}

/** Whether what is connected is a vehicle interface, and no head unit. */
const isVehicle = (status) => status?.accessory.protocol === 'openxc';

let before;

/** Counters become rates. */
function measure(status) {
  const now = performance.now();
  flow.now = Date.now();
  if (before && before.status.relayd.pid === status.relayd.pid) {
    const seconds = Math.max(0.2, (now - before.now) / 1000);
    const per = (new_, old) => Math.max(0, (new_ - old) / seconds);
    flow.unit = {
      in: per(status.accessory.bytes_in, before.status.accessory.bytes_in),
      out: per(status.accessory.bytes_out, before.status.accessory.bytes_out),
    };
    flow.apps = new Map(status.apps.map((app) => {
      const old = before.status.apps.find((one) => one.id === app.id);
      return [app.id, old
        ? { from: per(app.bytes_from_app, old.bytes_from_app), to: per(app.bytes_to_app, old.bytes_to_app) }
        : { from: 0, to: 0 }];
    }));
    history.throughput(Date.now(), flow.unit.out, flow.unit.in);
  }
  before = { status, now };
}

function measureStreams(id, report) {
  const now = performance.now();
  const old = known.reports.get(id);
  const seconds = old ? (now - old.lookedAt) / 1000 : 0;
  report.lookedAt = now;
  if (!old || seconds <= 0) return;
  const rates = new Map();
  for (const service of report.services) {
    const past = old.services.find((one) => one.session === service.session && one.service === service.service);
    if (!past || service.frames === undefined || past.frames === undefined) continue;
    rates.set(`${service.session}/${service.service}`, {
      frames: service.pictures_per_second ?? Math.max(0, (service.frames - past.frames) / seconds),
      bits: service.bits_per_second ?? Math.max(0, ((service.bytes - past.bytes) * 8) / seconds),
    });
  }
  flow.streams.set(id, rates);
}

// Drawing

function draw() {
  const { status } = known;
  const isLost = known.lost !== null;
  document.body.classList.toggle('is-lost', isLost);
  document.body.classList.toggle('is-vehicle', isVehicle(status));
  $('lost').hidden = !isLost;
  if (isLost) setText($('lost-text'), lostWords());
  if (!recorded) drawChain($('chain'), { isLost, status, flow }, { filter: (id) => view.onlyApp(id) });
  if (!status) return;
  if (isLost) setVerdict('broken', 'relayd is not answering');
  else setVerdict(status.health === 'ok' ? 'ok' : 'broken', status.summary);
  if (recorded) {
    actions.know(status);
    return;
  }
  document.title = isLost ? 'relayd: not answering' : `${status.health === 'ok' ? '' : '! '}relayd`;
  drawIssues(status, isLost);
  drawFaults(isLost ? undefined : status.faults, () => drive.open('faults'));
  actions.know(status);
  drawRate();
  drawPlots();
  if (isVehicle(status)) {
    vehicle.draw();
    return;
  }
  drawCards(status, known.reports, flow, {
    canDisconnect: actions.canDisconnect,
    filter: (id) => view.onlyApp(id),
    open: (number) => openMessage(number),
    disconnect: (id, name) => actions.disconnect(id, name),
  });
  view.updateChoices();
}

function lostWords() {
  const wait = Math.max(0, Math.ceil((known.until - Date.now()) / 1000));
  const next = wait > 0 ? `next try in ${wait} s` : 'trying …';
  return `relayd has not answered for ${span(Date.now() - known.lost)}; ${next}. The page reconnects by itself.`;
}

function setVerdict(state, words) {
  $('verdict').dataset.state = state;
  setText($('verdict-text'), words);
}

/** What is wrong with the chain, most important first. */
function drawIssues(status, isLost) {
  const { accessory, link, server, log } = status;
  const [unit, apps] = isVehicle(status) ? ['vehicle interface', 'clients'] : ['head unit', 'apps'];
  const issues = [];
  const add = (level, text, remedy, setting) => issues.push({ level, text, remedy, setting });
  if (!isLost) {
    if (accessory.state !== 'open' && accessory.reason) {
      add(accessory.state === 'listening' ? 'waiting' : 'broken', accessory.reason.message, accessory.reason.remedy);
    }
    if (accessory.hint) add('broken', accessory.hint, 'check the address and what is at its other end');
    if (server.state !== 'listening' && server.reason) add('broken', server.reason);
    if (link.paused) add('waiting', `The ${unit} takes bytes too slowly; ${apps} are held back`);
    const starts = link.start_service_queue;
    if (starts > 0 && accessory.state === 'open') {
      add('waiting', `${many(starts, 'StartService')} ${starts === 1 ? 'waits' : 'wait'} until the head unit has answered the one before`);
    }
    if (accessory.garbage_bytes > 0 && isNews(accessory.garbage_at, Date.now())) add('waiting', `${count(accessory.garbage_bytes)} bytes from the ${unit} belonged to no ${isVehicle(status) ? 'message' : 'frame'}`);
    const [toUnit, toApps] = [accessory.lost_bytes_out ?? 0, accessory.lost_bytes_in ?? 0];
    if (toUnit + toApps > 0 && isNews(accessory.lost_at, Date.now())) add('waiting', `${count(toUnit)} bytes to the ${unit} and ${count(toApps)} from it were lost with a link that ended`);
    for (const { text, setting } of recentLimits(status.limits_hit, Date.now())) add('waiting', text, undefined, setting);
    if (log.dropped_batches > 0) add('waiting', `The log missed ${count(log.dropped_batches)} batches of frames; they were forwarded`);
  }
  rebuild($('issues'), issues, () => issues.map(({ level, text, remedy, setting }) => h('li', { class: `state-${level}` },
    h('span', { class: 'cause', text }), remedy ? h('span', { class: 'remedy', text: remedy }) : null,
    setting ? h('span', { class: 'setting', text: setting }) : null)));
}

/** Shows a message that something refers to, also one that the list does not have any more. */
async function openMessage(number) {
  toLive();
  const kept = store.message(number);
  if (kept) {
    view.select(kept, true);
    return;
  }
  try {
    const { message } = await ask(`/v1/messages/${number}`);
    view.select(read(JSON.stringify(message)), true);
  } catch (error) {
    toast(error instanceof Refused ? error.message : 'relayd did not answer');
  }
}

function drawRate() {
  const now = performance.now();
  const seconds = (now - lastReceived.at) / 1000;
  if (seconds < 0.9) return;
  const perSecond = Math.round(vehicle.rate ?? (intake.received - lastReceived.count) / seconds);
  lastReceived = { at: now, count: intake.received };
  setText($('rate'), `${count(perSecond)} msg/s`);
}

let colours;

/** Canvas knows no CSS variables; read again when the theme changes. */
function plotColours() {
  if (colours) return colours;
  const probe = document.createElement('span');
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  colours = Object.fromEntries(['request', 'success', 'failure', 'notification', 'grid', 'quiet'].map((name) => [name, read(name)]));
  colours.text = colours.quiet;
  probe.remove();
  return colours;
}

function drawPlots() {
  const now = Date.now();
  drawThroughput(throughput, history, now, plotColours(), isVehicle(known.status) ? 'vehicle interface' : 'head unit');
  drawLatency(latency, history, now, plotColours());
}

// Theme

const THEMES = ['system', 'light', 'dark'];
const ICONS = { system: '◐', light: '☀', dark: '☾' };

function setTheme(theme) {
  if (theme === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = theme;
  setText($('theme'), ICONS[theme]);
  $('theme').title = `Colours: ${theme} (t)`;
  try {
    localStorage.setItem('relayd-theme', theme);
  } catch {
    // Then it is chosen again next time.
  }
  colours = undefined;
  drawPlots();
}

function theme() {
  try {
    const kept = localStorage.getItem('relayd-theme');
    return THEMES.includes(kept) ? kept : 'system';
  } catch {
    return 'system';
  }
}

function nextTheme() {
  const current = document.documentElement.dataset.theme ?? 'system';
  setTheme(THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]);
}

// Start

$('theme').addEventListener('click', nextTheme);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  colours = undefined;
  drawPlots();
});
$('help-button').addEventListener('click', () => $('help').showModal());
$('lost-retry').addEventListener('click', () => {
  stream.retry();
  look();
});
window.addEventListener('hashchange', () => {
  const isToken = takeTokenFromAddress();
  view.readAddress();
  if (isToken) restart();
});
new ResizeObserver(() => draw()).observe($('main'));

let hiddenTimer;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) {
    hiddenTimer = setTimeout(() => stream.stop(), HIDDEN_FOR);
  } else {
    stream.start();
    look();
  }
});

$('recorded-back').addEventListener('click', toLive);
$('recorded-more').addEventListener('click', () => recorded?.more());
$('recorded-download').addEventListener('click', () => recorded && recordings.download(recorded.name));
$('recordings-token').addEventListener('click', () => recordings.needToken('Read recordings'));
connectKeys(view, { nextTheme, toLive, drive });
view.readAddress();
setTheme(theme());
draw();
stream.start();
actions.learn();
look();
setInterval(() => {
  // The banner counts down while nobody answers; the stream says when the next try is.
  if (known.lost !== null) draw();
  if (!document.hidden && (known.lost === null || Date.now() >= known.until)) look();
  if (!document.hidden && known.lost === null) recordings.look();
}, PACE);
