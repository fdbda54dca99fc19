// The history of products: a chart of offers, the outcomes of each pair, and
// the same as tables.
import * as api from './api.js';
import { asked, link, remember, timeWindow, windowParams } from './asked.js';
import { itemName, siteName } from './catalogue.js';
import { Chart, colourOf, load, mostLines } from './chart.js';
import { by, element } from './dom.js';
import { showEvidence } from './evidence.js';
import { offerFiles } from './files.js';
import { factReads, readFacts, showBoxes, showFacts } from './facts.js';
import { markRestricted } from './restricted.js';
import { badge, columns } from './rows.js';
import { same } from './same.js';
import { History } from './series.js';
import { readStock, showStock, stockReads } from './stock.js';
import { inOrder, table } from './table.js';
import { language, number, t } from './texts.js';
import { show } from './zone.js';

const redraw = 400; // ms between drawings while rows arrive
const names = { itemName, siteName, product: () => (asked.items.length > 1 ? [{ title: t.product, text: (l) => itemName(l.itemId) }] : []) }; // the product is named where there are several
const mostOffers = 50; // on show of the newest

let chart;
let drawn; // the history on show: {past, newest, window, whole, monitored}

/** onShow is what is drawn, for tests and the curious. */
export const onShow = { get chart() { return chart?.plot; }, get lines() { return drawn?.past; } };

function zoomed(part) {
  asked.zoom = part;
  by('unzoom').hidden = !part;
  remember();
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
  const draws = await load();
  by('no-charts').hidden = draws;
  by('no-charts').textContent = t.noCharts;
  if (signal.aborted) return;
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
  const reads = asked.items.map((itemId) => ({
    path: 'v1/results/stream', streams: true, params: { itemId, site: asked.site, ...windowParams(w), sort: 'asc', includeExportFields: true },
  }));
  const facts = factReads(asked.items, asked.site, windowParams(w));
  const stock = stockReads(asked.items, asked.site, windowParams(w));
  const lookup = { path: 'ext/v1/lookup', body: { itemIds: asked.items } }; // which pairs are monitored
  same(by('history-same'), [...reads, ...facts, ...stock, lookup], reads.map((r) => ({ name: 'list_results', args: r.params })));
  offerFiles(by('history-files'), () => reads.map(({ params }) => ({ name: `history-${params.itemId}`, params: { ...params, ...zoomParams() } })));
  if (!quiet) by('history-status').textContent = t.loading(0);
  const failing = (box) => (e) => { if (!signal.aborted) by(box).replaceChildren(t.incomplete + api.said(e)); };
  const summed = readFacts(facts, signal).then((records) => {
    showFacts(by('facts'), records, names);
    showBoxes(by('boxes'), records, names);
  }).catch(failing('facts')).then(() => readStock(stock, signal)).then((records) => showStock(by('stock'), records, w, names)).catch(failing('stock'));
  const past = new History();
  const newest = new Map(); // of each product, its last rows
  let last = performance.now();
  const next = { past, newest, window: w, whole: false };
  if (!quiet) drawn = next;
  try {
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
    next.monitored = (await api.sent(lookup.path, lookup.body, signal)).data.flatMap((entry) => [...entry.latest, ...entry.noResult]);
    next.whole = true;
    await Promise.all([summed, markRestricted([...past.pairs.values()], signal)]);
    if (!signal.aborted) drawn = next;
  } finally {
    if (!signal.aborted) {
      by('history-status').textContent = '';
      showHistory();
    }
  }
}

/** showHistory draws what was read. */
export function showHistory() {
  const h = drawn;
  for (const id of ['key', 'history-table']) by(id).hidden = !h;
  if (!h) {
    chart?.clear();
    by('unzoom').hidden = true;
    for (const id of ['legend', 'evidence', 'now', 'facts', 'boxes', 'stock', 'pairs', 'history-rows', 'readout', 'history-files']) by(id).replaceChildren();
    return;
  }
  const lines = h.past.chosen(mostLines);
  const pairs = pairsOf(h);
  if (h.whole) {
    const all = h.past.lines.size;
    by('history-status').textContent = !pairs.length ? t.notMonitored : t.loaded(number(h.past.rows), number(h.past.pairs.size)) + (all > lines.length ? `. ${t.moreLines(lines.length, number(all))}` : '');
  }
  const label = (p) => (asked.items.length > 1 ? `${siteName(p.site)} · ${itemName(p.itemId)}` : siteName(p.site));
  if (by('no-charts').hidden) {
    chart ??= new Chart(by('chart'), by('lanes'), (text) => { by('readout').textContent = text; }, zoomed, (point) => showEvidence(by('evidence'), point, drawn.window.zone, names));
    const unlooked = h.whole && asked.site ? asked.items.filter((itemId) => !h.monitored.some((p) => p.itemId === itemId && p.site === asked.site) && !h.past.pairs.has(`${itemId} ${asked.site}`)) : [];
    const lanes = [...pairs.map((p) => ({ ...p, monitored: true, label: p.at.length ? label(p) : `${t.noResult}: ${label(p)}` })),
      ...unlooked.map((itemId) => ({ itemId, at: [], outcome: [], label: `${t.notLookedFor}: ${label({ itemId, site: asked.site })}` }))];
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
  const count = (p, o) => p.outcome.filter((x) => x === o).length;
  by('pairs').replaceChildren(table(t.pairs, [
    ...names.product(), { title: t.site, text: (p) => siteName(p.site) },
    ...['price', 'unavailable', 'unknown'].map((o) => ({ title: t[o], number: true, text: (p) => (p.at.length ? number(count(p, o)) : '') })),
    { title: t.noResult, text: (p) => (p.at.length ? '' : badge('none')) },
  ], pairs));
  const rows = [...h.newest.values()].flat().sort((a, b) => Date.parse(b.capturedAt) - Date.parse(a.capturedAt)).slice(0, 200);
  by('history-rows').replaceChildren(table(t.asTable, columns(h.window.zone), rows));
  if (!by('no-charts').hidden) by('history-table').open = true;
}

/** showNow writes the offers of the newest capture of each pair in the window, the cheapest with shipping first, each currency by itself. */
function showNow(h) {
  const offers = [...h.past.pairs.values()].flatMap((p) => p.newest).filter((r) => r.price !== null);
  if (!h.whole || !offers.length) return by('now').replaceChildren(...elsewhere(h));
  const all = columns(h.window.zone).filter((c) => asked.items.length > 1 || c.name !== 'product').filter((c) => c.name !== 'outcome');
  const rows = inOrder(all, offers, { column: 'total', up: true });
  by('now').replaceChildren(element('h2', {}, t.newestOffers), element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.newestOffers }, table(t.newestOffers, all, rows.slice(0, mostOffers), { headed: true })),
    ...(rows.length > mostOffers ? [element('p', { class: 'small' }, t.firstLines(mostOffers))] : []));
}

/** elsewhere leads to the newest capture, where the window has none. */
function elsewhere(h) {
  const newest = Math.max(...h.monitored?.filter((p) => !asked.site || p.site === asked.site).map((p) => Date.parse(p.capturedAt)).filter(Number.isFinite) ?? []);
  if (!h.whole || h.past.rows || !Number.isFinite(newest)) return [];
  const window = { from: new Date(newest - 168 * 3600e3).toISOString(), to: new Date(newest + 60e3).toISOString() };
  return [element('p', {}, t.newestElsewhere(show(newest, h.window.zone, language)), ' ', link(t.showThen, { view: 'history', site: asked.site, items: asked.items.join(','), ...window }))];
}

/** pairsOf lists the pairs with rows, and those that are monitored and have none. */
function pairsOf(h) {
  const silent = h.whole ? h.monitored.filter((p) => (!asked.site || p.site === asked.site) && !h.past.pairs.has(`${p.itemId} ${p.site}`)) : [];
  return [...h.past.pairs.values(), ...silent.map(({ itemId, site }) => ({ itemId, site, at: [], outcome: [] }))].sort((a, b) => asked.items.indexOf(a.itemId) - asked.items.indexOf(b.itemId));
}
