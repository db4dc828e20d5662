// The drawer for what speaks in the place of an app or the head unit: composer, fault rules and scenarios. It
// knows whether this page may drive, and if not, what to do. Made by main.

import { $, h, setText } from './dom.js';
import { Refused, ask, conditional } from './api.js';
import { Specification } from './specification.js';
import { Composer } from './composer.js';
import { FaultPanel } from './faultpanel.js';
import { ScenarioPanel } from './scenarios.js';

const TABS = ['compose', 'faults', 'scenarios'];

export class Drive {
  /** @param {import('./actions.js').Actions} actions knows what may be asked, and asks for the token */
  constructor(actions) {
    this.actions = actions;
    this.root = $('drive');
    this.composer = new Composer(this);
    this.faults = new FaultPanel(this);
    this.scenarios = new ScenarioPanel(this);
    $('drive-button').addEventListener('click', () => this.toggle());
    $('drive-close').addEventListener('click', () => this.close());
    $('drive-token').addEventListener('click', () => actions.askForToken('Driving the conversation needs the token.'));
    for (const tab of TABS) {
      $(`tab-${tab}`).addEventListener('click', () => this.choose(tab));
      $(`tab-${tab}`).addEventListener('keydown', (event) => this.walk(event, tab));
    }
    this.root.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this.close();
    });
  }

  get isOpen() {
    return this.root.open;
  }

  /** Whether this page may drive; relayd has the last word. */
  get isAllowed() {
    return this.actions.access?.drives === true;
  }

  /** After each answer of relayd about what this page may do. */
  learned() {
    this.drawButton();
    const reason = this.isAllowed ? '' : this.actions.access?.drive_reason ?? '';
    $('drive-why').hidden = reason === '';
    setText($('drive-why-text'), reason && `This page can only look: ${reason}.`);
    $('drive-token').hidden = this.isAllowed || this.actions.access?.authorized !== false;
    this.composer.learned();
    this.faults.learned();
    this.scenarios.learned();
  }

  /** A vehicle interface has no apps to speak for. */
  drawButton() {
    $('drive-button').hidden = !this.actions.can('POST', '/v1/apps/:app/send') || this.isVehicle;
  }

  know(status) {
    this.isVehicle = status.accessory.protocol === 'openxc';
    this.drawButton();
    this.composer.know(status.apps);
    if (this.isOpen && this.tab === 'faults') this.faults.look();
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open(this.tab ?? 'compose');
  }

  open(tab) {
    if (!this.isOpen) {
      this.opener = document.activeElement;
      this.root.show();
      // It may have been allowed since.
      this.actions.learn();
    }
    $('drive-button').setAttribute('aria-expanded', 'true');
    this.choose(tab);
    this.load();
  }

  close() {
    if (!this.isOpen) return;
    this.root.close();
    // What is hidden keeps the focus until the page is drawn, and the next key would be the drawer's.
    if (this.root.contains(document.activeElement)) document.activeElement.blur();
    $('drive-button').setAttribute('aria-expanded', 'false');
    (this.opener?.isConnected ? this.opener : $('list')).focus();
  }

  choose(tab) {
    this.tab = tab;
    for (const one of TABS) {
      const isChosen = one === tab;
      $(`tab-${one}`).setAttribute('aria-selected', String(isChosen));
      $(`tab-${one}`).tabIndex = isChosen ? 0 : -1;
      $(`panel-${one}`).hidden = !isChosen;
    }
    if (tab === 'faults') this.faults.look();
    if (tab === 'scenarios') this.scenarios.look();
  }

  /** Arrow keys go from tab to tab. */
  walk(event, tab) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
    this.choose(next);
    $(`tab-${next}`).focus();
    event.preventDefault();
  }

  /** The specification, asked for when it is needed first. */
  async load() {
    if (this.specification) return;
    try {
      this.specification = new Specification(await conditional('/v1/specification'));
      this.composer.use(this.specification);
    } catch (error) {
      this.composer.say(error instanceof Refused ? error.message : 'relayd did not answer', 'wrong');
    }
  }

  /** relayd was restarted, perhaps with another specification. */
  forget() {
    this.specification = undefined;
    if (this.isOpen) this.load();
  }

  /** Opens the composer with a message; what it answers or tells goes the way it went. */
  async resend(message, parameters) {
    this.open('compose');
    await this.load();
    this.composer.fill({
      app: Number((message.app ?? '').replace('#', '')) || undefined, appName: message.app_name,
      way: message.from === 'app' ? 'send' : 'inject', rpc: message.function, type: message.kind,
      parameters: parameters ?? {}, correlation: message.kind === 'response' ? message.correlation_id : undefined,
    });
  }

  /** Asks relayd for something that drives; a token that is missing is asked for. */
  async request(path, options) {
    try {
      return await ask(path, options);
    } catch (error) {
      this.refused(error);
      throw error;
    }
  }

  /** Asks for the token when that is what was missing. */
  refused(error) {
    if (!(error instanceof Refused) || error.status !== 401) return;
    this.actions.askForToken('This is not the token of the running relayd; relayctl dashboard prints the right one.');
  }
}

/** What went wrong, for people. */
export function reason(error) {
  return error instanceof Refused ? error.message : error?.name === 'TimeoutError' ? 'relayd did not answer in time' : 'relayd did not answer';
}

/** Whether a message can be said again by relayd; the head unit asks nothing of apps. */
export function canResend(message) {
  if (!message.function || !message.app) return false;
  return message.kind === 'request' ? message.from === 'app' : ['response', 'notification'].includes(message.kind);
}

export function resendButton(act) {
  return h('button', { type: 'button', class: 'small', text: 'Edit and resend', title: 'Open it in the composer (s)', onclick: act });
}
