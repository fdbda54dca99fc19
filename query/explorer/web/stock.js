// On which days a product was out of stock at a site, as the service's summary
// of a product says: by the calendar of the zone, with the days of which nothing
// is known, and the sites at which nobody looks.
import { element } from './dom.js';
import { table } from './table.js';
import { language, number, t } from './texts.js';
import { daysOf } from './zone.js';

/** states of a day as the service names them, and how they are drawn. */
const states = { IN_STOCK: 'in', PARTLY_IN_STOCK: 'part', OUT_OF_STOCK: 'out', ACCESS_RESTRICTED: 'restricted', UNKNOWN: 'unknown' };
const counts = { out: 'outOfStock', part: 'partlyInStock', in: 'inStock', restricted: 'accessRestricted', unknown: 'unknown', none: 'notObserved' };

/**
 * showStock writes a line for each product and site at which it is monitored:
 * how many days of which kind, and each day up to asOf; then those that are not
 * monitored where they were asked for, {itemId, site}.
 */
export function showStock(box, sites, unmonitored, { from, to, zone }, asOf, { product, siteName }) {
  if (!sites.length && !unmonitored.length) return box.replaceChildren();
  const days = from < asOf ? daysOf({ from, to: Math.min(to, asOf), zone }) : [];
  const lines = [...sites, ...unmonitored];
  const count = (state) => ({ title: t.stockDays[state], number: true, text: (l) => (l.days ? number(l.dayCounts[counts[state]]) : '') });
  box.replaceChildren(element('h2', {}, t.stock), element('p', { class: 'small' }, t.stockHint(number(days.length))), element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.stock }, table(t.stock, [
    ...product(), { title: t.site, text: (l) => siteName(l.site) },
    { title: t.calendar, text: (l) => calendar(days, l) },
    ...Object.keys(counts).map(count),
  ], lines, { headed: true })), element('ul', { class: 'key' }, ...['in', 'part', 'out', 'restricted', 'unknown', 'none', 'unmonitored'].map((state) => element('li', {}, element('span', { class: 'days' }, element('i', { class: state })), t.stockDays[state]))));
}

/** calendar draws a mark for each day; the columns beside it say the same in numbers. */
function calendar(days, line) {
  const named = new Intl.DateTimeFormat(language, { timeZone: 'UTC', dateStyle: 'medium' });
  const on = new Map(line.days?.map(({ date, state }) => [date, states[state]]));
  const marks = days.map((day) => [day, line.days ? on.get(day) ?? 'none' : 'unmonitored']);
  return element('span', { class: 'days', role: 'img', 'aria-label': line.days ? t.calendar : t.stockDays.unmonitored },
    ...marks.map(([day, state]) => element('i', { class: state, title: `${named.format(Date.parse(day))}: ${t.stockDays[state]}` })));
}
