// The start of the page, without any input: what moved in a day, where the
// caller is above the cheapest featured offer, and how fresh each site is, in one
// request. The service adds up; the page shows.
import * as api from './api.js';
import { asked, link, narrowed, zoned } from './asked.js';
import { itemName, learn, named, siteName, sitesRead } from './catalogue.js';
import { by, element } from './dom.js';
import { fields, offerFiles } from './files.js';
import { same } from './same.js';
import { siteColumns, sitesFile } from './sites.js';
import { table } from './table.js';
import { language, money, number, percent, t } from './texts.js';
import { show } from './zone.js';

const mostWhole = 1000; // records of a list that is shown whole
const mostNamed = 50; // products that are asked for by name, each by itself

const opened = new Set(['PRICE_DOWN']); // lists that are open
const whole = new Set(); // lists that are shown whole
const onPage = new Map(); // by list, what draws it again with other records
let question = {}; // what the lists on show are of

/** forgetStart clears the view. */
export function forgetStart() {
  question = {};
  for (const id of ['moved', 'stand', 'seen']) by(id).replaceChildren();
}

/** readStart reads the view: of one site, or of all that is seen. */
export async function readStart(signal) {
  const { since = 'now-24h', ownMerchant = '' } = narrowed();
  const of = JSON.stringify([asked.site, since, ownMerchant, zoned()]);
  if (question.of !== of) forgetStart();
  question.of = of;
  const read = { path: 'ext/v1/overview', params: { since, ownMerchant, site: asked.site, timezone: zoned() } };
  same(by('overview-same'), [read], [], t.mcpStart);
  by('overview-status').textContent = t.loadingView;
  try {
    const { data, query } = await api.page(read.path, read.params, signal);
    learn(data.flatMap((list) => list.products));
    await sitesRead();
    await Promise.all(data.filter((list) => whole.has(list.list)).map((list) => complete(list, signal)));
    if (signal.aborted) return;
    same(by('overview-same'), [read], [{ name: 'list_result_changes', args: { since: query.since, until: query.until, ownMerchant, site: asked.site, globalScope: !asked.site, timezone: query.timezone, limit: 10 } }], t.mcpStart);
    const above = data.find((list) => list.list === 'ABOVE_CHEAPEST');
    showMovers(by('moved'), data.filter((list) => list !== above && list.list !== 'SITES'), query);
    showPosition(by('stand'), above, query.positions);
    showSites(by('seen'), data.find((list) => list.list === 'SITES'), query);
  } finally {
    if (!signal.aborted) by('overview-status').textContent = '';
  }
}

/** complete reads the records of a list that were left out. */
async function complete(list, signal) {
  const read = new URL(list.read, api.serviceURL(''));
  const found = await api.all(read.pathname.replace(/^\/+/, ''), { ...Object.fromEntries(read.searchParams), limit: mostWhole }, mostWhole, signal);
  if (list.list === 'ABOVE_CHEAPEST') list.positions = found.data.filter((p) => p.difference > 0);
  else list.movers = found.data;
  await named([...list.movers, ...list.positions].map((r) => r.itemId), mostNamed);
}

const itemLink = (id) => link(itemName(id), { view: 'history', items: id, last: '720h' });

/** more is a button that shows a list whole, where it is cut. */
function more(list, shown, again) {
  onPage.set(list.list, ({ movers, positions }) => { Object.assign(list, { movers, positions }); again(); });
  if (shown >= Math.min(list.count, mostWhole)) return shown < list.count ? element('p', { class: 'small' }, t.linesOf(number(shown), number(list.count))) : null;
  const b = element('button', { type: 'button', class: 'secondary' }, t.showAll(number(list.count)));
  b.addEventListener('click', async () => {
    b.disabled = true;
    const of = question;
    try {
      await complete(list, undefined);
      if (of !== question) return;
      whole.add(list.list);
      onPage.get(list.list)(list); // which may have been read again meanwhile
    } catch (e) {
      b.after(element('p', { class: 'notice error' }, api.said(e)));
      b.disabled = false;
    }
  });
  return b;
}

const refused = (list) => element('p', { class: 'notice' }, list.problem.detail);

/** showMovers writes how many moved, and a list for each kind of change: how many, and the greatest. */
function showMovers(box, lists, { movers: query, since }) {
  const title = narrowed().since ? t.movedSince(show(Date.parse(since), zoned(), language)) : t.movedTitle;
  if (!query) return box.replaceChildren(heading(title), refused(lists[0]));
  box.replaceChildren(heading(title), element('p', { class: 'lead' }, `${t.moved(number(query.pairs), number(query.moved))}.`),
    ...lists.filter((list) => list.count > 0).map(moversOf),
    ...(lists.some((list) => list.count > 0) ? [filesOf('moved-files', () => movedFile(lists), title)] : []));
}

function moversOf(list) {
  const box = element('details', { class: 'kind', 'data-list': list.list });
  box.open = opened.has(list.list);
  box.addEventListener('toggle', () => opened[box.open ? 'add' : 'delete'](list.list));
  const fill = () => {
    const name = t[list.list];
    box.replaceChildren(element('summary', {}, `${name}: ${number(list.count)}`), ...[scroll(name, table(name, [
      { title: t.product, text: (m) => itemLink(m.itemId) },
      { title: t.difference, number: true, text: (m) => (m.priceDifferencePercent === null ? '' : `${m.priceDifference > 0 ? '+' : ''}${percent(m.priceDifferencePercent)}`) },
      { title: t.before, number: true, text: (m) => offer(m.before) }, { title: t.after, number: true, text: (m) => offer(m.after) },
      { title: t.site, text: (m) => siteName(m.site) },
      { title: t.what, text: (m) => m.kinds.map((k) => (k.startsWith('BUYBOX_') ? boxOf(m) : t[k])).join(', ') },
    ], list.movers, { headed: true })), more(list, list.movers.length, fill)].filter(Boolean));
  };
  fill();
  return box;
}

/** boxOf says who held the buy box before, and who does now. */
const boxOf = ({ before, after }) => t.boxFromTo(...[before, after].map((o) => (o.isBuyBox ? o.merchant ?? t.noMerchant : t.nobody)));

/** states are the words for what was observed where there is no price. */
const states = { UNAVAILABLE: 'unavailable', PRODUCT_NOT_FOUND: 'notFound' };

const offer = (o) => (!o ? '' : element('span', {}, o.price === null || o.price === undefined ? t[states[o.coverageState]] ?? t.unknown : money(o.price, o.currencyCode),
  element('time', { datetime: o.capturedAt }, show(Date.parse(o.capturedAt), zoned(), language))));

/** showPosition writes where the caller is above the cheapest featured offer, the farthest first. */
function showPosition(box, list, query) {
  if (!query) return box.replaceChildren(heading(t.aboveTitle), refused(list));
  if (query.positions === 0) return box.replaceChildren(heading(t.aboveTitle), element('p', { class: 'small' }, t.noPositions));
  const above = list.positions;
  box.replaceChildren(...[
    heading(t.aboveTitle),
    element('p', { class: 'lead' }, t.stands(number(query.positions), number(query.above), number(query.equal), number(query.below))),
    ...(above.length ? [scroll(t.aboveTitle, table(t.aboveTitle, [
      { title: t.product, text: (p) => itemLink(p.itemId) },
      { title: t.difference, number: true, text: (p) => money(p.difference, p.currencyCode) + (p.differencePercent === null ? '' : ` (${percent(p.differencePercent)})`) },
      { title: t.own, number: true, text: (p) => money(p.ownPrice, p.currencyCode) },
      { title: t.cheapest, number: true, text: (p) => money(p.cheapest.price, p.currencyCode) },
      { title: t.of, text: (p) => [p.cheapest.merchant, siteName(p.cheapest.site)].filter(Boolean).join(' · ') },
      { title: t.country, text: (p) => `${p.country} ${p.currencyCode}` },
      { title: t.rank, number: true, text: (p) => t.rankOf(number(p.rank), number(p.offers)) },
    ], above, { headed: true })), more(list, above.length, () => showPosition(box, list, query)), filesOf('stand-files', () => undercutFile(above), t.aboveTitle)] : []),
  ].filter(Boolean));
}

/** filesOf is a box with a button for each form of a file. */
function filesOf(id, file, what) {
  const box = element('div', { class: 'buttons files', id });
  offerFiles(box, () => [file()], what);
  return box;
}

const nested = (kind, name, value) => ({ name, kind, value });

/** undercutFile has the positions on show. */
const undercutFile = (positions) => ({
  name: 'undercut', rows: positions,
  columns: [
    ...fields('text', 'itemId', 'country', 'currencyCode'), ...fields('number', 'ownPrice'), nested('number', 'cheapestPrice', (p) => p.cheapest.price), nested('text', 'cheapestMerchant', (p) => p.cheapest.merchant),
    nested('text', 'cheapestSite', (p) => p.cheapest.site), ...fields('number', 'difference', 'differencePercent'), ...fields('count', 'rank', 'offers'), nested('text', 'name', (p) => itemName(p.itemId)),
  ],
});

/** movedFile has the movers on show, of each list. */
const movedFile = (lists) => ({
  name: 'moved', rows: lists.flatMap((list) => list.movers.map((m) => ({ ...m, list: list.list }))),
  columns: [
    ...fields('text', 'list', 'itemId', 'site'), nested('text', 'name', (m) => itemName(m.itemId)), nested('text', 'kinds', (m) => m.kinds.join(' ')), ...fields('number', 'priceDifference', 'priceDifferencePercent'),
    ...['before', 'after'].flatMap((end) => [
      nested('text', `${end}.coverageState`, (m) => m[end]?.coverageState), nested('number', `${end}.price`, (m) => m[end]?.price), nested('text', `${end}.currencyCode`, (m) => m[end]?.currencyCode),
      nested('text', `${end}.merchant`, (m) => m[end]?.merchant), nested('time', `${end}.capturedAt`, (m) => m[end]?.capturedAt),
    ]),
  ],
});

/** showSites writes how fresh the sites are, those with most overdue pairs first; of many, the first. */
function showSites(box, list, { sites, until }) {
  if (!sites) return box.replaceChildren(heading(t.sites), refused(list));
  const newest = sites.lastCapturedAt && t.newestCapture(show(Date.parse(sites.lastCapturedAt), zoned(), language));
  box.replaceChildren(heading(t.sites), element('p', { class: 'lead' }, [newest, sites.overdue ? t.overdueSites(number(sites.overdue)) : ''].filter(Boolean).join(' ')),
    scroll(t.sites, table(t.sites, siteColumns(Date.parse(until)), list.sites, { headed: true })),
    filesOf('seen-files', () => sitesFile('sites', list.sites), t.sites),
    ...(list.count > list.sites.length ? [element('p', {}, link(t.showAll(number(list.count)), { view: 'sites', site: asked.site }))] : []));
}

const heading = (words) => element('h2', {}, words);

const scroll = (label, what) => element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, what);
