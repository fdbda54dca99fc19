// On which days a product was out of stock at a site, as the statistics of the
// service say: by the calendar of the zone, with the days of which nothing is known.
import * as api from './api.js';
import { element } from './dom.js';
import { dayState } from './series.js';
import { table } from './table.js';
import { language, number, t } from './texts.js';
import { daysOf, local } from './zone.js';

/** stockReads are the statistics of products by day, at one site or at all. */
export const stockReads = (items, site, window) => items.map((itemId) => ({ path: 'ext/v1/statistics', params: { by: 'site', bucket: 'day', itemId, site, ...window, limit: 10000 } }));

/** readStock gives the records of all reads, each with its product. */
export async function readStock(reads, signal) {
  const pages = await Promise.all(reads.map((r) => api.all(r.path, r.params, 50000, signal)));
  return pages.flatMap(({ data }, i) => data.map((record) => ({ ...record, itemId: reads[i].params.itemId })));
}

/** showStock writes a line for each product and site: how many days of which kind, and each day. */
export function showStock(box, records, window, { product, siteName }) {
  const days = daysOf(window);
  const pairs = new Map();
  for (const r of records) {
    const key = `${r.itemId} ${r.site}`;
    if (!pairs.has(key)) pairs.set(key, { itemId: r.itemId, site: r.site, on: new Map() });
    pairs.get(key).on.set(local(Date.parse(r.from), window.zone).slice(0, 10), r);
  }
  if (!pairs.size) return box.replaceChildren();
  const lines = [...pairs.values()].map((p) => ({ ...p, states: days.map((day) => dayState(p.on.get(day))) }));
  const count = (state) => ({ title: t.stockDays[state], number: true, text: (l) => number(l.states.filter((s) => s === state).length) });
  box.replaceChildren(element('h2', {}, t.stock), element('p', { class: 'small' }, t.stockHint(number(days.length))), element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.stock }, table(t.stock, [
    ...product(), { title: t.site, text: (l) => siteName(l.site) },
    count('out'), count('part'), count('in'), count('none'),
    { title: t.calendar, text: (l) => calendar(days, l.states) },
  ], lines, { headed: true })), element('ul', { class: 'key' }, ...['in', 'part', 'out', 'unknown', 'none'].map((state) => element('li', {}, element('span', { class: 'days' }, element('i', { class: state })), t.stockDays[state]))));
}

/** calendar draws a mark for each day; the columns beside it say the same in numbers. */
function calendar(days, states) {
  const named = new Intl.DateTimeFormat(language, { timeZone: 'UTC', dateStyle: 'medium' });
  return element('span', { class: 'days', role: 'img', 'aria-label': t.calendar },
    ...days.map((day, i) => element('i', { class: states[i], title: `${named.format(Date.parse(day))}: ${t.stockDays[states[i]]}` })));
}
