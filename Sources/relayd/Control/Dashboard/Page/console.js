// The list of messages: only the rows on the screen exist. Made by main, fed through the store.

import { $, h, appWord, clock, count, many, milliseconds, setText } from './dom.js';
import { Filter as Expression, FilterError } from './filter.js';
import { Filter, colour, isFailed, isSlow } from './store.js';
import { faultWords, outline, title } from './summary.js';
import { Detail } from './detail.js';
import { addressOf, viewOf } from './address.js';
import { SavedFilters, SavedMenu, offers } from './saved.js';

/** Rows above and below the visible ones. */
const SPARE = 4;
/** Milliseconds between two drawings while messages pour in: eyes need no more. */
const PACE = 80;
/** Elements taller than this are cut by browsers; more rows than this never are shown. */
const TALLEST = 15_000_000;

const ARROWS = { app: ['→', 'to the head unit'], accessory: ['←', 'to the app'] };
const MARKS = { request: 'req', response: 'res', notification: 'ntf', control: 'ctl', restart: '' };
/** Words of relayd's own, and answers to them. */
const OWN = { by_relay: 'by relayd', to_relay: 'to relayd' };

export class Console {
  constructor(store) {
    this.store = store;
    this.list = $('list');
    this.spacer = $('spacer');
    this.rows = [];
    this.selected = null;
    this.isFollowing = true;
    this.isLive = true;
    this.skipped = 0;
    this.missed = 0;
    this.lastDrawn = 0;
    this.isScheduled = false;
    this.expression = new Expression();
    this.saved = new SavedFilters();
    this.drawnEnd = 0;
    /** Sequence of the newest message that has been on the screen, and of the last one that is. */
    this.seen = -1;
    this.lowest = -1;
    this.drawnTop = 0;
    this.detail = new Detail((message) => this.select(message, true), () => this.list.focus());
    this.isNarrow = matchMedia('(max-width: 640px)');
    this.isNarrow.addEventListener('change', () => this.changed());
    new ResizeObserver(() => this.changed()).observe(this.list);
    this.list.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.list.addEventListener('click', (event) => {
      const row = event.target.closest('.row');
      if (row?.message) this.select(row.message, true);
    });
    this.connectTools();
  }

  get rowHeight() {
    return this.isNarrow.matches ? 46 : 22;
  }

  /** Another list of messages: of a recording, or again of what passes. */
  use(store, isLive) {
    if (this.store === store) return;
    this.deselect();
    this.store = store;
    this.isLive = isLive;
    this.detail.isLive = isLive;
    this.note = undefined;
    [this.seen, this.lowest] = [-1, -1];
    // The number of an app is another one's there.
    $('filter-app').value = '';
    this.updateChoices('');
    this.applyFilter();
    this.filter = store.filter;
    this.list.scrollTop = 0;
    this.setFollowing(isLive);
    this.draw();
  }

  // Tools

  connectTools() {
    let timer;
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.applyFilter(), 120);
    };
    $('filter-text').addEventListener('input', () => {
      this.offer();
      soon();
    });
    $('filter-text').addEventListener('focus', () => this.offer());
    this.menu = new SavedMenu(this.saved, {
      box: () => $('filter-text').value,
      use: (text) => {
        $('filter-text').value = text;
        this.applyFilter();
        this.list.focus();
      },
      changed: () => this.applyFilter(),
    });
    $('filter-app').addEventListener('change', () => this.applyFilter());
    for (const chip of document.querySelectorAll('[data-kind]')) {
      chip.addEventListener('click', () => {
        toggle(chip);
        this.applyFilter();
      });
    }
    $('filter-failed').addEventListener('click', () => this.toggleFailed());
    $('pause').addEventListener('click', () => this.togglePause());
    $('follow').addEventListener('click', () => this.setFollowing(!this.isFollowing));
    $('clear-filters').addEventListener('click', () => {
      this.noFilters();
      this.list.focus();
    });
    $('clear').addEventListener('click', () => this.clear());
    $('newer').addEventListener('click', () => {
      if (this.store.isPaused) this.togglePause();
      this.setFollowing(true);
    });
  }

  applyFilter() {
    const pressed = [...document.querySelectorAll('[data-kind][aria-pressed=true]')];
    this.readExpression();
    const chosen = {
      app: $('filter-app').value,
      kinds: new Set(pressed.map((chip) => chip.dataset.kind)),
      failed: $('filter-failed').getAttribute('aria-pressed') === 'true',
    };
    this.store.setFilter(new Filter({ expression: this.expression, ...chosen }));
    this.writeAddress(addressOf({ text: this.expression.text, ...chosen }));
    this.changed();
    if (this.selected && this.store.index(this.selected) >= 0) this.reveal(this.selected);
  }

  /** Writes the filters to the page's address, which then is a link to them. */
  writeAddress(hash) {
    if (location.hash === hash) return;
    try {
      history.replaceState(null, '', location.pathname + location.search + hash);
    } catch {
      // Browsers refuse this when it happens too often; the next change is written.
    }
  }

  /** Sets the filters from the page's address. */
  readAddress() {
    const { text, app, kinds, failed } = viewOf(location.hash);
    $('filter-text').value = text;
    $('filter-app').value = '';
    this.updateChoices(app);
    for (const chip of document.querySelectorAll('[data-kind]')) chip.setAttribute('aria-pressed', String(kinds.has(chip.dataset.kind)));
    $('filter-failed').setAttribute('aria-pressed', String(failed));
    this.applyFilter();
  }

  /** Offers completions of what is typed. */
  offer() {
    const found = offers($('filter-text').value, {
      apps: [...new Set([...this.store.apps.values()].filter(Boolean))], names: this.saved.list.map((one) => one.name),
    });
    $('filter-offers').replaceChildren(...found.map((value) => h('option', { value })));
  }

  /** What is in the box; while that is no filter, the last one that was. */
  readExpression() {
    const text = $('filter-text').value;
    let problem;
    try {
      this.expression = new Expression(text, (name) => this.saved.text(name));
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      problem = error;
    }
    $('filter-text').setAttribute('aria-invalid', String(problem !== undefined));
    $('filter-problem').hidden = problem === undefined;
    if (problem === undefined) return;
    const letters = [...text];
    const piece = (start, end) => letters.slice(start, end).join('');
    const [start, end] = [problem.start, Math.max(problem.end, problem.start + 1)];
    $('filter-problem').replaceChildren(
      h('code', {}, piece(0, start), h('mark', { text: piece(start, end) || '…' }), piece(end)),
      h('span', { text: problem.message }));
  }

  toggleFailed() {
    toggle($('filter-failed'));
    this.applyFilter();
  }

  noFilters() {
    for (const id of ['filter-text', 'filter-app']) $(id).value = '';
    for (const chip of document.querySelectorAll('[data-kind]')) chip.setAttribute('aria-pressed', 'true');
    $('filter-failed').setAttribute('aria-pressed', 'false');
    this.applyFilter();
  }

  onlyApp(id) {
    const select = $('filter-app');
    this.updateChoices();
    select.value = select.value === `#${id}` ? '' : `#${id}`;
    this.applyFilter();
  }

  /** The apps seen so far, to choose from, and the chosen one, which a link may name before it is seen. */
  updateChoices(chosen = $('filter-app').value) {
    const select = $('filter-app');
    const apps = [...this.store.apps];
    if (chosen && !this.store.apps.has(chosen)) apps.push([chosen, '']);
    const texts = ['All apps', ...apps.map(([id, name]) => label(id, name))];
    if (select.value !== chosen || [...select.options].map((one) => one.text).join('\n') !== texts.join('\n')) {
      select.replaceChildren(...['', ...apps.map(([id]) => id)].map((value, index) => h('option', { value, text: texts[index] })));
      select.value = chosen;
    }
  }

  togglePause() {
    if (!this.isLive) return;
    this.store.isPaused = !this.store.isPaused;
    $('pause').setAttribute('aria-pressed', String(this.store.isPaused));
    setText($('pause'), this.store.isPaused ? 'Resume' : 'Pause');
    if (!this.store.isPaused) this.store.select();
    this.changed();
  }

  setFollowing(isFollowing) {
    this.isFollowing = isFollowing;
    $('follow').setAttribute('aria-pressed', String(isFollowing));
    this.changed();
  }

  clear() {
    if (!this.isLive) return;
    this.store.clear();
    this.skipped = 0;
    this.missed = 0;
    this.deselect();
    this.setFollowing(true);
  }

  // Selection

  move(step) {
    const { shown } = this.store;
    if (shown.length === 0) return;
    let index = this.selected ? this.store.index(this.selected) : -1;
    if (index < 0) index = step > 0 ? Math.max(-1, this.firstVisible - 1) : shown.length;
    this.select(shown.at(Math.min(shown.length - 1, Math.max(0, index + step))), this.detail.isOpen);
  }

  toEnd(isNewest) {
    const { shown } = this.store;
    if (shown.length === 0) return;
    this.select(shown.at(isNewest ? shown.length - 1 : 0), this.detail.isOpen);
    if (isNewest) this.setFollowing(true);
  }

  select(message, opens) {
    if (!message || message.kind === 'restart') return;
    this.selected = message;
    this.reveal(message);
    if (opens) this.detail.show(message);
    this.draw();
  }

  open() {
    if (this.selected) this.detail.show(this.selected);
  }

  partner() {
    if (this.selected?.partner) this.select(this.selected.partner, this.detail.isOpen);
  }

  /** Closes what is open; true when there was something to close. */
  back() {
    if (this.detail.isOpen) {
      this.detail.close();
      return true;
    }
    const had = this.selected !== null;
    this.deselect();
    return had;
  }

  deselect() {
    this.selected = null;
    this.detail.close();
    this.changed();
  }

  reveal(message) {
    const index = this.store.index(message);
    if (index < 0) return;
    const top = index * this.rowHeight;
    const { scrollTop, clientHeight } = this.list;
    if (top >= scrollTop && top + this.rowHeight <= scrollTop + clientHeight) return;
    this.stopFollowing();
    this.size();
    this.list.scrollTop = Math.max(0, top - clientHeight / 2);
  }

  stopFollowing() {
    if (!this.isFollowing) return;
    this.isFollowing = false;
    $('follow').setAttribute('aria-pressed', 'false');
  }

  // Drawing

  get firstVisible() {
    return Math.floor(this.list.scrollTop / this.rowHeight);
  }

  scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.list;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < this.rowHeight;
    if (this.isFollowing && !isAtEnd && scrollTop < this.drawnEnd) this.stopFollowing();
    // Only where a person has scrolled there: what was drawn last may have ended here by itself.
    else if (!this.isFollowing && isAtEnd && !this.selected && scrollTop > this.drawnTop) this.setFollowing(true);
    this.draw();
  }

  /** Something to draw; it happens in one of the next frames. */
  changed() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    const wait = PACE - (performance.now() - this.lastDrawn);
    const draw = () => {
      this.isScheduled = false;
      this.draw();
    };
    if (wait > 4) setTimeout(() => requestAnimationFrame(draw), wait);
    else requestAnimationFrame(draw);
  }

  size() {
    const height = Math.min(TALLEST, this.store.shown.length * this.rowHeight);
    const text = `${height}px`;
    if (this.spacer.style.height !== text) this.spacer.style.height = text;
  }

  draw() {
    this.lastDrawn = performance.now();
    const { store, list, rowHeight } = this;
    const total = store.shown.length;
    this.size();
    if (this.isFollowing) {
      list.scrollTop = total * rowHeight;
      this.drawnEnd = list.scrollTop;
    } else if (store.filter !== this.filter) {
      // Another filter: what a person looked at last stays at the lower edge, unless a message is selected.
      if (!this.selected || store.index(this.selected) < 0) {
        list.scrollTop = store.countUpTo(this.lowest) * rowHeight - list.clientHeight;
      }
    } else if (store.gone > 0) {
      // The rows a person looks at stay where they are.
      list.scrollTop -= store.gone * rowHeight;
    }
    store.gone = 0;
    this.filter = store.filter;
    this.drawnTop = list.scrollTop;
    const below = Math.min(total, Math.floor((list.scrollTop + list.clientHeight) / rowHeight));
    if (below > 0) this.lowest = store.shown.at(below - 1).sequence;
    this.seen = Math.max(this.seen, this.lowest);
    const first = Math.max(0, this.firstVisible - SPARE);
    const last = Math.min(total, first + Math.ceil(list.clientHeight / rowHeight) + 2 * SPARE);
    while (this.rows.length < last - first) this.addRow();
    let active = '';
    this.rows.forEach((row, place) => {
      const index = first + place;
      const message = index < last ? store.shown.at(index) : undefined;
      if (message) {
        row.fill(message, index, total, this.selected);
        if (message === this.selected) active = row.root.id;
      } else {
        row.hide();
      }
      row.move(index * rowHeight);
    });
    if (active) list.setAttribute('aria-activedescendant', active);
    else list.removeAttribute('aria-activedescendant');
    this.drawFoot(total);
  }

  addRow() {
    const row = new Row(this.rows.length);
    this.rows.push(row);
    this.spacer.append(row.root);
  }

  drawFoot(total) {
    const { store } = this;
    const newer = store.isPaused ? store.unseen : this.isFollowing ? 0 : total - store.countUpTo(this.seen);
    // Of a recording nothing comes that a person could miss.
    $('newer').hidden = newer <= 0 || !this.isLive;
    if (newer > 0) setText($('newer'), store.isPaused ? `paused · ${count(newer)} more` : `${count(newer)} newer ↓`);
    const all = store.all.length;
    setText($('shown'), total === all ? many(all, 'message') : `${count(total)} of ${many(all, 'message')}`);
    const left = [];
    if (this.isLive && this.skipped > 0) left.push(`too fast to show all: ${many(this.skipped, 'message')} left out`);
    if (this.isLive && this.missed > 0) left.push(`${count(this.missed)} gone before they could be sent`);
    $('sampled').hidden = left.length === 0;
    if (left.length > 0) setText($('sampled'), left.join(' · '));
    $('empty').hidden = total > 0;
    const isFiltered = !this.note && all > 0;
    $('clear-filters').hidden = !isFiltered;
    if (total === 0) setText($('empty-text'), this.note ?? (isFiltered ? 'No message passes the filters' : 'No message yet'));
  }
}

const label = (id, name) => (name ? `${name} (${appWord(id)})` : appWord(id));

function toggle(button) {
  button.setAttribute('aria-pressed', String(button.getAttribute('aria-pressed') !== 'true'));
}

/** A row that shows one message after another. */
class Row {
  constructor(number) {
    this.time = h('time');
    this.app = h('span', { class: 'app' });
    this.arrow = h('span', { class: 'arrow' });
    this.kind = h('span', { class: 'kind' });
    this.name = h('span', { class: 'title' });
    this.id = h('span', { class: 'id' });
    this.outline = h('span', { class: 'outline' });
    this.latency = h('span', { class: 'latency' });
    this.root = h('div', { class: 'row', role: 'option', id: `row-${number}` },
      this.time, this.app, this.arrow, this.kind, h('span', { class: 'what' }, this.name, this.id), this.outline, this.latency);
    this.top = undefined;
  }

  move(top) {
    if (this.top === top) return;
    this.top = top;
    this.root.style.transform = `translateY(${top}px)`;
  }

  hide() {
    this.root.message = undefined;
    if (!this.root.hidden) this.root.hidden = true;
  }

  fill(message, index, total, selected) {
    const { root } = this;
    const isSelected = message === selected;
    const isPartner = selected !== null && message.partner === selected;
    const state = `row c-${colour(message)}${isSelected ? ' selected' : ''}${isPartner ? ' partner' : ''}${index % 2 ? ' odd' : ''}`;
    if (root.className !== state) root.className = state;
    root.setAttribute('aria-selected', String(isSelected));
    root.setAttribute('aria-posinset', String(index + 1));
    root.setAttribute('aria-setsize', String(total));
    if (root.hidden) root.hidden = false;
    // A request that was answered meanwhile shows it.
    const isAnswered = message.partner !== undefined;
    if (root.message === message && this.wasAnswered === isAnswered) return;
    root.message = message;
    this.wasAnswered = isAnswered;
    const [arrow, direction] = ARROWS[message.from] ?? ['·', ''];
    setText(this.time, message.at ? clock(new Date(message.at)) : '');
    setText(this.app, message.app_name ?? appWord(message.app ?? ''));
    setText(this.arrow, arrow);
    this.arrow.title = direction;
    setText(this.kind, MARKS[message.kind] ?? '');
    setText(this.name, `${isFailed(message) ? '▲ ' : ''}${title(message)}`);
    setText(this.id, message.correlation_id && message.kind !== 'notification' ? `corr ${message.correlation_id}` : '');
    setText(this.outline, [OWN[message.fate] ?? faultWords(message), outline(message)].filter(Boolean).join(' · '));
    const latency = message.latency_ms ?? (message.kind === 'request' ? message.partner?.latency_ms : undefined);
    setText(this.latency, latency === undefined ? '' : milliseconds(latency));
    this.latency.classList.toggle('slow-one', isSlow(message, latency));
    this.latency.classList.toggle('of-partner', message.kind === 'request');
  }
}
