// The RPC specification in force: what the composer's form is made of, and what is plainly wrong with what
// is in it. What relayd would refuse, relayd says itself (`check` of send).

import { count } from './dom.js';

const BASIC = new Set(['Boolean', 'Integer', 'Float', 'String']);
/** Problems that are looked for. */
const MOST = 50;

export class Specification {
  /** @param {object} document the answer to GET /v1/specification */
  constructor(document) {
    this.version = document.version;
    this.file = document.file;
    this.functions = document.functions;
    this.structs = new Map(document.structs.map((one) => [one.name, one]));
    this.enums = new Map(document.enums.map((one) => [one.name, one]));
  }

  /** The function of that name and type ("request", …), or undefined. */
  find(name, type) {
    return this.functions.find((one) => one.name === name && one.type === type);
  }

  /** Names of the functions of a type, by the alphabet. */
  names(type) {
    return [...new Set(this.functions.filter((one) => one.type === type).map((one) => one.name))].sort();
  }

  /** "Boolean", "Integer", "Float", "String", "enum" or "struct". */
  kind({ type }) {
    if (BASIC.has(type)) return type;
    return this.enums.has(type) ? 'enum' : 'struct';
  }

  members({ type }) {
    return this.structs.get(type)?.parameters ?? [];
  }

  /** Words of the enumeration that are allowed in this place. */
  words(parameter) {
    return parameter.values ?? this.enums.get(parameter.type)?.elements.map((one) => one.name) ?? [];
  }

  /** Type and bounds in a few words; `element` leaves out that it is an array. */
  expected(parameter, element = false) {
    const { type, min_size: few, max_size: many } = parameter;
    const one = { Integer: 'Integer', Float: 'Float', String: 'String', Boolean: 'Boolean' }[type] ?? type;
    const bounds = range(parameter.min_value, parameter.max_value)
      || (type === 'String' && parameter.max_length !== undefined ? `${range(parameter.min_length || undefined, parameter.max_length)} characters` : '');
    const text = bounds ? `${one}, ${bounds}` : one;
    if (!parameter.array || element) return text;
    const size = range(few || undefined, many);
    return `list of ${text}${size ? `, ${size} elements` : ''}`;
  }

  /** What is plainly wrong: `{path, message}` each. */
  problems(parameters, value) {
    const found = [];
    this.#object(parameters, value, '', found);
    return found.slice(0, MOST);
  }

  #object(parameters, value, path, found) {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      found.push({ path, message: `expected an object, such as {}` });
      return;
    }
    for (const parameter of parameters) {
      const place = path ? `${path}.${parameter.name}` : parameter.name;
      if (!Object.hasOwn(value, parameter.name)) {
        if (parameter.mandatory && !parameter.until) found.push({ path: place, message: 'is required' });
        continue;
      }
      const one = value[parameter.name];
      if (!parameter.array) {
        this.#value(parameter, one, place, found);
      } else if (!Array.isArray(one)) {
        found.push({ path: place, message: 'expected a list, such as []' });
      } else {
        const { min_size: few = 0, max_size: many = Infinity } = parameter;
        if (one.length < few || one.length > many) {
          found.push({ path: place, message: `has ${one.length} elements, expected ${range(few || undefined, parameter.max_size)}` });
        }
        one.forEach((element, index) => this.#value(parameter, element, `${place}[${index}]`, found));
      }
    }
  }

  #value(parameter, value, path, found) {
    const wrong = (message) => found.push({ path, message });
    const kind = this.kind(parameter);
    const { min_value: low = -Infinity, max_value: high = Infinity } = parameter;
    switch (kind) {
      case 'Boolean':
        if (typeof value !== 'boolean') wrong('expected true or false');
        break;
      case 'Integer':
      case 'Float':
        if (typeof value !== 'number') wrong(`expected a number${kind === 'Integer' ? ' without a fraction' : ''}`);
        else if (kind === 'Integer' && !Number.isInteger(value)) wrong('expected a number without a fraction');
        else if (value < low || value > high) wrong(`is ${value}, expected ${range(parameter.min_value, parameter.max_value)}`);
        break;
      case 'String': {
        if (typeof value !== 'string') return void wrong('expected a text');
        const letters = [...value].length;
        if (letters > (parameter.max_length ?? Infinity)) wrong(`has ${count(letters)} characters, expected at most ${count(parameter.max_length)}`);
        else if (letters < (parameter.min_length ?? 0)) wrong(letters === 0 ? 'may not be empty' : `has ${letters} characters, expected at least ${parameter.min_length}`);
        break;
      }
      case 'enum':
        if (!this.words(parameter).includes(value)) wrong(`expected a word of ${parameter.type}`);
        break;
      default:
        this.#object(this.members(parameter), value, path, found);
    }
    return undefined;
  }
}

/** "3 to 8", "at least 3", "at most 8"; empty without bounds. */
function range(low, high) {
  if (low !== undefined && high !== undefined) return `${count(low)} to ${count(high)}`;
  if (low !== undefined) return `at least ${count(low)}`;
  return high === undefined ? '' : `at most ${count(high)}`;
}
