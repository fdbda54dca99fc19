// The page of products: a chart of offers, the service's summary of their
// markets, sites and days, and the rows as a table. Each product is one read: its
// summary, with all aggregates and the position of an own price, and then its
// rows, which are drawn.
import { amountOf } from './amount.js';
import * as api from './api.js';
import { itemName, learn, siteName, sitesRead } from './catalogue.js';
import { Chart, charts, load, mostLines } from './chart.js';
import { cli, worded } from './copy.js';
import { forgetEvidence, showEvidence } from './evidence.jsx';
import { Files } from './files.jsx';
import { Boxes, Markets, markets, Positions, sitesOf } from './markets.jsx';
import { by, clear, draw, h } from './preact.js';
import { Elsewhere, Legend, Newest, nothing, Pairs, pairId } from './product.jsx';
import { columns, offerId, Product } from './rows.jsx';
import { Same } from './same.jsx';
import { History } from './series.js';
import { amend, narrowed, remember, state, timeWindow, windowParams } from './state.js';
import { Stock } from './stock.jsx';
import { Table } from './table.jsx';
import { language, number, t } from './texts.js';

const redraw = 400; // ms between drawings while rows arrive
const names = { itemName, siteName, product: () => (state.items.length > 1 ? [{ title: t.product, text: (l) => <Product id={l.itemId} /> }] : []) }; // a column for the product only where there are several

let chart;
let drawn; // the displayed history: {past, newest, narrowing, window, whole, summaries}

/** onShow is what is drawn, for tests and for inspection in the browser's console. */
export const onShow = { get chart() { return chart?.plot; }, get lines() { return drawn?.past; } };

let rests; // fires when a chart that is being moved comes to rest

/** zoomed puts the visible part into the address; a series of moves is one step back, written when the chart comes to rest. */
function zoomed(part) {
  const moved = part && state.zoom && part.from !== state.zoom.from;
  state.zoom = part;
  by('unzoom').hidden = !part;
  clearTimeout(rests);
  if (moved) rests = setTimeout(remember, 250);
  else remember();
}

/** zoomParams returns the bounds of the visible part, if the chart is zoomed. */
const zoomParams = () => (state.zoom ? { capturedFrom: new Date(state.zoom.from * 1e3).toISOString(), capturedTo: new Date(state.zoom.to * 1e3).toISOString() } : {});

/** unzoomed forgets the visible part, because nothing is drawn that has one. */
function unzoomed() {
  state.zoom = undefined;
  by('unzoom').hidden = true;
  amend();
}

/** unzoom shows the whole window. */
export const unzoom = () => chart.whole();

/** forgetHistory clears the view. */
export function forgetHistory() {
  placing?.abort();
  drawn = undefined;
  showHistory();
}

/** readHistory reads the requested products, and draws while rows arrive; again: the displayed history stays until all rows are there. */
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
  if (w.fault || !state.items.length) {
    by('history-status').textContent = w.fault ?? t.chooseItem;
    clear('history-same');
    return;
  }
  const own = ownPrice();
  const rowReads = state.items.map((itemId) => rowRead(itemId, w));
  const reads = state.items.map((itemId) => wholeRead(itemId, w, own || ''));
  const rowFiles = () => rowReads.map(({ path, params }) => ({ name: `history-${params.itemId}`, path, params: { ...params, ...zoomParams() } }));
  const marketFiles = () => (Number.isNaN(ownPrice()) ? [] : state.items.map((itemId) => ({ name: `markets-${itemId}`, ...summaryRead(itemId, w, ownPrice()) })));
  draw(<Files files={rowFiles} what={t.asTable} />, by('history-files'));
  draw(<Files files={marketFiles} what={t.inMarkets} />, by('markets-files'));
  if (!quiet) by('history-status').textContent = t.loading(0);
  const narrowing = rowNarrowing();
  const past = new History({ partial: Boolean(narrowing.merchant) }); // without the captures that found no offer of the merchant
  const newest = new Map(); // the last rows of each product
  const next = { own, past, newest, narrowing, window: w, whole: false };
  if (!quiet) drawn = next;
  if (drawn === next) showSame(next, reads, []);
  let last = -Infinity;
  draws.then(() => { if (drawn === next && !signal.aborted) showHistory(); });
  const products = reads.map((read, i) => readProduct(read, signal, (summary) => past.learn(sitesOf([summary])), (rows) => {
    for (const row of rows) past.add(row);
    const { itemId } = rowReads[i].params;
    newest.set(itemId, [...(newest.get(itemId) ?? []), ...rows].slice(-100));
    if (quiet) return;
    by('history-status').textContent = t.loading(number(past.rows));
    if (performance.now() - last > redraw) {
      showHistory();
      last = performance.now();
    }
  }));
  const summaries = takeSummaries(next, signal, own, reads, products.map(({ summary }) => summary));
  const drawing = Promise.all(products.map(({ whole }) => whole));
  const rest = Promise.allSettled([draws, summaries, drawing]);
  try {
    await Promise.all([draws, summaries, drawing]);
    next.whole = true;
    if (!signal.aborted) drawn = next;
  } finally {
    await rest; // whatever arrived is shown
    if (!signal.aborted) {
      by('history-status').textContent = '';
      showHistory();
      if (next.whole && next.summaries) showSummaries(next);
      if (next.whole && !Object.is(next.own, ownPrice())) placeOwn(); // it changed in the meantime
    }
  }
}

/** ownPrice returns the own price that was typed, as a number; NaN: not an amount, which the field then shows; '': none was typed, and the reference price applies. */
function ownPrice() {
  const text = by('own').value.trim();
  const amount = text && amountOf(text, language);
  by('own').setAttribute('aria-invalid', String(Number.isNaN(amount)));
  by('own-error').hidden = !Number.isNaN(amount);
  by('own-error').textContent = Number.isNaN(amount) ? t.badAmount : '';
  return amount;
}

/** readProduct reads a product: its summary, which it passes to onSummary, and then all its rows, which it passes to onRows as they arrive. */
function readProduct({ path, params }, signal, onSummary, onRows) {
  const summary = Promise.withResolvers();
  summary.promise.catch(() => {}); // whole rejects, too
  let hasSummary = false;
  const whole = api.stream(path, params, signal, (lines) => {
    const rows = lines.map((line) => JSON.parse(line));
    if (!hasSummary) {
      const first = rows.shift();
      onSummary(first);
      summary.resolve(first);
    }
    hasSummary = true;
    onRows(rows);
  });
  whole.catch(summary.reject);
  return { summary: summary.promise, whole };
}

/** takeSummaries stores the summaries of the products, read with an own price, and shows them if their history is displayed. */
async function takeSummaries(of, signal, own, reads, answers) {
  of.own = own;
  const newest = of.asks = {}; // another own price may be requested before this is answered
  const summaries = await Promise.all(answers);
  await sitesRead();
  if (signal.aborted || (of.asks !== newest && of.summaries)) return;
  learn(summaries.map(({ query }) => query));
  of.summaries = Number.isNaN(own) || of.asks !== newest ? summaries.map(unplaced) : summaries;
  of.reads = reads;
  if (drawn === of) showSummaries(of);
}

/** unplaced returns a summary without an own price and its position. */
const unplaced = ({ data, ...rest }) => ({ ...rest, data: data.map((m) => ({ ...m, ownPrice: null, rank: null, rankWithShipping: null, position: null })) });

let placing; // AbortController of the summaries being read for another own price

/** placeOwn positions the own price that is being typed: it reads the summaries again, but not the rows. */
export async function placeOwn() {
  placing?.abort();
  const { signal } = placing = new AbortController();
  const own = ownPrice();
  await new Promise((ok) => { setTimeout(ok, 250); });
  if (signal.aborted || !drawn) return;
  const { window: w } = drawn;
  const answers = state.items.map((itemId) => summaryRead(itemId, w, own || '')).map(({ path, params }) => api.page(path, params, signal));
  try {
    await takeSummaries(drawn, signal, own, state.items.map((itemId) => wholeRead(itemId, w, own || '')), answers);
  } catch (e) {
    if (signal.aborted || !api.loggedIn()) return;
    by('own-error').hidden = false;
    by('own-error').textContent = api.said(e);
  }
}

/** showSame shows the reads, the tool calls for the rows, the summaries, and the tool call for each own price, unless the tool has no such parameter, as for a site, or compares with other offers, as for the price of an own merchant. */
function showSame({ window: w, own }, reads, summaries) {
  const placed = state.site || (narrowed().ownMerchant && !own) ? [] : markets(summaries).filter((m) => m.position?.candidate);
  draw(<Same reads={reads} calls={[
    ...state.items.map((itemId) => ({ name: 'list_results', args: rowRead(itemId, w).params })),
    ...state.items.map((itemId) => summaryRead(itemId, w, own || '')),
    ...placed.map((m) => ({ name: 'get_market_price_position', args: { itemId: m.itemId, candidatePrice: String(m.ownPrice), currencyCode: m.currencyCode, ...(m.country && { country: m.country }) } })),
  ]} />, by('history-same'));
}

/** rowRead returns the read of a product's rows alone, which is also the one for files. */
const rowRead = (itemId, w) => ({
  path: 'v1/results/stream', params: { itemId, site: state.site, ...rowNarrowing(), ...windowParams(w), sort: 'asc', includeExportFields: true },
});

/** rowNarrowing returns the narrowings that apply to the rows of products, but not to their summaries. */
function rowNarrowing() {
  const { orderId, merchant } = narrowed();
  return { orderId, merchant };
}

/** onlyPart reports whether rows of the displayed products were left out. */
const onlyPart = ({ narrowing: { orderId, merchant } }) => Boolean(orderId || merchant);

/** summaryRead returns the read of a product's summary: its current and past prices, and the position of an own price. */
function summaryRead(itemId, w, candidatePrice) {
  const { ownMerchant } = narrowed();
  return { path: `ext/v1/items/${itemId}/summary`, params: { site: state.site, ...windowParams(w), candidatePrice, ownMerchant: candidatePrice ? '' : ownMerchant } }; // an own price replaces the merchant's
}

/** wholeRead returns the read of summary and rows in one; the program has a command for each. */
function wholeRead(itemId, w, candidatePrice) {
  const { path, params } = summaryRead(itemId, w, candidatePrice);
  const flags = { site: params.site, from: params.capturedFrom, to: params.capturedTo, timezone: params.timezone, 'candidate-price': candidatePrice, 'own-merchant': params.ownMerchant };
  const summary = `preismon item-summary ${itemId} ${Object.entries(flags).filter(([, v]) => v).map(([name, v]) => `--${name} ${worded(v)}`).join(' ')}`;
  const rows = rowRead(itemId, w);
  return { path, params: { ...params, ...rowNarrowing(), includeRows: true }, streams: true, cli: `${cli(rows.path, rows.params)}\n${summary}` };
}

/** monitored returns the sites at which the displayed products are monitored. */
const monitored = ({ summaries = [] }) => sitesOf(summaries);

/** unmonitored returns the requested products that are not monitored at the requested site. */
const unmonitored = (of) => (state.site && of.summaries ? state.items.filter((itemId) => !monitored(of).some((s) => s.itemId === itemId)).map((itemId) => ({ itemId, site: state.site })) : []);

/** showSummaries shows the summaries of the products. */
function showSummaries(of) {
  const { summaries, reads, window } = of;
  const sites = monitored(of);
  showSame(of, reads, summaries);
  draw(<Markets summaries={summaries} {...names} />, by('markets'));
  draw(<Positions summaries={summaries} {...names} />, by('positions'));
  draw(<Boxes summaries={summaries} {...names} />, by('boxes'));
  draw(<Stock sites={sites} unmonitored={unmonitored(of)} window={window} asOf={Date.parse(summaries[0].query.asOf)} {...names} />, by('stock'));
  draw(<Pairs sites={sites} zone={window.zone} {...names} />, by('pairs'));
}

/** showHistory draws what has been read, or clears the view if there is nothing. */
export function showHistory() {
  for (const id of ['key', 'due', 'own-field', 'history-table']) by(id).hidden = !drawn;
  if (!drawn) {
    chart?.clear();
    by('unzoom').hidden = by('part').hidden = true;
    by('readout').textContent = '';
    forgetEvidence();
    return clear('elsewhere', 'legend', 'now', 'markets', 'positions', 'boxes', 'stock', 'pairs', 'history-rows', 'history-files', 'markets-files');
  }
  const { past, window: { zone }, whole } = drawn;
  const lines = past.chosen(mostLines);
  const pairs = pairsOf(drawn);
  if (whole) {
    const all = past.lines.size;
    by('history-status').textContent = !pairs.length && !monitored(drawn).length ? t.notMonitored : t.loaded(number(past.rows), number(past.pairs.size)) + (all > lines.length ? `. ${t.moreLines(lines.length, number(all))}` : '');
  }
  by('part').hidden = !onlyPart(drawn);
  by('part').textContent = drawn.narrowing.merchant ? `${t.part} ${t.dots}` : t.part;
  if (whole && state.zoom && !(lines.length && charts())) unzoomed();
  if (by('no-charts').hidden && charts()) showChart(drawn, lines, pairs);
  const captured = Math.max(...monitored(drawn).map((s) => Date.parse(s.lastCapturedAt)).filter(Number.isFinite));
  draw(whole && !past.rows && monitored(drawn).every(nothing) && Number.isFinite(captured) && <Elsewhere captured={captured} zone={zone} to={{ view: 'history', items: state.items.join(',') }} />, by('elsewhere'));
  draw(whole && <Newest past={past} zone={zone} />, by('now'));
  if (!by('no-charts').hidden) by('history-table').open = true;
  showRows();
}

/** showRows fills the table of the newest rows if it is open: closed, it would delay the chart. */
export function showRows() {
  if (!drawn || !by('history-table').open) return;
  const rows = [...drawn.newest.values()].flat().sort((a, b) => Date.parse(b.capturedAt) - Date.parse(a.capturedAt)).slice(0, 200);
  draw(<Table caption={t.asTable} columns={columns(drawn.window.zone)} rows={rows} id={(r) => `${offerId(r)} ${r.capturedAt}`} />, by('history-rows'));
}

/** showChart draws the lines and the pairs, and the legend of the lines. */
function showChart(of, lines, pairs) {
  const { from, to, zone } = of.window;
  const label = (p) => (state.items.length > 1 ? `${siteName(p.site)} · ${itemName(p.itemId)}` : siteName(p.site));
  const sold = lines.some((l) => l.merchant); // otherwise the sites name the lines
  for (const l of lines) l.label = l.merchant ?? (sold ? t.noMerchant : label(l.pair));
  by('readout').dataset.hint = t.readHint;
  by('readout').classList.toggle('few', lines.length < 5);
  const seen = pairs.filter((p) => p.at.length && !p.partial);
  by('due').textContent = t.due(seen.filter((p) => !p.interval).length, seen.length);
  chart ??= new Chart(by('chart'), by('lanes'), (text) => { by('readout').textContent = text; }, zoomed, (point) => showEvidence(point, drawn.window.zone, names));
  const lanes = [...pairs.map((p) => ({ ...p, monitored: true, label: p.at.length ? label(p) : `${t.noResult}: ${label(p)}` })),
    ...unmonitored(of).map((p) => ({ ...p, at: [], outcome: [], label: `${t.notLookedFor}: ${label(p)}` }))];
  chart.draw(lines, lanes, from / 1000, to / 1000, zone, state.zoom);
  const showLegend = () => draw(<Legend lines={lines} label={label} hidden={chart.hidden} toggle={(i) => { chart.toggle(i); showLegend(); }} />, by('legend'));
  showLegend();
}

/**
 * pairsOf lists the pairs with rows, and those that are monitored but have none;
 * while rows still arrive, or where some are left out, only those for which the
 * summary has no observations.
 */
function pairsOf(of) {
  const all = of.whole && !onlyPart(of);
  const silent = monitored(of).filter((s) => (all || nothing(s)) && !of.past.pairs.has(pairId(s)));
  return [...of.past.pairs.values(), ...silent.map(({ itemId, site }) => ({ itemId, site, at: [], outcome: [] }))].sort((a, b) => state.items.indexOf(a.itemId) - state.items.indexOf(b.itemId));
}
