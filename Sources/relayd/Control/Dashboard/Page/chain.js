// The picture: head unit, relayd, apps, and what flows between them. Drawn by main once a second.

import { s, cut, rate, rebuild, span, words } from './dom.js';

/** Units of the drawing are CSS pixels. */
const NODE_HEIGHT = 58;
const GAP = 14;
/** More apps than this are one node "and N more". */
const APPS_SHOWN = 6;
/** Pixels of a character of the small text, about. */
const CHARACTER = 6.4;

/**
 * @param {{isLost: boolean, status: object, flow: object, now: number}} facts
 */
export function drawChain(container, facts) {
  const width = Math.max(280, container.clientWidth);
  const nodes = describe(facts);
  rebuild(container, { width, nodes }, () => (width < 620 ? upright(nodes, width) : lying(nodes, width)));
}

// What there is to draw.

function describe({ isLost, status, flow }) {
  if (!status) {
    const unknown = { title: '…', lines: [''], state: 'off', edge: edge('off') };
    return { label: 'not connected to relayd', hub: { title: 'relayd', lines: ['not answering', ''], state: 'broken' }, unit: unknown, apps: [] };
  }
  const unit = describeUnit(status, flow);
  const hub = {
    title: 'relayd',
    lines: isLost ? ['not answering', ''] : [status.relayd.version, upTime(status)],
    state: isLost ? 'broken' : 'ok',
  };
  const apps = status.apps.slice(0, APPS_SHOWN).map((app) => describeApp(app, flow, status));
  if (status.apps.length > APPS_SHOWN) {
    const more = status.apps.length - APPS_SHOWN;
    apps.push({ title: `and ${more} more`, lines: ['see their cards', ''], state: 'ok', edge: edge('ok') });
  }
  if (apps.length === 0) apps.push(nobody(status.server));
  if (isLost) for (const node of [unit, ...apps]) Object.assign(node, { state: 'off', edge: edge('off') });
  return { label: isLost ? 'relayd is not answering' : status.summary, unit, hub, apps };
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
    title: accessory.name ?? 'Head unit',
    kind: accessory.kind,
    lines: [accessory.address, word],
    device: accessory.device,
    state,
    edge: edge(state, flow.unit.out, flow.unit.in),
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

function describeApp(app, flow, status) {
  let state = APP[app.state] ?? 'quiet';
  if (app.state === 'registered' && app.queue_bytes > 0) state = 'waiting';
  if (app.state === 'waiting_for_head_unit' && status.accessory.state === 'waiting') state = 'broken';
  const { from, to } = flow.apps.get(app.id) ?? { from: 0, to: 0 };
  return {
    id: app.id,
    title: app.app_name ?? `#${app.id}`,
    lines: [app.state === 'registered' ? `HMI level ${app.hmi_level ?? 'not told yet'}` : words(app.state), app.peer],
    state,
    edge: edge(state, to, from),
  };
}

function nobody(server) {
  if (server.state !== 'listening') {
    return { title: 'No app can connect', lines: [server.reason ?? server.state, ''], state: server.state === 'failed' ? 'broken' : 'off', edge: edge('off') };
  }
  return { title: 'No app connected', lines: [`connect to ${server.endpoints[0] ?? '?'}`, ''], state: 'off', edge: edge('off') };
}

/** `forth` flows away from relayd, `back` to it. */
function edge(state, forth = 0, back = 0) {
  return { state, forth: forth > 0 ? rate(forth) : '', back: back > 0 ? rate(back) : '' };
}

// How it is drawn.

function lying(nodes, width) {
  const side = Math.min(250, Math.max(168, width * 0.25));
  const hubWidth = 128;
  const rows = nodes.apps.length;
  const height = Math.max(1, rows) * (NODE_HEIGHT + GAP) - GAP + 4;
  const middle = height / 2;
  const hub = { x: (width - hubWidth) / 2, y: middle - NODE_HEIGHT / 2, width: hubWidth };
  const unit = { x: 2, y: middle - NODE_HEIGHT / 2, width: side };
  const parts = [
    line(unit.x + side, middle, hub.x, middle, nodes.unit.edge, false),
    ...nodes.apps.map((app, row) => {
      const y = 2 + row * (NODE_HEIGHT + GAP) + NODE_HEIGHT / 2;
      return line(hub.x + hubWidth, middle, width - side - 2, y, app.edge, true);
    }),
    node(nodes.unit, unit),
    node(nodes.hub, hub),
    ...nodes.apps.map((app, row) =>
      node(app, { x: width - side - 2, y: 2 + row * (NODE_HEIGHT + GAP), width: side })),
  ];
  return picture(width, height, nodes.label, parts);
}

function upright(nodes, width) {
  const space = 34;
  const all = [nodes.unit, nodes.hub, ...nodes.apps];
  const parts = [];
  let y = 2;
  const centre = width / 2;
  const box = { x: 2, width: width - 4 };
  all.forEach((one, index) => {
    if (index === 1) parts.push(drop(centre, y - space, y, nodes.unit.edge, ['↑', '↓']));
    if (index > 1) parts.push(drop(centre, y - (index === 2 ? space : space * 0.7), y, one.edge, ['↓', '↑']));
    parts.push(node(one, { ...box, y }));
    y += NODE_HEIGHT + (index < 1 || index === 1 ? space : space * 0.7);
  });
  return picture(width, y - space * (all.length > 2 ? 0.7 : 1) + 2, nodes.label, parts);
}

function picture(width, height, label, parts) {
  return s('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label }, parts);
}

function node(facts, { x, y, width }) {
  const room = Math.floor((width - 26) / CHARACTER);
  return s('g', { class: `node state-${facts.state}`, transform: `translate(${x} ${y})` },
    s('title', { text: [facts.title, ...facts.lines, facts.device].filter(Boolean).join('\n') }),
    s('rect', { class: 'box', width, height: NODE_HEIGHT, rx: 10 }),
    sign(facts.state),
    s('text', { class: 'name', x: 28, y: 20, text: cut(facts.title, Math.floor(room * 0.86) - 1) }),
    s('text', { class: 'line', x: 12, y: 36, text: cut(facts.lines[0] ?? '', room) }),
    s('text', { class: 'line', x: 12, y: 50, text: cut(facts.lines[1] ?? '', room) }));
}

/** Each state has a shape of its own, not only a colour. */
function sign(state) {
  switch (state) {
    case 'ok': return s('circle', { class: 'sign', cx: 17, cy: 15.5, r: 5 });
    case 'waiting': return s('path', { class: 'sign', d: 'M17 9l6.500 11.500h-13z' });
    case 'broken': return s('path', { class: 'sign stroke', d: 'M12.500 11l9 9m0-9l-9 9' });
    default: return s('circle', { class: 'sign stroke', cx: 17, cy: 15.5, r: 4.5 });
  }
}

/** A connection; `forth` is written above it with the arrow of its direction, `back` below. */
function line(x1, y1, x2, y2, facts, isAppSide) {
  const bend = (x2 - x1) / 2;
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  // Text of an app stands at its own end, where lines are apart from each other.
  const x = isAppSide ? x2 - 8 : (x1 + x2) / 2;
  const y = isAppSide ? y2 : (y1 + y2) / 2;
  const anchor = isAppSide ? 'end' : 'middle';
  const [above, below] = isAppSide ? ['→', '←'] : ['←', '→'];
  return s('g', { class: `edge state-${facts.state}` },
    s('path', { class: 'wire', d: path }),
    facts.forth || facts.back ? s('path', { class: 'flow', d: path }) : null,
    facts.state === 'broken' ? cross((x1 + x2) / 2, (y1 + y2) / 2) : null,
    facts.forth ? s('text', { class: 'flow-text', x, y: y - 6, 'text-anchor': anchor, text: `${above} ${facts.forth}` }) : null,
    facts.back ? s('text', { class: 'flow-text', x, y: y + 15, 'text-anchor': anchor, text: `${below} ${facts.back}` }) : null);
}

function drop(x, y1, y2, facts, [forth, back]) {
  const middle = (y1 + y2) / 2 + 4;
  const path = `M${x} ${y1}V${y2}`;
  return s('g', { class: `edge state-${facts.state}` },
    s('path', { class: 'wire', d: path }),
    facts.forth || facts.back ? s('path', { class: 'flow', d: path }) : null,
    facts.state === 'broken' ? cross(x, (y1 + y2) / 2) : null,
    facts.forth ? s('text', { class: 'flow-text', x: x - 12, y: middle, 'text-anchor': 'end', text: `${forth} ${facts.forth}` }) : null,
    facts.back ? s('text', { class: 'flow-text', x: x + 12, y: middle, text: `${back} ${facts.back}` }) : null);
}

function cross(x, y) {
  return s('g', { class: 'cross' },
    s('circle', { cx: x, cy: y, r: 10 }),
    s('path', { d: `M${x - 4} ${y - 4}l8 8m0-8l-8 8` }));
}
