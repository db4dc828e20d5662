// What it meant that one of relayd's limits was hit, and for how long that is news. Used by main.

import { clock, count, many, span } from './dom.js';

/** Milliseconds after which trouble that has not come back is no news; so it is in relayctl status. */
const NEWS = 300_000;

const MEANINGS = {
  'apps.maximum': 'an app was turned away: there were as many as may connect',
  'apps.allow': 'an app was turned away: its address is not in the list',
  'apps.connections_per_second': 'connections were turned away: too many came from one address in a second',
  'apps.silent_timeout': 'a connection that said nothing was closed',
  'apps.queue_limit': 'an app that read too slowly was closed: too many bytes waited for it',
  'apps.stall_grace': 'the head unit was held back for an app that read too slowly',
  'apps.frames_per_second': 'an app sent too many frames a second and was slowed down',
  'apps.message_limit': 'a message was refused: it was larger than allowed',
  'apps.pending_starts': 'an app asked for more services at once than allowed',
  'limits.link_queue': 'the head unit was slower than its apps; they were held back, nothing was lost',
  'limits.tap_queue': 'log and statistics were too slow; frames were forwarded without being seen',
  sessions: 'all sessions of the head unit were in use',
  LimitNOFILE: 'the system gave relayd no more descriptors; new apps had to wait',
  'control.connections': 'the control socket had as many connections as it may have',
  'control.connections_per_peer': 'one user had as many connections of the control socket as one may have',
  'control.streams_per_peer': 'one user had as many streams of the control socket as one may have',
  'dashboard.connections': 'the dashboard had as many connections as it may have',
  'dashboard.connections_per_peer': 'one address had as many connections of the dashboard as one may have',
  'dashboard.streams_per_peer': 'one address had as many streams of the dashboard as one may have',
};

/** Whether something at this time, as the API writes it, is still worth a banner. */
export function isNews(time, now) {
  return time !== undefined && now - Date.parse(time) < NEWS;
}

/** Those of the last five minutes in words, the latest first. `now` is in milliseconds. */
export function recentLimits(hits, now) {
  return hits
    .filter((hit) => isNews(hit.last_at, now))
    .map((hit) => ({ ...hit, last: Date.parse(hit.last_at), began: Date.parse(hit.began_at ?? hit.last_at) }))
    .sort((one, other) => other.last - one.last)
    .map((hit) => ({
      text: `${when(hit)} ${MEANINGS[hit.name] ?? `the limit ${hit.name} was hit`}`,
      setting: `${hit.name} is ${count(hit.limit)}; hit ${many(hit.count, 'time')} since relayd started`,
    }));
}

function when({ began, last }) {
  const at = `at ${clock(new Date(began), false).slice(0, 5)}`;
  return last - began >= 1000 ? `For ${span(last - began)} ${at}` : `A${at.slice(1)}`;
}
