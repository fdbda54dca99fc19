// The page of products: a chart of offers, what the service says of their
// markets, sites and days, and the same as tables. Each product is two reads: its
// rows, which are drawn, and its summary, which has all that is added up, and where
// an own price stands.
import { amountOf } from './amount.js';
import * as api from './api.js';
import { asked, link, narrowed, remember, timeWindow, windowParams } from './asked.js';
import { itemName, learn, siteName, sitesRead } from './catalogue.js';
import { Chart, charts, colourOf, load, mostLines } from './chart.js';
import { worded } from './copy.js';
import { by, element } from './dom.js';
import { showEvidence } from './evidence.js';
import { offerFiles } from './files.js';
import { markets, showBoxes, showMarkets, showPositions, sitesOf } from './markets.js';
import { badge, columns } from './rows.js';
import { same } from './same.js';
import { History } from './series.js';
import { showStock } from './stock.js';
import { inOrder, table } from './table.js';
import { language, number, t } from './texts.js';
import { show } from './zone.js';

const redraw = 400; // ms between drawings while rows arrive
const names = { itemName, siteName, product: () => (asked.items.length > 1 ? [{ title: t.product, text: (l) => element('span', { class: 'product' }, itemName(l.itemId)) }] : []) }; // the product is named where there are several
const mostOffers = 50; // on show of the newest
const newestColumns = ['merchant', 'total', 'price', 'site', 'buyBox', 'prime', 'time']; // what is paid is seen on a phone, too

let chart;
let drawn; // the history on show: {past, newest, window, whole, summaries}

/** onShow is what is drawn, for tests and the curious. */
export const onShow = { get chart() { return chart?.plot; }, get lines() { return drawn?.past; } };

let rests; // the timer of a chart that is moved

/** zoomed takes the part on show into the address; moved along, it is one step back once it rests. */
function zoomed(part) {
  const moved = part && asked.zoom && part.from !== asked.zoom.from;
  asked.zoom = part;
  by('unzoom').hidden = !part;
  clearTimeout(rests);
  if (moved) rests = setTimeout(remember, 250);
  else remember();
}

/** zoomParams are the bounds of the part on show, if there is one. */
const zoomParams = () => (asked.zoom ? { capturedFrom: new Date(asked.zoom.from * 1e3).toISOString(), capturedTo: new Date(asked.zoom.to * 1e3).toISOString() } : {});

/** unzoom shows the whole window. */
export const unzoom = () => chart.whole();

/** forgetHistory clears the view. */
export function forgetHistory() {
  drawn = undefined;
  showHistory();
}

/** readHistory reads the products asked for, and draws while rows arrive; again: what is on show stays until all are there. */
export async function readHistory(signal, again = false) {
  const w = timeWindow();
  placing?.abort();
  const draws = load().then((can) => {
    by('no-charts').hidden = can;
    by('no-charts').textContent = t.noCharts;
  });
  const quiet = again && drawn?.whole;
  if (!quiet) {
    drawn = undefined;
    showHistory();
  }
  if (w.fault || !asked.items.length) {
    by('history-status').textContent = w.fault ?? t.chooseItem;
    by('history-same').replaceChildren();
    return;
  }
  const { orderId, merchant } = narrowed();
  const reads = asked.items.map((itemId) => ({
    path: 'v1/results/stream', streams: true, params: { itemId, site: asked.site, orderId, merchant, ...windowParams(w), sort: 'asc', includeExportFields: true },
  }));
  offerFiles(by('history-files'), () => reads.map(({ path, params }) => ({ name: `history-${params.itemId}`, path, params: { ...params, ...zoomParams() } })), t.asTable);
  offerFiles(by('markets-files'), () => (Number.isNaN(ownPrice()) ? [] : asked.items.map((itemId) => ({ name: `markets-${itemId}`, ...summaryRead(itemId, w, ownPrice()) }))), t.inMarkets);
  if (!quiet) by('history-status').textContent = t.loading(0);
  const past = new History();
  const newest = new Map(); // of each product, its last rows
  const next = { reads, past, newest, window: w, whole: false };
  if (!quiet) drawn = next;
  const told = readSummaries(next, signal);
  const drawing = (async () => {
    let last = -Infinity;
    draws.then(() => { if (drawn === next && !signal.aborted) showHistory(); });
    for (const read of reads) {
      const keep = [];
      newest.set(read.params.itemId, keep);
      await api.stream(read.path, read.params, signal, (lines) => {
        for (const line of lines) {
          const row = JSON.parse(line);
          past.add(row);
          keep.push(row);
        }
        keep.splice(0, keep.length - 100);
        if (quiet) return;
        by('history-status').textContent = t.loading(number(past.rows));
        if (performance.now() - last > redraw) {
          showHistory();
          last = performance.now();
        }
      });
    }
  })();
  const rest = Promise.allSettled([draws, told, drawing]);
  try {
    await Promise.all([draws, told, drawing]);
    next.whole = true;
    markRestricted(next);
    if (!signal.aborted) drawn = next;
  } finally {
    await rest; // what did come is shown
    if (!signal.aborted) {
      by('history-status').textContent = '';
      showHistory();
      if (next.whole && next.summaries) showSummaries(next);
      if (next.whole && !Object.is(next.own, ownPrice())) placeOwn(); // it was typed meanwhile
    }
  }
}

/** ownPrice is the own price as it was typed, as a number of JSON, or says that it is none: NaN; empty: the reference price is meant. */
function ownPrice() {
  const text = by('own').value.trim();
  const amount = text && amountOf(text, language);
  by('own').setAttribute('aria-invalid', String(Number.isNaN(amount)));
  by('own-error').hidden = !Number.isNaN(amount);
  by('own-error').textContent = Number.isNaN(amount) ? t.badAmount : '';
  return amount;
}

/** readSummaries reads what the service says of the products, with the own price as it is now, and shows it if the history is on show. */
async function readSummaries(h, signal) {
  const own = h.own = ownPrice();
  const newest = h.asks = {}; // another own price may be asked for before this is answered
  const sums = asked.items.map((itemId) => summaryRead(itemId, h.window, own || ''));
  if (drawn === h && !h.same) sameHistory(h, sums, []);
  const summaries = await Promise.all(sums.map((r) => api.page(r.path, r.params, signal)));
  await sitesRead();
  if (signal.aborted || (h.asks !== newest && h.summaries)) return;
  learn(summaries.map(({ query }) => query));
  h.summaries = Number.isNaN(own) || h.asks !== newest ? summaries.map(unplaced) : summaries;
  h.same = () => sameHistory(h, sums, h.summaries);
  if (drawn === h) showSummaries(h);
}

/** unplaced is a summary where the own price is none. */
const unplaced = ({ data, ...rest }) => ({ ...rest, data: data.map((m) => ({ ...m, ownPrice: null, rank: null, rankWithShipping: null, position: null })) });

let placing; // AbortController of the summaries that are read for another own price

/** placeOwn places the own price that is being typed: the summaries are read again, the rows are not. */
export async function placeOwn() {
  placing?.abort();
  const { signal } = placing = new AbortController();
  ownPrice();
  await new Promise((ok) => { setTimeout(ok, 250); });
  if (signal.aborted || !drawn) return;
  try {
    await readSummaries(drawn, signal);
  } catch (e) {
    if (signal.aborted || !api.loggedIn()) return;
    by('own-error').hidden = false;
    by('own-error').textContent = api.said(e);
  }
}

/** sameHistory offers the reads, and the tool for the rows and for each own price on show: that knows no site. */
function sameHistory(h, sums, summaries) {
  const placed = asked.site ? [] : markets(summaries).filter((m) => m.position?.candidate);
  same(by('history-same'), [...h.reads, ...sums], [
    ...h.reads.map((r) => ({ name: 'list_results', args: r.params })),
    ...placed.map((m) => ({ name: 'get_market_price_position', args: { itemId: m.itemId, candidatePrice: String(m.ownPrice), currencyCode: m.currencyCode, ...(m.country && { country: m.country }) } })),
  ]);
}

/** summaryRead is the read of what a product costs and did, and of where a price stands. */
function summaryRead(itemId, w, candidatePrice) {
  const { ownMerchant } = narrowed();
  const params = { site: asked.site, ...windowParams(w), candidatePrice, ownMerchant };
  const flags = { site: params.site, from: params.capturedFrom, to: params.capturedTo, timezone: params.timezone, 'candidate-price': candidatePrice, 'own-merchant': ownMerchant };
  return {
    path: `ext/v1/items/${itemId}/summary`, params,
    cli: `preismon item-summary ${itemId} ${Object.entries(flags).filter(([, v]) => v).map(([name, v]) => `--${name} ${worded(v)}`).join(' ')}`,
  };
}

/** monitored are the sites at which the products on show are. */
const monitored = (h) => sitesOf(h.summaries ?? []);

/** unmonitored are the products at the site that was asked for where nobody looks for them. */
const unmonitored = (h) => (asked.site && h.summaries ? asked.items.filter((itemId) => !monitored(h).some((s) => s.itemId === itemId)).map((itemId) => ({ itemId, site: asked.site })) : []);

/** markRestricted marks the pairs whose newest capture found the access restricted. */
function markRestricted(h) {
  for (const s of monitored(h)) {
    const p = h.past.pairs.get(`${s.itemId} ${s.site}`);
    if (p && s.accessRestricted && Date.parse(s.lastCapturedAt) === Math.round(p.at.at(-1) * 1e3)) p.restricted = true;
  }
}

/** showSummaries writes what the service says of the products. */
function showSummaries(h) {
  const sites = monitored(h);
  h.same();
  showMarkets(by('markets'), h.summaries, names);
  showPositions(by('positions'), h.summaries, names);
  showBoxes(by('boxes'), h.summaries, names);
  showStock(by('stock'), sites, unmonitored(h), h.window, Date.parse(h.summaries[0].query.asOf), names);
  const count = (title, name) => ({ title, number: true, text: (s) => number(s.observations[name]) });
  by('pairs').replaceChildren(table(t.pairs, [
    ...names.product(), { title: t.site, text: (s) => siteName(s.site) },
    count(t.price, 'priced'), count(t.unavailable, 'unavailable'), count(t.notFound, 'notFound'), count(t.unknown, 'unknown'),
    { title: t.noResult, text: (s) => (none(s) ? badge('none') : '') },
    { title: t.newestOf, text: (s) => (s.lastCapturedAt ? element('span', {}, show(Date.parse(s.lastCapturedAt), h.window.zone, language), s.accessRestricted ? badge('restricted') : null) : t.never) },
  ], sites));
}

/** showHistory draws what was read. */
export function showHistory() {
  const h = drawn;
  for (const id of ['key', 'own-field', 'history-table']) by(id).hidden = !h;
  if (!h) {
    chart?.clear();
    by('unzoom').hidden = true;
    for (const id of ['legend', 'evidence', 'now', 'markets', 'positions', 'boxes', 'stock', 'pairs', 'history-rows', 'readout', 'history-files', 'markets-files']) by(id).replaceChildren();
    return;
  }
  const lines = h.past.chosen(mostLines);
  const pairs = pairsOf(h);
  if (h.whole) {
    const all = h.past.lines.size;
    by('history-status').textContent = !pairs.length ? t.notMonitored : t.loaded(number(h.past.rows), number(h.past.pairs.size)) + (all > lines.length ? `. ${t.moreLines(lines.length, number(all))}` : '');
  }
  const label = (p) => (asked.items.length > 1 ? `${siteName(p.site)} · ${itemName(p.itemId)}` : siteName(p.site));
  if (by('no-charts').hidden && charts()) {
    by('readout').dataset.hint = t.readHint;
    chart ??= new Chart(by('chart'), by('lanes'), (text) => { by('readout').textContent = text; }, zoomed, (point) => showEvidence(by('evidence'), point, drawn.window.zone, names));
    const lanes = [...pairs.map((p) => ({ ...p, monitored: true, label: p.at.length ? label(p) : `${t.noResult}: ${label(p)}` })),
      ...unmonitored(h).map((p) => ({ ...p, at: [], outcome: [], label: `${t.notLookedFor}: ${label(p)}` }))];
    chart.draw(lines, lanes, h.window.from / 1000, h.window.to / 1000, h.window.zone, asked.zoom);
    by('legend').replaceChildren(...lines.map((l, i) => {
      const swatch = element('i');
      swatch.style.borderTopColor = colourOf(i);
      swatch.style.borderTopStyle = i < 8 ? 'solid' : 'dashed';
      const b = element('button', { type: 'button', 'aria-pressed': String(!chart.hidden.has(l.key)) }, swatch, element('span', {}, l.merchant ?? t.noMerchant, element('small', {}, label(l.pair))));
      b.addEventListener('click', () => b.setAttribute('aria-pressed', String(chart.toggle(i))));
      return element('li', {}, b);
    }));
  }
  showNow(h);
  const rows = [...h.newest.values()].flat().sort((a, b) => Date.parse(b.capturedAt) - Date.parse(a.capturedAt)).slice(0, 200);
  by('history-rows').replaceChildren(table(t.asTable, columns(h.window.zone), rows));
  if (!by('no-charts').hidden) by('history-table').open = true;
}

/** showNow writes the offers of the newest capture of each pair in the window, the cheapest with shipping first, each currency by itself. */
function showNow(h) {
  const offers = [...h.past.pairs.values()].flatMap((p) => p.newest).filter((r) => r.price !== null);
  if (!h.whole || !offers.length) return by('now').replaceChildren(...elsewhere(h));
  const found = new Map(columns(h.window.zone).map((c) => [c.name, c]));
  const all = [asked.items.length > 1 ? 'product' : '', ...newestColumns].map((name) => found.get(name)).filter(Boolean);
  const rows = inOrder(all, offers, { column: 'total', up: true });
  by('now').replaceChildren(element('h2', {}, t.newestOffers), element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.newestOffers }, table(t.newestOffers, all, rows.slice(0, mostOffers), { headed: true })),
    ...(rows.length > mostOffers ? [element('p', { class: 'small' }, t.firstLines(mostOffers))] : []));
}

/** elsewhere leads to the newest capture, where the window has none. */
function elsewhere(h) {
  const newest = Math.max(...monitored(h).map((s) => Date.parse(s.lastCapturedAt)).filter(Number.isFinite));
  if (!h.whole || h.past.rows || !Number.isFinite(newest)) return [];
  const window = { from: new Date(newest - 168 * 3600e3).toISOString(), to: new Date(newest + 60e3).toISOString() };
  return [element('p', {}, t.newestElsewhere(show(newest, h.window.zone, language)), ' ', link(t.showThen, { view: 'history', site: asked.site, items: asked.items.join(','), ...window }))];
}

/** none tells whether nothing was observed at a site, by the service's summary. */
const none = (s) => Object.values(s.observations).every((n) => n === 0);

/**
 * pairsOf lists the pairs with rows, and those that are monitored and have none:
 * while rows are still read, those of which the service says so.
 */
function pairsOf(h) {
  const silent = monitored(h).filter((s) => (h.whole || none(s)) && !h.past.pairs.has(`${s.itemId} ${s.site}`));
  return [...h.past.pairs.values(), ...silent.map(({ itemId, site }) => ({ itemId, site, at: [], outcome: [] }))].sort((a, b) => asked.items.indexOf(a.itemId) - asked.items.indexOf(b.itemId));
}
