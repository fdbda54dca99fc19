// The chart of a history: stepped price lines by uPlot, and below them a lane
// for each pair of product and site with its outcomes.
import { bars, fillSpan, marks, stepped } from './ink.js';
import { align, ends, indexAt, offerAt, only, seenAt, spans, withoutPrice } from './series.js';
import { language, money, t } from './texts.js';
import { show } from './zone.js';

export const mostLines = 16;
const laneHeight = 34;
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

let library; // uPlot; false: it is missing; undefined: not loaded yet

/** charts reports whether charts can be drawn now. */
export const charts = () => Boolean(library);

let loading;

/** load fetches uPlot, one time only, and reports whether charts can be drawn. */
export const load = () => (loading ??= fetched());

async function fetched() {
  try {
    const head = (name, attributes) => new Promise((onload, onerror) => {
      document.head.append(Object.assign(document.createElement(name), attributes, { onload, onerror }));
    });
    await Promise.all([head('script', { src: 'uPlot.iife.min.js' }), head('link', { rel: 'stylesheet', href: 'uPlot.min.css' })]);
    library = globalThis.uPlot; // not a module: only this build of it is minified
  } catch {
    library = false;
  }
  return library !== false;
}

/** colours returns a function from names to colours of the page that reads each colour once; it is valid for one drawing. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const known = {};
  return (name) => (known[name] ??= style.getPropertyValue(name).trim());
}

const css = (name) => colours()(name);
export const colourOf = (i) => css(`--c${i % 8}`);

/**
 * Chart draws into a box and a canvas. onRead gets what is under the cursor as
 * text; onZoom the visible part of the window, undefined for all of it; onPick
 * the point that was clicked: {itemId, site, merchant, at}.
 */
export class Chart {
  constructor(box, lanes, onRead, onZoom, onPick) {
    this.box = box;
    this.canvas = lanes;
    this.onRead = onRead;
    this.onZoom = onZoom;
    this.onPick = onPick;
    this.hidden = new Set(); // keys of lines
    new ResizeObserver(() => this.resize()).observe(box.parentElement);
    box.addEventListener('keydown', (e) => this.key(e));
    box.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
  }

  /** draw shows lines and lanes ({label, at, outcome, monitored}) between two times in seconds, or only a part {from, to} of that. */
  draw(lines, lanes, from, to, zone, part) {
    const width = this.width(); // before the chart is removed: the shorter page would scroll
    this.plot?.destroy();
    this.plot = undefined;
    const until = Math.min(to, Date.now() / 1e3); // nothing is known of the future
    for (const lane of lanes) lane.spans = spans(lane, until);
    for (const line of lines) Object.assign(line, { until: ends(line, until), boxes: only(line, line.buyBox), primes: only(line, line.prime) });
    this.empty = withoutPrice([...new Set(lines.map((l) => l.pair))], until);
    Object.assign(this, { lines, lanes, from, to, zone });
    this.canvas.hidden = false;
    this.box.hidden = lines.length === 0; // without a price the axis would be invented
    this.box.setAttribute('aria-label', t.chart(lines.length));
    this.canvas.setAttribute('aria-label', t.lanes);
    if (this.box.hidden) {
      this.onRead('');
      return this.lanesAlone(width);
    }
    this.data = align(lines);
    const currencies = [...new Set(lines.map((l) => l.currency))];
    const ink = css('--quiet');
    const grid = { stroke: css('--edge'), width: 1 };
    const font = '12px system-ui, sans-serif';
    const narrow = width < 500;
    this.plot = new library({
      width, height: narrow ? 260 : 360, padding: [12, 24, 0, 0],
      tzDate: (ts) => library.tzDate(new Date(ts * 1e3), zone),
      legend: { show: false }, cursor: { drag: { x: true, y: false }, bind: { dblclick: () => () => this.whole() }, points: { size: 7 }, focus: { prox: 24 } }, focus: { alpha: 0.35 },
      scales: { x: { time: true, range: (u, min, max) => (this.part = min === max ? [from, to] : [min, max]) }, ...Object.fromEntries(currencies.map((c) => [c, { range: (u, min, max) => library.rangeNum(...this.extent(c, min, max), 0.1, true) }])) },
      axes: [
        { stroke: ink, grid, ticks: grid, font, values: (u, at) => ticks(at, zone) , space: narrow ? 70 : 90 },
        ...currencies.map((c, i) => ({ scale: c, side: i === 0 ? 3 : 1, stroke: ink, grid: i === 0 ? grid : { show: false }, ticks: grid, font, size: room, values: (u, at) => at.map((v) => money(v, c)) })),
      ],
      series: [{}, ...lines.map((l, i) => ({
        scale: l.currency, stroke: colourOf(i), width: 2, dash: dashes[Math.floor(i / 8) % dashes.length], show: !this.hidden.has(l.key),
        paths: (u) => { const { path, columns } = stepped(u, l); l.columns = columns; return path; }, points: { show: false }, label: l.label,
      }))],
      hooks: { ready: [(u) => u.over.addEventListener('click', () => this.pick(u))], drawAxes: [(u) => this.bands(u)], drawSeries: [(u, i) => bars(u, lines[i - 1].columns, colourOf(i - 1), u.series[i].alpha)], draw: [(u) => this.marks(u), (u) => this.drawLanes(u.width, u.bbox, (at) => u.valToPos(at, 'x', true))], setCursor: [(u) => this.read(u)], setScale: [(u, key) => { if (key === 'x') this.zoomed(u.scales.x); }] },
    }, this.data, this.box);
    if (part && part.from < to && part.to > from) this.plot.setScale('x', { min: part.from, max: part.to });
    else this.whole();
  }

  /** extent returns the lowest and the highest price of a currency in the visible part: of its captures, which are between min and max, null if there are none, and of those before it that still hold there. If nothing is there, it is that of the whole window. */
  extent(currency, min, max) {
    const lines = this.lines.filter((l) => l.currency === currency);
    const prices = min === null ? [] : [min, max];
    for (const { key, at, until, price } of lines) {
      const i = indexAt(at, this.part[0]);
      if (until[i] > this.part[0] && !this.hidden.has(key)) prices.push(price[i]);
    }
    const all = prices.length ? prices : lines.flatMap((l) => l.price);
    return [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  }

  /** whole shows the whole window. */
  whole() { this.plot?.setScale('x', { min: this.from, max: this.to }); }

  zoomed({ min, max }) { this.onZoom(min <= this.from && max >= this.to ? undefined : { from: min, to: max }); }

  clear() {
    this.plot?.destroy();
    this.plot = undefined;
    this.box.hidden = this.canvas.hidden = true;
  }

  /** width returns the width of the box, even when it is hidden. */
  width() {
    const { hidden } = this.box;
    this.box.hidden = false;
    const width = this.box.clientWidth;
    this.box.hidden = hidden;
    return width;
  }

  resize() {
    if (this.canvas.hidden) return;
    const width = this.width();
    if (width && !this.plot) this.lanesAlone(width);
    else if (width && width !== this.plot.width) this.plot.setSize({ width, height: width < 500 ? 260 : 360 });
  }

  toggle(i) {
    const { key } = this.lines[i];
    if (!this.hidden.delete(key)) this.hidden.add(key);
    this.plot.setSeries(i + 1, { show: !this.hidden.has(key) });
    return !this.hidden.has(key);
  }

  /** bands marks where all pairs have the same state, other than a price. */
  bands(u) {
    const { left, top, width, height } = u.bbox;
    const css = colours();
    for (const s of this.empty) {
      const [from, until] = [s.from, s.until].map((at) => Math.max(left, Math.min(left + width, u.valToPos(at, 'x', true))));
      if (until > from) fillSpan(u.ctx, s.state, from, top, until - from, height, { css, faint: true });
    }
  }

  /** marks draws the captures of the visible offers. */
  marks(u) {
    this.lines.forEach((l, n) => { if (u.series[n + 1].show) marks(u, l, colourOf(n)); });
  }

  /** lanesAlone draws the lanes over the whole width, when there is no time axis. */
  lanesAlone(width) {
    const pixels = width * devicePixelRatio;
    this.drawLanes(width, { left: 0, width: pixels }, (at) => ((at - this.from) / (this.to - this.from)) * pixels);
  }

  /** drawLanes draws the lanes between left and left + width, in pixels of the canvas; position maps a time to such a pixel. */
  drawLanes(whole, { left, width }, position) {
    const r = devicePixelRatio;
    const css = colours();
    const { canvas } = this;
    const ctx = canvas.getContext('2d');
    canvas.width = Math.round(whole * r);
    canvas.height = Math.round(this.lanes.length * laneHeight * r);
    canvas.style.width = `${whole}px`;
    canvas.style.height = `${this.lanes.length * laneHeight}px`;
    const place = (at) => Math.max(left, Math.min(left + width, position(at)));
    ctx.font = `${12 * r}px system-ui, sans-serif`;
    ctx.textBaseline = 'alphabetic';
    this.lanes.forEach((lane, n) => {
      const top = n * laneHeight * r;
      const [y, h] = [top + 18 * r, 11 * r];
      ctx.fillStyle = css('--quiet');
      ctx.fillText(shortened(ctx, lane.label, width), left, top + 13 * r);
      if (!lane.monitored && !lane.at.length) { // not monitored: a bare line
        ctx.fillRect(left, y + h / 2, width, r);
        return;
      }
      if (lane.at.length === 0) {
        ctx.strokeStyle = css('--quiet');
        ctx.lineWidth = 1.5 * r;
        ctx.setLineDash([5 * r, 4 * r]);
        ctx.strokeRect(left + r, y + r, width - 2 * r, h - 2 * r);
        ctx.setLineDash([]);
        return;
      }
      let column; // a column of pixels, and the states drawn there
      let drawn;
      for (const s of lane.spans) {
        if (position(s.until) < left || position(s.from) > left + width) continue;
        const x = place(s.from);
        if (column !== Math.floor(x)) [column, drawn] = [Math.floor(x), new Set()];
        else if (drawn.has(s.state) && place(s.until) < column + 1) continue;
        drawn.add(s.state);
        fillSpan(ctx, s.state, x, y, Math.max(place(s.until) - x, 2 * r), h, { css }); // a single capture is visible, too
      }
    });
  }

  /** held returns the visible offers that hold at index i of the axis, each by its newest capture, the cheapest of each currency first. */
  held(u, i) {
    const time = this.data[0][i];
    return this.lines.flatMap((l, n) => {
      const k = u.series[n + 1].show ? offerAt(l, time) : undefined;
      return k === undefined ? [] : [{ line: l, currency: l.currency, price: l.price[k], at: l.at[k] }];
    }).sort((a, b) => a.currency.localeCompare(b.currency) || a.price - b.price);
  }

  /** pick calls onPick with the offer nearest to the cursor. */
  pick(u) {
    const { idx, top } = u.cursor;
    if (idx === null || idx === undefined) return;
    const apart = (p) => Math.abs(u.valToPos(p.price, p.currency) - top);
    const near = this.held(u, idx).reduce((best, p) => (best && apart(best) <= apart(p) ? best : p), undefined);
    if (near) this.onPick({ itemId: near.line.pair.itemId, site: near.line.pair.site, merchant: near.line.merchant, at: near.at });
  }

  read(u) {
    const i = u.cursor.idx;
    if (i === null || i === undefined) return this.onRead('');
    const at = this.data[0][i];
    const parts = this.held(u, i).map((p) => `${p.line.label} ${money(p.price, p.currency)}`);
    const words = { unavailable: t.unavailable, restricted: t.accessRestricted };
    const gone = this.lanes.flatMap((p) => words[seenAt(p, at)] ? `${p.label}: ${words[seenAt(p, at)]}` : []);
    this.onRead([show(at * 1000, this.zone, language), ...parts, ...gone].join(' · '));
  }

  /** move shifts the visible part by parts of its own length, at most to the ends of the window. */
  move(parts) {
    const { min, max } = this.plot.scales.x;
    const by = Math.max(this.from - min, Math.min(this.to - max, parts * (max - min)));
    if (by) this.plot.setScale('x', { min: min + by, max: max + by });
  }

  /** wheel shifts the visible part sideways, and does not scroll the page. */
  wheel(e) {
    const by = e.deltaX || (e.shiftKey ? e.deltaY : 0);
    if (!by || !this.plot) return;
    e.preventDefault();
    this.move(by / this.plot.over.clientWidth);
  }

  key(e) {
    if (e.key === 'Enter' && this.plot) this.pick(this.plot);
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
    if (!step || !this.plot) return;
    e.preventDefault();
    if (e.shiftKey && Number.isFinite(step)) return this.move(step / 4);
    const [times, { min, max }] = [this.data[0], this.plot.scales.x];
    const [first, last] = [times.findIndex((at) => at >= min), times.findLastIndex((at) => at <= max)]; // of the visible part
    if (first < 0 || first > last) return;
    const i = Math.max(first, Math.min(last, (this.plot.cursor.idx ?? (step > 0 ? first - 1 : last + 1)) + step));
    this.plot.setCursor({ left: this.plot.valToPos(times[i], 'x'), top: this.plot.over.clientHeight / 2 });
  }
}

/** room returns how wide an axis of prices is with its labels; null: it has none yet. */
function room({ ctx, axes }, labels, i) {
  const { font, gap, ticks } = axes[i];
  ctx.font = font[0]; // in pixels of the canvas
  return Math.max(74, ...(labels ?? []).map((label) => Math.ceil(ctx.measureText(label).width / devicePixelRatio + ticks.size + gap)));
}

/** shortened returns a text cut to a width. */
function shortened(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let n = Math.floor((text.length * width) / ctx.measureText(text).width);
  while (n > 0 && ctx.measureText(`${text.slice(0, n)}…`).width > width) n--;
  return `${text.slice(0, n)}…`;
}

/** ticks returns the labels of the time axis: hours and minutes, with the date on the first tick of each day; only dates where ticks are a day or more apart. */
function ticks(at, zone) {
  const day = new Intl.DateTimeFormat(language, { timeZone: zone, day: 'numeric', month: 'short' });
  const clock = new Intl.DateTimeFormat(language, { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return at.map((s, i) => {
    const [d, before] = [day.format(s * 1e3), i ? day.format(at[i - 1] * 1e3) : ''];
    const time = clock.format(s * 1e3);
    if (at.length > 1 && at[1] - at[0] >= 86000) return d;
    return d !== before ? `${time}\n${d}` : time;
  });
}
