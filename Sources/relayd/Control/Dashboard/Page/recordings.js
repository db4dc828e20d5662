// The menu of recordings: what is being recorded, starting and stopping it, and those there are. main
// is told which one to open.

import { $, bytes, clock, count, h, many, rebuild, setText, span } from './dom.js';
import { Refused, ask, headers, refusal } from './api.js';
import { toast } from './actions.js';

/** Milliseconds between two questions while nobody looks and nothing is recorded. */
const PACE = 5000;
/** Recordings shown; relayctl record list has more. */
const SHOWN = 100;

export class Recordings {
  /**
   * @param {Actions} actions who knows of routes and the token
   * @param {(name: string) => void} open
   */
  constructor(actions, open) {
    this.actions = actions;
    this.open = open;
    this.report = undefined;
    this.list = undefined;
    this.problem = '';
    this.isOpen = false;
    this.asked = -Infinity;
    this.listed = -Infinity;
    this.isBusy = false;
    $('recordings').addEventListener('toggle', (event) => {
      this.isOpen = event.newState === 'open';
      if (this.isOpen) this.look(true);
    });
    $('record-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.start($('record-name').value.trim());
    });
    $('record-stop').addEventListener('click', () => this.stop());
  }

  get isThere() {
    return this.actions.can('GET', '/v1/recordings');
  }

  /** Asked each second: what is recorded changes with each frame, the list does not. */
  async look(isDue = false) {
    if (!this.isThere || this.isBusy) return;
    const now = performance.now();
    if (!isDue && !this.isOpen && !this.report?.recording && now - this.asked < PACE) {
      this.draw();
      return;
    }
    this.isBusy = true;
    this.asked = now;
    try {
      const before = this.report?.recording?.file;
      this.report = await ask('/v1/record');
      const isNews = before !== this.report.recording?.file;
      if (this.isOpen && (isDue || isNews || now - this.listed >= PACE)) await this.learnList();
    } catch {
      // The connection's own state says what is wrong.
    }
    this.isBusy = false;
    this.draw();
  }

  async learnList() {
    this.listed = performance.now();
    if (this.actions.isReadOnly) return;
    try {
      this.list = await ask('/v1/recordings');
      this.problem = '';
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.problem = error.message;
    }
  }

  // Changes

  start(name) {
    return this.change(name ? { name } : {}, '/v1/record/start', 'Start a recording', () => {
      $('record-name').value = '';
      return 'recording';
    });
  }

  stop() {
    return this.change({}, '/v1/record/stop', 'Stop the recording', ({ latest }) =>
      latest ? `recorded ${many(latest.frames, 'frame')}, ${bytes(latest.bytes)}${latest.problem ? `; it had ended early: ${latest.problem}` : ''}` : 'the recording has ended');
  }

  async change(body, path, words, done) {
    if (this.actions.isReadOnly) {
      this.needToken(words);
      return;
    }
    try {
      const report = await ask(path, { method: 'POST', body });
      this.report = report;
      toast(done(report));
    } catch (error) {
      if (error instanceof Refused && error.status === 401) this.needToken(words);
      else toast(`${words}: ${error instanceof Refused ? error.message : 'relayd did not answer'}`);
    }
    this.look(true);
  }

  needToken(words) {
    $('recordings').hidePopover();
    this.actions.askForToken(`“${words}” needs the token, because a recording holds everything that passes.`);
  }

  /** Into the browser's downloads. A link would not carry the token. */
  async download(name) {
    toast(`downloading ${name} …`);
    try {
      const answer = await fetch(`/v1/recordings/${encodeURIComponent(name)}`, { headers: headers('*/*'), cache: 'no-store' });
      if (!answer.ok) throw await refusal(answer);
      const address = URL.createObjectURL(await answer.blob());
      const link = h('a', { href: address, download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      toast(`downloaded ${name}`);
    } catch (error) {
      toast(`${name}: ${error instanceof Refused ? error.message : 'the download was interrupted'}`);
    }
  }

  // Drawing

  draw() {
    const { recording, latest, directory } = this.report ?? {};
    const button = $('recordings-button');
    button.hidden = !this.isThere;
    const length = recording && span(Date.now() - Date.parse(recording.started_at));
    setText($('recordings-words'), recording ? `${bytes(recording.bytes)} · ${length}` : 'Recordings');
    button.classList.toggle('is-recording', recording !== undefined);
    button.title = recording ? `Recording ${recording.name} (r)` : 'Record, and look at recordings (r)';
    button.setAttribute('aria-label', recording ? `Recordings: recording ${recording.name}` : 'Recordings');
    if (!this.isOpen) return;
    $('record-form').hidden = recording !== undefined || !directory;
    $('record-stop').hidden = recording === undefined;
    setText($('record-state'), recording
      ? `Recording ${recording.name}: ${many(recording.frames, 'frame')}, ${bytes(recording.bytes)}, for ${length}${recording.missed_frames > 0 ? `; ${count(recording.missed_frames)} frames missing` : ''}`
      : !directory ? 'relayd has no place for recordings: set record.directory in relayd.yaml.'
        : latest?.problem ? `The last recording ended early: ${latest.problem}` : 'Nothing is being recorded.');
    this.drawList();
  }

  drawList() {
    const { isReadOnly } = this.actions;
    const files = isReadOnly ? [] : this.list?.recordings ?? [];
    const shown = files.slice(0, SHOWN);
    rebuild($('recordings-list'), shown, () => shown.map((file) => h('li', {},
      h('div', { class: 'recording' },
        h('b', { text: file.name.replace(/\.pcapng$/, '') }),
        h('span', { class: 'quiet number', text: [
          bytes(file.bytes), file.is_recording ? 'is being recorded' : when(file.started_at ?? file.modified_at),
        ].join(' · ') })),
      h('button', { type: 'button', class: 'small', text: 'Open', 'aria-label': `Open ${file.name}`, onclick: () => {
        $('recordings').hidePopover();
        this.open(file.name);
      } }),
      h('button', { type: 'button', class: 'small', text: 'Download', 'aria-label': `Download ${file.name}`, onclick: () => this.download(file.name) }))));
    const more = (this.list?.more ?? 0) + files.length - shown.length;
    const words = isReadOnly ? 'Recordings hold everything that passed, so reading them needs the token.'
      : this.problem || (more > 0 ? `and ${many(more, 'older one')}` : this.list && files.length === 0 ? 'There are no recordings yet.' : '');
    $('recordings-none').hidden = words === '';
    setText($('recordings-none'), words);
    $('recordings-token').hidden = !isReadOnly;
  }
}

function when(time) {
  const date = new Date(time);
  return `${date.toLocaleDateString()} ${clock(date, false)}`;
}
