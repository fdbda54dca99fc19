// The whole scope, one line for each product and currency, aggregated by the
// service over the window.
import * as api from './api.js';
import { asked, linkTo, mostEverything, narrowed, sortedOf, timeWindow, windowAddress, windowParams } from './asked.js';
import { itemName, knownName, listsRead, siteName } from './catalogue.js';
import { fields, Files } from './files.jsx';
import { by, clear, draw, h } from './preact.js';
import { Same } from './same.jsx';
import { Sparkline } from './sparkline.jsx';
import { inOrder, Table } from './table.jsx';
import { money, number, percent, t } from './texts.js';

const mostProducts = 5000; // read at most
const mostLines = 300; // shown at most; the file has all that were read

let lines; // as read, before the filter; undefined: not read
let more = false;

/** readAssortment reads the view: of one site, or of the whole scope. */
export async function readAssortment(signal, again = false) {
  const w = timeWindow();
  if (!again || w.fault) {
    forgetAssortment();
    by('assortment-status').textContent = w.fault ?? t.loadingView;
  }
  if (w.fault) return;
  const everything = !asked.site && !narrowed().orderId;
  if (everything) w.from = Math.max(w.from, w.to - mostEverything);
  const read = { path: 'ext/v1/statistics', params: { by: 'product', bucket: 'whole', site: asked.site, ...narrowed(), globalScope: everything, ...windowParams(w), includeTrend: true, includeStanding: true, limit: 1000 } };
  draw(<Same reads={[read]} calls={[]} note={t.mcpSums} />, by('assortment-same'));
  const [all] = await Promise.all([api.all(read.path, read.params, mostProducts, signal), listsRead()]);
  signal.throwIfAborted();
  [lines, more] = [linesOf(all.data, w), all.more];
  draw(<Files files={() => [assortmentFile()]} />, by('assortment-files'));
  showAssortment();
}

/** forgetAssortment clears the view. */
export function forgetAssortment() {
  [lines, more] = [undefined, false];
  clear('products', 'assortment-files');
}

/** linesOf returns one line for each product and currency; a product without a price has one line. A trend covers the window. */
function linesOf(records, w) {
  return records.flatMap((r) => (r.prices.length ? r.prices : [{}]).map((p) => ({
    itemId: r.itemId, name: knownName(r.itemId), sites: r.pairs, shareInStock: r.shareInStock, changes: r.changes, buyBox: r.buyBox[0],
    currencyCode: p.currencyCode ?? null, min: p.min ?? null, median: p.median ?? null, max: p.max ?? null,
    trend: p.trend ?? [], window: w, cheapest: p.standing?.cheapest ?? null, own: p.standing?.ownPrice ?? null, gap: p.standing?.differencePercent ?? null,
  })));
}

/** matching returns the lines where each word of a text is in the name, if it is known, or is the id. */
function matching(text) {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return lines.filter((l) => words.every((w) => l.name?.toLowerCase().includes(w) || l.itemId === w));
}

const lineId = (l) => `${l.itemId} ${l.currencyCode}`;

/** columns returns the columns of the table. */
const columns = () => {
  const price = (name, title) => ({ name, title, number: true, text: (l) => money(l[name], l.currencyCode), value: (l) => l[name], group: (l) => l.currencyCode });
  return [
    { name: 'product', title: t.product, text: (l) => <a href={linkTo({ view: 'history', items: l.itemId, ...windowAddress() })}>{itemName(l.itemId)}</a>, value: (l) => l.name },
    { name: 'trend', title: t.trend, text: (l) => <Sparkline points={l.trend.map((p) => [Date.parse(p.from), p.median])} window={l.window} text={(v) => money(v, l.currencyCode)} />, value: (l) => riseOf(l.trend) },
    { name: 'cheapest', title: t.cheapest, number: true, text: (l) => <Cheapest {...l} />, value: (l) => l.cheapest?.price, group: (l) => l.currencyCode },
    price('own', t.own),
    { name: 'gap', title: t.difference, number: true, text: (l) => (l.gap === null ? '' : percent(l.gap)), value: (l) => l.gap },
    price('min', t.lowest), price('median', t.median), price('max', t.highest),
    { name: 'sites', title: t.sitesOf, number: true, text: (l) => number(l.sites), value: (l) => l.sites },
    { name: 'inStock', title: t.inStock, number: true, text: (l) => (l.shareInStock === null ? t.unknown : percent(l.shareInStock)), value: (l) => l.shareInStock },
    { name: 'changes', title: t.changesOf, number: true, text: (l) => number(l.changes), value: (l) => l.changes },
    { name: 'buyBox', title: t.mostBuyBoxes, text: (l) => (l.buyBox ? `${l.buyBox.merchant ?? t.noMerchant} (${percent(l.buyBox.share)})` : ''), value: (l) => l.buyBox?.merchant },
  ];
};

/** Cheapest shows the cheapest current offer, or why there is none. */
function Cheapest({ cheapest, currencyCode }) {
  if (!cheapest) return <em>{currencyCode ? t.noOffer : t.noPriceSeen}</em>;
  return <span title={[siteName(cheapest.site), cheapest.merchant].filter(Boolean).join(', ')}>{money(cheapest.price, currencyCode)}</span>;
}

/** riseOf returns by what fraction the last price of a trend is above its first; null: it has no price. */
const riseOf = (trend) => (trend.length && trend[0].median ? trend.at(-1).median / trend[0].median - 1 : null);

/** showAssortment shows the filtered lines and how many they are, if they have been read, and returns them. */
export function showAssortment() {
  if (!lines) return [];
  const shown = matching(by('filter').value);
  const unnamed = new Set(lines.filter((l) => !l.name).map((l) => l.itemId)).size;
  by('assortment-status').textContent = [
    more && t.moreProducts(number(mostProducts)),
    t.linesOf(number(shown.length), number(lines.length)) + (shown.length > mostLines ? `. ${t.firstLines(number(mostLines))}` : '') + (unnamed ? `. ${t.unnamed(number(unnamed))}` : ''),
  ].filter(Boolean).join(' ');
  draw(<Table caption={t.assortment} columns={columns()} rows={shown} id={lineId} view="assortment" headed most={mostLines} />, by('products'));
  return shown;
}

/** assortmentFile has the filtered lines, in the order of the table. */
const assortmentFile = () => ({
  name: 'assortment', rows: inOrder(columns(), showAssortment(), sortedOf.assortment),
  columns: [
    ...fields('text', 'itemId', 'name', 'currencyCode'), ...fields('count', 'sites'), ...fields('number', 'min', 'median', 'max', 'shareInStock'), ...fields('count', 'changes'),
    { name: 'buyBoxMerchant', kind: 'text', value: (l) => l.buyBox?.merchant }, { name: 'buyBoxShare', kind: 'number', value: (l) => l.buyBox?.share },
    { name: 'cheapestPrice', kind: 'number', value: (l) => l.cheapest?.price }, { name: 'cheapestSite', kind: 'text', value: (l) => l.cheapest?.site },
    { name: 'ownPrice', kind: 'number', value: (l) => l.own }, { name: 'differencePercent', kind: 'number', value: (l) => l.gap },
  ],
});
