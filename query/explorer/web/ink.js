// What is drawn on the canvases of the history: only what was observed.
import { indexAt } from './series.js';

/** linear returns zero and each, which take values of a linear scale to device pixels, zero + v * each, far cheaper than by a call of the chart. */
function linear(u, scale) {
  const { min, max } = u.scales[scale];
  const at = u.valToPos(min, scale, true);
  const each = (u.valToPos(max, scale, true) - at) / (max - min);
  return [at - min * each, each];
}

/**
 * stepped returns the visible steps of a line in device pixels: path, for uPlot
 * to stroke, and columns, [x, low, high] of each column of pixels with steps
 * that are too narrow for it, one after another. These are drawn by bars, since
 * without a graphics card a path of a thousand of them takes 4 ms.
 */
export function stepped(u, { at, until, price, currency }) {
  const stroke = new Path2D();
  const [left, width] = [Math.floor(u.bbox.left), Math.ceil(u.bbox.width) + 1];
  const low = new Int32Array(width + 1).fill(2 ** 30); // none
  const high = new Int32Array(width + 1);
  const mark = (x, y) => {
    if (low[x] > y) low[x] = y;
    if (high[x] < y) high[x] = y;
  };
  const [[zeroX, eachX], [zeroY, eachY]] = [linear(u, 'x'), linear(u, currency)];
  const least = 3 * devicePixelRatio; // of a step in the path
  const { min, max } = u.scales.x;
  const [first, last] = [Math.max(0, indexAt(at, min)), indexAt(at, max)];
  let before;
  for (let i = first; i <= last; i++) {
    const x = Math.max(0, Math.round(zeroX + at[i] * eachX) - left);
    const end = Math.min(width, Math.round(zeroX + until[i] * eachX) - left);
    const y = Math.round(zeroY + price[i] * eachY);
    const joined = i > first && until[i - 1] === at[i]; // the previous visible step ends where this one begins
    if (joined && before !== y) {
      mark(x, before);
      mark(x, y);
    }
    before = y;
    if (end - x >= least) {
      stroke.moveTo(left + x, y);
      stroke.lineTo(left + end, y);
    } else if (end > x) for (let to = x; to <= end; to++) mark(to, y);
  }
  const columns = [];
  low.forEach((y, x) => { if (y < 2 ** 30) columns.push(left + x, y, high[x]); });
  return { path: { stroke, fill: null, clip: null, band: null, gaps: null, flags: 0 }, columns };
}

/** clipped calls draw with the plot's context, which draws only within the plot meanwhile. */
function clipped({ ctx, bbox }, draw) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx);
  ctx.restore();
}

/** bars draws the columns of a line, as wide as its stroke; of neighbours, the next one draws the right half. */
export const bars = (u, columns, colour, alpha) => clipped(u, (ctx) => {
  const half = devicePixelRatio;
  ctx.globalAlpha = alpha;
  ctx.fillStyle = colour;
  for (let i = 0; i < columns.length; i += 3) {
    const [x, low, high] = [columns[i], columns[i + 1], columns[i + 2]];
    ctx.fillRect(x - half, low - half, columns[i + 3] === x + 1 ? 1 : 2 * half, high - low + 2 * half);
  }
});

/**
 * marks draws a dot for each capture of a line, a disc where the offer had the
 * buy box and a diamond where it was prime; marks that would be too close to
 * the last one of their kind are left out.
 */
export const marks = (u, line, colour) => clipped(u, (ctx) => {
  const r = devicePixelRatio;
  ctx.fillStyle = ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5 * r;
  const { min, max } = u.scales.x;
  const [[zeroX, eachX], [zeroY, eachY]] = [linear(u, 'x'), linear(u, line.currency)];
  const each = ({ at, price }, least, mark) => {
    for (let i = indexAt(at, min - 1e-3) + 1; i < at.length && at[i] <= max; i = indexAt(at, at[i] + (least * r) / eachX) + 1) mark(zeroX + at[i] * eachX, zeroY + price[i] * eachY);
  };
  const disc = (radius) => (x, y) => {
    ctx.moveTo(x, y);
    ctx.arc(x, y, radius * r, 0, 7);
  };
  ctx.beginPath();
  each(line, 5, disc(2));
  each(line.boxes, 24, disc(4));
  ctx.fill();
  each(line.primes, 44, (x, y) => {
    const [d, top] = [4 * r, y - 10 * r];
    ctx.beginPath();
    ctx.moveTo(x, top - d);
    ctx.lineTo(x + d, top);
    ctx.lineTo(x, top + d);
    ctx.lineTo(x - d, top);
    ctx.closePath();
    ctx.stroke();
  });
});

/**
 * fillSpan fills a part of a canvas with the pattern of a state, in device
 * pixels: a price is solid, unavailable is hatched upwards, overdue downwards,
 * restricted has vertical bars, unknown dots. css returns a colour by its name;
 * faint lets the background show through, for a band of the chart.
 */
export function fillSpan(ctx, state, x, y, w, h, { css, faint }) {
  const r = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  if (faint) ctx.globalAlpha = 0.45;
  ctx.lineWidth = (faint ? 1 : 2) * r;
  if (state === 'price') {
    ctx.fillStyle = css('--accent');
    ctx.fillRect(x, y, w, h);
  } else if (state === 'unavailable') {
    ctx.fillStyle = css('--error');
    ctx.fillRect(x, y, w, h);
    hatch(ctx, css('--error-edge'), x, y, w, h, (faint ? 9 : 6) * r, h);
  } else if (state === 'overdue') {
    hatch(ctx, css('--quiet'), x, y, w, h, (faint ? 9 : 6) * r, -h);
  } else if (state === 'restricted') {
    hatch(ctx, css('--quiet'), x, y, w, h, 4 * r, 0);
  } else {
    ctx.fillStyle = css('--quiet');
    for (let row = y + (faint ? 5 * r : h / 2 - r); row < y + h; row += 10 * r) {
      for (let at = Math.ceil(x / (5 * r)) * 5 * r; at < x + w; at += 5 * r) ctx.fillRect(at, row, 2 * r, 2 * r);
    }
  }
  ctx.restore();
}

/** hatch draws parallel lines that lean to the right by lean pixels over their height (below 0: to the left), at positions that do not depend on where the part begins. */
function hatch(ctx, colour, x, y, w, h, apart, lean) {
  ctx.strokeStyle = colour;
  ctx.beginPath();
  const reach = Math.abs(lean);
  for (let at = Math.floor((x - reach) / apart) * apart; at < x + w + reach; at += apart) {
    ctx.moveTo(at, y + h);
    ctx.lineTo(at + lean, y);
  }
  ctx.stroke();
}
