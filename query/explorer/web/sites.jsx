// Each site in the scope: how fresh it is, and why pairs have no price. The
// service aggregates; the page only displays.
import * as api from './api.js';
import { siteName, sitesRead } from './catalogue.js';
import { fields, Files } from './files.jsx';
import { by, clear, draw, h } from './preact.js';
import { Same } from './same.jsx';
import { linkTo, narrowed, sortedOf, state } from './state.js';
import { inOrder, Table } from './table.jsx';
import { fromNow, language, number, t } from './texts.js';
import { withWords } from './words.js';
import { show } from './zone.js';

let sites; // as read, before the filter; undefined: not read
let asOf = 0; // ms
let all = {}; // totals over all sites, from the service

/** noResult lists the reasons why a pair has neither a price nor another definite outcome. */
const noResult = ['overdue', 'accessTemporarilyRestricted', 'siteTemporarilyUnavailable', 'pending', 'unknown'];

const without = (s) => noResult.reduce((n, reason) => n + s.reasons[reason], 0);

const freshness = (s) => t.freshness(number(s.pairs), number(s.reasons.priceObserved), number(s.reasons.productUnavailable + s.reasons.productNotFound), number(without(s)));

/** readSites reads the view: one site, or all in the scope; again: the displayed ones stay until the answer arrives. */
export async function readSites(signal, again = false) {
  if (!again) forgetSites();
  const read = { path: 'ext/v1/sites/status', params: { site: state.site, ...narrowed(), timezone: state.zone } };
  draw(<Same reads={[read]} />, by('sites-same'));
  if (!again) by('sites-status').textContent = t.loadingView;
  const [answer] = await Promise.all([api.page(read.path, read.params, signal), sitesRead()]);
  signal.throwIfAborted();
  [sites, asOf, all] = [answer.data, Date.parse(answer.query.asOf), answer.query];
  if (sites.length) draw(<Files files={() => [sitesFile('sites', inOrder(siteColumns(asOf), showSites(), sortedOf.sites))]} />, by('sites-files'));
  showSites();
}

/** forgetSites clears the view. */
export function forgetSites() {
  sites = undefined;
  clear('fresh', 'overdue', 'sites-files');
}

const Moment = ({ text, asOf, none = '' }) => (text === null ? none : <time datetime={text} title={show(Date.parse(text), state.zone, language, true)}>{fromNow(Date.parse(text) - asOf)}</time>);

/** siteColumns returns the columns of the table of sites, as of an instant in ms. */
export function siteColumns(asOf) {
  const time = (name, title) => ({ name, title, number: true, text: (s) => <Moment text={s[name]} asOf={asOf} />, value: (s) => s[name] && Date.parse(s[name]) });
  const count = (name, title) => ({ name, title, number: true, text: (s) => number(s.reasons[name]), value: (s) => s.reasons[name] });
  return [
    { name: 'site', title: t.site, text: (s) => <a href={linkTo({ view: 'latest', site: s.site })}>{siteName(s.site)}</a>, value: (s) => siteName(s.site) },
    { name: 'lastCapturedAt', title: t.lastCapture, number: true, text: (s) => <Moment text={s.lastCapturedAt} asOf={asOf} none={t.never} />, value: (s) => s.lastCapturedAt && Date.parse(s.lastCapturedAt) },
    time('nextDueAt', t.nextDue),
    { name: 'late', title: t.late, number: true, text: (s) => <Late {...s} />, value: (s) => s.reasons.overdue * 1e6 + s.late }, // overdue ones first
    { name: 'noResult', title: t.noResult, text: (s) => noResult.filter((reason) => s.reasons[reason]).map((reason) => `${t[reason === 'unknown' ? 'reasonUnknown' : reason]} ${number(s.reasons[reason])}`).join(', '), value: without },
    { name: 'pairs', title: t.pairsOf, number: true, text: (s) => number(s.pairs), value: (s) => s.pairs },
    count('priceObserved', t.priced), count('productUnavailable', t.unavailable), count('productNotFound', t.notFound),
  ];
}

/** siteId returns the key of a line of the table. */
export const siteId = (s) => s.site;

const Late = ({ late, reasons: { overdue } }) => <span>{number(late)}{overdue > 0 && <span class="badge overdue">{`${t.overdue} ${number(overdue)}`}</span>}</span>;

/** Overdue shows the sites with overdue pairs, and since when; those overdue for longest first. */
const Overdue = ({ late }) => late.length > 0 && <p class="notice">
  {t.overdueSites(number(late.length))} {late.map((s) => `${siteName(s.site)} (${s.lateSince ? t.since(show(Date.parse(s.lateSince), state.zone, language)) : t.neverSeen})`).join('; ')}
</p>;

/** showSites shows the filtered sites, if they have been read, and returns them. */
export function showSites() {
  if (!sites) return [];
  const shown = sites.filter((s) => withWords(by('sites-filter').value, siteName(s.site), s.site));
  by('sites-status').textContent = sites.length ? [t.linesOf(number(shown.length), number(sites.length)), shown.length === sites.length && freshness(all)].filter(Boolean).join('. ') : t.noSites;
  const late = shown.filter((s) => s.reasons.overdue).sort((a, b) => (a.lateSince ?? '').localeCompare(b.lateSince ?? ''));
  draw(<Overdue late={late} />, by('overdue'));
  draw(sites.length > 0 && <Table caption={t.sites} columns={siteColumns(asOf)} rows={shown} id={siteId} view="sites" headed />, by('fresh'));
  return shown;
}

/** sitesFile returns a table of sites to save as a file. */
export const sitesFile = (name, rows) => ({
  name, rows,
  columns: [
    ...fields('text', 'site'), ...fields('count', 'pairs', 'neverCaptured'), ...fields('time', 'lastCapturedAt', 'oldestCapturedAt'), ...fields('count', 'intervalSeconds'), ...fields('time', 'nextDueAt'),
    ...fields('count', 'late'), ...fields('time', 'lateSince'),
    ...['priceObserved', 'productUnavailable', 'productNotFound', ...noResult].map((reason) => ({ name: reason, kind: 'count', value: (s) => s.reasons[reason] })),
  ],
});
