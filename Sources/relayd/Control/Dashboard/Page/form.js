// A form for the parameters of an RPC, built from the specification. The value is a JSON object that
// belongs to the composer; what is not in it is absent, and "", {} and [] are empty on purpose.

import { h, setText } from './dom.js';

/** Elements of a list that are shown; more can be edited as JSON. */
const ELEMENTS = 100;

export class Form {
  /**
   * @param {HTMLElement} root
   * @param {() => void} changed told of each change that a person makes here
   */
  constructor(root, changed) {
    this.root = root;
    this.changed = changed;
    /** Rows by the path of their parameter. */
    this.rows = new Map();
  }

  /** Shows these parameters of `value`, which is changed in place. */
  show(specification, parameters, value) {
    Object.assign(this, { specification, parameters, value });
    this.build();
  }

  build() {
    const focused = document.activeElement?.closest('.form') === this.root ? document.activeElement.dataset.control : undefined;
    this.rows.clear();
    const known = this.parameters.length > 0 ? null : h('p', { class: 'quiet', text: 'It has no parameters.' });
    this.root.replaceChildren(...[known, ...this.members(this.parameters, this.value, '')].filter(Boolean));
    if (focused) this.root.querySelector(`[data-control="${CSS.escape(focused)}"]`)?.focus();
  }

  /** Shows what is wrong, each at its row; what has none is shown by the caller. */
  mark(problems) {
    for (const row of this.rows.values()) {
      if (row.problem.textContent === '') continue;
      setText(row.problem, '');
      row.problem.hidden = true;
      row.control?.removeAttribute('aria-invalid');
    }
    const rest = [];
    for (const problem of problems) {
      const row = this.rows.get(problem.path) ?? this.rows.get(problem.path.replace(/\[\d+\]$/, ''));
      if (!row) {
        rest.push(problem);
        continue;
      }
      setText(row.problem, [row.problem.textContent, problem.message].filter(Boolean).join('; '));
      row.problem.hidden = false;
      row.control?.setAttribute('aria-invalid', 'true');
    }
    return rest;
  }

  // Rows

  members(parameters, owner, path) {
    const names = new Set(parameters.map((one) => one.name));
    const foreign = Object.keys(owner).filter((name) => !names.has(name));
    return [
      // What must be there comes first.
      ...[...parameters].sort((one, other) => Number(other.mandatory) - Number(one.mandatory))
        .filter((one) => !one.until || Object.hasOwn(owner, one.name))
        .map((one) => this.member(one, owner, path ? `${path}.${one.name}` : one.name)),
      ...foreign.map((name) => this.foreign(name, owner, path ? `${path}.${name}` : name)),
    ];
  }

  /** A parameter of an object. */
  member(parameter, owner, path) {
    const { name } = parameter;
    const isThere = Object.hasOwn(owner, name);
    const slot = {
      isThere, value: owner[name],
      set: (value) => {
        owner[name] = value;
      },
      remove: () => {
        delete owner[name];
      },
    };
    return this.row(parameter, slot, path, [
      h('span', { class: 'name', text: name }),
      parameter.mandatory ? h('span', { class: 'required', text: 'required' }) : null,
      parameter.deprecated ? h('span', { class: 'quiet', text: 'deprecated' }) : null,
      parameter.since ? h('span', { class: 'quiet', text: `since ${parameter.since}` }) : null,
    ], parameter.array);
  }

  row(parameter, slot, path, title, isArray) {
    const kind = this.specification.kind(parameter);
    const id = `parameter-${path}`;
    const problem = h('p', { class: 'wrong', id: `${id}-problem`, role: 'status', hidden: true });
    const facts = { id, 'data-control': path, 'aria-describedby': `${id}-problem`, 'aria-label': path };
    const isNested = isArray || kind === 'struct';
    const control = isNested ? null : this.control(kind, parameter, slot, facts);
    const hasSwitch = isNested || !['Boolean', 'enum'].includes(kind);
    const state = h('span', { class: 'state quiet', text: stateOf(slot) });
    const toggle = hasSwitch && slot.remove ? h('input', {
      type: 'checkbox', 'data-control': `${path} there`, 'aria-label': `Send ${path}`, title: 'Whether it is sent', checked: slot.isThere,
      onchange: ({ target }) => {
        if (target.checked) slot.set(isArray ? [] : empty(kind));
        else slot.remove();
        this.build();
        this.changed();
      },
    }) : h('span');
    const row = h('div', { class: `parameter${slot.isThere ? '' : ' absent'}`, 'data-path': path },
      toggle,
      h('label', { for: control ? id : null, class: 'title' }, title,
        h('span', { class: 'quiet', text: this.specification.expected(parameter, !isArray) })),
      h('div', { class: 'control' }, control, state), problem);
    this.rows.set(path, { problem, control, state, row, toggle, slot });
    if (slot.isThere && isNested) row.append(this.nested(parameter, slot, path, isArray));
    return row;
  }

  nested(parameter, slot, path, isArray) {
    const { value } = slot;
    if (isArray && Array.isArray(value)) return this.list(parameter, value, path);
    if (!isArray && isObject(value)) {
      return h('div', { class: 'nested', role: 'group', 'aria-label': path }, this.members(this.specification.members(parameter), value, path));
    }
    return this.raw(slot);
  }

  list(parameter, list, path) {
    const kind = this.specification.kind(parameter);
    const change = (act) => {
      act();
      this.build();
      this.changed();
    };
    const rows = list.slice(0, ELEMENTS).map((value, index) => {
      const slot = {
        isThere: true, value,
        set: (one) => {
          list[index] = one;
        },
      };
      const row = this.row(parameter, slot, `${path}[${index}]`, [h('span', { class: 'name', text: `[${index}]` })], false);
      row.querySelector('.control').append(h('button', {
        type: 'button', class: 'small', text: 'Remove', 'data-control': `${path}[${index}] remove`, 'aria-label': `Remove ${path}[${index}]`,
        onclick: () => change(() => list.splice(index, 1)),
      }));
      return row;
    });
    return h('div', { class: 'nested', role: 'group', 'aria-label': path }, rows,
      list.length > ELEMENTS ? h('p', { class: 'quiet', text: `and ${list.length - ELEMENTS} more, in the JSON` }) : null,
      h('button', {
        type: 'button', class: 'small', text: 'Add', 'data-control': `${path} add`, 'aria-label': `Add to ${path}`,
        onclick: () => change(() => list.push(kind === 'Boolean' ? false : kind === 'enum' ? this.specification.words(parameter)[0] ?? '' : empty(kind))),
      }));
  }

  /** What the specification does not know, or a value of another kind. */
  foreign(name, owner, path) {
    const slot = {
      isThere: true, value: owner[name],
      remove: () => {
        delete owner[name];
      },
    };
    const problem = h('p', { class: 'wrong', role: 'status', hidden: true });
    this.rows.set(path, { problem });
    return h('div', { class: 'parameter', 'data-path': path },
      h('input', { type: 'checkbox', checked: true, 'aria-label': `Send ${path}`, onchange: () => {
        slot.remove();
        this.build();
        this.changed();
      } }),
      h('span', { class: 'title' }, h('span', { class: 'name', text: name }), h('span', { class: 'quiet', text: 'not in the specification' })),
      this.raw(slot), problem);
  }

  raw(slot) {
    return h('code', { class: 'raw', title: 'Edit it as JSON', text: JSON.stringify(slot.value) });
  }

  // Controls

  control(kind, parameter, slot, facts) {
    const use = (value) => {
      if (value === undefined && slot.remove) slot.remove();
      else slot.set(value);
      this.settle(facts['data-control'], value);
      this.changed();
    };
    if (kind === 'Boolean') {
      return this.choice(['true', 'false'], slot, facts, (text) => use(text === '' ? undefined : text === 'true'));
    }
    if (kind === 'enum') {
      return this.choice(this.specification.words(parameter), slot, facts, (text) => use(text === '' ? undefined : text));
    }
    const isNumber = kind !== 'String';
    const shown = !slot.isThere ? '' : typeof slot.value === 'string' ? slot.value : JSON.stringify(slot.value);
    return h('input', {
      type: 'text', value: shown, inputmode: isNumber ? 'decimal' : null, spellcheck: 'false', autocomplete: 'off', ...facts,
      oninput: ({ target }) => use(isNumber ? number(target.value) : target.value),
    });
  }

  choice(words, slot, facts, use) {
    const shown = !slot.isThere ? '' : typeof slot.value === 'string' ? slot.value : JSON.stringify(slot.value);
    const all = words.includes(shown) || shown === '' ? words : [shown, ...words];
    const select = h('select', { ...facts, onchange: ({ target }) => use(target.value) },
      slot.remove ? h('option', { value: '', text: 'absent' }) : null,
      all.map((word) => h('option', { value: word, text: word })));
    select.value = shown;
    return select;
  }

  /** A row after its value has changed, without losing the focus. */
  settle(path, value) {
    const row = this.rows.get(path);
    if (!row) return;
    const isThere = value !== undefined;
    row.row.classList.toggle('absent', !isThere);
    if (row.toggle instanceof HTMLInputElement) row.toggle.checked = isThere;
    setText(row.state, stateOf({ isThere, value }));
  }
}

function stateOf({ isThere, value }) {
  if (!isThere) return 'absent';
  const isEmpty = value === '' || (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0);
  return isEmpty ? 'empty on purpose' : '';
}

function empty(kind) {
  if (kind === 'struct') return {};
  return kind === 'String' ? '' : 0;
}

/** The number, or the text when it is none: then it is marked. */
function number(text) {
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim()) ? Number(text) : text;
}

export function isObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
