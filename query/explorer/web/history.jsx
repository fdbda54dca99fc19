// The page of products: a chart of offers, what the service says of their
// markets, sites and days, and the same as tables. Each product is one read: its
// summary, which has all that is added up and where an own price stands, and then
// its rows, which are drawn.
import { amountOf } from './amount.js';
import * as api from './api.js';
import { asked, narrowed, remember, timeWindow, windowParams } from './asked.js';
import { itemName, learn, siteName, sitesRead } from './catalogue.js';
import { Chart, charts, load, mostLines } from './chart.js';
import { cli, worded } from './copy.js';
import { showEvidence } from './evidence.jsx';
import { Files } from './files.jsx';
import { Boxes, Markets, markets, Positions, sitesOf } from './markets.jsx';
import { by, clear, draw, h } from './preact.js';
import { Legend, Newest, nothing, Pairs, pairId } from './product.jsx';
import { columns, offerId, Product } from './rows.jsx';
import { Same } from './same.jsx';
import { History } from './series.js';
import { Stock } from './stock.jsx';
import { Table } from './table.jsx';
import { language, number, t } from './texts.js';

const redraw = 400; // ms between drawings while rows arrive
const names = { itemName, siteName, product: () => (asked.items.length > 1 ? [{ title: t.product, text: (l) => <Product id={l.itemId} /> }] : []) }; // the product is named where there are several

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
    clear('history-same');
    return;
  }
  const own = ownPrice();
  const rowReads = asked.items.map((itemId) => rowRead(itemId, w));
  const reads = asked.items.map((itemId) => wholeRead(itemId, w, own || ''));
  const rowFiles = () => rowReads.map(({ path, params }) => ({ name: `history-${params.itemId}`, path, params: { ...params, ...zoomParams() } }));
  const marketFiles = () => (Number.isNaN(ownPrice()) ? [] : asked.items.map((itemId) => ({ name: `markets-${itemId}`, ...summaryRead(itemId, w, ownPrice()) })));
  draw(<Files files={rowFiles} what={t.asTable} />, by('history-files'));
  draw(<Files files={marketFiles} what={t.inMarkets} />, by('markets-files'));
  if (!quiet) by('history-status').textContent = t.loading(0);
  const past = new History();
  const newest = new Map(); // of each product, its last rows
  const next = { own, past, newest, window: w, whole: false };
  if (!quiet) drawn = next;
  if (drawn === next) showSame(next, reads, []);
  let last = -Infinity;
  draws.then(() => { if (drawn === next && !signal.aborted) showHistory(); });
  const products = reads.map((read, i) => readProduct(read, signal, (rows) => {
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
  const told = takeSummaries(next, signal, own, reads, products.map(({ summary }) => summary));
  const drawing = Promise.all(products.map(({ whole }) => whole));
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

/** readProduct reads a product: its summary, and then all its rows, which onRows is given as they arrive. */
function readProduct({ path, params }, signal, onRows) {
  const summary = Promise.withResolvers();
  summary.promise.catch(() => {}); // whole says so, too
  let told = false;
  const whole = api.stream(path, params, signal, (lines) => {
    const rows = lines.map((line) => JSON.parse(line));
    if (!told) summary.resolve(rows.shift());
    told = true;
    onRows(rows);
  });
  whole.catch(summary.reject);
  return { summary: summary.promise, whole };
}

/** takeSummaries takes what the service says of the products, with an own price, and shows it if the history is on show. */
async function takeSummaries(of, signal, own, reads, answers) {
  of.own = own;
  const newest = of.asks = {}; // another own price may be asked for before this is answered
  const summaries = await Promise.all(answers);
  await sitesRead();
  if (signal.aborted || (of.asks !== newest && of.summaries)) return;
  learn(summaries.map(({ query }) => query));
  of.summaries = Number.isNaN(own) || of.asks !== newest ? summaries.map(unplaced) : summaries;
  of.reads = reads;
  if (drawn === of) showSummaries(of);
}

/** unplaced is a summary where the own price is none. */
const unplaced = ({ data, ...rest }) => ({ ...rest, data: data.map((m) => ({ ...m, ownPrice: null, rank: null, rankWithShipping: null, position: null })) });

let placing; // AbortController of the summaries that are read for another own price

/** placeOwn places the own price that is being typed: the summaries are read again, the rows are not. */
export async function placeOwn() {
  placing?.abort();
  const { signal } = placing = new AbortController();
  const own = ownPrice();
  await new Promise((ok) => { setTimeout(ok, 250); });
  if (signal.aborted || !drawn) return;
  const { window: w } = drawn;
  const answers = asked.items.map((itemId) => summaryRead(itemId, w, own || '')).map(({ path, params }) => api.page(path, params, signal));
  try {
    await takeSummaries(drawn, signal, own, asked.items.map((itemId) => wholeRead(itemId, w, own || '')), answers);
  } catch (e) {
    if (signal.aborted || !api.loggedIn()) return;
    by('own-error').hidden = false;
    by('own-error').textContent = api.said(e);
  }
}

/** showSame offers the reads, and the tool for the rows and for each own price on show: that knows no site. */
function showSame({ window: w }, reads, summaries) {
  const placed = asked.site ? [] : markets(summaries).filter((m) => m.position?.candidate);
  draw(<Same reads={reads} calls={[
    ...asked.items.map((itemId) => ({ name: 'list_results', args: rowRead(itemId, w).params })),
    ...placed.map((m) => ({ name: 'get_market_price_position', args: { itemId: m.itemId, candidatePrice: String(m.ownPrice), currencyCode: m.currencyCode, ...(m.country && { country: m.country }) } })),
  ]} />, by('history-same'));
}

/** rowRead is the read of the rows of a product alone, of which there are files. */
const rowRead = (itemId, w) => ({
  path: 'v1/results/stream', params: { itemId, site: asked.site, ...rowNarrowing(), ...windowParams(w), sort: 'asc', includeExportFields: true },
});

/** rowNarrowing is what narrows the rows of products, and not their summaries. */
function rowNarrowing() {
  const { orderId, merchant } = narrowed();
  return { orderId, merchant };
}

/** summaryRead is the read of what a product costs and did, and of where a price stands. */
function summaryRead(itemId, w, candidatePrice) {
  const { ownMerchant } = narrowed();
  return { path: `ext/v1/items/${itemId}/summary`, params: { site: asked.site, ...windowParams(w), candidatePrice, ownMerchant: candidatePrice ? '' : ownMerchant } }; // an own price stands for the merchant's
}

/** wholeRead is both in one; the program has a command for each. */
function wholeRead(itemId, w, candidatePrice) {
  const { path, params } = summaryRead(itemId, w, candidatePrice);
  const flags = { site: params.site, from: params.capturedFrom, to: params.capturedTo, timezone: params.timezone, 'candidate-price': candidatePrice, 'own-merchant': params.ownMerchant };
  const summary = `preismon item-summary ${itemId} ${Object.entries(flags).filter(([, v]) => v).map(([name, v]) => `--${name} ${worded(v)}`).join(' ')}`;
  const rows = rowRead(itemId, w);
  return { path, params: { ...params, ...rowNarrowing(), includeRows: true }, streams: true, cli: `${cli(rows.path, rows.params)}\n${summary}` };
}

/** monitored are the sites at which the products on show are. */
const monitored = ({ summaries = [] }) => sitesOf(summaries);

/** unmonitored are the products at the site that was asked for where nobody looks for them. */
const unmonitored = (of) => (asked.site && of.summaries ? asked.items.filter((itemId) => !monitored(of).some((s) => s.itemId === itemId)).map((itemId) => ({ itemId, site: asked.site })) : []);

/** markRestricted marks the pairs whose newest capture found the access restricted. */
function markRestricted(of) {
  for (const s of monitored(of)) {
    const p = of.past.pairs.get(pairId(s));
    if (p && s.accessRestricted && Date.parse(s.lastCapturedAt) === Math.round(p.at.at(-1) * 1e3)) p.restricted = true;
  }
}

/** showSummaries shows what the service says of the products. */
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

/** showHistory draws what was read. */
export function showHistory() {
  for (const id of ['key', 'own-field', 'history-table']) by(id).hidden = !drawn;
  if (!drawn) {
    chart?.clear();
    by('unzoom').hidden = true;
    by('readout').textContent = '';
    return clear('legend', 'evidence', 'now', 'markets', 'positions', 'boxes', 'stock', 'pairs', 'history-rows', 'history-files', 'markets-files');
  }
  const { past, newest, window: { zone }, whole } = drawn;
  const lines = past.chosen(mostLines);
  const pairs = pairsOf(drawn);
  if (whole) {
    const all = past.lines.size;
    by('history-status').textContent = !pairs.length ? t.notMonitored : t.loaded(number(past.rows), number(past.pairs.size)) + (all > lines.length ? `. ${t.moreLines(lines.length, number(all))}` : '');
  }
  if (by('no-charts').hidden && charts()) showChart(drawn, lines, pairs);
  const captured = Math.max(...monitored(drawn).map((s) => Date.parse(s.lastCapturedAt)).filter(Number.isFinite));
  draw(whole && <Newest past={past} captured={captured} zone={zone} />, by('now'));
  const rows = [...newest.values()].flat().sort((a, b) => Date.parse(b.capturedAt) - Date.parse(a.capturedAt)).slice(0, 200);
  draw(<Table caption={t.asTable} columns={columns(zone)} rows={rows} id={(r) => `${offerId(r)} ${r.capturedAt}`} />, by('history-rows'));
  if (!by('no-charts').hidden) by('history-table').open = true;
}

/** showChart draws the lines and the pairs, and names the lines. */
function showChart(of, lines, pairs) {
  const { from, to, zone } = of.window;
  const label = (p) => (asked.items.length > 1 ? `${siteName(p.site)} · ${itemName(p.itemId)}` : siteName(p.site));
  by('readout').dataset.hint = t.readHint;
  by('readout').classList.toggle('few', lines.length < 5);
  chart ??= new Chart(by('chart'), by('lanes'), (text) => { by('readout').textContent = text; }, zoomed, (point) => showEvidence(point, drawn.window.zone, names));
  const lanes = [...pairs.map((p) => ({ ...p, monitored: true, label: p.at.length ? label(p) : `${t.noResult}: ${label(p)}` })),
    ...unmonitored(of).map((p) => ({ ...p, at: [], outcome: [], label: `${t.notLookedFor}: ${label(p)}` }))];
  chart.draw(lines, lanes, from / 1000, to / 1000, zone, asked.zoom);
  const showLegend = () => draw(<Legend lines={lines} label={label} hidden={chart.hidden} toggle={(i) => { chart.toggle(i); showLegend(); }} />, by('legend'));
  showLegend();
}

/**
 * pairsOf lists the pairs with rows, and those that are monitored and have none:
 * while rows are still read, those of which the service says so.
 */
function pairsOf(of) {
  const silent = monitored(of).filter((s) => (of.whole || nothing(s)) && !of.past.pairs.has(pairId(s)));
  return [...of.past.pairs.values(), ...silent.map(({ itemId, site }) => ({ itemId, site, at: [], outcome: [] }))].sort((a, b) => asked.items.indexOf(a.itemId) - asked.items.indexOf(b.itemId));
}
