// Throughput and latency of the last minutes, on two canvases. main adds samples and has them drawn.

import { clock, milliseconds, rate } from './dom.js';

/** Seconds of history. */
const SECONDS = 300;
/** Dots kept of one second; more say nothing more, and drawing stays bounded. */
const DOTS = 12;
const MARGIN = { left: 56, right: 10, top: 8, bottom: 18 };

/** One second. */
function second(at) {
  return { at, toUnit: null, fromUnit: null, dots: [], answers: 0, slowest: 0 };
}

export class History {
  seconds = [];
  /** Latencies of the last second or so, for the words above the plot. */
  latest = [];

  #current(now) {
    const at = Math.floor(now / 1000);
    let last = this.seconds[this.seconds.length - 1];
    if (!last || last.at < at) {
      last = second(at);
      this.seconds.push(last);
      while (this.seconds[0].at < at - SECONDS) this.seconds.shift();
    }
    return last;
  }

  throughput(now, toUnit, fromUnit) {
    const current = this.#current(now);
    current.toUnit = toUnit;
    current.fromUnit = fromUnit;
  }

  /** Messages carry relayd's time; with another clock than the browser's the newest one is now. */
  latency(message) {
    const current = this.#current(Date.now());
    // Those of the past that come when the page opens are put where they belong.
    const at = Math.floor(message.at / 1000);
    const place = at < current.at - 2 ? this.#past(at) : current;
    if (!place) return;
    place.answers += 1;
    // What waits for a person is drawn, but says nothing of how fast apps and head unit are.
    const isOfPerson = message.waits_for_people === true;
    if (!isOfPerson) place.slowest = Math.max(place.slowest, message.latency_ms);
    const dot = { ms: message.latency_ms, isFailure: message.success === false, isOfPerson };
    if (place.dots.length < DOTS) place.dots.push(dot);
    // A new one takes the place of an old one ever more rarely: all have the same chance.
    else if (dot.isFailure || Math.random() * place.answers < DOTS) place.dots[place.answers % DOTS] = dot;
    if (!isOfPerson) this.latest.push(message.latency_ms);
    if (this.latest.length > 200) this.latest.splice(0, 100);
  }

  #past(at) {
    const index = this.seconds.findLastIndex((one) => one.at <= at);
    if (index >= 0 && this.seconds[index].at === at) return this.seconds[index];
    if (at < Math.floor(Date.now() / 1000) - SECONDS) return undefined;
    const made = second(at);
    this.seconds.splice(index + 1, 0, made);
    return made;
  }
}

/** A canvas with axes, one for each plot. */
export class Plot {
  constructor(canvas, note, style) {
    this.canvas = canvas;
    this.note = note;
    this.style = style;
    this.pointer = null;
    canvas.addEventListener('pointermove', (event) => {
      this.pointer = event.offsetX;
      this.again?.();
    });
    canvas.addEventListener('pointerleave', () => {
      this.pointer = null;
      this.again?.();
    });
  }

  begin(now) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return false;
    const scale = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * scale)) this.canvas.width = Math.round(width * scale);
    if (this.canvas.height !== Math.round(height * scale)) this.canvas.height = Math.round(height * scale);
    const context = this.canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '11px system-ui, sans-serif';
    context.lineJoin = 'round';
    Object.assign(this, { context, width, height, now: Math.floor(now / 1000) });
    return true;
  }

  x(at) {
    return MARGIN.left + (1 - (this.now - at) / SECONDS) * (this.width - MARGIN.left - MARGIN.right);
  }

  y(part) {
    return MARGIN.top + (1 - part) * (this.height - MARGIN.top - MARGIN.bottom);
  }

  /** `lines`: parts of the height with their words. */
  axes(lines, colours) {
    const { context } = this;
    context.strokeStyle = colours.grid;
    context.fillStyle = colours.text;
    context.lineWidth = 1;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const [part, words] of lines) {
      const y = Math.round(this.y(part)) + 0.5;
      context.beginPath();
      context.moveTo(MARGIN.left, y);
      context.lineTo(this.width - MARGIN.right, y);
      context.stroke();
      context.fillText(words, MARGIN.left - 6, y);
    }
    context.textBaseline = 'alphabetic';
    for (let minutes = 0; minutes <= 5; minutes += this.width < 420 ? 2.5 : 1) {
      context.textAlign = minutes === 0 ? 'right' : minutes === 5 ? 'left' : 'center';
      const words = minutes === 0 ? 'now' : minutes === Math.floor(minutes) ? `−${minutes} min` : `−${minutes * 60} s`;
      context.fillText(words, this.x(this.now - minutes * 60), this.height - 4);
    }
  }

  /** The second under the pointer, marked. */
  pointed(seconds, colours) {
    if (this.pointer === null || seconds.length === 0) return undefined;
    const part = (this.pointer - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right);
    const at = Math.round(this.now - (1 - part) * SECONDS);
    const found = seconds.find((one) => one.at >= at && one.at <= at + 2);
    if (!found) return undefined;
    const x = Math.round(this.x(found.at)) + 0.5;
    this.context.strokeStyle = colours.text;
    this.context.beginPath();
    this.context.moveTo(x, MARGIN.top);
    this.context.lineTo(x, this.height - MARGIN.bottom);
    this.context.stroke();
    return found;
  }
}

const when = (one) => clock(new Date(one.at * 1000), false);

export function drawThroughput(plot, history, now, colours, unit) {
  plot.again = () => drawThroughput(plot, history, Date.now(), colours, unit);
  if (!plot.begin(now)) return;
  const seconds = history.seconds.filter((one) => one.toUnit !== null);
  const most = seconds.reduce((so, one) => Math.max(so, one.toUnit, one.fromUnit), 0);
  const top = niceCeiling(Math.max(most, 1000));
  plot.axes([[0, '0'], [0.5, rate(top / 2)], [1, rate(top)]], colours);
  curve(plot, seconds, (one) => one.fromUnit / top, colours.notification);
  curve(plot, seconds, (one) => one.toUnit / top, colours.request);
  const one = plot.pointed(seconds, colours) ?? seconds[seconds.length - 1];
  plot.note.replaceChildren();
  if (!one) return;
  const key = (name, value) => {
    const part = document.createElement('span');
    part.className = `key c-${name}`;
    part.textContent = value;
    return part;
  };
  if (plot.pointer !== null) plot.note.append(`${when(one)}  `);
  plot.note.append(key('request', `to ${unit} ${rate(one.toUnit)}`), ' ', key('notification', `from it ${rate(one.fromUnit)}`));
}

function curve(plot, seconds, part, colour) {
  const { context } = plot;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.5;
  let run = [];
  const finish = () => {
    if (run.length > 0) {
      context.beginPath();
      run.forEach(([x, y], index) => (index === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
      context.stroke();
      context.globalAlpha = 0.12;
      context.lineTo(run[run.length - 1][0], plot.y(0));
      context.lineTo(run[0][0], plot.y(0));
      context.fill();
      context.globalAlpha = 1;
    }
    run = [];
  };
  let last;
  for (const one of seconds) {
    // Where nothing was measured, nothing is drawn.
    if (last !== undefined && one.at - last > 5) finish();
    run.push([plot.x(one.at), plot.y(part(one))]);
    last = one.at;
  }
  finish();
}

export function drawLatency(plot, history, now, colours) {
  plot.again = () => drawLatency(plot, history, Date.now(), colours);
  if (!plot.begin(now)) return;
  // A millisecond and ten seconds are both of interest: logarithmic, from 0.1 ms.
  const part = (ms) => Math.min(1, Math.max(0, (Math.log10(Math.max(ms, 0.1)) + 1) / 5));
  plot.axes([[0.1, ''], [1, '1 ms'], [10, ''], [100, '100 ms'], [1000, ''], [10_000, '10 s']].map(([ms, words]) => [part(ms), words]), colours);
  const { context } = plot;
  const seconds = history.seconds.filter((one) => one.answers > 0);
  for (const one of seconds) {
    const x = plot.x(one.at);
    if (x < MARGIN.left) continue;
    for (const dot of one.dots) {
      context.fillStyle = dot.isFailure ? colours.failure : colours.success;
      context.globalAlpha = dot.isFailure ? 1 : 0.6;
      context.beginPath();
      context.arc(x, plot.y(part(dot.ms)), dot.isFailure ? 3 : 2.2, 0, 7);
      context.fill();
    }
  }
  context.globalAlpha = 1;
  const one = plot.pointed(seconds, colours);
  const times = one ? one.dots.filter((dot) => !dot.isOfPerson).map((dot) => dot.ms) : [...history.latest];
  const sorted = times.sort((a, b) => a - b);
  if (sorted.length === 0) {
    plot.note.textContent = one ? `${when(one)}  only answers that waited for a person` : 'no answers yet';
    return;
  }
  const at = (share) => milliseconds(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
  plot.note.textContent = `${one ? `${when(one)}  ` : ''}p50 ${at(0.5)} · p95 ${at(0.95)} · slowest ${milliseconds(one?.slowest ?? sorted[sorted.length - 1])}`;
}

/** The next 1, 2 or 5 with zeros. */
function niceCeiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}
