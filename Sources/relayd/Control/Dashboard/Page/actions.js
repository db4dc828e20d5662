// What the page may change, and the token that takes. main tells it which routes relayd has.

import { $, h, many, setText } from './dom.js';
import { Refused, ask, hasToken, setToken } from './api.js';

const LEVELS = ['error', 'warning', 'notice', 'info', 'debug', 'trace'];

export class Actions {
  /** Told of a new token, and of changes that were made. */
  constructor(onToken, onChange) {
    /** Told when it is known what may be asked. */
    this.onLearned = () => {};
    this.onToken = onToken;
    this.onChange = onChange;
    this.routes = new Set();
    this.access = undefined;
    /** The last question about what may be asked. */
    this.asking = undefined;
    this.apps = 0;
    this.sessions = 0;
    this.isOpen = true;
    $('actions').addEventListener('toggle', (event) => {
      if (event.newState === 'open') this.learnLevel();
    });
    $('toast-undo').addEventListener('click', () => {
      const undo = takeBack;
      hideToast();
      undo?.();
    });
    $('access').addEventListener('click', () => this.askForToken('Reading needs no token here; changing something does.'));
    $('token').addEventListener('close', () => {
      if ($('token').returnValue !== 'use') return;
      const text = $('token-text').value.trim().replace(/^.*#token=/, '');
      $('token-text').value = '';
      if (text) setToken(text);
      this.onToken();
    });
  }

  /** Asks what may be asked, once per connection. Only the last question counts: the token may be another since. */
  async learn() {
    const mine = {};
    this.asking = mine;
    try {
      const access = await ask('/dashboard/access');
      if (this.asking !== mine) return;
      this.access = access;
      const list = await ask('/');
      if (this.asking !== mine) return;
      this.routes = new Set(list.routes.map((route) => `${route.method} ${route.path}`));
    } catch {
      // The connection's own state says what is wrong.
      if (this.asking !== mine) return;
    }
    this.draw();
    this.onLearned();
  }

  can(method, path) {
    return this.routes.has(`${method} ${path}`);
  }

  get canDisconnect() {
    return this.can('POST', '/v1/apps/:app/disconnect');
  }

  get isReadOnly() {
    return this.access?.writes === 'token' && !this.access.authorized;
  }

  /** What the status says of what can be switched and of who would notice. */
  know({ server, apps, link }) {
    this.apps = apps.length;
    this.sessions = link.sessions;
    this.isOpen = server.state !== 'off';
    this.drawSwitch();
  }

  drawSwitch() {
    if (!this.switch) return;
    this.switch.setAttribute('aria-checked', String(this.isOpen));
    setText(this.switch.querySelector('.state'), this.isOpen ? 'on' : 'off');
    this.switch.title = this.isOpen ? 'Switch it off to disconnect all apps and close their port' : 'Switch it on to let apps connect again';
  }

  draw() {
    const chip = $('access');
    chip.hidden = !this.access || this.access.writes === 'open' || this.access.authorized;
    setText(chip, this.access?.reads === 'token' ? 'Token needed' : 'Read only');
    chip.title = hasToken() ? 'This is not the token of the running relayd' : 'Changes need the token that relayctl dashboard prints';
    this.switch = !this.can('PUT', '/v1/server') ? undefined
      : h('button', { type: 'button', role: 'switch', 'aria-checked': 'true', class: 'switch', onclick: () => this.serve(!this.isOpen) },
        'Apps may connect', h('span', { class: 'state', text: 'on' }));
    this.levels = !this.can('PUT', '/v1/log') ? undefined
      : h('select', { onchange: () => this.setLevel(this.levels.value) }, LEVELS.map((level) => h('option', { value: level, text: level })));
    const parts = [
      this.switch,
      this.can('POST', '/v1/link/reopen') && h('button', { type: 'button', text: 'Reconnect the head unit', title: 'Close the link to the head unit and open it again', onclick: () => this.reopen() }),
      this.levels && h('label', { class: 'level-choice' }, 'Log level ', this.levels),
      this.can('POST', '/v1/reload') && h('button', { type: 'button', text: 'Reload the configuration', title: 'As systemctl reload does', onclick: () => this.send('Reload the configuration', '/v1/reload') }),
    ].filter(Boolean);
    $('actions-button').hidden = parts.length === 0;
    $('actions-body').replaceChildren(...parts);
    this.drawSwitch();
    this.learnLevel();
  }

  /** The level in force; somebody else may have changed it since. */
  async learnLevel() {
    if (!this.levels) return;
    try {
      this.level = (await ask('/v1/log')).level;
      this.levels.value = this.level ?? '';
    } catch {
      // The connection's own state says what is wrong.
    }
  }

  async setLevel(level) {
    const before = this.level;
    const change = async (one, undo) => {
      await this.send(`Log level ${one}`, '/v1/log', { body: { level: one }, method: 'PUT', undo });
      await this.learnLevel();
    };
    await change(level, before && (() => change(before)));
  }

  serve(isOpen) {
    const set = (active, words, undo) => this.send(words, '/v1/server', { body: { active }, method: 'PUT', undo });
    if (isOpen) return set(true, 'Let apps connect');
    const question = `${many(this.apps, 'app')} ${this.apps === 1 ? 'is' : 'are'} connected and will be disconnected. Keep apps out?`;
    if (this.apps > 0 && !this.isReadOnly && !confirm(question)) return undefined;
    return set(false, 'Keep apps out', () => set(true, 'Let apps connect'));
  }

  reopen() {
    const question = `${many(this.sessions, 'session')} of apps will end with the connection. Reconnect the head unit?`;
    if (this.sessions > 0 && !this.isReadOnly && !confirm(question)) return;
    this.send('Reconnect the head unit', '/v1/link/reopen');
  }

  disconnect(id, name) {
    if (confirm(`Disconnect ${name}? Its app library will probably connect again.`)) {
      this.send(`Disconnect ${name}`, `/v1/apps/${id}/disconnect`, { body: { reason: 'disconnected from the dashboard' } });
    }
  }

  /** `undo` takes it back again; the answer offers it. */
  async send(words, path, { body = {}, method = 'POST', undo } = {}) {
    $('actions').hidePopover();
    if (this.isReadOnly) {
      this.askForToken(`“${words}” changes something; that needs the token.`);
      return;
    }
    try {
      const { summary } = await ask(path, { method, body });
      toast(summary ?? `${words}: done`, undo);
      this.onChange();
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        this.askForToken('This is not the token of the running relayd; relayctl dashboard prints the right one.');
      } else {
        toast(`${words}: ${error instanceof Refused ? error.message : 'relayd did not answer'}`);
      }
    }
  }

  askForToken(why) {
    setText($('token-why'), why);
    const dialog = $('token');
    dialog.returnValue = '';
    if (!dialog.open) dialog.showModal();
  }
}

let timer;
/** What "Undo" does while it is offered. */
let takeBack;

/** Milliseconds for which something is told, and for which it can be taken back. */
const TOLD = 6000;
const UNDO = 15_000;

export function toast(words, undo) {
  setText($('toast-text'), words);
  takeBack = undo;
  $('toast-undo').hidden = !undo;
  $('toast').classList.add('visible');
  clearTimeout(timer);
  timer = setTimeout(hideToast, undo ? UNDO : TOLD);
}

function hideToast() {
  takeBack = undefined;
  $('toast-undo').hidden = true;
  $('toast').classList.remove('visible');
}
