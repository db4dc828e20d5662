// Small tools for the page: building elements, and how numbers are written. Used by all modules.

const SVG = 'http://www.w3.org/2000/svg';

export const $ = (id) => document.getElementById(id);

/** An element; `properties` are attributes, except `on…` functions and `text`. */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same in SVG. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'text') element.textContent = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Sets text only when it is another: nothing is laid out again for the same words. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const built = new WeakMap();

/** Builds the content of `element` again when `facts` are others than last time. */
export function rebuild(element, facts, build) {
  const key = JSON.stringify(facts);
  if (built.get(element) === key) return;
  built.set(element, key);
  element.replaceChildren(...[build()].flat().filter(Boolean));
}

/** Rounded to the nearest, as ByteSize does, but to two or three figures: tiles and columns are narrow. */
export function bytes(count) {
  if (count < 1024) return `${count} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = count / 1024;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Bytes per second. */
export function rate(perSecond) {
  if (perSecond < 1) return '0 B/s';
  if (perSecond < 1000) return `${Math.round(perSecond)} B/s`;
  if (perSecond < 1e6) return `${short(perSecond / 1e3)} kB/s`;
  return `${short(perSecond / 1e6)} MB/s`;
}

export function bitrate(bitsPerSecond) {
  if (bitsPerSecond < 1000) return `${Math.round(bitsPerSecond)} bit/s`;
  if (bitsPerSecond < 1e6) return `${short(bitsPerSecond / 1e3)} kbit/s`;
  return `${short(bitsPerSecond / 1e6)} Mbit/s`;
}

function short(value) {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}

export function milliseconds(value) {
  if (value < 1) return `${value.toFixed(2)} ms`;
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 10_000) return `${Math.round(value)} ms`;
  return `${(value / 1000).toFixed(1)} s`;
}

/** A span of time in words, from milliseconds. */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor(seconds / 3600) % 24} h`;
}

const two = (value) => String(value).padStart(2, '0');

/** Local time of day with milliseconds. */
export function clock(date, withMilliseconds = true) {
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withMilliseconds ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text;
}

export function count(value) {
  return value.toLocaleString('en');
}

/** Thousands stay readable, one is not many. */
export function many(value, word, plural = `${word}s`) {
  return `${count(value)} ${value === 1 ? word : plural}`;
}

/** A word of the API, or of a head unit, for people: "not audible" of "NOT_AUDIBLE". */
export function words(word) {
  return word.toLowerCase().replaceAll('_', ' ');
}

/** "app 7" of "#7", as the API writes it. */
export function appWord(id) {
  return id.replace(/^#/, 'app ');
}

export function cut(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
