// What the window of a history adds up to, by product and site, as the
// statistics of the service say.
import * as api from './api.js';
import { element } from './dom.js';
import { table } from './table.js';
import { money, number, percent, t } from './texts.js';

/** factReads are the statistics of products, at one site or at all. */
export const factReads = (items, site, window) => items.map((itemId) => ({ path: 'ext/v1/statistics', params: { by: 'site', itemId, site, ...window, limit: 1000 } }));

/** readFacts gives the records of all reads, each with its product. */
export async function readFacts(reads, signal) {
  const pages = await Promise.all(reads.map((r) => api.page(r.path, r.params, signal)));
  return pages.flatMap((page, i) => page.data.map((record) => ({ ...record, itemId: reads[i].params.itemId })));
}

/** showBoxes writes who held the buy box, of how many captures that showed one. */
export function showBoxes(box, records, { product, siteName }) {
  const held = records.filter((r) => r.buyBox.length);
  if (!held.length) return box.replaceChildren();
  const lines = held.flatMap((r) => r.buyBox.map((b) => ({ ...r, ...b, of: r.buyBox.reduce((n, { wins }) => n + wins, 0) })));
  box.replaceChildren(element('h2', {}, t.boxes), element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.boxes }, table(t.boxes, [
    ...product(), { title: t.site, text: (l) => siteName(l.site) },
    { title: t.merchant, text: (l) => l.merchant ?? t.noMerchant },
    { title: t.share, number: true, text: (l) => percent(l.share) },
    { title: t.wins, number: true, text: (l) => t.winsOf(number(l.wins), number(l.of)) },
  ], lines, { headed: true })));
}

/** showFacts writes a line for each product, site and currency. */
export function showFacts(box, records, { product, siteName }) {
  const lines = records.flatMap((r) => (r.prices.length ? r.prices : [undefined]).map((p) => ({ ...r, p })));
  if (!lines.length) return box.replaceChildren();
  const price = (title, name) => ({ title, number: true, text: (l) => (l.p ? money(l.p[name], l.p.currencyCode) : '') });
  box.replaceChildren(element('h2', {}, t.facts), element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.facts }, table(t.facts, [
    ...product(), { title: t.site, text: (l) => siteName(l.site) },
    price(t.lowest, 'min'), price(t.median, 'median'), price(t.highest, 'max'), price(t.average, 'timeWeightedAverage'), price(t.newest, 'last'),
    { title: t.inStock, number: true, text: (l) => (l.shareInStock === null ? '' : percent(l.shareInStock)) },
    { title: t.changesOf, number: true, text: (l) => number(l.changes) },
    { title: t.buyBox, text: (l) => l.buyBox.slice(0, 3).map((b) => `${b.merchant ?? t.noMerchant} ${percent(b.share)}`).join(', ') },
  ], lines, { headed: true })));
}
