// A small line of a value over the parts of a window. It is interrupted where a
// part has no value: nothing is drawn that was not observed.
import { h } from './preact.js';
import { t } from './texts.js';

const [width, height, edge] = [96, 24, 3];
const parts = 24; // of the window, as the service divides it

/** Sparkline draws points [ms, value], each for the part of the window that begins at ms; text formats a value. */
export function Sparkline({ points, window, text }) {
  if (!points.length) return null;
  const values = points.map(([, v]) => v);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const part = (window.to - window.from) / parts;
  const x = (ms) => edge + ((ms - window.from + part / 2) / (window.to - window.from)) * (width - 2 * edge);
  const y = (v) => (high === low ? height / 2 : edge + ((high - v) / (high - low)) * (height - 2 * edge));
  const follows = (i) => i > 0 && points[i][0] - points[i - 1][0] < 1.5 * part;
  const line = points.map(([ms, v], i) => `${follows(i) ? 'L' : 'M'}${x(ms).toFixed(1)} ${y(v).toFixed(1)}${follows(i) || (i + 1 < points.length && follows(i + 1)) ? '' : 'h0'}`).join('');
  const said = t.trendOf(text(values[0]), text(values.at(-1)));
  return <svg class="spark" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={said}><title>{said}</title><path d={line} /></svg>;
}
