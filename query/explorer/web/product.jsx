// Parts of the page of products: the legend of the chart, the newest offers, and
// what was observed of each pair.
import { colourOf } from './chart.js';
import { Fragment, h } from './preact.js';
import { Badge, columns, offerId } from './rows.jsx';
import { outcomeOf } from './series.js';
import { linkTo, narrowed, state } from './state.js';
import { inOrder, Scrolled, Table } from './table.jsx';
import { language, number, t } from './texts.js';
import { show } from './zone.js';

const mostOffers = 50; // of the newest offers shown at most
const newestColumns = ['merchant', 'total', 'price', 'site', 'buyBox', 'prime', 'time']; // the total comes early, so that a phone shows it, too

/** pairId returns the key of a pair of product and site. */
export const pairId = ({ itemId, site }) => `${itemId} ${site}`;

/** nothing reports whether, by the service's summary, nothing was observed at a site. */
export const nothing = (s) => Object.values(s.observations).every((n) => n === 0);

/** Legend names the lines of the chart, each a button that hides or shows it; hidden has keys of lines. */
export const Legend = ({ lines, label, hidden, toggle }) => lines.map((l, i) => <li key={l.key}>
  <button type="button" aria-pressed={!hidden.has(l.key)} onClick={() => toggle(i)}>
    <i style={{ borderTopColor: colourOf(i), borderTopStyle: i < 8 ? 'solid' : 'dashed' }} />
    <span>{l.label}{l.label !== label(l.pair) && <small>{label(l.pair)}</small>}</span>
  </button>
</li>);

/** Pairs has what was observed of each pair, when it was captured last, and when it is due. */
export function Pairs({ sites, zone, product, siteName }) {
  const count = (title, name) => ({ title, number: true, text: (s) => number(s.observations[name]) });
  return <Table caption={t.pairs} rows={sites} id={pairId} columns={[
    ...product(), { title: t.site, text: (s) => siteName(s.site) },
    count(t.price, 'priced'), count(t.unavailable, 'unavailable'), count(t.notFound, 'notFound'), count(t.unknown, 'unknown'),
    { title: t.noResult, text: (s) => nothing(s) && <Badge outcome="none" /> },
    { title: t.newestOf, text: (s) => (s.lastCapturedAt ? <span>{show(Date.parse(s.lastCapturedAt), zone, language)}{s.accessRestricted && <Badge outcome="restricted" />}</span> : t.never) },
    { title: t.nextDue, text: (s) => s.nextDueAt && show(Date.parse(s.nextDueAt), zone, language) },
  ]} />;
}

/** Newest has the offers of the newest capture of each pair in the window, grouped by currency, the cheapest with shipping first, then those with unknown shipping, by their prices. */
export function Newest({ past, zone }) {
  const offers = [...past.pairs.values()].flatMap((p) => p.newest).filter((r) => outcomeOf(r) === 'price'); // an unavailable product may have a price, too
  if (!offers.length) return null;
  const found = new Map(columns(zone).map((c) => [c.name, c]));
  const all = [state.items.length > 1 ? 'product' : '', ...newestColumns].map((name) => found.get(name)).filter(Boolean);
  const rows = ['price', 'total'].reduce((some, column) => inOrder(all, some, { column, up: true }), offers);
  const title = t.newestOffers + (rows.some((r) => r.totalPrice === null) ? t.thenUnshipped : '');
  return <>
    <h2>{title}</h2>
    <Scrolled caption={title} columns={all} rows={rows.slice(0, mostOffers)} id={offerId} />
    {rows.length > mostOffers && <p class="small">{t.firstLines(mostOffers)}</p>}
  </>;
}

/** Elsewhere links to the newest capture, in a view with these parameters, if the window has none. */
export function Elsewhere({ captured, zone, to }) {
  const window = { from: new Date(captured - 168 * 3600e3).toISOString(), to: new Date(captured + 60e3).toISOString() };
  return <p class="notice">{t.newestElsewhere(show(captured, zone, language))} <a href={linkTo({ ...to, site: state.site, ...narrowed(), ...window })}>{t.showThen}</a></p>;
}
