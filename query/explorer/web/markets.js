// What a product costs now in each market, what it did in the window, and who
// held the buy box: as the service's summary of a product says it.
import { element } from './dom.js';
import { table } from './table.js';
import { language, money, number, percent, t } from './texts.js';

/** markets are the records of summaries, each with its product. */
export const markets = (summaries) => summaries.flatMap(({ data, query }) => data.map((m) => ({ ...m, itemId: query.itemId })));

/** sitesOf are the sites of summaries at which the products are monitored, each with its product. */
export const sitesOf = (summaries) => markets(summaries).flatMap((m) => m.sites.map((s) => ({ ...s, itemId: m.itemId })));

const market = (m) => `${m.country ?? ''} ${m.currencyCode}`;

/** under is a value with where or when it was below it. */
const under = (value, ...words) => element('span', {}, value, element('small', {}, words.filter(Boolean).join(' · ')));

const day = (date) => new Intl.DateTimeFormat(language, { timeZone: 'UTC', dateStyle: 'medium' }).format(Date.parse(date));

/** cheapest writes the cheapest current offer with its shipping, or why there is none. */
function cheapest(m, siteName) {
  const { cheapest: best, withoutShipping } = m;
  const open = withoutShipping ? t.unknownOf(number(withoutShipping)) : '';
  if (best) return under(money(best.totalPrice, m.currencyCode), best.merchant ?? t.noMerchant, siteName(best.site), open);
  return m.offers ? under(t.shippingUnknown, open) : t.noOffer;
}

/** showMarkets writes a line for each product and market. */
export function showMarkets(box, summaries, { product, siteName }) {
  const lines = markets(summaries);
  if (!lines.length) return box.replaceChildren();
  const extreme = (title, name) => ({ title, number: true, text: (m) => (m[name] ? under(money(m[name].price, m.currencyCode), siteName(m[name].site), day(m[name].on)) : '') });
  box.replaceChildren(element('h2', {}, t.inMarkets), element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.inMarkets }, table(t.inMarkets, [
    ...product(), { title: t.country, text: market },
    { title: t.cheapestShipped, number: true, text: (m) => cheapest(m, siteName) },
    { title: t.own, number: true, text: (m) => money(m.ownPrice, m.currencyCode) },
    { title: t.rank, number: true, text: (m) => (m.rank === null ? '' : t.rankOf(number(m.rank), number(m.offers))) },
    { title: t.rankShipped, number: true, text: (m) => (m.rankWithShipping === null ? '' : t.rankOf(number(m.rankWithShipping), number(m.offers - m.withoutShipping))) },
    extreme(t.lowest, 'low'), extreme(t.highest, 'high'),
  ], lines, { headed: true })));
}

/** showPositions writes the prices of the current offers of each market, without shipping, and where the own price stands among them. */
export function showPositions(box, summaries, { product }) {
  const lines = markets(summaries).filter((m) => m.position);
  if (!lines.length) return box.replaceChildren();
  const sum = (name) => ({ title: t[name], number: true, text: (m) => money(m.position[name], m.currencyCode) });
  const count = (name) => ({ title: t[name], number: true, text: (m) => (m.position.candidate ? number(m.position.candidate[name]) : '') });
  box.replaceChildren(...(lines.some((m) => m.position.candidate) ? [] : [element('p', { class: 'small' }, t.noReference)]),
    element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.positions }, table(t.positions, [
      ...product(), { title: t.country, text: market },
      { title: t.own, number: true, text: (m) => money(m.position.candidate?.price, m.currencyCode) },
      count('cheaper'), count('equal'), count('dearer'), sum('min'), sum('median'), sum('max'),
      { title: t.against, number: true, text: (m) => signedPercent(m.position.candidate?.differencePercent) },
    ], lines)));
}

const signedPercent = (v) => (v === null || v === undefined ? '' : `${new Intl.NumberFormat(language, { maximumFractionDigits: 1, signDisplay: 'exceptZero' }).format(v)} %`);

/** showBoxes writes who held the buy box: shares of all captures at sites that have one. */
export function showBoxes(box, summaries, { product }) {
  const lines = markets(summaries).flatMap((m) => m.buyBox.map((b) => ({ ...m, ...b })));
  if (!lines.length) return box.replaceChildren();
  box.replaceChildren(element('h2', {}, t.boxes), element('p', { class: 'small' }, t.boxesHint), element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.boxes }, table(t.boxes, [
    ...product(), { title: t.country, text: market },
    { title: t.merchant, text: (l) => (l.nobody ? element('em', {}, t.nobody) : l.merchant ?? t.noMerchant) },
    { title: t.share, number: true, text: (l) => element('span', { class: 'share' }, percent(l.share), bar(l)) },
    { title: t.wins, number: true, text: (l) => number(l.captures) },
  ], lines, { headed: true })));
}

/** bar is a share as a length; that of nobody is hollow. */
function bar({ share, nobody }) {
  const length = element('i', { class: nobody ? 'nobody' : '' });
  length.style.width = `${share}%`;
  return element('span', { 'aria-hidden': 'true' }, length);
}
