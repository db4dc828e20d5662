// What the page may change, and the token that takes. main tells it which routes relayd has.

import { $, h, setText } from './dom.js';
import { Refused, ask, hasToken, setToken } from './api.js';

const LEVELS = ['error', 'warning', 'notice', 'info', 'debug', 'trace'];

export class Actions {
  constructor(onToken) {
    this.onToken = onToken;
    this.routes = new Set();
    this.access = undefined;
    $('access').addEventListener('click', () => this.askForToken('Reading needs no token here; changing something does.'));
    $('token').addEventListener('close', () => {
      if ($('token').returnValue !== 'use') return;
      const text = $('token-text').value.trim().replace(/^.*#token=/, '');
      $('token-text').value = '';
      if (text) setToken(text);
      this.onToken();
    });
  }

  /** Asks what may be asked, once per connection. */
  async learn() {
    try {
      this.access = await ask('/dashboard/access');
      const list = await ask('/');
      this.routes = new Set(list.routes.map((route) => `${route.method} ${route.path}`));
    } catch {
      // The connection's own state says what is wrong.
    }
    this.draw();
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

  draw() {
    const chip = $('access');
    chip.hidden = !this.access || this.access.writes === 'open' || this.access.authorized;
    setText(chip, this.access?.reads === 'token' ? 'Token needed' : 'Read only');
    chip.title = hasToken() ? 'The token is not that of the running relayd' : 'Changes need the token that relayctl dashboard prints';
    const buttons = [
      this.can('POST', '/v1/link/reopen') && this.button('Reopen the link', 'Close the head unit’s link and open it again', '/v1/link/reopen'),
      this.can('PUT', '/v1/server') && this.button('Let apps connect', 'Activate the server', '/v1/server', { active: true }, 'PUT'),
      this.can('PUT', '/v1/server') && this.button('Keep apps out', 'Deactivate the server: connected apps are closed', '/v1/server', { active: false }, 'PUT'),
      this.can('PUT', '/v1/log') && h('label', { class: 'level-choice' }, 'Log level ', h('select', { onchange: (event) => {
        if (event.target.value) this.send(`Log level ${event.target.value}`, '/v1/log', { level: event.target.value }, 'PUT');
        event.target.value = '';
      } }, h('option', { value: '', text: 'choose …' }), LEVELS.map((level) => h('option', { value: level, text: level })))),
      this.can('POST', '/v1/reload') && this.button('Reload the configuration', 'As systemctl reload does', '/v1/reload'),
    ].filter(Boolean);
    $('actions-button').hidden = buttons.length === 0;
    $('actions-body').replaceChildren(...buttons);
  }

  button(words, why, path, body = {}, method = 'POST') {
    return h('button', { type: 'button', text: words, title: why, onclick: () => this.send(words, path, body, method) });
  }

  disconnect(id, name) {
    if (confirm(`Disconnect ${name}? Its app library will probably connect again.`)) {
      this.send(`Disconnect ${name}`, `/v1/apps/${id}/disconnect`, { reason: 'disconnected from the dashboard' });
    }
  }

  async send(words, path, body, method = 'POST') {
    $('actions').hidePopover();
    if (this.isReadOnly) {
      this.askForToken(`“${words}” changes something; that needs the token.`);
      return;
    }
    try {
      const { summary } = await ask(path, { method, body });
      toast(summary ?? `${words}: done`);
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        this.askForToken('The token is not that of the relayd that runs now; relayctl dashboard prints the right one.');
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

export function toast(words) {
  setText($('toast'), words);
  $('toast').classList.add('visible');
  clearTimeout(timer);
  timer = setTimeout(() => $('toast').classList.remove('visible'), 6000);
}
