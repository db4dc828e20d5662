// The messages the page keeps, which of them are shown, and who belongs to whom. No DOM in here.

import { Filter as Expression } from './filter.js';
import { outline, title, whole } from './summary.js';

/** Messages kept: some minutes of a busy bench, some 10 MB. */
export const KEPT = 10_000;

/** An array that loses its oldest elements. */
export class Queue {
  items = [];
  head = 0;

  get length() {
    return this.items.length - this.head;
  }

  at(index) {
    return this.items[this.head + index];
  }

  push(item) {
    this.items.push(item);
  }

  insert(index, item) {
    this.items.splice(this.head + index, 0, item);
  }

  shift() {
    const item = this.items[this.head];
    this.items[this.head] = undefined;
    this.head += 1;
    if (this.head > 4096) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }

  clear() {
    this.items = [];
    this.head = 0;
  }
}

export class Store {
  all = new Queue();
  /** Those that pass the filter. */
  shown = new Queue();
  filter = new Filter();
  isPaused = false;
  /** Messages that came while paused. */
  unseen = 0;
  /** Oldest ones of `shown` that went since the list was drawn. */
  gone = 0;
  apps = new Map();

  #byNumber = new Map();
  #sequence = 0;

  add(messages) {
    for (const message of messages) this.#add(message);
  }

  #add(message) {
    message.sequence = this.#sequence;
    this.#sequence += 1;
    this.all.push(message);
    this.#byNumber.set(message.n, message);
    const request = message.request === undefined ? undefined : this.#byNumber.get(message.request);
    if (request && message.kind === 'response') {
      request.partner = message;
      message.partner = request;
    } else if (request) {
      request.unanswered = message;
    }
    if (message.app) this.apps.set(message.app, message.app_name ?? this.apps.get(message.app));
    if (this.isPaused) {
      this.unseen += 1;
    } else {
      if (request && this.filter.passes(request)) this.#showLate(request);
      if (this.filter.passes(message)) this.shown.push(message);
    }
    if (this.all.length > KEPT) this.#forgetOldest();
  }

  /** A request that could not be judged before its answer came. */
  #showLate(request) {
    const index = this.#firstFrom(request.sequence);
    if (index < this.shown.length && this.shown.at(index) === request) return;
    this.shown.insert(index, request);
  }

  #forgetOldest() {
    const oldest = this.all.shift();
    if (this.#byNumber.get(oldest.n) === oldest) this.#byNumber.delete(oldest.n);
    if (oldest.partner) oldest.partner.partner = undefined;
    while (!this.isPaused && this.shown.length > 0 && this.shown.at(0).sequence <= oldest.sequence) {
      this.shown.shift();
      this.gone += 1;
    }
  }

  /** relayd was restarted; message numbers start at 1 again. */
  anotherInstance(message) {
    this.#byNumber.clear();
    this.apps.clear();
    this.#add(message);
  }

  /** The message of this number, if it is kept. */
  message(number) {
    return this.#byNumber.get(number);
  }

  /** How many of `shown` came up to this sequence, itself included. */
  countUpTo(sequence) {
    let low = 0;
    let high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown.at(middle).sequence <= sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  setFilter(filter) {
    this.filter = filter;
    this.select();
  }

  select() {
    this.unseen = 0;
    this.gone = 0;
    this.shown.clear();
    for (let index = 0; index < this.all.length; index += 1) {
      const message = this.all.at(index);
      if (this.filter.passes(message)) this.shown.push(message);
    }
  }

  clear() {
    this.all.clear();
    this.#byNumber.clear();
    this.select();
  }

  /** Where a message stands in `shown`, or -1; `shown` is in order of sequence. */
  index(message) {
    const index = this.#firstFrom(message.sequence);
    return index < this.shown.length && this.shown.at(index).sequence === message.sequence ? index : -1;
  }

  /** Of the first message in `shown` that came with this sequence or later. */
  #firstFrom(sequence) {
    let low = 0;
    let high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown.at(middle).sequence < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const RPC_KINDS = new Set(['request', 'response', 'notification']);

/** What a filter finds beside the fields of a message. */
const MEANS = {
  shown: (message) => {
    const id = message.correlation_id === undefined ? '' : `#${message.correlation_id} corr ${message.correlation_id}`;
    return `${message.app_name ?? message.app ?? ''} ${title(message)} ${id} ${outline(message)}`;
  },
  params: (message) => whole(message).params,
};

export class Filter {
  constructor({ expression = new Expression(), app = '', kinds, failed = false } = {}) {
    this.expression = expression;
    this.app = app;
    this.kinds = kinds ?? new Set([...RPC_KINDS, 'other']);
    this.failed = failed;
    this.isEverything = expression.isEverything && !app && this.kinds.size === 4 && !failed;
  }

  passes(message) {
    if (this.isEverything || message.kind === 'restart') return true;
    if (this.app && message.app !== this.app) return false;
    if (!this.kinds.has(RPC_KINDS.has(message.kind) ? message.kind : 'other')) return false;
    if (this.failed && !isFailed(message)) return false;
    return this.expression.accepts(message, MEANS) === true;
  }
}

export function isFailed(message) {
  return message.priority === 'warning' || message.priority === 'error';
}

/** From this many milliseconds an answer stands out. */
const SLOW = 1000;

/** What waits for a person is slow through no fault of the app or the head unit. */
export function isSlow(message, latency) {
  return latency >= SLOW && !message.waits_for_people;
}

/** The colours of `relayctl tail`. */
export function colour(message) {
  switch (message.kind) {
    case 'request': return 'request';
    case 'notification': return 'notification';
    case 'restart': return 'restart';
    case 'response':
      if (message.success) return message.result_code === 'SUCCESS' ? 'success' : 'warning';
      return ['ABORTED', 'TIMED_OUT'].includes(message.result_code) ? 'warning' : 'failure';
    default:
      if (message.priority === 'error') return 'failure';
      return message.priority === 'warning' ? 'warning' : 'other';
  }
}
