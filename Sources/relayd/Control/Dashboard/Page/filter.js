// The filter language of `relayctl tail`, the API and this page: app:radio rpc:On* !ok ms>200. The same
// as Sources/MessageFilters; Tests/Fixtures/filters.json holds both to one meaning. No DOM in here.

/** Functions of the RPC specification. */
export const FUNCTIONS = `
  RegisterAppInterface UnregisterAppInterface SetGlobalProperties ResetGlobalProperties AddCommand DeleteCommand
  AddSubMenu DeleteSubMenu CreateInteractionChoiceSet PerformInteraction DeleteInteractionChoiceSet Alert Show Speak
  SetMediaClockTimer PerformAudioPassThru EndAudioPassThru SubscribeButton UnsubscribeButton SubscribeVehicleData
  UnsubscribeVehicleData GetVehicleData ReadDID GetDTCs ScrollableMessage Slider ShowConstantTBT AlertManeuver
  UpdateTurnList ChangeRegistration GenericResponse PutFile DeleteFile ListFiles SetAppIcon SetDisplayLayout
  DiagnosticMessage SystemRequest SendLocation DialNumber ButtonPress GetInteriorVehicleData SetInteriorVehicleData
  GetWayPoints SubscribeWayPoints UnsubscribeWayPoints GetSystemCapability SendHapticData SetCloudAppProperties
  GetCloudAppProperties PublishAppService GetAppServiceData GetFile PerformAppServiceInteraction UnpublishAppService
  CancelInteraction CloseApplication ShowAppMenu CreateWindow DeleteWindow GetInteriorVehicleDataConsent
  ReleaseInteriorVehicleDataModule SubtleAlert OnHMIStatus OnAppInterfaceUnregistered OnButtonEvent OnButtonPress
  OnVehicleData OnCommand OnTBTClientState OnDriverDistraction OnPermissionsChange OnAudioPassThru OnLanguageChange
  OnKeyboardInput OnTouchEvent OnSystemRequest OnHashChange OnInteriorVehicleData OnWayPointChange OnRCStatus
  OnAppServiceData OnSystemCapabilityUpdated OnSubtleAlertPressed OnUpdateFile OnUpdateSubMenu OnAppCapabilityUpdated
  EncodedSyncPData SyncPData OnEncodedSyncPData OnSyncPData
`.trim().split(/\s+/);

const LENGTH = 2000;
const TERMS = 64;
const DEPTH = 16;
/** Characters of a text that wildcards look at. */
const COMPARED = 4096;

const NAMES = {
  rpc: FUNCTIONS,
  kind: ['request', 'response', 'notification', 'control', 'stream', 'security', 'encrypted', 'undecodable', 'dropped', 'event'],
  service: ['control', 'rpc', 'audio', 'video', 'bulk'],
  from: ['app', 'unit'],
};
const PRIORITIES = ['debug', 'info', 'warning', 'error'];
const NUMBERS = ['ms', 'bytes', 'n', 'corr', 'session'];
const KEYS = ['app', 'rpc', 'kind', 'service', 'from', 'result', 'ok', 'priority', ...NUMBERS, 'text', 'param'];
/** What other tools call them. */
const OTHERS = {
  accessory: 'from:unit', application: 'app', code: 'result', correlation: 'corr', correlation_id: 'corr',
  direction: 'from', failed: '!ok', function: 'rpc', grep: 'text', latency: 'ms', latency_ms: 'ms', level: 'priority',
  name: 'rpc', number: 'n', params: 'param', result_code: 'result', size: 'bytes', slower: 'ms', success: 'ok', type: 'kind',
};
const UNITS = { '': 1, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const EXAMPLE = 'something such as rpc:Show';
/** What Unicode calls white space; \s is almost the same. */
const BLANK = /\p{White_Space}/u;

/** Why a filter is not understood; `start` and `end` count characters, not UTF-16 units. */
export class FilterError extends Error {
  constructor(start, end, message) {
    super(message);
    this.start = start;
    this.end = end;
  }
}

// Text

/** Lower case, character by character, so that Swift can do the same. */
function fold(text) {
  return text.includes('Σ') ? [...text].map((one) => one.toLowerCase()).join('') : text.toLowerCase();
}

/** A part of a text, all of it, or with * and ? for any characters and any one. */
class Pattern {
  constructor(text, mode) {
    this.text = text;
    this.mode = mode;
    this.folded = fold(text);
    if (mode === 'wildcards') this.letters = [...this.folded];
  }

  static typed(text) {
    return new Pattern(text, /[*?]/.test(text) ? 'wildcards' : 'part');
  }

  matches(text) {
    if (this.mode === 'part') return fold(text).includes(this.folded);
    if (this.mode === 'whole') return fold(text) === this.folded;
    return this.fits([...fold([...text.slice(0, 2 * COMPARED)].slice(0, COMPARED).join(''))]);
  }

  /** Goes back to the last star only: what an earlier one took may stay as it is. */
  fits(letters) {
    const wanted = this.letters;
    let at = 0;
    let place = 0;
    let star;
    while (at < letters.length) {
      if (wanted[place] === '*') {
        star = { place, at };
        place += 1;
      } else if (place < wanted.length && (wanted[place] === '?' || wanted[place] === letters[at])) {
        place += 1;
        at += 1;
      } else if (star) {
        star.at += 1;
        place = star.place + 1;
        at = star.at;
      } else {
        return false;
      }
    }
    return wanted.slice(place).every((one) => one === '*');
  }

  chosen(names) {
    if (this.mode === 'part') {
      const whole = names.filter((name) => fold(name) === this.folded);
      if (whole.length > 0) return whole;
    }
    return names.filter((name) => this.matches(name));
  }
}

/** The bytes that Swift compares: UTF-8, with ASCII letters in lower case. */
const bytesOf = (word) => [...new TextEncoder().encode(word)].map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte));

/** The nearest of `known`, or undefined: one slip in three letters, and at least one. */
function nearest(word, known) {
  const wanted = bytesOf(word);
  if (wanted.length < 1 || wanted.length > 64) return undefined;
  let best;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const letters = bytesOf(candidate);
    const found = distance(wanted, letters);
    // A word with no letter in common is no slip.
    if (found < Math.min(least, Math.max(letters.length, wanted.length))) [best, least] = [candidate, found];
  }
  return best;
}

/** Optimal string alignment. */
function distance(a, b) {
  let beforeLast = [];
  let last = [...Array(b.length + 1).keys()];
  for (let i = 0; i < a.length; i += 1) {
    const row = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      let cost = Math.min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] === b[j] ? 0 : 1));
      if (i > 0 && j > 0 && a[i] === b[j - 1] && a[i - 1] === b[j]) cost = Math.min(cost, beforeLast[j - 1] + 1);
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length];
}

// Reading

/**
 * any  := all ("|" all)*                    also "or"
 * all  := not+                              also with "and" between
 * not  := "!"* ("(" any ")" | term)         also "not"
 * term := key operator value | word | "quoted words" | @name
 */
class Parser {
  constructor(text, saved) {
    this.letters = [...text];
    this.saved = saved;
    /** Saved filters that are used in it: where, and their text. */
    this.named = [];
    this.at = 0;
    this.depth = 0;
    this.count = 0;
  }

  whole() {
    if (this.letters.length > LENGTH) {
      throw new FilterError(LENGTH, LENGTH + 1, `a filter may have ${LENGTH} characters, this one has more`);
    }
    this.skipBlanks();
    if (this.isAtEnd) return { all: [] };
    const node = this.any();
    if (!this.isAtEnd) throw new FilterError(this.at, this.at + 1, 'this ) closes nothing');
    return node;
  }

  any() {
    const nodes = [this.all()];
    while (this.takeOr()) nodes.push(this.all());
    return nodes.length === 1 ? nodes[0] : { any: nodes };
  }

  all() {
    const nodes = [this.not()];
    for (;;) {
      this.skipBlanks();
      const takesAnother = this.takeWord('and');
      this.skipBlanks();
      if (!takesAnother && (this.isAtEnd || ')|'.includes(this.letters[this.at]) || this.isWord('or'))) break;
      nodes.push(this.not());
    }
    return together(nodes);
  }

  takeOr() {
    this.skipBlanks();
    if (this.letters[this.at] === '|') {
      this.at += this.letters[this.at + 1] === '|' ? 2 : 1;
      return true;
    }
    return this.takeWord('or');
  }

  not() {
    let isNegated = false;
    for (;;) {
      this.skipBlanks();
      if (this.letters[this.at] === '!') this.at += 1;
      else if (!this.takeWord('not')) break;
      isNegated = !isNegated;
    }
    const node = this.primary();
    if (!isNegated) return node;
    return node.not ?? { not: node };
  }

  primary() {
    const { at, letters } = this;
    if (this.isAtEnd) throw new FilterError(at, at, `the filter ends here; expected ${EXAMPLE}`);
    if (letters[at] === '(') return this.brackets();
    if (')|'.includes(letters[at])) throw new FilterError(at, at + 1, `found ${letters[at]}; expected ${EXAMPLE}`);
    for (const word of ['and', 'or']) {
      if (this.isWord(word)) throw new FilterError(at, at + word.length, `found ${word}; expected ${EXAMPLE}`);
    }
    return this.term();
  }

  brackets() {
    const start = this.at;
    if (this.depth >= DEPTH) throw new FilterError(start, start + 1, `more than ${DEPTH} brackets inside each other`);
    this.depth += 1;
    this.at += 1;
    const node = this.any();
    if (this.isAtEnd) throw new FilterError(start, start + 1, 'this ( is never closed');
    this.at += 1;
    this.depth -= 1;
    return node;
  }

  term() {
    const start = this.at;
    this.count += 1;
    if (this.count > TERMS) throw new FilterError(start, start + 1, `a filter may have ${TERMS} terms, this one has more`);
    if (this.letters[start] === '"') return { key: 'text', pattern: new Pattern(this.quoted(false), 'part') };
    if (this.letters[start] === '@') return this.savedOne();
    const keyed = this.keyed();
    if (keyed) return keyed;
    const word = this.unquoted();
    this.expectEnd();
    const lower = word.toLowerCase();
    if (lower === 'ok') return { key: 'ok' };
    if (isParameter(word)) return { key: 'param', path: path(word, start, this.at), test: 'exists' };
    if (word.includes('*')) {
      throw new FilterError(start, this.at, `a * stands for any letters in names only: rpc:${word}; in quotes it is a letter`);
    }
    return { key: 'text', pattern: new Pattern(word, 'part') };
  }

  savedOne() {
    const start = this.at;
    this.at += 1;
    const name = this.unquoted();
    const end = this.at;
    if (!this.saved) throw new FilterError(start, end, 'saved filters are known to relayctl only');
    this.expectEnd();
    const text = this.saved(name);
    if (text === undefined) throw new FilterError(start, end, `no filter is saved as '${name}' in this browser`);
    const parser = new Parser(text);
    parser.depth = this.depth + 1;
    parser.count = this.count;
    try {
      const node = parser.whole();
      if (node.all?.length === 0) throw new FilterError(start, end, 'it is empty');
      this.count = parser.count;
      this.named.push({ start, end, text });
      return node;
    } catch (error) {
      throw new FilterError(start, end, `in the saved '${name}': ${error.message}`);
    }
  }

  keyed() {
    const start = this.at;
    let end = start;
    while (end < this.letters.length && /[A-Za-z0-9_\-.[\]]/.test(this.letters[end])) end += 1;
    const sign = /^(!=|<=|>=|[:~=<>])/.exec((this.letters[end] ?? '') + (this.letters[end + 1] ?? ''))?.[0];
    if (end === start || !/[A-Za-z]/.test(this.letters[start]) || !sign) return undefined;
    this.at = end + sign.length;
    const valueStart = this.at;
    const isQuoted = this.letters[this.at] === '"';
    const key = this.letters.slice(start, end).join('');
    // A parameter may be empty; every other key would be without a meaning.
    const value = this.value(start, isQuoted, isParameter(key) && (sign === '=' || sign === '!='));
    const term = termOf(key, { start, end, sign, signEnd: end + sign.length, value, isQuoted, valueStart, valueEnd: this.at });
    return sign === '!=' ? { not: term } : term;
  }

  value(keyStart, isQuoted, mayBeEmpty) {
    if (isQuoted) return this.quoted(mayBeEmpty);
    const text = this.unquoted();
    if (text === '') {
      throw new FilterError(keyStart, this.at, `expected a value behind ${this.letters.slice(keyStart, this.at).join('')}`);
    }
    this.expectEnd();
    return text;
  }

  quoted(mayBeEmpty) {
    const start = this.at;
    let text = '';
    this.at += 1;
    while (!this.isAtEnd) {
      const letter = this.letters[this.at];
      const next = this.letters[this.at + 1];
      if (letter === '"') {
        this.at += 1;
        this.expectEnd();
        if (text === '' && !mayBeEmpty) throw new FilterError(start, this.at, 'nothing in the quotes; expected a value');
        return text;
      }
      const isEscape = letter === '\\' && (next === '"' || next === '\\');
      text += isEscape ? next : letter;
      this.at += isEscape ? 2 : 1;
    }
    throw new FilterError(start, start + 1, 'this quote is never closed');
  }

  unquoted() {
    const start = this.at;
    while (!this.isAtEnd && !endsWord(this.letters[this.at]) && this.letters[this.at] !== '"') this.at += 1;
    return this.letters.slice(start, this.at).join('');
  }

  expectEnd() {
    if (!this.isAtEnd && !endsWord(this.letters[this.at])) throw new FilterError(this.at, this.at + 1, 'expected a blank here');
  }

  get isAtEnd() {
    return this.at >= this.letters.length;
  }

  skipBlanks() {
    while (!this.isAtEnd && BLANK.test(this.letters[this.at])) this.at += 1;
  }

  isWord(word) {
    const end = this.at + word.length;
    return this.letters.slice(this.at, end).join('').toLowerCase() === word && (end >= this.letters.length || endsWord(this.letters[end]));
  }

  takeWord(word) {
    if (!this.isWord(word)) return false;
    this.at += word.length;
    return true;
  }
}

const endsWord = (letter) => BLANK.test(letter) || '()|'.includes(letter);

/** All of `nodes`; terms of one key that name things are alternatives. */
function together(nodes) {
  if (nodes.length === 1) return nodes[0];
  const all = [];
  const places = new Map();
  for (const node of nodes) {
    const terms = node.either ?? [node];
    const key = grouping(terms[0]);
    const place = places.get(key);
    if (key === undefined) {
      all.push(node);
    } else if (place === undefined) {
      places.set(key, all.length);
      all.push(node);
    } else {
      all[place] = { either: [...(all[place].either ?? [all[place]]), ...terms] };
    }
  }
  return all.length === 1 ? all[0] : { all };
}

function grouping({ key, order }) {
  if (['app', 'rpc', 'kind', 'service', 'from', 'result'].includes(key)) return key;
  return NUMBERS.includes(key) && order === '=' ? key : undefined;
}

function termOf(key, wanted) {
  const lower = key.toLowerCase();
  const { sign, value, isQuoted } = wanted;
  const isWhole = sign === '=' || sign === '!=';
  const pattern = () => (isWhole ? new Pattern(value, 'whole') : Pattern.typed(value));
  const allow = (...signs) => {
    if (!signs.includes(sign)) {
      throw new FilterError(wanted.end, wanted.signEnd, `found ${sign}; this key takes ${signs.join(' ')}`);
    }
  };
  const fail = (message) => new FilterError(wanted.valueStart, wanted.valueEnd, message);
  const hint = (words, rest) => {
    const near = nearest(value, words);
    return near ? `; did you mean '${near}'?` : rest;
  };
  if (Object.hasOwn(NAMES, lower)) {
    allow(':', '~', '=', '!=');
    const known = NAMES[lower];
    const words = lower === 'from' ? [...known, 'accessory'] : known;
    const names = pattern().chosen(words);
    if (names.length === 0) {
      const what = `no ${lower === 'rpc' ? 'RPC' : lower} is called '${value}'`;
      throw fail(what + hint(words, lower === 'rpc' ? '' : `; known: ${known.join(', ')}`));
    }
    return { key: lower, names: new Set(names.map((name) => (name === 'accessory' ? 'unit' : name))) };
  }
  if (NUMBERS.includes(lower)) {
    allow(':', '=', '!=', '<', '<=', '>=', '>');
    const number = lower === 'ms' ? milliseconds(value) : numberOf(value);
    if (number === undefined) {
      throw fail(`${lower} is '${value}'; expected ${lower === 'ms' ? 'a time such as 200, 200ms or 2s' : 'a number'}`);
    }
    return { key: lower, order: ['<', '<=', '>=', '>'].includes(sign) ? sign : '=', number };
  }
  switch (lower) {
    case 'app': {
      allow(':', '~', '=', '!=');
      const digits = isQuoted ? undefined : /^#?(\d+)$/.exec(value)?.[1];
      if (digits === undefined) return { key: 'app', pattern: pattern() };
      return { key: 'app', pattern: new Pattern(value, 'whole'), connection: `#${BigInt(digits)}` };
    }
    case 'result':
      allow(':', '~', '=', '!=');
      return { key: 'result', pattern: pattern() };
    case 'priority': {
      allow(':', '=', '!=');
      const level = PRIORITIES.indexOf(value.toLowerCase());
      if (level < 0) throw fail(`no priority is called '${value}'${hint(PRIORITIES, `; known: ${PRIORITIES.join(', ')}`)}`);
      return { key: 'priority', level, isExact: sign !== ':' };
    }
    case 'text':
      allow(':', '~');
      return { key: 'text', pattern: new Pattern(value, 'part') };
    case 'ok': throw new FilterError(wanted.end, wanted.signEnd, 'ok stands alone; !ok is what went wrong');
    default:
  }
  if (!isParameter(key)) throw new FilterError(wanted.start, wanted.end, unknown(lower));
  const steps = path(key, wanted.start, wanted.end);
  if (sign === ':' || sign === '~') return { key: 'param', path: steps, test: 'contains', pattern: pattern() };
  const number = numberOf(value);
  if (isWhole) return { key: 'param', path: steps, test: 'equals', pattern: pattern(), number: isQuoted ? undefined : number };
  if (number === undefined) throw fail(`found '${value}'; expected a number`);
  return { key: 'param', path: steps, test: 'number', order: sign, number };
}

function unknown(key) {
  const start = `there is no key '${key}'`;
  const other = Object.hasOwn(OTHERS, key) ? OTHERS[key] : nearest(key, KEYS);
  if (other) return `${start}; did you mean '${other}'?`;
  return `${start}; known: ${KEYS.join(', ')}. Text with such a sign needs quotes`;
}

const numberOf = (text) => (/^-?\d+(\.\d+)?$/.test(text) && text.length <= 20 ? Number(text) : undefined);

function milliseconds(text) {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(text) ?? [];
  return digits !== undefined && digits.length <= 20 && Object.hasOwn(UNITS, unit) ? Number(digits) * UNITS[unit] : undefined;
}

/** Whether it is meant as a parameter, with a path that may be wrong. */
const isParameter = (key) => /^param($|[.[])/i.test(key);

/** Steps to a parameter: strings in lower case for members, numbers for elements. */
function path(text, start, end) {
  const broken = () => new FilterError(start, end, 'expected a parameter such as param.mainField1 or param.softButtons[0].text');
  const rest = text.slice('param'.length);
  if (!/^(\.[^.[\]*?\s"\u0080-\uffff]+(\[\d{1,6}\])*)+$/.test(rest)) throw broken();
  const steps = rest.match(/[^.[\]]+/g).map((one, index) => [one, index]);
  const found = [];
  let at = 0;
  for (const [one] of steps) {
    const sign = rest[at];
    found.push(sign === '[' ? Number(one) : one.toLowerCase());
    at += one.length + (sign === '[' ? 2 : 1);
  }
  if (found.length > DEPTH) throw broken();
  return found;
}

// Asking

export class Filter {
  /**
   * @param {(name: string) => string | undefined} [saved] What is saved under a name.
   * @throws {FilterError}
   */
  constructor(text = '', saved = undefined) {
    const parser = new Parser(text, saved);
    this.root = parser.whole();
    /** The filter with saved filters written out, so that it means the same everywhere. */
    this.text = parser.named.reduceRight(
      (letters, one) => [...letters.slice(0, one.start), `(${one.text})`, ...letters.slice(one.end)], parser.letters)
      .join('').replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '');
    this.isEverything = this.root.all?.length === 0;
    /** Something is asked that only the answer to a request can tell. */
    this.asksForAnswers = asksForAnswers(this.root);
  }

  /**
   * Whether a message is wanted; null when that depends on an answer that has not come.
   * @param {object} message As the API has it; `partner` is its request or answer, `unanswered` what
   *   says that there is none, `shown()` what its row shows, `params()` its parameters.
   */
  accepts(message, means) {
    if (this.isEverything || message.event === 'missed') return true;
    return judge(this.root, message, means);
  }
}

function asksForAnswers(node) {
  if (node.not) return asksForAnswers(node.not);
  const nodes = node.all ?? node.any ?? node.either;
  return nodes ? nodes.some(asksForAnswers) : ['ok', 'result', 'ms'].includes(node.key);
}

function judge(node, message, means) {
  if (node.not) {
    const found = judge(node.not, message, means);
    return found === null ? null : !found;
  }
  if (node.all) return judgeSeveral(node.all, false, message, means);
  const several = node.any ?? node.either;
  return several ? judgeSeveral(several, true, message, means) : holds(node, message, means);
}

/** All of them, or any. */
function judgeSeveral(nodes, isEnough, message, means) {
  let found = !isEnough;
  for (const node of nodes) {
    const one = judge(node, message, means);
    if (one === isEnough) return isEnough;
    if (one === null) found = null;
  }
  return found;
}

const ORDERS = {
  '<': (a, b) => a < b, '<=': (a, b) => a <= b, '=': (a, b) => a === b, '>=': (a, b) => a >= b, '>': (a, b) => a > b,
};
const isBad = (message) => message?.priority === 'warning' || message?.priority === 'error';

function holds(term, message, means) {
  const isRequest = message.kind === 'request';
  const answer = isRequest ? message.partner ?? message.unanswered : undefined;
  const isWaiting = isRequest && !answer;
  switch (term.key) {
    case 'ok':
      if (isBad(message)) return false;
      return isWaiting ? null : !isBad(answer) && !isBad(message.partner);
    case 'app':
      return (term.connection !== undefined && message.app === term.connection)
        || (message.app_name !== undefined && term.pattern.matches(message.app_name))
        || (message.app_id !== undefined && term.pattern.matches(message.app_id));
    case 'rpc':
      return term.names.has(message.function) || (message.kind === 'response' && term.names.has(message.partner?.function));
    case 'kind':
    case 'service': return term.names.has(message[term.key]);
    case 'from': return message.from !== undefined && term.names.has(message.from === 'app' ? 'app' : 'unit');
    case 'result': {
      const code = isRequest ? answer?.result_code : message.result_code;
      if (code === undefined) return isWaiting ? null : false;
      return term.pattern.matches(code);
    }
    case 'priority': {
      const level = PRIORITIES.indexOf(message.priority);
      return term.isExact ? level === term.level : level >= term.level;
    }
    case 'ms': {
      const of = answer ?? message;
      const time = of.latency_ms ?? of.waited_ms;
      if (time === undefined) return isWaiting ? null : false;
      return ORDERS[term.order](time, term.number);
    }
    case 'text': return term.pattern.matches(message.line) || term.pattern.matches(means.shown(message));
    case 'param': {
      const own = means.params(message);
      if (own !== undefined && reaches(own, term.path, 0, term)) return true;
      const asked = message.kind === 'response' && message.partner ? means.params(message.partner) : undefined;
      return asked !== undefined && reaches(asked, term.path, 0, term);
    }
    default: {
      const found = { bytes: message.bytes, n: message.n, corr: message.correlation_id, session: message.session }[term.key];
      return found !== undefined && ORDERS[term.order](found, term.number);
    }
  }
}

/** Whether a value at the end of the path is as wanted; without an index any element will do. */
function reaches(value, steps, at, term) {
  if (Array.isArray(value)) {
    if (at === steps.length && term.test === 'exists') return true;
    if (typeof steps[at] === 'number') return steps[at] < value.length && reaches(value[steps[at]], steps, at + 1, term);
    return value.some((one) => reaches(one, steps, at, term));
  }
  if (value !== null && typeof value === 'object') {
    if (at === steps.length) {
      return term.test === 'exists' || (term.test === 'contains' && term.pattern.matches(JSON.stringify(value)));
    }
    return Object.entries(value).some(([key, one]) => key.toLowerCase() === steps[at] && reaches(one, steps, at + 1, term));
  }
  if (at < steps.length) return false;
  switch (term.test) {
    case 'exists': return true;
    case 'contains': return term.pattern.matches(String(value));
    case 'equals':
      return term.pattern.matches(String(value)) || (typeof value === 'number' && term.number !== undefined && value === term.number);
    default: return typeof value === 'number' && ORDERS[term.order](value, term.number);
  }
}
