// The page: what is asked for, and the views of it.
import { amountOf } from './amount.js';
import * as api from './api.js';
import { assortmentRead, csvOf, linesOf, mostProducts, showAssortment } from './assortment.js';
import { Chart, colourOf, load, mostLines } from './chart.js';
import { Console } from './console.js';
import { download } from './csv.js';
import { factReads, readFacts, showFacts } from './facts.js';
import { overviewReads, readOverview, showMovers, showPosition, showSites } from './overview.js';
import { markets, standing } from './position.js';
import { same } from './same.js';
import { History, outcomeOf } from './series.js';
import { element, table } from './table.js';
import { language, money, number, speak, t } from './texts.js';
import { instant, known, local, show } from './zone.js';

const by = (id) => document.getElementById(id);
const views = ['overview', 'assortment', 'history', 'latest', 'stream'];
const mostItems = 8;
const listed = 60; // products in the list
const mostEverything = 168 * 3600e3; // ms of a window of all that is seen
const redraw = 400; // ms between drawings while rows arrive

let sites = [];
let items = [];
let itemsMore = false;
const nameOf = new Map(); // names of products
const asked = { site: '', items: [], view: 'overview', window: { hours: 168 } }; // the window: hours up to now, or from and to in ms
let reading; // AbortController of the view
let chart;
let drawnHistory; // the history on show: {history, lines, window}
let offers = [];
let latestReads = [];
const defaultSort = { latest: { column: 'total', up: true }, assortment: { column: 'product', up: true } };
const sortedOf = structuredClone(defaultSort); // by view
let assorted = { lines: [], more: false }; // the assortment on show
let placed = []; // market positions on show
const consoleView = new Console();

const wide = matchMedia('(min-width: 60.01rem)'); // else what is asked for folds away

const siteName = (key) => sites.find((s) => s.site === key)?.name ?? key;
const itemName = (id) => nameOf.get(id) ?? id;

// ---- the address of the page says what is asked for

function windowAddress() {
  const w = asked.window;
  return w.hours ? { last: `${w.hours}h` } : { from: new Date(w.from).toISOString(), to: new Date(w.to).toISOString() };
}

function address() {
  const p = new URLSearchParams({ view: asked.view, site: asked.site, items: asked.items.join(','), zone: by('zone').value, ...windowAddress() });
  if (by('own').value.trim()) p.set('own', plain(by('own').value));
  const sorted = sortedOf[asked.view];
  if (sorted && JSON.stringify(sorted) !== JSON.stringify(defaultSort[asked.view])) p.set('sort', `${sorted.up ? '' : '-'}${sorted.column}`);
  if (asked.view === 'assortment' && by('filter').value.trim()) p.set('filter', by('filter').value.trim());
  return `#${p}`;
}

/** plain is an own price as a number of JSON, in any language; what is none stays as it is. */
const plain = (text) => (Number.isNaN(amountOf(text, language)) ? text.trim() : String(amountOf(text, language)));

/** written is a plain number as the page writes it. */
const written = (text) => (text.trim() && Number(text) > 0 ? new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 3 }).format(Number(text)) : text);

let recalled = false; // what is asked is what the address said, in whatever form

/** remember writes the address; what was asked before is one step back. */
function remember() {
  const to = address();
  if (to !== location.hash) history[location.hash && !recalled ? 'pushState' : 'replaceState'](null, '', to);
  recalled = false;
}

function recall() {
  const p = new URLSearchParams(location.hash.slice(1));
  asked.site = p.get('site') ?? '';
  asked.items = (p.get('items') ?? '').split(',').filter((id) => /^[1-9][0-9]*$/.test(id)).slice(0, mostItems);
  asked.view = views.includes(p.get('view')) ? p.get('view') : asked.items.length ? 'history' : 'overview';
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  by('zone').value = known(p.get('zone') ?? '') ? p.get('zone') : own;
  const hours = Number(/^(\d{1,5})h$/.exec(p.get('last') ?? '')?.[1] ?? 0);
  const ends = ['from', 'to'].map((end) => timeOf(p.get(end) ?? ''));
  asked.window = hours || ends.some(Number.isNaN) ? { hours: hours || 168 } : { from: ends[0], to: ends[1] };
  by('own').value = written(p.get('own') ?? '');
  const [, down, column] = /^(-?)(\w+)$/.exec(p.get('sort') ?? '') ?? [];
  if (sortedOf[asked.view]) sortedOf[asked.view] = column ? { column, up: !down } : { ...defaultSort[asked.view] };
  by('filter').value = p.get('filter') ?? '';
  showWindow();
  recalled = true;
}

/** timeOf reads an instant, or a local time of the zone; NaN: neither. */
const timeOf = (text) => (/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text) ? instant(text, zoned()) : Date.parse(text));

const zoned = () => (known(by('zone').value) ? by('zone').value : 'UTC');

const ends = () => (asked.window.hours ? { from: Date.now() - asked.window.hours * 3600e3, to: Date.now() + 60e3 } : asked.window);

/** showWindow writes the window in the zone: another zone moves no instant. */
function showWindow() {
  const w = ends();
  for (const end of ['from', 'to']) by(end).value = local(w[end], zoned()).slice(0, 16);
  for (const b of by('presets').children) b.setAttribute('aria-pressed', String(Number(b.dataset.hours) === asked.window.hours));
}

/** typed takes the window from its fields. */
function typed() {
  if (!by('from').value || !by('to').value) return;
  asked.window = { from: instant(by('from').value, zoned()), to: instant(by('to').value, zoned()) };
  showWindow();
  refresh();
}

/** timeWindow gives the window asked for, in ms, or says what is wrong with it. */
function timeWindow() {
  const zone = by('zone').value;
  const good = known(zone);
  by('zone').setCustomValidity(good ? '' : t.badZone);
  if (!good || !by('from').value || !by('to').value) return { fault: good ? t.badWindow : t.badZone };
  const { from, to } = ends();
  return from < to ? { from, to, zone } : { fault: t.badWindow };
}

const windowParams = (w) => ({ capturedFrom: new Date(w.from).toISOString(), capturedTo: new Date(w.to).toISOString(), timezone: w.zone });

// ---- choosing

function showItems() {
  const words = by('search').value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const found = items.filter((i) => {
    const text = [i.name, i.brand, i.manufacturer, i.ean, i.pzn, i.asin, i.itemId].join(' ').toLowerCase();
    return words.every((w) => text.includes(w));
  });
  by('items').replaceChildren(...found.slice(0, listed).map((i) => {
    const box = element('input', { type: 'checkbox', value: i.itemId });
    box.checked = asked.items.includes(i.itemId);
    return element('li', {}, element('label', {}, box, element('span', {}, i.name ?? i.itemId, element('small', {}, [i.brand, i.ean ?? i.pzn ?? i.asin].filter(Boolean).join(' · ')))));
  }));
  by('found').textContent = t.found(number(found.length), number(items.length), itemsMore);
  return found.length;
}

function showChosen() {
  by('chosen').replaceChildren(...asked.items.map((id) => {
    const b = element('button', { type: 'button', 'aria-label': t.remove(itemName(id)) }, element('span', {}, itemName(id)), element('b', { 'aria-hidden': 'true' }, '×'));
    b.addEventListener('click', () => { choose(id, false); by('search').focus(); });
    return element('li', {}, b);
  }));
}

function choose(id, wanted) {
  if (wanted && asked.items.length >= mostItems) {
    by('found').textContent = t.most(mostItems);
    for (const box of by('items').querySelectorAll('input')) box.checked = asked.items.includes(box.value);
    return;
  }
  asked.items = asked.items.filter((x) => x !== id);
  if (wanted) asked.items.push(id);
  for (const box of by('items').querySelectorAll('input')) box.checked = asked.items.includes(box.value);
  showChosen();
  if (wanted && asked.view === 'overview') select('history');
  else refresh();
}

/** lookUp asks the service for a product that is not among those in the list. */
async function lookUp() {
  const text = by('search').value.trim();
  const params = /^\d{8,14}$/.test(text) ? [{ ean: text }, { pzn: text }, { itemId: text }] : /^\d{1,20}$/.test(text) ? [{ itemId: text }, { pzn: text }] : [];
  for (const p of params) {
    const { data } = await api.page('v1/items', p).catch(() => ({ data: [] }));
    if (data.length) {
      add(data);
      return showItems();
    }
  }
}

function add(more) {
  for (const i of more) {
    if (!nameOf.has(i.itemId)) items.push(i);
    nameOf.set(i.itemId, i.name ?? i.itemId);
  }
}

/** named makes the names of products known. */
async function named(ids) {
  await Promise.all([...new Set(ids)].filter((id) => !nameOf.has(id)).map(async (itemId) => add((await api.page('v1/items', { itemId })).data)));
}

// ---- views

function select(view) {
  asked.view = view;
  for (const v of views) {
    by(v).hidden = v !== view;
    by(`tab-${v}`).setAttribute('aria-selected', v === view);
    by(`tab-${v}`).tabIndex = v === view ? 0 : -1;
  }
  by('asking').open = wide.matches || (view === 'history' && !asked.items.length);
  refresh();
}

/** showAsked says in a line what is asked for, where the form is folded away. */
function showAsked() {
  const window = asked.window.hours ? by('presets').querySelector(`[data-hours="${asked.window.hours}"]`)?.textContent ?? `${asked.window.hours} h` : ['from', 'to'].map((end) => by(end).value.replace('T', ' ')).join(' – ');
  by('asked').textContent = [asked.site ? siteName(asked.site) : t.allSites, ...asked.items.map(itemName), window].join(' · ');
}

let waiting;

/** refresh reads again what the view shows, a moment after the last change. It is busy from the change on. */
function refresh() {
  clearTimeout(waiting);
  if (!api.loggedIn()) return;
  by(asked.view).setAttribute('aria-busy', 'true');
  waiting = setTimeout(() => {
    if (!api.loggedIn()) return;
    remember();
    showAsked();
    reading?.abort();
    reading = new AbortController();
    read(asked.view, reading.signal);
  }, 150);
}

/** read fills a view, which is busy until all that it says is there. */
async function read(view, signal) {
  await ({ overview: readStart, assortment: readAssortment, history: readHistory, latest: readLatest, stream: readyStream })[view](signal);
  if (!signal.aborted) by(view).removeAttribute('aria-busy');
}

/** attempt runs a read of a view and shows why it failed, unless it was given up. */
async function attempt(view, signal, run) {
  by(`${view}-error`).hidden = true;
  try {
    await run();
  } catch (e) {
    if (signal.aborted || !api.loggedIn()) return;
    failed(by(`${view}-error`), t.incomplete + said(e), refresh);
  }
}

/** failed shows what went wrong, and a way to try again. */
function failed(box, words, again) {
  const retry = element('button', { type: 'button', class: 'quiet' }, t.retry);
  retry.addEventListener('click', again);
  box.hidden = false;
  box.replaceChildren(words, ' ', retry);
}

function said(e) {
  if (!(e instanceof api.Problem)) return e instanceof TypeError ? t.unreachable : e.message;
  return e.message + (e.retryAfter ? ` ${t.tryAgain(e.retryAfter)}` : '');
}

/** link leads to a view of this page, with the zone as it is. */
const link = (words, params) => element('a', { href: `#${new URLSearchParams({ ...params, zone: by('zone').value })}` }, words);

async function readStart(signal) {
  const reads = overviewReads(asked.site, zoned());
  same(by('overview-same'), reads, []);
  by('overview-status').textContent = t.loadingView;
  await attempt('overview', signal, async () => {
    const { movers, positions, sites: days } = await readOverview(reads, named, signal);
    if (signal.aborted) return;
    const links = {
      siteName,
      itemLink: (id) => link(itemName(id), { view: 'history', items: id, last: '720h' }),
      siteLink: (site) => link(siteName(site), { view: 'latest', site }),
    };
    showMovers(by('moved'), movers, links);
    showPosition(by('stand'), positions, links);
    showSites(by('sites'), days, sites.filter((s) => !asked.site || s.site === asked.site), links);
  });
  if (!signal.aborted) by('overview-status').textContent = '';
}

async function readAssortment(signal) {
  const w = timeWindow();
  assorted = { lines: [], more: false };
  by('products').replaceChildren();
  by('download').disabled = true;
  by('assortment-status').textContent = w.fault ?? t.loadingView;
  if (w.fault) return;
  if (!asked.site) w.from = Math.max(w.from, w.to - mostEverything);
  const read = assortmentRead(asked.site, windowParams(w));
  same(by('assortment-same'), [read], []);
  await attempt('assortment', signal, async () => {
    const { data, more } = await api.all(read.path, read.params, mostProducts, signal);
    assorted = { lines: linesOf(data, itemName), more };
    showProducts();
  });
  if (!signal.aborted && by('download').disabled) by('assortment-status').textContent = '';
}

/** showProducts shows the lines of the assortment that the filter leaves, and gives them. */
function showProducts() {
  const at = [...by('products').querySelectorAll('button')].indexOf(document.activeElement);
  const shown = showAssortment(by('products'), by('assortment-status'), {
    ...assorted, filter: by('filter').value, sorted: sortedOf.assortment, again: () => { showProducts(); remember(); },
    itemLink: (id) => link(itemName(id), { view: 'history', items: id, ...windowAddress() }),
  });
  by('download').disabled = false;
  if (at >= 0) by('products').querySelectorAll('button')[at].focus();
  return shown;
}

async function readHistory(signal) {
  const w = timeWindow();
  const draws = await load();
  by('no-charts').hidden = draws;
  by('no-charts').textContent = t.noCharts;
  if (signal.aborted) return;
  drawnHistory = undefined;
  showHistory();
  if (w.fault || !asked.items.length) {
    by('history-status').textContent = w.fault ?? t.chooseItem;
    by('history-same').replaceChildren();
    return;
  }
  const reads = asked.items.map((itemId) => ({
    path: 'v1/results/stream', streams: true, params: { itemId, site: asked.site, ...windowParams(w), sort: 'asc', includeExportFields: true },
  }));
  const facts = factReads(asked.items, asked.site, windowParams(w));
  same(by('history-same'), [...reads, ...facts], reads.map((r) => ({ name: 'list_results', args: r.params })));
  by('history-status').textContent = t.loading(0);
  await attempt('history', signal, async () => {
    readFacts(facts, signal).then((records) => showFacts(by('facts'), records, { itemName, siteName }), (e) => { if (!signal.aborted) by('facts').replaceChildren(t.incomplete + said(e)); });
    const past = new History();
    const newest = new Map(); // of each product, its last rows
    let last = performance.now();
    drawnHistory = { past, newest, window: w, whole: false };
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
        by('history-status').textContent = t.loading(number(past.rows));
        if (performance.now() - last > redraw) {
          showHistory();
          last = performance.now();
        }
      });
    }
    drawnHistory.whole = true;
  });
  if (signal.aborted) return;
  by('history-status').textContent = '';
  showHistory();
}

function showHistory() {
  const h = drawnHistory;
  for (const id of ['key', 'history-table']) by(id).hidden = !h;
  if (!h) {
    chart?.clear();
    for (const id of ['legend', 'facts', 'pairs', 'history-rows', 'readout']) by(id).replaceChildren();
    return;
  }
  const lines = h.past.chosen(mostLines);
  const pairs = pairsOf(h);
  if (h.whole) {
    const all = h.past.lines.size;
    by('history-status').textContent = t.loaded(number(h.past.rows), number(h.past.pairs.size)) + (all > lines.length ? `. ${t.moreLines(lines.length, number(all))}` : '');
  }
  const label = (p) => (asked.items.length > 1 ? `${siteName(p.site)} · ${itemName(p.itemId)}` : siteName(p.site));
  if (by('no-charts').hidden) {
    chart ??= new Chart(by('chart'), by('lanes'), (text) => { by('readout').textContent = text; });
    chart.draw(lines, pairs.map((p) => ({ ...p, label: p.at.length ? label(p) : `${t.noResult}: ${label(p)}` })), h.window.from / 1000, h.window.to / 1000, h.window.zone);
    by('legend').replaceChildren(...lines.map((l, i) => {
      const swatch = element('i');
      swatch.style.borderTopColor = colourOf(i);
      swatch.style.borderTopStyle = i < 8 ? 'solid' : 'dashed';
      const b = element('button', { type: 'button', 'aria-pressed': String(!chart.hidden.has(l.key)) }, swatch, element('span', {}, l.merchant ?? t.noMerchant, element('small', {}, label(l.pair))));
      b.addEventListener('click', () => b.setAttribute('aria-pressed', String(chart.toggle(i))));
      return element('li', {}, b);
    }));
  }
  const count = (p, o) => p.outcome.filter((x) => x === o).length;
  by('pairs').replaceChildren(table(t.pairs, [
    { title: t.product, text: (p) => itemName(p.itemId) }, { title: t.site, text: (p) => siteName(p.site) },
    ...['price', 'unavailable', 'unknown'].map((o) => ({ title: t[o], number: true, text: (p) => (p.at.length ? number(count(p, o)) : '') })),
    { title: t.noResult, text: (p) => (p.at.length ? '' : badge('none')) },
  ], pairs));
  const rows = [...h.newest.values()].flat().sort((a, b) => Date.parse(b.capturedAt) - Date.parse(a.capturedAt)).slice(0, 200);
  by('history-rows').replaceChildren(table(t.asTable, columns(h.window.zone), rows));
  if (!by('no-charts').hidden) by('history-table').open = true;
}

/** pairsOf lists the pairs with rows, and those that were asked for and have none. */
function pairsOf(h) {
  const wanted = asked.site ? [asked.site] : sites.map((s) => s.site);
  const none = h.whole ? asked.items.flatMap((itemId) => wanted.filter((site) => !h.past.pairs.has(`${itemId} ${site}`)).map((site) => ({ itemId, site, at: [], outcome: [] }))) : [];
  return [...h.past.pairs.values(), ...none].sort((a, b) => asked.items.indexOf(a.itemId) - asked.items.indexOf(b.itemId));
}

const badge = (outcome) => element('span', { class: `badge ${outcome}` }, t[outcome === 'none' ? 'noResult' : outcome]);

/** total is the price with its shipping; where that is unknown, it says so. */
const total = (r) => (r.totalPrice === null && r.price !== null ? t.shippingUnknown : money(r.totalPrice, r.currencyCode));

const flag = (v) => (v === undefined ? '' : v ? t.yes : t.no);

/** columns of rows; the site only where there can be several. */
function columns(zone) {
  return [
    { name: 'product', title: t.product, text: (r) => itemName(r.itemId), value: (r) => itemName(r.itemId) },
    { name: 'site', title: t.site, text: (r) => siteName(r.site), value: (r) => siteName(r.site) },
    { name: 'merchant', title: t.merchant, text: (r) => r.merchant ?? '', value: (r) => r.merchant },
    { name: 'outcome', title: t.outcome, text: (r) => badge(outcomeOf(r)), value: (r) => outcomeOf(r) },
    { name: 'buyBox', title: t.buyBox, text: (r) => flag(r.isBuyBox), value: (r) => r.isBuyBox === undefined ? null : Number(r.isBuyBox) },
    { name: 'prime', title: t.prime, text: (r) => flag(r.isPrime), value: (r) => r.isPrime === undefined ? null : Number(r.isPrime) },
    { name: 'price', title: t.price, number: true, text: (r) => money(r.price, r.currencyCode), value: (r) => r.price, group: (r) => r.currencyCode },
    { name: 'total', title: t.total, number: true, text: total, value: (r) => r.totalPrice, group: (r) => r.currencyCode },
    { name: 'time', title: t.time, text: (r) => show(Date.parse(r.capturedAt), zone, language), value: (r) => Date.parse(r.capturedAt) },
  ].filter((c) => !asked.site || c.name !== 'site');
}

async function readLatest(signal) {
  offers = [];
  by('positions').replaceChildren();
  by('offers').replaceChildren();
  if (!asked.site && !asked.items.length) {
    by('latest-status').textContent = t.chooseEither;
    by('latest-same').replaceChildren();
    return;
  }
  const zone = zoned();
  const reads = latestReads = (asked.items.length ? asked.items : ['']).map((itemId) => ({
    path: 'v1/results', params: { itemId, site: asked.site, latestObservationPerPair: true, includeExportFields: true, timezone: zone, limit: 1000 },
  }));
  placed = [];
  sameLatest();
  by('latest-status').textContent = t.loading(0);
  let whole = false;
  let more = false;
  await attempt('latest', signal, async () => {
    for (const read of reads) {
      const found = await api.all(read.path, read.params, 5000, signal);
      offers.push(...found.data);
      more ||= found.more;
    }
    whole = true;
  });
  if (signal.aborted) return;
  by('latest-status').textContent = whole ? (more ? t.incomplete : '') + t.loaded(number(offers.length), number(new Set(offers.map((o) => `${o.itemId} ${o.site}`)).size)) : '';
  showOffers();
  showPositions();
}

/** sameLatest offers a position only for a price that is on show. */
function sameLatest() {
  same(by('latest-same'), latestReads, [
    ...latestReads.map((r) => ({ name: 'list_results', args: r.params })),
    ...placed.map((m) => ({ name: 'get_market_price_position', args: { itemId: m.itemId, candidatePrice: String(m.own), currencyCode: m.currency, ...(m.country && { country: m.country }), includeCustomerReference: true } })),
  ]);
}

function showOffers() {
  const zone = zoned();
  const at = [...by('offers').querySelectorAll('button')].indexOf(document.activeElement);
  by('offers').replaceChildren(table(t.latest, columns(zone), offers, { sorted: sortedOf.latest, again: () => { showOffers(); remember(); } }));
  if (at >= 0) by('offers').querySelectorAll('button')[at].focus();
}

function showPositions() {
  const box = by('positions');
  const text = by('own').value.trim();
  const amount = amountOf(text, language);
  const bad = text !== '' && Number.isNaN(amount);
  by('own').setAttribute('aria-invalid', String(bad));
  by('own-error').hidden = !bad;
  by('own-error').textContent = bad ? t.badAmount : '';
  placed = [];
  if (bad || !asked.items.length) {
    sameLatest();
    return box.replaceChildren();
  }
  const current = offers.filter((o) => Date.parse(o.capturedAt) > Date.now() - 168 * 3600e3);
  const rows = markets(current, (site) => sites.find((s) => s.site === site)?.countryCode ?? '').flatMap((m) => {
    const references = [...m.references.values()];
    const own = text ? amount : references.length === 1 ? references[0].value : undefined;
    return own === undefined ? [] : [{ ...m, own, s: standing(m, own) }];
  });
  placed = rows;
  sameLatest();
  if (!rows.length) return box.replaceChildren(element('p', { class: 'small' }, current.length ? t.noReference : ''));
  const sum = (name) => ({ title: t[name], number: true, text: (r) => money(r.s[name], r.currency) });
  const count = (name) => ({ title: t[name], number: true, text: (r) => number(r.s[name]) });
  box.replaceChildren(element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.positions }, table(t.positions, [
    { title: t.product, text: (r) => itemName(r.itemId) }, { title: t.country, text: (r) => `${r.country} ${r.currency}` },
    { title: t.own, number: true, text: (r) => money(r.own, r.currency) },
    { title: t.rank, text: (r) => t.rankOf(number(r.s.rank), number(r.s.offers)) },
    count('cheaper'), count('equal'), count('dearer'), sum('min'), sum('median'), sum('max'),
    { title: t.against, number: true, text: (r) => `${new Intl.NumberFormat(language, { maximumFractionDigits: 1, signDisplay: 'exceptZero' }).format(r.s.percentOfMedian)} %` },
  ], rows)));
}

/** streamParams asks for all that is chosen; of several products, for the first. */
function streamParams() {
  const w = timeWindow();
  if (w.fault) return w;
  const everything = !asked.site && !asked.items.length;
  if (everything) w.from = Math.max(w.from, w.to - mostEverything);
  return { itemId: asked.items[0] ?? '', site: asked.site, globalScope: everything, ...windowParams(w) };
}

function readyStream() {
  const params = streamParams();
  if (params.fault) return by('stream-same').replaceChildren(element('p', { class: 'notice' }, params.fault));
  same(by('stream-same'), [{ path: 'v1/results/stream', params, streams: true }], [{ name: 'list_results', args: params }], t.mcpNone);
}

// ---- in and out

async function enter() {
  by('login').hidden = true;
  by('app').hidden = by('logout').hidden = false;
  by('start-error').hidden = true;
  by('found').textContent = t.loadingLists;
  try {
    sites = (await api.all('v1/sites', { limit: 1000 }, 10000)).data;
    const found = await api.all('v1/items', { limit: 1000 }, 5000);
    items = [];
    nameOf.clear();
    add(found.data);
    itemsMore = found.more;
    await named(asked.items);
  } catch (e) {
    if (!api.loggedIn()) return;
    by('found').textContent = '';
    return failed(by('start-error'), said(e), enter);
  }
  showForm();
  select(asked.view);
}

function showForm() {
  by('site').replaceChildren(element('option', { value: '' }, t.allSites), ...sites.map((s) => element('option', { value: s.site }, `${s.name} (${s.currencyCode})`)));
  if (!sites.some((s) => s.site === asked.site)) asked.site = '';
  by('site').value = asked.site;
  showItems();
  showChosen();
}

function leave(words = '') {
  reading?.abort();
  consoleView.stop();
  [sites, items, offers, drawnHistory, assorted] = [[], [], [], undefined, { lines: [], more: false }]; // what was asked for stays
  showHistory();
  for (const id of ['items', 'chosen', 'moved', 'stand', 'sites', 'products', 'offers', 'positions', 'lines']) by(id).replaceChildren();
  by('app').hidden = by('logout').hidden = true;
  by('login').hidden = false;
  by('login-error').hidden = !words;
  by('login-error').textContent = words;
  by('login-name').focus();
}

function translate(to) {
  const own = plain(by('own').value);
  speak(to);
  by('own').value = written(own);
  sessionStorage.setItem('preismon.language', language);
  if (!api.loggedIn()) return;
  showForm();
  refresh();
}

function listen() {
  for (const b of document.querySelectorAll('[data-language]')) b.addEventListener('click', () => translate(b.dataset.language));
  by('login-form').addEventListener('submit', async (e) => {
    e.preventDefault();
    const button = e.target.querySelector('button');
    button.disabled = true;
    by('login-error').hidden = true;
    try {
      await api.login(by('login-name').value, by('login-password').value);
      by('login-password').value = '';
      await enter();
      by('search').focus();
    } catch (error) {
      by('login-error').hidden = false;
      by('login-error').textContent = error.status === 401 || error.status === 400 ? t.wrong : said(error);
      by('login-password').focus();
    } finally {
      button.disabled = false;
    }
  });
  by('logout').addEventListener('click', async () => {
    await api.logout().catch(() => {});
    leave();
  });
  api.whenLost(() => leave(t.lost));
  by('ask').addEventListener('submit', (e) => e.preventDefault());
  by('site').addEventListener('change', () => { asked.site = by('site').value; refresh(); });
  by('items').addEventListener('change', (e) => choose(e.target.value, e.target.checked));
  by('search').addEventListener('input', () => { if (!showItems()) lookUp(); });
  for (const id of ['from', 'to']) by(id).addEventListener('change', typed);
  by('zone').addEventListener('change', () => { if (known(by('zone').value)) showWindow(); refresh(); });
  by('presets').addEventListener('click', (e) => { if (e.target.dataset.hours) { asked.window = { hours: Number(e.target.dataset.hours) }; showWindow(); refresh(); } });
  by('filter').addEventListener('input', showProducts);
  by('filter').addEventListener('change', remember);
  by('download').addEventListener('click', () => download('assortment.csv', 'text/csv', csvOf(showProducts())));
  by('own').addEventListener('input', showPositions);
  by('own').addEventListener('change', remember);
  addEventListener('hashchange', () => { recall(); if (api.loggedIn()) { showForm(); select(asked.view); } });
  for (const v of views) by(`tab-${v}`).addEventListener('click', () => select(v));
  document.querySelector('[role=tablist]').addEventListener('keydown', (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const next = views[(views.indexOf(asked.view) + step + views.length) % views.length];
    select(next);
    by(`tab-${next}`).focus();
  });
  wide.addEventListener('change', () => { if (wide.matches) by('asking').open = true; });
  by('skip').addEventListener('click', (e) => { e.preventDefault(); by('view').focus(); });
  by('start').addEventListener('click', () => {
    const params = streamParams();
    if (!params.fault) consoleView.run('v1/results/stream', params);
  });
  by('stop').addEventListener('click', () => consoleView.stop());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (drawnHistory) showHistory(); });
}

const chosenLanguage = sessionStorage.getItem('preismon.language') ?? (navigator.languages.find((l) => /^(de|en)\b/.test(l)) ?? 'en').slice(0, 2);
speak(chosenLanguage);
by('zones').replaceChildren(...['UTC', ...(Intl.supportedValuesOf?.('timeZone') ?? [])].map((z) => element('option', { value: z })));
recall();
listen();
/** What is on show, for the curious in the console of the browser, and for tests. */
globalThis.preismon = { get chart() { return chart?.plot; }, get lines() { return drawnHistory?.past; }, get stream() { return consoleView.running; } };
if (api.loggedIn()) enter();
else leave();
