// The orders in the scope, with the outcomes of their pairs, and the archived
// files of one of them: one read.
import { Act, Acts } from './act.jsx';
import * as api from './api.js';
import { siteName, sitesRead } from './catalogue.js';
import { save } from './csv.js';
import { fields, Files } from './files.jsx';
import { by, clear, draw, Fragment, h } from './preact.js';
import { Same } from './same.jsx';
import { sortedOf, state } from './state.js';
import { inOrder, Scrolled, Table } from './table.jsx';
import { bytes, language, number, percent, t } from './texts.js';
import { withWords } from './words.js';
import { show } from './zone.js';

const newestFiles = 5; // of each kind of each order
const mostFiles = 100; // of each kind of the displayed order, when more are requested

let orders; // as read, before the filter; undefined: not read
let complete = ''; // id of the order of which more files than the newest are on show

const reasons = ['priceObserved', 'productUnavailable', 'productNotFound', 'accessTemporarilyRestricted', 'siteTemporarilyUnavailable', 'pending', 'overdue', 'unknown'];

/** readOrders reads the view: all orders, with the newest files of each. It shows the requested order, or the first one if none is requested. */
export async function readOrders(signal, again = false) {
  if (!again) forgetOrders();
  const read = { path: 'ext/v1/orders/status', params: { files: newestFiles, timezone: state.zone } };
  if (!again) {
    draw(<Same reads={[read]} />, by('orders-same'));
    by('orders-status').textContent = t.loadingView;
  }
  const [answer] = await Promise.all([api.page(read.path, read.params, signal), sitesRead()]);
  signal.throwIfAborted();
  orders = answer.data;
  if (orders.length) draw(<Files files={() => [ordersFile()]} />, by('orders-files'));
  showOrders();
  const chosen = orders.find((o) => o.orderId === state.order) ?? (state.order ? undefined : inOrder(columns(), orders, sortedOf.orders)[0]);
  if (!chosen) {
    clear('files');
    draw(state.order && <p class="notice">{t.noOrder}</p>, by('order'));
    return;
  }
  if (chosen.orderId === complete) await readFiles(chosen, signal);
  else showOrder(chosen, signal);
}

/** forgetOrders clears the view. */
export function forgetOrders() {
  [orders, complete] = [undefined, ''];
  clear('ordered', 'order', 'files', 'orders-files');
}

const moment = (text) => (text ? show(Date.parse(text), state.zone, language) : '');

/** ToOrder links to an order in this view, and keeps the filter and everything else in the address, which gets the filter only when the field loses the focus. */
function ToOrder({ order }) {
  const p = new URLSearchParams(location.hash.slice(1));
  p.set('order', order.orderId);
  p.set('filter', by('orders-filter').value.trim());
  return <a href={`#${p}`}>{order.name || order.orderId}</a>;
}

/** columns returns the columns of the table of orders. */
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

/** showOrders shows the filtered orders, if they have been read, and returns them. */
export function showOrders() {
  if (!orders) return [];
  const shown = orders.filter((o) => withWords(by('orders-filter').value, o.name, o.alias ?? '', o.orderId));
  by('orders-status').textContent = orders.length ? t.ordersOf(number(shown.length), number(orders.length)) : t.noOrders;
  draw(orders.length > 0 && <Table caption={t.orders} columns={columns()} rows={shown} id={(o) => o.orderId} view="orders" headed />, by('ordered'));
  return shown;
}

/** ordersFile has the filtered orders, in the order of the table. */
const ordersFile = () => ({
  name: 'orders',
  rows: inOrder(columns(), showOrders(), sortedOf.orders).map((o) => ({ ...o, ...o.coverage, ...o.monitoring, sites: o.monitoring.sites.join(' ') })),
  columns: [
    ...fields('text', 'orderId', 'alias', 'name'), ...fields('flag', 'active'), ...fields('time', 'createdAt'), ...fields('text', 'health'), ...fields('count', 'configuredPairs', 'observedPairs'),
    ...fields('number', 'ratio'), ...fields('text', 'sites'), ...fields('count', 'intervalMinutes'), ...fields('time', 'lastRunAt', 'nextRunAt'),
  ],
});

/** showOrder shows the outcomes of an order's pairs, and its files; signal is that of the view. */
function showOrder(order, signal) {
  draw(<Order name={order.name || order.orderId} detail={order} />, by('order'));
  if (order.filesProblem) draw(<><h2>{t.files}</h2><p class="notice">{order.filesProblem.detail}</p></>, by('files'));
  else draw(<OrderFiles key={order.orderId} order={order} signal={signal} />, by('files'));
}

/** readFiles reads more files of the displayed order. */
async function readFiles({ orderId }, signal) {
  const { data: [order] } = await api.page('ext/v1/orders/status', { orderId, files: mostFiles, timezone: state.zone }, signal);
  if (!order) return;
  complete = orderId;
  showOrder(order, signal);
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** states maps reasons to the words that other views use for them. */
const states = { priceObserved: 'priced', productUnavailable: 'unavailable', productNotFound: 'notFound' };

/** Order has the outcomes of an order's pairs. */
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

/** OrderFiles lists the files of an order, each with a button to download it. */
const OrderFiles = ({ order, order: { files, fileCount }, signal }) => <Acts>{(failed, failure) => <>
  <h2>{t.files}</h2>
  {failure}
  {!files.length && <p class="small">{t.noFiles}</p>}
  {files.length > 0 && <p class="small">{t.filesOf(number(files.length), number(fileCount))} {files.length < Math.min(fileCount, mostFiles) && <Act class="quiet" act={() => readFiles(order, signal)} failed={failed}>{t.moreFiles}</Act>}</p>}
  {files.length > 0 && <Scrolled caption={t.files} rows={files} id={(f) => `${f.kind} ${f.filename}`} columns={[
    { title: t.file, text: (f) => f.filename },
    { title: t.fetch, text: (f) => <Act class="quiet" act={() => download(order, f)} failed={(why) => failed(why && `${f.filename}: ${why}`)}>{t.fetch}<span class="hidden"> {f.filename}</span></Act> },
    { title: t.kind, text: (f) => t[f.kind] }, { title: t.definition, text: (f) => f.exportName ?? f.name },
    { title: t.size, number: true, text: (f) => bytes(f.sizeBytes) }, { title: t.archivedAt, number: true, text: (f) => moment(f.archivedAt) },
  ]} />}
</>}</Acts>;
