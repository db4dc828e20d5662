// What a message is, in a few words: its title and the line behind it. Used by console and detail.

import { bitrate, bytes, cut, many, milliseconds } from './dom.js';

/** Characters of a line; what is behind them is in the detail. */
const LINE = 400;

export function title(message) {
  switch (message.kind) {
    case 'request':
    case 'response':
    case 'notification': return message.function;
    case 'control': return message.control;
    case 'event': return EVENTS[message.event] ?? message.event;
    case 'stream': return `${message.service} stream`;
    case 'dropped': return `dropped ${message.function ?? message.frame ?? ''}`.trim();
    default: return message.query ?? message.function ?? message.kind;
  }
}

const EVENTS = {
  app_connected: 'app connected',
  app_left: 'app closed',
  link_opened: 'head unit connected',
  link_closed: 'head unit lost',
  missed: 'log missed frames',
  unanswered: 'no answer',
  unanswered_start: 'no answer to StartService',
  notice: 'notice',
};

/** What a fault rule has done to a message; empty when none has. */
export function faultWords(message) {
  return message.fault_rule ? `${message.fate} by fault rule ${message.fault_rule}` : '';
}

/** Made once for each message that is looked at. */
export function outline(message) {
  message.outline ??= cut(describe(message), LINE);
  return message.outline;
}

function describe(message) {
  switch (message.kind) {
    case 'request':
    case 'notification': return [describeParameters(message), bulk(message)].filter(Boolean).join('  ');
    case 'response':
      return [message.result_code ?? '', message.info ? `“${message.info}”` : '', describeParameters(message)]
        .filter(Boolean).join('  ');
    case 'control':
      return [`${message.service ?? ''} ${message.session ? `session ${message.session}` : ''}`.trim(),
        flat(whole(message).payload)].filter(Boolean).join('  ');
    case 'stream': return describeStream(message);
    case 'event': return describeEvent(message);
    case 'restart': return 'relayd was restarted; message numbers start at 1 again';
    default: return message.reason ?? '';
  }
}

/** What flowed since the line before, about a second ago; of a stream that has ended, also all of it. */
function describeStream(message) {
  const { service, messages, bytes: size, duration_ms: duration } = message;
  const parts = duration > 0
    // From the first to the last, so one fewer than there were.
    ? [service === 'video' && messages > 1 ? `${perSecond((messages - 1) * 1000 / duration)} fps` : '', bitrate(size * 8000 / duration)]
    : [many(message.frames ?? 1, 'frame'), bytes(size ?? 0)];
  if (message.final) parts.push(`ended after ${many(message.total_frames, 'frame')}, ${bytes(message.total_bytes)}`);
  return parts.filter(Boolean).join(' · ');
}

function perSecond(value) {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}

function describeEvent(message) {
  switch (message.event) {
    case 'missed': return `${many(message.missed_frames, 'frame')}, ${bytes(message.missed_bytes)}; they were forwarded`;
    case 'unanswered': return `${message.function} corr ${message.correlation_id}, for ${milliseconds(message.waited_ms)}`;
    case 'unanswered_start': return `for ${milliseconds(message.waited_ms)}`;
    default: return message.peer ?? message.address ?? message.reason ?? '';
  }
}

function bulk(message) {
  return message.bulk_bytes ? `+ ${bytes(message.bulk_bytes)} of data` : '';
}

function describeParameters(message) {
  const parameters = whole(message).params;
  if (message.params_truncated) return 'parameters too long to be kept';
  if (!parameters) return '';
  if (message.kind === 'response') {
    const { success, resultCode, info, ...rest } = parameters;
    return flat(rest);
  }
  if (message.function === 'OnHMIStatus') {
    return [parameters.hmiLevel, parameters.audioStreamingState, parameters.systemContext]
      .filter((one) => typeof one === 'string').join(' ');
  }
  return flat(parameters);
}

/** The message with its parameters. */
export function whole(message) {
  try {
    return message.line ? JSON.parse(message.line) : {};
  } catch {
    return {};
  }
}

/** `key: value` of the first few, without the punctuation of JSON. */
function flat(value) {
  if (value === undefined || value === null) return '';
  // What fits in a word comes first.
  const isDeep = ([, one]) => one !== null && typeof one === 'object';
  const entries = Object.entries(value);
  return [...entries.filter((one) => !isDeep(one)), ...entries.filter(isDeep)]
    .map(([key, one]) => `${key}: ${brief(one, 0)}`).join('  ');
}

function brief(value, depth) {
  if (typeof value === 'string') return cut(value, 80);
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) {
    if (value.length > 4 || depth > 1) return `[${value.length}]`;
    return `[${value.map((one) => brief(one, depth + 1)).join(', ')}]`;
  }
  if (depth > 1) return '{…}';
  return `{${Object.entries(value).slice(0, 4).map(([key, one]) => `${key}: ${brief(one, depth + 1)}`).join(', ')}}`;
}
