// On which days a product was out of stock at a site, from the service's summary
// of the product: by the calendar of the zone, including days of which nothing is
// known, and sites at which the product is not monitored.
import { Fragment, h } from './preact.js';
import { Scrolled } from './table.jsx';
import { language, number, t } from './texts.js';
import { daysOf } from './zone.js';

/** states maps the states of a day, as the service names them, to classes of style.css. */
const states = { IN_STOCK: 'in', PARTLY_IN_STOCK: 'part', OUT_OF_STOCK: 'out', ACCESS_RESTRICTED: 'restricted', UNKNOWN: 'unknown' };
const counts = { out: 'outOfStock', part: 'partlyInStock', in: 'inStock', restricted: 'accessRestricted', unknown: 'unknown', none: 'notObserved' };

/**
 * Stock has a line for each product and site at which it is monitored: how many
 * days of which kind, and each day up to asOf; then the requested pairs that are
 * not monitored, {itemId, site}.
 */
export function Stock({ sites, unmonitored, window: { from, to, zone }, asOf, product, siteName }) {
  if (!sites.length && !unmonitored.length) return null;
  const days = from < asOf ? daysOf({ from, to: Math.min(to, asOf), zone }) : [];
  const count = (state) => ({ title: t.stockDays[state], number: true, text: (l) => (l.days ? number(l.dayCounts[counts[state]]) : '') });
  return <>
    <h2>{t.stock}</h2>
    <p class="small">{t.stockHint(number(days.length))}</p>
    <Scrolled caption={t.stock} rows={[...sites, ...unmonitored]} id={(l) => `${l.itemId} ${l.site}`} columns={[
      ...product(), { title: t.site, text: (l) => siteName(l.site) },
      { title: t.calendar, text: (l) => <Calendar days={days} line={l} /> },
      ...Object.keys(counts).map(count),
    ]} />
    <ul class="key">{[...Object.values(states), 'none', 'unmonitored'].map((state) => <li><span class="days"><i class={state} /></span>{t.stockDays[state]}</li>)}</ul>
  </>;
}

/** Calendar draws a mark for each day; the columns next to it have the same as numbers. */
function Calendar({ days, line }) {
  const named = new Intl.DateTimeFormat(language, { timeZone: 'UTC', dateStyle: 'medium' });
  const on = new Map(line.days?.map(({ date, state }) => [date, states[state]]));
  const stateOf = (day) => (line.days ? on.get(day) ?? 'none' : 'unmonitored');
  return <span class="days" role="img" aria-label={line.days ? t.calendar : t.stockDays.unmonitored}>
    {days.map((day) => <i class={stateOf(day)} title={`${named.format(Date.parse(day))}: ${t.stockDays[stateOf(day)]}`} />)}
  </span>;
}
