// The orders that are seen, with what their pairs came to, and the archived
// files of one of them.
import * as api from './api.js';
import { asked, remember, sortedOf, zoned } from './asked.js';
import { siteName, sitesRead } from './catalogue.js';
import { save } from './csv.js';
import { by, element } from './dom.js';
import { fields, offerFiles } from './files.js';
import { same } from './same.js';
import { inOrder, refill, table, withWords } from './table.js';
import { bytes, language, number, percent, t } from './texts.js';
import { show } from './zone.js';

const mostOrders = 1000; // that are read
const mostFiles = 100; // of each kind, the newest

let orders = []; // on show, before they are filtered
let more = false;

const kinds = ['exports', 'imports'];

const reasons = ['priceObserved', 'productUnavailable', 'productNotFound', 'accessTemporarilyRestricted', 'siteTemporarilyUnavailable', 'pending', 'overdue', 'unknown'];

/** readOrders reads the view: all orders, and the files of the one that is asked for, or of the first. */
export async function readOrders(signal) {
  forgetOrders();
  const read = { path: 'v1/orders', params: { includeMonitoring: true, includeCoverage: true, limit: 100 }, cli: 'preismon orders --coverage --monitoring' };
  same(by('orders-same'), [read], [{ name: 'list_orders', args: read.params }]);
  by('orders-status').textContent = t.loadingView;
  let whole = false;
  try {
    const all = await api.all(read.path, read.params, mostOrders, signal);
    [orders, more] = [all.data, all.more];
    if (orders.length) offerFiles(by('orders-files'), () => [ordersFile()]);
    showOrders();
    whole = true;
    const chosen = orders.find((o) => o.orderId === asked.order) ?? (asked.order ? undefined : inOrder(columns(), orders, sortedOf.orders)[0]);
    if (asked.order && !chosen) by('order').replaceChildren(element('p', { class: 'notice' }, t.noOrder));
    if (chosen) await readOrder(chosen, read, signal);
  } finally {
    if (!signal.aborted && !whole) by('orders-status').textContent = '';
  }
}

/** forgetOrders clears the view. */
export function forgetOrders() {
  [orders, more] = [[], false];
  for (const id of ['ordered', 'order', 'files']) by(id).replaceChildren();
  by('orders-files').replaceChildren();
}

const moment = (text) => (text ? show(Date.parse(text), zoned(), language) : '');

/** to leads to an order on this view, with all else as it is. */
function to(order) {
  const p = new URLSearchParams(location.hash.slice(1));
  p.set('order', order.orderId);
  return element('a', { href: `#${p}` }, order.name || order.orderId);
}

/** columns are those of the table of orders. */
const columns = () => [
  { name: 'name', title: t.order, text: to, value: (o) => o.name },
  { name: 'health', title: t.health, text: (o) => element('span', { class: `badge ${o.health.toLowerCase()}` }, t[o.health]), value: (o) => o.health },
  { name: 'configured', title: t.pairsOf, number: true, text: (o) => number(o.coverage.configuredPairs), value: (o) => o.coverage.configuredPairs },
  { name: 'observed', title: t.answered, number: true, text: (o) => number(o.coverage.observedPairs), value: (o) => o.coverage.observedPairs },
  { name: 'ratio', title: t.coverage, number: true, text: (o) => (o.coverage.ratio === null ? '' : percent(o.coverage.ratio * 100)), value: (o) => o.coverage.ratio },
  { name: 'sites', title: t.sites, number: true, text: (o) => number(o.monitoring.sites.length), value: (o) => o.monitoring.sites.length },
  { name: 'active', title: t.state, text: (o) => (o.active ? t.active : t.ended), value: (o) => Number(o.active) },
  { name: 'nextRunAt', title: t.nextRun, number: true, text: (o) => moment(o.monitoring.nextRunAt), value: (o) => o.monitoring.nextRunAt && Date.parse(o.monitoring.nextRunAt) },
  { name: 'orderId', title: t.orderId, number: true, text: (o) => o.orderId, value: (o) => o.orderId.padStart(20, '0') },
];

/** showOrders shows the orders that the filter leaves, and gives them. */
export function showOrders() {
  const shown = orders.filter((o) => withWords(by('orders-filter').value, o.name, o.alias ?? '', o.orderId));
  by('orders-status').textContent = orders.length ? `${more ? t.incomplete : ''}${t.ordersOf(number(shown.length), number(orders.length))}` : t.noOrders;
  refill(by('ordered'), orders.length ? table(t.orders, columns(), shown, { sorted: sortedOf.orders, again: () => { showOrders(); remember(); }, headed: true }) : '');
  return shown;
}

/** ordersFile is what the filter leaves, in its order. */
const ordersFile = () => ({
  name: 'orders',
  rows: inOrder(columns(), showOrders(), sortedOf.orders).map((o) => ({ ...o, ...o.coverage, ...o.monitoring, sites: o.monitoring.sites.join(' ') })),
  columns: [
    ...fields('text', 'orderId', 'alias', 'name'), ...fields('flag', 'active'), ...fields('time', 'createdAt'), ...fields('text', 'health'), ...fields('count', 'configuredPairs', 'observedPairs'),
    ...fields('number', 'ratio'), ...fields('text', 'sites'), ...fields('count', 'intervalMinutes'), ...fields('time', 'lastRunAt', 'nextRunAt'),
  ],
});

/** readOrder reads what the pairs of an order came to, and its newest files. */
async function readOrder(order, list, signal) {
  const path = `v1/orders/${order.orderId}`;
  const reads = [
    { path, params: {}, cli: `preismon orders ${order.orderId}` },
    ...kinds.map((kind) => ({ path: `${path}/${kind}/history`, params: { limit: mostFiles }, cli: `preismon history list ${order.orderId} --kind ${kind}` })),
  ];
  same(by('orders-same'), [list, ...reads], [
    { name: 'list_orders', args: list.params }, { name: 'get_order_detail', args: { orderId: order.orderId } },
    ...['list_order_export_history', 'list_order_import_history'].map((name) => ({ name, args: { orderId: order.orderId, limit: mostFiles } })),
  ]);
  const unless = (e) => { // who may not see files sees the order
    if (e.status === 403) return e;
    throw e;
  };
  await sitesRead();
  const [detail, ...histories] = await Promise.all(reads.map((r, i) => api.page(r.path, r.params, signal).catch((e) => (i ? unless(e) : Promise.reject(e)))));
  const monitored = detail.monitoring.sites.map(siteName).join(', ');
  by('order').replaceChildren(
    element('h2', {}, t.orderNamed(order.name || order.orderId)),
    element('p', {}, [
      detail.monitoring.intervalMinutes ? t.everyMinutes(number(detail.monitoring.intervalMinutes)) : t.noInterval,
      detail.monitoring.intervalMinutes > 0 && detail.monitoring.intervalMinutes < 1440 && detail.qualitySummary.productNotFound > 0 && t.oftenNotFound(number(detail.qualitySummary.productNotFound)),
      monitored && t.atSites(monitored),
    ].filter(Boolean).join(' ')),
    element('ul', { class: 'key', 'aria-label': t.outcome }, ...reasons.filter((reason) => detail.qualitySummary[reason]).map((reason) => element('li', {}, `${capital(t[reason] ?? t[states[reason]])} ${number(detail.qualitySummary[reason])}`))),
    ...(detail.qualitySummary.sourceCountsConsistent ? [] : [element('p', { class: 'notice' }, t.inconsistent)]),
  );
  const refused = histories.find((h) => h instanceof api.Problem);
  if (refused) return by('files').replaceChildren(element('h2', {}, t.files), element('p', { class: 'notice' }, api.said(refused)));
  const files = histories.flatMap((h, i) => h.data.map((f) => ({ ...f, kind: kinds[i] }))).sort((a, b) => b.archivedAt.localeCompare(a.archivedAt));
  showFiles(order, files, histories.some((h) => h.paging.nextCursor));
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** states are the words for reasons that other views have, too. */
const states = { priceObserved: 'priced', productUnavailable: 'unavailable', productNotFound: 'notFound' };

/** showFiles lists the files of an order, each to be downloaded. */
function showFiles(order, files, moreFiles) {
  const failure = element('p', { class: 'notice error', role: 'alert', hidden: '' });
  const keep = (f) => {
    const button = element('button', { type: 'button', class: 'quiet' }, t.fetch, element('span', { class: 'hidden' }, ` ${f.filename}`));
    button.addEventListener('click', async () => {
      button.disabled = failure.hidden = true;
      try {
        const at = { name: f.name, exportName: f.exportName, dateFrom: f.archivedAt, dateTo: f.archivedAt };
        save(f.filename, await api.file(`v1/orders/${order.orderId}/${f.kind}/history/download`, { ...at, latest: true }));
      } catch (e) {
        failure.hidden = false;
        failure.textContent = `${f.filename}: ${api.said(e)}`;
      }
      button.disabled = false;
    });
    return button;
  };
  by('files').replaceChildren(element('h2', {}, t.files), failure, ...(files.length ? [
    element('p', { class: 'small' }, (moreFiles ? t.newestFiles(number(mostFiles)) : '') + t.filesOf(number(files.length))),
    element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t.files }, table(t.files, [
      { title: t.file, text: (f) => f.filename }, { title: t.fetch, text: keep },
      { title: t.kind, text: (f) => t[f.kind] }, { title: t.definition, text: (f) => f.exportName ?? f.name },
      { title: t.size, number: true, text: (f) => bytes(f.sizeBytes) }, { title: t.archivedAt, number: true, text: (f) => moment(f.archivedAt) },
    ], files, { headed: true })),
  ] : [element('p', { class: 'small' }, t.noFiles)]));
}
