// The chart of a history: steps of prices by uPlot, and below it a lane for
// each pair of product and site with its outcomes.
import { align, hold, seenAt } from './series.js';
import { language, money, t } from './texts.js';
import { show } from './zone.js';

export const mostLines = 16;
const laneHeight = 34;
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

let library; // uPlot, false when it is missing

/** load fetches uPlot, and tells whether charts can be drawn. */
export async function load() {
  if (library !== undefined) return library !== false;
  try {
    const styled = new Promise((ok, no) => {
      const link = document.createElement('link');
      link.rel = 'stylesheet';
      link.href = 'uPlot.min.css';
      link.onload = ok;
      link.onerror = no;
      document.head.append(link);
    });
    library = (await Promise.all([import('./uPlot.esm.js'), styled]))[0].default;
  } catch {
    library = false;
  }
  return library !== false;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const colourOf = (i) => css(`--c${i % 8}`);

/**
 * Chart draws into a box and a canvas. onRead gets what is under the cursor as
 * text; onZoom the part of the time that is on show, undefined for all of it;
 * onPick the point that was clicked: {itemId, site, merchant, at}.
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
  }

  /** draw shows lines and lanes ({label, at, outcome}) between two times in seconds, or the part {from, to} of it. */
  draw(lines, lanes, from, to, zone, part) {
    this.plot?.destroy();
    this.plot = undefined;
    Object.assign(this, { lines, lanes, from, to, zone });
    const width = this.width();
    this.canvas.hidden = false;
    this.box.hidden = lines.length === 0; // an axis without a price would be invented
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
      scales: { x: { time: true, range: (u, min, max) => (min === max ? [from, to] : [min, max]) }, ...Object.fromEntries(currencies.map((c) => [c, { range: (u, min, max) => library.rangeNum(min ?? 0, max ?? 1, 0.1, true) }])) },
      axes: [
        { stroke: ink, grid, ticks: grid, font, values: (u, at) => ticks(at, zone) , space: narrow ? 70 : 90 },
        ...currencies.map((c, i) => ({ scale: c, side: i === 0 ? 3 : 1, stroke: ink, grid: i === 0 ? grid : { show: false }, ticks: grid, font, size: 74, values: (u, at) => at.map((v) => money(v, c)) })),
      ],
      series: [{}, ...lines.map((l, i) => ({
        scale: l.currency, stroke: colourOf(i), width: 2, dash: dashes[Math.floor(i / 8) % dashes.length], show: !this.hidden.has(l.key),
        paths: library.paths.stepped({ align: 1, alignGaps: 1 }), points: { show: false }, label: l.label,
      }))],
      hooks: { ready: [(u) => u.over.addEventListener('click', () => this.pick(u))], draw: [(u) => this.marks(u), (u) => this.drawLanes(u.width, u.bbox, (at) => u.valToPos(at, 'x', true))], setCursor: [(u) => this.read(u)], setScale: [(u, key) => { if (key === 'x') this.zoomed(u.scales.x); }] },
    }, this.data, this.box);
    if (part && part.from < to && part.to > from) this.plot.setScale('x', { min: part.from, max: part.to });
    else this.whole();
  }

  /** whole shows all of the time. */
  whole() { this.plot?.setScale('x', { min: this.from, max: this.to }); }

  zoomed({ min, max }) { this.onZoom(min <= this.from && max >= this.to ? undefined : { from: min, to: max }); }

  clear() {
    this.plot?.destroy();
    this.plot = undefined;
    this.box.hidden = this.canvas.hidden = true;
  }

  /** width is that of the box, also when it is hidden. */
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

  /** marks draws a disc where an offer had the buy box and a diamond where it was prime, not closer than can be seen. */
  marks(u) {
    const { ctx } = u;
    const r = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    this.lines.forEach((l, n) => {
      if (!u.series[n + 1].show) return;
      ctx.fillStyle = ctx.strokeStyle = colourOf(n);
      ctx.lineWidth = 1.5 * r;
      let lastBox = -Infinity;
      let lastPrime = -Infinity;
      for (let i = 0; i < l.at.length; i++) {
        if (!l.buyBox[i] && !l.prime[i]) continue;
        const x = u.valToPos(l.at[i], 'x', true);
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
        const y = u.valToPos(l.price[i], l.currency, true);
        if (l.buyBox[i] && x - lastBox > 24 * r) {
          lastBox = x;
          ctx.beginPath();
          ctx.arc(x, y, 4 * r, 0, 7);
          ctx.fill();
        }
        if (l.prime[i] && x - lastPrime > 44 * r) {
          lastPrime = x;
          const [d, top] = [4 * r, y - 10 * r];
          ctx.beginPath();
          ctx.moveTo(x, top - d);
          ctx.lineTo(x + d, top);
          ctx.lineTo(x, top + d);
          ctx.lineTo(x - d, top);
          ctx.closePath();
          ctx.stroke();
        }
      }
    });
    ctx.restore();
  }

  /** lanesAlone draws them over the whole width, where there is no axis of times. */
  lanesAlone(width) {
    const pixels = width * devicePixelRatio;
    this.drawLanes(width, { left: 0, width: pixels }, (at) => ((at - this.from) / (this.to - this.from)) * pixels);
  }

  /** drawLanes draws into a part of the canvas's pixels, a time where position says. */
  drawLanes(whole, { left, width }, position) {
    const r = devicePixelRatio;
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
      if (lane.at.length === 0) {
        ctx.strokeStyle = css('--quiet');
        ctx.lineWidth = 1.5 * r;
        ctx.setLineDash([5 * r, 4 * r]);
        ctx.strokeRect(left + r, y + r, width - 2 * r, h - 2 * r);
        ctx.setLineDash([]);
        return;
      }
      for (let i = 0; i < lane.at.length;) { // captures of one outcome in a row are one segment, as long as it holds
        let j = i + 1;
        while (j < lane.at.length && lane.outcome[j] === lane.outcome[i] && lane.at[j] - lane.at[j - 1] <= hold) j++;
        const x = place(lane.at[i]);
        const end = j < lane.at.length ? place(Math.min(lane.at[j], lane.at[j - 1] + hold)) : Math.max(x + 3 * r, place(Math.min(this.to, lane.at[j - 1] + 1)));
        segment(ctx, lane.outcome[i], x, y, Math.max(2 * r, end - x), h, r);
        i = j;
      }
    });
  }

  /** held gives the offers on show that held at a place of the axis, each by its newest capture, the cheapest first. */
  held(u, i) {
    return this.lines.flatMap((l, n) => {
      if (!u.series[n + 1].show) return [];
      const column = this.data[n + 1];
      let k = i;
      while (k >= 0 && column[k] === undefined) k--;
      const at = this.data[0][k];
      return k < 0 || column[k] === null || this.data[0][i] - at > hold ? [] : [{ line: l, currency: l.currency, price: column[k], at }];
    }).sort((a, b) => a.currency.localeCompare(b.currency) || a.price - b.price);
  }

  /** pick takes the offer that is nearest to the cursor. */
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
    const parts = this.held(u, i).map((p) => `${p.line.merchant ?? t.noMerchant} ${money(p.price, p.currency)}`);
    const gone = this.lanes.filter((p) => seenAt(p, at) === 'unavailable').map((p) => `${p.label}: ${t.unavailable}`);
    this.onRead([show(at * 1000, this.zone, language), ...parts, ...gone].join(' · '));
  }

  key(e) {
    if (e.key === 'Enter' && this.plot) this.pick(this.plot);
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
    if (!step || !this.plot) return;
    e.preventDefault();
    const last = this.data[0].length - 1;
    const i = Math.max(0, Math.min(last, (this.plot.cursor.idx ?? (step > 0 ? -1 : last + 1)) + step));
    this.plot.setCursor({ left: this.plot.valToPos(this.data[0][i], 'x'), top: this.plot.over.clientHeight / 2 });
  }
}

/** shortened cuts a text to a width. */
function shortened(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let n = Math.floor((text.length * width) / ctx.measureText(text).width);
  while (n > 0 && ctx.measureText(`${text.slice(0, n)}…`).width > width) n--;
  return `${text.slice(0, n)}…`;
}

function segment(ctx, outcome, x, y, w, h, r) {
  if (outcome === 'price') {
    ctx.fillStyle = css('--accent');
    ctx.fillRect(x, y, w, h);
    return;
  }
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  if (outcome === 'unavailable') {
    ctx.fillStyle = css('--error');
    ctx.fillRect(x, y, w, h);
    ctx.strokeStyle = css('--error-edge');
    ctx.lineWidth = 2 * r;
    ctx.beginPath();
    for (let at = x - h - ((x - h) % (6 * r)); at < x + w; at += 6 * r) {
      ctx.moveTo(at, y + h);
      ctx.lineTo(at + h, y);
    }
    ctx.stroke();
  } else {
    ctx.fillStyle = css('--quiet');
    for (let at = x; at < x + w; at += 5 * r) ctx.fillRect(at, y + h / 2 - r, 2 * r, 2 * r);
  }
  ctx.restore();
}

/** ticks writes times of the axis: a day where one begins, else hours and minutes. */
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
