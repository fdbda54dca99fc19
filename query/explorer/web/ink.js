// What is drawn on the canvases of the history: only what was observed.
import { indexAt } from './series.js';

/** placer returns a function from values of a linear scale to device pixels, which is cheaper than a call of the chart for each. */
function placer(u, scale) {
  const { min, max } = u.scales[scale];
  const zero = u.valToPos(min, scale, true);
  const each = (u.valToPos(max, scale, true) - zero) / (max - min);
  return (v) => zero + (v - min) * each;
}

/** steppedPath returns the path of a line's visible steps, in device pixels; of many steps in one column of pixels it keeps the first, the lowest, the highest and the last. */
export function steppedPath(u, line) {
  const stroke = new Path2D();
  const { min, max } = u.scales.x;
  const [placeX, placeY] = [placer(u, 'x'), placer(u, line.currency)];
  const x = (at) => Math.round(placeX(at));
  const y = (price) => Math.round(placeY(price));
  let column; // {x, low, high} of steps that are too narrow to be distinguished
  let joined = false; // the previous step ends where this one begins
  const flush = () => {
    if (column && column.low !== column.high) {
      stroke.moveTo(column.x, column.low);
      stroke.lineTo(column.x, column.high);
    }
    column = undefined;
  };
  const last = indexAt(line.at, max);
  for (let i = Math.max(0, indexAt(line.at, min)); i <= last; i++) {
    const s = line.steps[i];
    if (s.until < min) continue;
    const [from, until, level] = [x(s.from), x(s.until), y(s.price)];
    joined = i > 0 && line.steps[i - 1].until === s.from;
    if (column && column.x === from && joined) {
      column.low = Math.min(column.low, level);
      column.high = Math.max(column.high, level);
    } else {
      const before = joined && i > 0 ? y(line.steps[i - 1].price) : level;
      flush();
      column = { x: from, low: Math.min(before, level), high: Math.max(before, level) };
    }
    if (until > from) {
      flush();
      stroke.moveTo(from, level);
      stroke.lineTo(until, level);
    }
  }
  flush();
  return { stroke, fill: null, clip: null, band: null, gaps: null, flags: 0 };
}

/**
 * marks draws a dot for each capture of a line, a disc where the offer had the
 * buy box and a diamond where it was prime; marks that would be too close to
 * the last one of their kind are left out.
 */
export function marks(u, line, colour) {
  const { ctx, bbox } = u;
  const r = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5 * r;
  const last = { dot: -Infinity, box: -Infinity, prime: -Infinity };
  const apart = (kind, x, least) => x - last[kind] > least * r && ((last[kind] = x), true);
  const disc = (x, y, radius) => {
    ctx.beginPath();
    ctx.arc(x, y, radius * r, 0, 7);
    ctx.fill();
  };
  const { min, max } = u.scales.x;
  const [placeX, placeY] = [placer(u, 'x'), placer(u, line.currency)];
  for (let i = Math.max(0, indexAt(line.at, min)); i < line.at.length && line.at[i] <= max; i++) {
    if (line.at[i] < min) continue;
    const [x, y] = [placeX(line.at[i]), placeY(line.price[i])];
    if (line.buyBox[i] && apart('box', x, 24)) disc(x, y, 4);
    else if (apart('dot', x, 5)) disc(x, y, 2);
    if (line.prime[i] && apart('prime', x, 44)) {
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
  ctx.restore();
}

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
