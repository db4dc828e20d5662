// The messages the page keeps, which of them are shown, and who belongs to whom. No DOM in here.

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
  filter = new Filter({});
  isPaused = false;
  /** Messages that came while paused. */
  unseen = 0;
  /** Oldest ones of `shown` that went since the list was drawn. */
  gone = 0;
  apps = new Map();
  functions = new Set();

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
    if (message.request !== undefined) {
      const request = this.#byNumber.get(message.request);
      if (request && message.kind === 'response') {
        request.partner = message;
        message.partner = request;
      }
    }
    if (message.app) this.apps.set(message.app, message.app_name ?? this.apps.get(message.app));
    if (message.function) this.functions.add(message.function);
    if (this.isPaused) this.unseen += 1;
    else if (this.filter.passes(message)) this.shown.push(message);
    if (this.all.length > KEPT) this.#forgetOldest();
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

  /** Numbers begin anew: relayd was started again. */
  anotherInstance(message) {
    this.#byNumber.clear();
    this.apps.clear();
    this.#add(message);
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
    let low = 0;
    let high = this.shown.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.shown.at(middle).sequence;
      if (found === message.sequence) return middle;
      if (found < message.sequence) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

const RPC_KINDS = new Set(['request', 'response', 'notification']);

export class Filter {
  constructor({ text = '', rpcs = '', app = '', kinds, failed = false, slowerThan = 0 }) {
    this.text = text.trim().toLowerCase();
    this.app = app;
    this.kinds = kinds ?? new Set([...RPC_KINDS, 'other']);
    this.failed = failed;
    this.slowerThan = slowerThan;
    const names = rpcs.split(/[\s,]+/).filter(Boolean).map((name) => name.toLowerCase());
    this.wanted = names.filter((name) => !name.startsWith('!'));
    this.unwanted = names.filter((name) => name.startsWith('!')).map((name) => name.slice(1));
    this.isEverything =
      !this.text && !this.app && this.kinds.size === 4 && !failed && !slowerThan && names.length === 0;
  }

  passes(message) {
    if (this.isEverything || message.kind === 'restart') return true;
    if (this.app && message.app !== this.app) return false;
    if (!this.kinds.has(RPC_KINDS.has(message.kind) ? message.kind : 'other')) return false;
    if (this.failed && !isFailed(message)) return false;
    if (this.slowerThan && !(message.latency_ms >= this.slowerThan)) return false;
    if (this.wanted.length > 0 || this.unwanted.length > 0) {
      const name = (message.function ?? message.control ?? '').toLowerCase();
      if (this.unwanted.some((one) => one && name === one)) return false;
      if (this.wanted.length > 0 && !this.wanted.some((one) => name.startsWith(one))) return false;
    }
    return !this.text || message.line.toLowerCase().includes(this.text);
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
