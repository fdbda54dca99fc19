// Each site that is seen: how fresh it is, and why pairs have no price. The
// service adds up; the page shows.
import * as api from './api.js';
import { asked, link, narrowed, remember, sortedOf, zoned } from './asked.js';
import { siteName, sitesRead } from './catalogue.js';
import { by, element } from './dom.js';
import { fields, offerFiles } from './files.js';
import { same } from './same.js';
import { inOrder, refill, table, withWords } from './table.js';
import { fromNow, language, number, t } from './texts.js';
import { show } from './zone.js';

let sites = []; // on show, before they are filtered
let asOf = 0; // ms
let all = {}; // of all sites, as the service adds up

/** noResult are the reasons for which a pair has neither a price nor an answer of the market. */
const noResult = ['overdue', 'accessTemporarilyRestricted', 'siteTemporarilyUnavailable', 'pending', 'unknown'];

const without = (s) => noResult.reduce((n, reason) => n + s.reasons[reason], 0);

const freshness = (s) => t.freshness(number(s.pairs), number(s.reasons.priceObserved), number(s.reasons.productUnavailable + s.reasons.productNotFound), number(without(s)));

/** readSites reads the view: one site, or all that are seen; again: they stay on show until then. */
export async function readSites(signal, again = false) {
  if (!again) forgetSites();
  const read = { path: 'ext/v1/sites/status', params: { site: asked.site, ...narrowed(), timezone: zoned() } };
  const { orderId } = narrowed();
  same(by('sites-same'), [read], [orderId ? { name: 'list_order_observation_quality', args: { orderId, site: asked.site, limit: 1 } } : { name: 'list_sites', args: { site: asked.site } }], orderId ? undefined : t.mcpSites);
  if (!again) by('sites-status').textContent = t.loadingView;
  let whole = again;
  try {
    const [answer] = await Promise.all([api.page(read.path, read.params, signal), sitesRead()]);
    signal.throwIfAborted();
    [sites, asOf, all] = [answer.data, Date.parse(answer.query.asOf), answer.query];
    if (sites.length) offerFiles(by('sites-files'), () => [sitesFile('sites', inOrder(siteColumns(asOf), showSites(), sortedOf.sites))]);
    showSites();
    whole = true;
  } finally {
    if (!signal.aborted && !whole) by('sites-status').textContent = '';
  }
}

/** forgetSites clears the view. */
export function forgetSites() {
  sites = [];
  for (const id of ['fresh', 'overdue']) by(id).replaceChildren();
  by('sites-files').replaceChildren();
}

const moment = (text, asOf) => (text === null ? '' : element('time', { datetime: text, title: show(Date.parse(text), zoned(), language, true) }, fromNow(Date.parse(text) - asOf)));

/** siteColumns are those of the table of sites, as of an instant in ms. */
export function siteColumns(asOf) {
  const time = (name, title) => ({ name, title, number: true, text: (s) => moment(s[name], asOf), value: (s) => s[name] && Date.parse(s[name]) });
  const count = (name, title) => ({ name, title, number: true, text: (s) => number(s.reasons[name]), value: (s) => s.reasons[name] });
  return [
    { name: 'site', title: t.site, text: (s) => link(siteName(s.site), { view: 'latest', site: s.site }), value: (s) => siteName(s.site) },
    { name: 'lastCapturedAt', title: t.lastCapture, number: true, text: (s) => (s.lastCapturedAt === null ? t.never : moment(s.lastCapturedAt, asOf)), value: (s) => s.lastCapturedAt && Date.parse(s.lastCapturedAt) },
    time('nextDueAt', t.nextDue),
    { name: 'late', title: t.late, number: true, text: lateOf, value: (s) => s.reasons.overdue * 1e6 + s.late }, // overdue ones first
    { name: 'noResult', title: t.noResult, text: (s) => noResult.filter((reason) => s.reasons[reason]).map((reason) => `${t[reason === 'unknown' ? 'reasonUnknown' : reason]} ${number(s.reasons[reason])}`).join(', '), value: without },
    { name: 'pairs', title: t.pairsOf, number: true, text: (s) => number(s.pairs), value: (s) => s.pairs },
    count('priceObserved', t.priced), count('productUnavailable', t.unavailable), count('productNotFound', t.notFound),
  ];
}

const lateOf = (s) => element('span', {}, number(s.late), s.reasons.overdue ? element('span', { class: 'badge overdue' }, `${t.overdue} ${number(s.reasons.overdue)}`) : null);

/** showSites shows the sites that the filter leaves, and gives them. */
export function showSites() {
  const shown = sites.filter((s) => withWords(by('sites-filter').value, siteName(s.site), s.site));
  by('sites-status').textContent = sites.length ? [t.linesOf(number(shown.length), number(sites.length)), shown.length === sites.length && freshness(all)].filter(Boolean).join('. ') : t.noSites;
  const late = shown.filter((s) => s.reasons.overdue).sort((a, b) => (a.lateSince ?? '').localeCompare(b.lateSince ?? ''));
  by('overdue').replaceChildren(...(late.length ? [element('p', { class: 'notice' }, t.overdueSites(number(late.length)), ' ', ...late.flatMap((s, i) => [
    i ? '; ' : '', siteName(s.site), s.lateSince ? ` (${t.since(show(Date.parse(s.lateSince), zoned(), language))})` : ` (${t.neverSeen})`,
  ]))] : []));
  refill(by('fresh'), sites.length ? table(t.sites, siteColumns(asOf), shown, { sorted: sortedOf.sites, again: () => { showSites(); remember(); }, headed: true }) : '');
  return shown;
}

/** sitesFile is a table of sites as a file. */
export const sitesFile = (name, rows) => ({
  name, rows,
  columns: [
    ...fields('text', 'site'), ...fields('count', 'pairs', 'neverCaptured'), ...fields('time', 'lastCapturedAt', 'oldestCapturedAt'), ...fields('count', 'intervalSeconds'), ...fields('time', 'nextDueAt'),
    ...fields('count', 'late'), ...fields('time', 'lateSince'),
    ...['priceObserved', 'productUnavailable', 'productNotFound', ...noResult].map((reason) => ({ name: reason, kind: 'count', value: (s) => s.reasons[reason] })),
  ],
});
