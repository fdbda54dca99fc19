// A small line of what a value was in the parts of a window. It ends where a
// part has none: nothing is drawn that was not seen.
import { t } from './texts.js';

const [width, height, edge] = [96, 24, 3];
const parts = 24; // of the window, as the service makes them

/** sparkline draws points [ms, value], each of the part of the window that begins then; text writes a value. */
export function sparkline(points, window, text) {
  if (!points.length) return '';
  const values = points.map(([, v]) => v);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const part = (window.to - window.from) / parts;
  const x = (ms) => edge + ((ms - window.from + part / 2) / (window.to - window.from)) * (width - 2 * edge);
  const y = (v) => (high === low ? height / 2 : edge + ((high - v) / (high - low)) * (height - 2 * edge));
  const follows = (i) => i > 0 && points[i][0] - points[i - 1][0] < 1.5 * part;
  const line = points.map(([ms, v], i) => `${follows(i) ? 'L' : 'M'}${x(ms).toFixed(1)} ${y(v).toFixed(1)}${follows(i) || (i + 1 < points.length && follows(i + 1)) ? '' : 'h0'}`).join('');
  const said = t.trendOf(text(values[0]), text(values.at(-1)));
  const svg = drawn('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': said });
  svg.append(drawn('title'), drawn('path', { d: line }));
  svg.firstChild.textContent = said;
  return svg;
}

function drawn(name, attributes = {}) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}
