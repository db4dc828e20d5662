// The messages as they come: one request that does not end, made again when it does. Lines are kept
// in a bounded queue and looked at a little in each frame, so that no flood freezes the page.

import { SILENCE, headers, refusal } from './api.js';

/** Messages of the past to begin with: what a person may want to scroll back to at once. */
const PAST = 2000;
/** Milliseconds between tries, doubled from the first to the last. */
const FIRST_DELAY = 500;
const LAST_DELAY = 8000;

export class MessageStream {
  /**
   * @param {{lines: (lines: string[]) => void, note: (note: object) => void,
   *   state: (state: string, facts: object) => void}} listener
   */
  constructor(listener) {
    this.listener = listener;
    this.cursor = undefined;
    this.instance = undefined;
    /** The run in progress, undefined while it is stopped. Each `start` makes another one. */
    this.current = undefined;
  }

  start() {
    if (this.current) return;
    this.current = { abort: new AbortController(), wake: () => {} };
    this.run(this.current);
  }

  /** Ends it; `start` goes on after the last message, also in the same turn. */
  stop() {
    const mine = this.current;
    this.current = undefined;
    mine?.abort.abort();
    mine?.wake();
  }

  /** Tries at once, without waiting for the next try. */
  retry() {
    this.current?.wake();
  }

  /** @param {{abort: AbortController, wake: () => void}} mine what ends this run's reading and waiting */
  async run(mine) {
    let delay = FIRST_DELAY;
    while (this.current === mine) {
      let error;
      try {
        await this.read(mine, () => {
          delay = FIRST_DELAY;
        });
      } catch (thrown) {
        error = thrown;
      }
      // Another run may have begun meanwhile: this one says and does nothing more.
      if (this.current !== mine) return;
      // Some spread, so that several pages do not come back in the same instant.
      const wait = delay * (0.8 + Math.random() * 0.4);
      this.listener.state('lost', { error, until: Date.now() + wait });
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, wait);
        mine.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      delay = Math.min(delay * 2, LAST_DELAY);
    }
  }

  async read(mine, onOpen) {
    const abort = new AbortController();
    mine.abort = abort;
    const query =
      this.cursor === undefined
        ? `last=${PAST}`
        : `after=${this.cursor}&instance=${this.instance}`;
    const dead = () => abort.abort();
    let watch = setTimeout(dead, SILENCE);
    try {
      const answer = await fetch(`/v1/messages/stream?${query}`, {
        headers: headers('application/x-ndjson'),
        cache: 'no-store',
        signal: abort.signal,
      });
      if (!answer.ok) throw await refusal(answer);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      let isOpen = false;
      for (;;) {
        const { value, done } = await reader.read();
        if (done || this.current !== mine) return;
        clearTimeout(watch);
        watch = setTimeout(dead, SILENCE);
        const lines = (rest + value).split('\n');
        rest = lines.pop();
        this.take(lines);
        if (!isOpen && this.instance !== undefined) {
          isOpen = true;
          onOpen();
          this.listener.state('open', {});
        }
      }
    } finally {
      clearTimeout(watch);
    }
  }

  /** Notes are acted on at once; messages wait for a frame. */
  take(lines) {
    const messages = [];
    for (const line of lines) {
      if (line.startsWith('{"n":')) {
        messages.push(line);
      } else if (line !== '') {
        const note = JSON.parse(line);
        if (note.instance !== undefined) {
          const isAnother = this.instance !== undefined && this.instance !== note.instance;
          if (isAnother) this.cursor = 0;
          this.instance = note.instance;
          if (isAnother) this.listener.state('another', {});
          if (this.cursor === undefined) this.cursor = 0;
        }
        if (note.next !== undefined) this.cursor = note.next;
        this.listener.note(note);
      }
    }
    if (messages.length === 0) return;
    const number = numberOf(messages[messages.length - 1]);
    if (number > 0) this.cursor = number;
    this.listener.lines(messages);
  }
}

function numberOf(line) {
  return Number.parseInt(line.slice(5, 25), 10) || 0;
}

/** Milliseconds of a frame that reading messages may take; the rest is for drawing and the person. */
const BUDGET = 6;
/** Lines looked at between two looks at the clock. */
const BATCH = 16;
/** Waiting lines from which only one in ten is kept, only what went wrong, and nothing at all. */
const SAMPLE = 2000;
const FAILURES_ONLY = 8000;
const FULL = 20_000;

/** Lines between the network and the page. */
export class Intake {
  /** @param {(messages: object[]) => void} deliver */
  constructor(deliver) {
    this.deliver = deliver;
    this.lines = [];
    this.head = 0;
    this.skipped = 0;
    this.received = 0;
    this.isScheduled = false;
  }

  get waiting() {
    return this.lines.length - this.head;
  }

  add(lines) {
    this.received += lines.length;
    for (const line of lines) {
      if (this.hasRoom(line)) this.lines.push(line);
      else this.skipped += 1;
    }
    this.schedule();
  }

  hasRoom(line) {
    const waiting = this.waiting;
    if (waiting < SAMPLE) return true;
    if (waiting >= FULL) return false;
    if (isFailure(line)) return true;
    return waiting < FAILURES_ONLY && this.received % 10 === 0;
  }

  schedule() {
    if (this.isScheduled || this.waiting === 0) return;
    this.isScheduled = true;
    // A page nobody sees gets no frames.
    if (document.hidden) setTimeout(() => this.work(), 250);
    else requestAnimationFrame(() => this.work());
  }

  work() {
    this.isScheduled = false;
    const end = performance.now() + BUDGET;
    const messages = [];
    while (this.waiting > 0 && performance.now() < end) {
      const stop = Math.min(this.lines.length, this.head + BATCH);
      for (; this.head < stop; this.head += 1) messages.push(read(this.lines[this.head]));
    }
    if (this.head > 4096 || this.waiting === 0) {
      this.lines = this.lines.slice(this.head);
      this.head = 0;
    }
    this.deliver(messages.filter(Boolean));
    this.schedule();
  }

  forget() {
    this.lines = [];
    this.head = 0;
  }
}

/** The priority is the fourth field; nothing before it can hold these words. */
function isFailure(line) {
  const start = line.slice(0, 120);
  return start.includes('"priority":"warning"') || start.includes('"priority":"error"');
}

/** Parameters of rows nobody looks at are not kept as objects: the line has them. */
export function read(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return null;
  }
  message.line = line;
  message.at = Date.parse(message.time);
  message.problemCount = message.problems?.filter((one) => one.severity !== 'note').length ?? 0;
  message.params = undefined;
  message.payload = undefined;
  message.problems = undefined;
  return message;
}
