// The whole scope, one line for each product and currency, aggregated by the
// service over the window. Large scopes take many pages, which are shown while
// they arrive.
import * as api from './api.js';
import { catalogue, itemName, learn, siteName, sitesRead } from './catalogue.js';
import { fields, Files } from './files.jsx';
import { by, clear, draw, h } from './preact.js';
import { Elsewhere } from './product.jsx';
import { Same } from './same.jsx';
import { Sparkline } from './sparkline.jsx';
import { linkTo, mostEverything, narrowed, sortedOf, state, timeWindow, windowAddress, windowParams } from './state.js';
import { inOrder, Table } from './table.jsx';
import { money, number, percent, t } from './texts.js';
import { inNames, wordsOf } from './words.js';

const mostLines = 300; // shown at most; the file has all
const mostPairs = 100e3; // whose offers the service compares for a page
const redraw = 1e3; // ms between drawings while pages arrive

let lines; // as far as they have been read, before the filter; undefined: none have
let whole = false; // all have been read

/** readAssortment reads the view: of one site, or of the whole scope; again: the displayed lines stay until all new ones are there. */
export async function readAssortment(signal, again = false) {
  const w = timeWindow();
  const quiet = again && whole && !w.fault;
  if (!quiet) {
    forgetAssortment();
    by('assortment-status').textContent = w.fault ?? t.loadingView;
  }
  if (w.fault) return;
  await sitesRead();
  signal.throwIfAborted();
  const everything = !state.site && !narrowed().orderId;
  if (everything) w.from = Math.max(w.from, w.to - mostEverything);
  const limit = Math.min(1000, Math.floor(mostPairs / Math.max(1, state.site ? 1 : catalogue.sites.length)));
  const read = { path: 'ext/v1/statistics', params: { by: 'product', bucket: 'whole', site: state.site, ...narrowed(), globalScope: everything, ...windowParams(w), includeTrend: true, includeStanding: true, includeIdentity: true, limit } };
  draw(<Same reads={[read]} />, by('assortment-same'));
  const found = [];
  let last = -Infinity;
  await api.pages(read.path, read.params, signal, ({ data }) => {
    signal.throwIfAborted();
    learn(data.map(({ itemId, identity }) => ({ itemId, name: identity.productName })));
    for (const r of data) found.push(...linesOf(r, w));
    if (quiet || performance.now() - last < redraw) return;
    lines = found;
    showAssortment();
    last = performance.now();
  });
  const captured = found.length ? -Infinity : await newestCapture(signal);
  [lines, whole] = [found, true];
  draw(Number.isFinite(captured) && <Elsewhere captured={captured} zone={w.zone} to={{ view: 'assortment' }} />, by('assortment-elsewhere'));
  draw(<Files files={() => [assortmentFile()]} />, by('assortment-files'));
  showAssortment();
}

/** newestCapture returns when anything of the scope was captured last, in ms; -Infinity: never, or it is not known. */
async function newestCapture(signal) {
  try {
    const { data } = await api.page('ext/v1/sites/status', { site: state.site, ...narrowed() }, signal);
    return Math.max(...data.map((s) => Date.parse(s.lastCapturedAt)).filter(Number.isFinite));
  } catch (e) {
    signal.throwIfAborted();
    if (e instanceof api.Problem) return -Infinity;
    throw e;
  }
}

/** forgetAssortment clears the view. */
export function forgetAssortment() {
  [lines, whole] = [undefined, false];
  clear('products', 'assortment-elsewhere', 'assortment-files');
}

/** linesOf returns one line for each currency of a product; a product without a price has one line. A trend covers the window. */
const linesOf = (r, w) => (r.prices.length ? r.prices : [{}]).map((p) => ({
  itemId: r.itemId, name: r.identity.productName, brand: r.identity.brand, ean: r.identity.ean, pzn: r.identity.pzn, asin: r.identity.asin,
  sites: r.pairs, shareInStock: r.shareInStock, changes: r.changes, buyBox: r.buyBox[0],
  currencyCode: p.currencyCode ?? null, min: p.min ?? null, median: p.median ?? null, max: p.max ?? null,
  trend: (p.trend ?? []).map(({ from, median }) => [Date.parse(from), median]), window: w,
  cheapest: p.standing?.cheapest ?? null, own: p.standing?.ownPrice ?? null, gap: p.standing?.differencePercent ?? null,
}));

/** matching returns the lines where each word of a text is in the name or the brand, if they are known, or is a code of the product. */
function matching(text) {
  const words = wordsOf(text);
  if (!words.length) return lines;
  return lines.filter((l) => {
    const named = inNames(l.name, l.brand);
    const codes = [l.itemId, l.ean, l.pzn, l.asin?.toLowerCase()];
    return words.every((w) => named(w) || codes.includes(w));
  });
}

const lineId = (l) => `${l.itemId} ${l.currencyCode}`;

/** columns returns the columns of the table. */
const columns = () => {
  const price = (name, title) => ({ name, title, number: true, text: (l) => money(l[name], l.currencyCode), value: (l) => l[name], group: (l) => l.currencyCode });
  return [
    { name: 'product', title: t.product, text: (l) => <a href={linkTo({ view: 'history', items: l.itemId, ...windowAddress() })}>{itemName(l.itemId)}</a>, value: (l) => l.name },
    { name: 'trend', title: t.trend, text: (l) => <Sparkline points={l.trend} window={l.window} text={(v) => money(v, l.currencyCode)} />, value: (l) => riseOf(l.trend) },
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
const riseOf = (trend) => (trend.length && trend[0][1] ? trend.at(-1)[1] / trend[0][1] - 1 : null);

/** showAssortment shows the filtered lines and how many they are, as far as they have been read, and returns them. */
export function showAssortment() {
  if (!lines) return [];
  const shown = matching(by('filter').value);
  const unnamed = new Set(lines.filter((l) => !l.name).map((l) => l.itemId)).size;
  by('assortment-status').textContent = [
    !whole && t.moreProducts(number(new Set(lines.map((l) => l.itemId)).size)),
    t.linesOf(number(shown.length), number(lines.length)) + (whole && shown.length > mostLines ? `. ${t.firstLines(number(mostLines))}` : '') + (unnamed ? `. ${t.unnamed(number(unnamed))}` : ''),
  ].filter(Boolean).join(' ');
  draw(<Table caption={t.assortment} columns={columns()} rows={shown} id={lineId} view="assortment" headed most={mostLines} />, by('products'));
  return shown;
}

/** assortmentFile has the filtered lines, in the order of the table. */
const assortmentFile = () => ({
  name: 'assortment', rows: inOrder(columns(), showAssortment(), sortedOf.assortment),
  columns: [
    ...fields('text', 'itemId', 'name', 'brand', 'ean', 'pzn', 'asin', 'currencyCode'), ...fields('count', 'sites'), ...fields('number', 'min', 'median', 'max', 'shareInStock'), ...fields('count', 'changes'),
    { name: 'buyBoxMerchant', kind: 'text', value: (l) => l.buyBox?.merchant }, { name: 'buyBoxShare', kind: 'number', value: (l) => l.buyBox?.share },
    { name: 'cheapestPrice', kind: 'number', value: (l) => l.cheapest?.price }, { name: 'cheapestSite', kind: 'text', value: (l) => l.cheapest?.site },
    { name: 'ownPrice', kind: 'number', value: (l) => l.own }, { name: 'differencePercent', kind: 'number', value: (l) => l.gap },
  ],
});
