// The strip at the top: head unit, relayd, apps, and what flows between them. Drawn by main once a second.

import { h, many, rate, rebuild, s, setText, span, words } from './dom.js';

/** Narrower than this, the apps stand below head unit and relayd. */
const UPRIGHT = 760;
/** Pixels that head unit, relayd and the lines beside them take in a row with the apps. */
const BEFORE_APPS = 400;
/** From here on the head unit has more room for its name, and takes so much more. */
const WIDE = 1100;
const WIDER_BY = 60;
/** How apps are drawn: with their rates, or in one line each when there are many. At most 80 pixels high. */
const ROOMY = { name: 'roomy', width: 190, rows: 2 };
const TIGHT = { name: 'tight', width: 132, rows: 3 };
/** Rows of apps where they stand below the rest. */
const UPRIGHT_ROWS = 6;

/**
 * @param {{isLost: boolean, status: object, flow: object}} facts
 * @param {{filter: (id: number) => void}} actions
 */
export function drawChain(container, facts, actions) {
  const width = Math.max(280, container.clientWidth);
  const nodes = describe(facts);
  const plan = layOut(nodes.apps.length, width);
  const shown = nodes.apps.length > plan.room ? plan.room - 1 : nodes.apps.length;
  const more = nodes.apps.length - shown;
  const apps = nodes.apps.slice(0, shown);
  const { unit, hub, label, nobody } = nodes;
  // Rates change each second; the elements stay, so that a click is not lost between two of them.
  rebuild(container, { plan, label, unit: still(unit), hub, nobody, apps: apps.map(still), more }, () => [
    h('div', { class: `strip ${plan.name}`, role: 'group', 'aria-label': label },
      node(unit), edge(unit.state), node(hub), h('span', { class: 'stem' }),
      apps.length > 0 ? chips(apps, more, plan, actions) : node(nobody)),
  ]);
  const texts = [...container.querySelectorAll('.flow-text')];
  const rates = [unit.forth, unit.back, ...apps.map(({ forth, back }) => [forth, back].filter(Boolean).join(' '))];
  texts.forEach((text, index) => setText(text, rates[index] ?? ''));
}

/** What is built; the rest is filled in. */
const still = ({ forth, back, ...rest }) => rest;

function layOut(count, width) {
  if (width < UPRIGHT) {
    const kind = count > UPRIGHT_ROWS ? TIGHT : ROOMY;
    const columns = Math.max(1, Math.floor((width - 24) / kind.width));
    return { name: `upright ${kind.name}`, columns, room: columns * UPRIGHT_ROWS };
  }
  const area = width - BEFORE_APPS - (width < WIDE ? 0 : WIDER_BY);
  const most = (kind) => Math.max(1, Math.floor(area / kind.width));
  const kind = count <= most(ROOMY) * ROOMY.rows ? ROOMY : TIGHT;
  const room = most(kind) * kind.rows;
  // Rows of about the same length.
  const rows = Math.ceil(Math.min(count, room) / most(kind));
  const columns = Math.ceil(Math.min(count, room) / Math.max(1, rows));
  return { name: kind.name + (width < WIDE ? '' : ' wide'), columns, room };
}

// What there is to draw.

function describe({ isLost, status, flow }) {
  if (!status) {
    return {
      label: 'not connected to relayd', unit: { title: '…', lines: [], state: 'off' }, apps: [],
      hub: { title: 'relayd', lines: ['not answering'], state: 'broken' }, nobody: { title: '…', lines: [], state: 'off' },
    };
  }
  const unit = describeUnit(status, flow);
  const hub = {
    title: 'relayd',
    lines: isLost ? ['not answering'] : [status.relayd.version.replace(/\+.*/, ''), upTime(status)],
    whole: `relayd ${status.relayd.version}`,
    state: isLost ? 'broken' : 'ok',
  };
  const apps = status.apps.map((app) => describeApp(app, flow, status)).sort((one, other) => one.rank - other.rank);
  if (isLost) for (const one of [unit, ...apps]) Object.assign(one, { state: 'off', forth: '', back: '' });
  return { label: isLost ? 'relayd is not answering' : status.summary, unit, hub, apps, nobody: describeNobody(status.server, status.accessory.protocol === 'openxc' ? 'client' : 'app') };
}

/** Minutes, so that the picture is not drawn again for each second. */
function upTime(status) {
  const seconds = status.relayd.uptime_seconds;
  return seconds < 60 ? 'just started' : `up ${span(Math.floor(seconds / 60) * 60_000).replace(/ 0 s$/, '')}`;
}

const UNIT = {
  open: ['ok', 'open'],
  opening: ['waiting', 'opening …'],
  listening: ['waiting', 'listening'],
  waiting: ['broken', 'not there'],
  closed: ['off', 'closed'],
};

function describeUnit({ accessory, link }, flow) {
  let [state, word] = UNIT[accessory.state] ?? ['waiting', accessory.state];
  if (state === 'ok' && link.paused) [state, word] = ['waiting', 'takes bytes slowly'];
  if (state === 'ok' && accessory.hint) [state, word] = ['waiting', 'speaks no SDL?'];
  return {
    title: accessory.name ?? (accessory.protocol === 'openxc' ? 'Vehicle interface' : 'Head unit'),
    lines: [accessory.address, word],
    whole: accessory.device,
    state,
    ...rates(flow.unit.out, flow.unit.in, '←', '→'),
  };
}

const APP = {
  registered: 'ok',
  session_open: 'waiting',
  starting_session: 'waiting',
  waiting_for_head_unit: 'waiting',
  connected: 'quiet',
  ending: 'off',
};
/** The app on the screen first, then those that are heard; the order within is that of connecting. */
const LEVELS = ['FULL', 'LIMITED', 'BACKGROUND', 'NONE'];

function describeApp(app, flow, status) {
  const isRegistered = app.state === 'registered';
  let state = APP[app.state] ?? 'quiet';
  if (isRegistered && app.queue_bytes > 0) state = 'waiting';
  if (app.state === 'waiting_for_head_unit' && status.accessory.state === 'waiting') state = 'broken';
  const { from, to } = flow.apps.get(app.id) ?? { from: 0, to: 0 };
  const level = isRegistered ? app.hmi_level ?? '' : '';
  const rank = LEVELS.indexOf(level);
  return {
    id: app.id,
    title: app.app_name ?? `app ${app.id}`,
    level,
    lines: [isRegistered ? `HMI level ${app.hmi_level ?? 'not known yet'}` : words(app.state), app.peer],
    rank: rank < 0 ? LEVELS.length : rank,
    state,
    ...rates(to, from, '→', '←'),
  };
}

function describeNobody(server, who) {
  if (server.state === 'listening') {
    return { title: `No ${who} connected`, lines: [`connect to ${server.endpoints[0] ?? '?'}`], state: 'off' };
  }
  return { title: `No ${who} can connect`, lines: [server.reason ?? server.state], state: server.state === 'failed' ? 'broken' : 'off' };
}

/** `forth` flows away from relayd, `back` to it. */
function rates(forth, back, away, towards) {
  return { forth: forth > 0 ? `${away} ${rate(forth)}` : '', back: back > 0 ? `${towards} ${rate(back)}` : '' };
}

// How it is drawn.

function node({ title, lines, whole, state }) {
  return h('div', { class: `node state-${state}`, title: [title, ...lines, whole].filter(Boolean).join('\n') },
    h('b', {}, sign(state), title), lines.filter(Boolean).map((text) => h('span', { class: 'line', text })));
}

/** The line between head unit and relayd. */
function edge(state) {
  return h('div', { class: `edge state-${state}` },
    h('span', { class: 'flow-text' }), h('i', { class: 'wire' }, state === 'broken' ? cross() : null), h('span', { class: 'flow-text' }));
}

function chips(apps, more, { name, columns }, { filter }) {
  const list = h('ul', { class: 'chips-list', 'aria-label': many(apps.length + more, 'app') },
    apps.map((app) => h('li', {}, h('button', {
      type: 'button', class: `app-chip state-${app.state}`, onclick: () => filter(app.id),
      title: [app.title, ...app.lines, 'click: only its messages'].join('\n'),
    }, sign(app.state), h('b', { text: app.title }),
    h('span', { class: 'chip-level', 'data-level': app.level, text: app.level }), h('span', { class: 'flow-text' })))),
    more > 0 ? h('li', { class: 'chips-more', text: `and ${more} more` }) : null);
  list.style.gridTemplateColumns = `repeat(${columns}, minmax(0, ${name.startsWith('upright') ? '1fr' : '300px'}))`;
  return list;
}

/** Each state has a shape of its own, not only a colour. */
function sign(state) {
  const shape = {
    ok: ['circle', { cx: 6, cy: 6, r: 5 }],
    waiting: ['path', { d: 'M6 .5l5.500 10.500h-11z' }],
    broken: ['path', { class: 'stroke', d: 'M2 2l8 8m0-8l-8 8' }],
  }[state] ?? ['circle', { class: 'stroke', cx: 6, cy: 6, r: 4.5 }];
  return s('svg', { class: 'sign', viewBox: '0 0 12 12', 'aria-hidden': 'true' }, s(...shape));
}

function cross() {
  return s('svg', { class: 'cross', viewBox: '0 0 24 24', 'aria-hidden': 'true' },
    s('circle', { cx: 12, cy: 12, r: 10 }), s('path', { d: 'M8 8l8 8m0-8l-8 8' }));
}
