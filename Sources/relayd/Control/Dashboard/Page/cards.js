// One card per connected app: what it is, what it shows, streams and wants. Drawn by main.

import { $, h, bitrate, bytes, clock, count, cut, many, rebuild, setText, span, words } from './dom.js';

/** Rows of a list in a card; a longer one says how many more there are. */
const ROWS = 12;

const cards = new Map();
/** Stands behind the cards: that there are none, and who left. */
let absence;

/**
 * @param {object[]} apps rows of the status
 * @param {Map<number, object>} reports what is known of each, as far as it was asked for
 * @param {{filter: Function, open: Function, disconnect?: Function, canDisconnect: boolean}} actions
 */
export function drawCards(status, reports, flow, actions) {
  const container = $('apps');
  const apps = status.apps;
  for (const [id, card] of cards) {
    if (apps.some((app) => app.id === id)) continue;
    card.root.remove();
    cards.delete(id);
  }
  for (const app of apps) {
    let card = cards.get(app.id);
    if (!card) {
      card = make(app, actions);
      cards.set(app.id, card);
      container.insertBefore(card.root, absence ?? null);
    }
    update(card, app, reports.get(app.id), flow, actions);
  }
  drawAbsence(container, status);
}

/** Cards of a relayd that is gone say nothing about the next. */
export function forgetCards() {
  for (const card of cards.values()) card.root.remove();
  cards.clear();
}

function drawAbsence(container, { apps, server, recent_departures: departures }) {
  absence ??= h('div', { class: 'absence' });
  if (absence.parentElement !== container) container.append(absence);
  const facts = { none: apps.length === 0, endpoints: server.endpoints, departures: departures.slice(0, 3) };
  rebuild(absence, facts, () => [
    facts.none ? h('p', {}, 'No app is connected. ', facts.endpoints.length > 0
      ? ['Point one at ', h('code', { text: facts.endpoints[0] }), ', or try ', h('code', { text: 'relayctl sample-app' }), '.']
      : 'relayd does not listen for apps.') : null,
    facts.departures.length > 0
      ? h('ul', { class: 'departures', 'aria-label': 'Apps that left' }, facts.departures.map((one) =>
        h('li', {}, h('time', { text: clock(new Date(one.closed_at), false) }), ` ${one.app_name ?? `app ${one.id}`} left: ${one.reason}`)))
      : null,
  ]);
}

function make(app, actions) {
  const card = {
    name: h('button', { type: 'button', class: 'app-name', title: 'Only this app’s messages', onclick: () => actions.filter(app.id) }),
    level: h('span', { class: 'level' }),
    close: h('button', { type: 'button', class: 'plain small', text: '✕', title: 'Disconnect this app', 'aria-label': 'Disconnect this app', onclick: () => actions.disconnect(app.id, card.name.textContent) }),
    problem: h('div', { class: 'troubles' }),
    facts: h('dl', { class: 'facts' }),
    streams: h('div'),
    pending: h('div'),
    vehicle: h('details', { class: 'more', open: true }),
    files: h('details', { class: 'more' }),
    subscriptions: h('details', { class: 'more' }),
  };
  card.root = h('article', { class: 'card', 'data-app': app.id, 'aria-label': `App ${app.app_name ?? app.id}` },
    h('header', {}, card.name, h('span', { class: 'quiet number', text: `app ${app.id}` }), h('span', { class: 'space' }), card.level, card.close),
    card.problem, card.facts, card.streams, card.pending, card.vehicle, card.files, card.subscriptions);
  return card;
}

function update(card, app, report, flow, actions) {
  setText(card.name, app.app_name ?? app.peer);
  const level = app.state === 'registered' ? (app.hmi_level ?? '…') : words(app.state);
  setText(card.level, level);
  card.level.dataset.level = app.hmi_level && app.state === 'registered' ? app.hmi_level : '';
  card.close.hidden = !actions.canDisconnect;
  troubles(card.problem, app, report, flow.now, actions);
  facts(card.facts, app, report);
  if (!report) return;
  streams(card.streams, report.services, flow.streams.get(app.id));
  pending(card.pending, report.pending, flow.now);
  vehicle(card.vehicle, report.subscriptions.vehicle_data);
  files(card.files, report.files);
  subscriptions(card.subscriptions, report);
}

function troubles(element, app, report, now, { open }) {
  const advice = (report?.advice ?? (app.advice ? [app.advice] : [])).slice(0, 3);
  const told = { problem: app.last_problem, advice: advice.map(({ code, text, remedy }) => ({ code, text, remedy })) };
  rebuild(element, told, () => [
    ...told.advice.map((one) => h('div', { class: 'advice' },
      h('p', { class: 'cause', text: one.text }),
      h('p', { class: 'remedy', text: one.remedy }),
      h('p', { class: 'quiet' }, h('span', { class: 'seen number' }),
        h('button', { type: 'button', class: 'link number', title: 'Show this message', onclick: (event) => open(Number(event.currentTarget.dataset.entry)) })),
      h('p', { class: 'quiet' }, h('code', { text: `relayctl explain ${one.code}` })))),
    told.problem ? h('p', { class: 'problem', text: told.problem }) : null,
  ]);
  // What changes with each look is written into what stands there: a link stays the same for a click.
  element.querySelectorAll('.advice').forEach((box, index) => {
    const { count: times, last_at: last, entry } = advice[index];
    const age = `${span(now - Date.parse(last))} ago · `;
    setText(box.querySelector('.seen'), times > 1 ? `×${count(times)} · last ${age}example ` : age);
    const link = box.querySelector('button');
    setText(link, `[${entry}]`);
    link.dataset.entry = entry;
  });
}

function facts(element, app, report) {
  const hmi = report?.hmi[0];
  const registration = report?.registration;
  const rows = [
    ['App ID', app.app_id],
    ['Shown', hmi && [hmi.audio, hmi.video, hmi.context].filter(Boolean).map(words).join(' · ')],
    ['Versions', [registration?.version && `RPC ${registration.version}`, app.protocol_version && `protocol ${app.protocol_version}`].filter(Boolean).join(' · ')],
    ['From', app.peer + (app.sessions.length > 0 ? ` · session ${app.sessions.join(', ')}` : '')],
    ['Requests', report && `${many(report.requests, 'request')}${report.failures > 0 ? `, ${report.failures} failed` : ''}`],
    ['Waiting', app.queue_bytes > 0 ? `${bytes(app.queue_bytes)} the app has not read` : ''],
    ['Refused', app.refused_frames > 0 ? `${many(app.refused_frames, 'frame')} of sessions that are not its own` : ''],
  ].filter(([, value]) => value);
  rebuild(element, rows, () => rows.flatMap(([name, value]) => [h('dt', { text: name }), h('dd', { text: value })]));
}

function streams(element, services, measured = new Map()) {
  const media = services.filter((one) => one.service === 'video' || one.service === 'audio').map((one) => {
    const now = measured.get(`${one.session}/${one.service}`);
    return [
      one.service, one.format ?? '', now ? bitrate(now.bits) : '…',
      one.service === 'video' && now ? `${now.frames.toFixed(0)} fps` : '',
    ].concat(one.is_protected ? ['encrypted'] : []);
  });
  rebuild(element, media, () => media.map(([service, ...rest]) =>
    h('p', { class: 'stream' }, h('b', { text: service }), ` ${rest.filter(Boolean).join(' · ')}`)));
}

function pending(element, requests, now) {
  const shown = requests.slice(0, 4).map((one) => [one.rpc, one.correlation_id ?? '', one.from, span(now - Date.parse(one.at))]);
  const more = requests.length - shown.length;
  rebuild(element, { shown, more }, () => shown.length === 0 ? [] : h('p', { class: 'pending' },
    h('b', { text: 'No answer yet: ' }),
    shown.map(([rpc, id, from, age]) => `${rpc} corr ${id}${from === 'accessory' ? ' (asked by the head unit)' : ''} for ${age}`).join(', '),
    more > 0 ? ` and ${more} more` : ''));
}

function vehicle(element, data) {
  const rows = data.slice(0, ROWS).map((one) => [one.name, one.value ?? '–', one.is_subscribed]);
  list(element, 'Vehicle data', data.length, rows, () => h('table', {}, rows.map(([name, value, isSubscribed]) =>
    h('tr', { title: isSubscribed ? undefined : 'read once, not subscribed' }, h('th', { scope: 'row', text: name }), h('td', { class: 'number', text: cut(readable(value), 72) })))));
}

/** Objects without quotes and braces. */
function readable(value) {
  return value.startsWith('{') ? value.slice(1, -1).replaceAll('"', '').replaceAll(',', ', ').replaceAll(':', ' ') : value;
}

function files(element, { files: all, space_available: space }) {
  const rows = all.slice(0, ROWS).map((one) => [one.name, one.type ?? '', one.bytes, one.total_bytes]);
  list(element, 'Files', all.length, { rows, space }, () => [
    h('table', {}, rows.map(([name, type, size, total]) => h('tr', {},
      h('th', { scope: 'row', text: cut(name, 60) }), h('td', { text: words(type).replace('graphic ', '') }),
      h('td', { class: 'number', text: size === undefined ? '' : total > size ? `${bytes(size)} of ${bytes(total)}` : bytes(size) })))),
    space === undefined ? null : h('p', { class: 'quiet', text: `${bytes(space)} free on the head unit` }),
  ]);
}

function subscriptions(element, { subscriptions: wants, menu, capabilities }) {
  const rows = [
    ['Buttons', wants.buttons.join(', ')],
    ['Way points', wants.way_points ? 'subscribed' : ''],
    ['Menu', [menu.commands.length && many(menu.commands.length, 'command'), menu.sub_menus.length && many(menu.sub_menus.length, 'sub menu'), menu.choice_sets.length && many(menu.choice_sets.length, 'choice set')].filter(Boolean).join(', ')],
    ['Display', capabilities.display_width ? `${capabilities.display_name ?? ''} ${capabilities.display_width} × ${capabilities.display_height}` : ''],
  ].filter(([, value]) => value);
  list(element, 'More', rows.length, rows, () => h('table', {}, rows.map(([name, value]) =>
    h('tr', {}, h('th', { scope: 'row', text: name }), h('td', { text: value })))), false);
}

function list(element, name, total, facts, build, isCounted = true) {
  element.hidden = total === 0;
  rebuild(element, { total, facts }, () => [
    h('summary', { text: isCounted ? `${name} (${total})` : name }),
    build(),
    total > ROWS && isCounted ? h('p', { class: 'quiet', text: `and ${total - ROWS} more: relayctl app` }) : null,
  ].flat());
}
