// The orders that are seen, with what their pairs came to, and the archived
// files of one of them.
import { Act, Acts } from './act.jsx';
import * as api from './api.js';
import { asked, sortedOf, zoned } from './asked.js';
import { siteName, sitesRead } from './catalogue.js';
import { save } from './csv.js';
import { fields, Files } from './files.jsx';
import { by, clear, draw, Fragment, h } from './preact.js';
import { Same } from './same.jsx';
import { inOrder, Scrolled, Table, withWords } from './table.jsx';
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
  draw(<Same reads={[read]} calls={[{ name: 'list_orders', args: read.params }]} />, by('orders-same'));
  by('orders-status').textContent = t.loadingView;
  const all = await api.all(read.path, read.params, mostOrders, signal);
  [orders, more] = [all.data, all.more];
  if (orders.length) draw(<Files files={() => [ordersFile()]} />, by('orders-files'));
  showOrders();
  const chosen = orders.find((o) => o.orderId === asked.order) ?? (asked.order ? undefined : inOrder(columns(), orders, sortedOf.orders)[0]);
  if (asked.order && !chosen) draw(<p class="notice">{t.noOrder}</p>, by('order'));
  if (chosen) await readOrder(chosen, read, signal);
}

/** forgetOrders clears the view. */
export function forgetOrders() {
  [orders, more] = [[], false];
  clear('ordered', 'order', 'files', 'orders-files');
}

const moment = (text) => (text ? show(Date.parse(text), zoned(), language) : '');

/** ToOrder leads to an order on this view, with all else as it is. */
function ToOrder({ order }) {
  const p = new URLSearchParams(location.hash.slice(1));
  p.set('order', order.orderId);
  return <a href={`#${p}`}>{order.name || order.orderId}</a>;
}

/** columns are those of the table of orders. */
const columns = () => [
  { name: 'name', title: t.order, text: (o) => <ToOrder order={o} />, value: (o) => o.name },
  { name: 'health', title: t.health, text: (o) => <span class={`badge ${o.health.toLowerCase()}`}>{t[o.health]}</span>, value: (o) => o.health },
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
  draw(orders.length > 0 && <Table caption={t.orders} columns={columns()} rows={shown} id={(o) => o.orderId} view="orders" headed />, by('ordered'));
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
  draw(<Same reads={[list, ...reads]} calls={[
    { name: 'list_orders', args: list.params }, { name: 'get_order_detail', args: { orderId: order.orderId } },
    ...['list_order_export_history', 'list_order_import_history'].map((name) => ({ name, args: { orderId: order.orderId, limit: mostFiles } })),
  ]} />, by('orders-same'));
  const unless = (e) => { // who may not see files sees the order
    if (e.status === 403) return e;
    throw e;
  };
  await sitesRead();
  const [detail, ...histories] = await Promise.all(reads.map((r, i) => api.page(r.path, r.params, signal).catch((e) => (i ? unless(e) : Promise.reject(e)))));
  draw(<Order name={order.name || order.orderId} detail={detail} />, by('order'));
  const refused = histories.find((found) => found instanceof api.Problem);
  if (refused) return draw(<><h2>{t.files}</h2><p class="notice">{api.said(refused)}</p></>, by('files'));
  const files = histories.flatMap(({ data }, i) => data.map((f) => ({ ...f, kind: kinds[i] }))).sort((a, b) => b.archivedAt.localeCompare(a.archivedAt));
  draw(<OrderFiles key={order.orderId} order={order} files={files} more={histories.some(({ paging }) => paging.nextCursor)} />, by('files'));
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** states are the words for reasons that other views have, too. */
const states = { priceObserved: 'priced', productUnavailable: 'unavailable', productNotFound: 'notFound' };

/** Order has what the pairs of an order came to. */
function Order({ name, detail: { monitoring, qualitySummary: quality } }) {
  const sites = monitoring.sites.map(siteName).join(', ');
  return <>
    <h2>{t.orderNamed(name)}</h2>
    <p>{[
      monitoring.intervalMinutes ? t.everyMinutes(number(monitoring.intervalMinutes)) : t.noInterval,
      monitoring.intervalMinutes > 0 && monitoring.intervalMinutes < 1440 && quality.productNotFound > 0 && t.oftenNotFound(number(quality.productNotFound)),
      sites && t.atSites(sites),
    ].filter(Boolean).join(' ')}</p>
    <ul class="key" aria-label={t.outcome}>{reasons.filter((reason) => quality[reason]).map((reason) => <li>{`${capital(t[reason] ?? t[states[reason]])} ${number(quality[reason])}`}</li>)}</ul>
    {!quality.sourceCountsConsistent && <p class="notice">{t.inconsistent}</p>}
  </>;
}

async function download(order, f) {
  const at = { name: f.name, exportName: f.exportName, dateFrom: f.archivedAt, dateTo: f.archivedAt };
  save(f.filename, await api.file(`v1/orders/${order.orderId}/${f.kind}/history/download`, { ...at, latest: true }));
}

/** OrderFiles lists the files of an order, each to be downloaded. */
const OrderFiles = ({ order, files, more }) => <Acts>{(failed, failure) => <>
  <h2>{t.files}</h2>
  {failure}
  {!files.length && <p class="small">{t.noFiles}</p>}
  {files.length > 0 && <p class="small">{(more ? t.newestFiles(number(mostFiles)) : '') + t.filesOf(number(files.length))}</p>}
  {files.length > 0 && <Scrolled caption={t.files} rows={files} id={(f) => `${f.kind} ${f.filename}`} columns={[
    { title: t.file, text: (f) => f.filename },
    { title: t.fetch, text: (f) => <Act class="quiet" act={() => download(order, f)} failed={(why) => failed(why && `${f.filename}: ${why}`)}>{t.fetch}<span class="hidden"> {f.filename}</span></Act> },
    { title: t.kind, text: (f) => t[f.kind] }, { title: t.definition, text: (f) => f.exportName ?? f.name },
    { title: t.size, number: true, text: (f) => bytes(f.sizeBytes) }, { title: t.archivedAt, number: true, text: (f) => moment(f.archivedAt) },
  ]} />}
</>}</Acts>;
