// The start view, without any input: what changed in a day, where the caller is
// above the cheapest featured offer, and how fresh each site is, in one request.
// The service aggregates; the page only displays.
import { Act, Acts } from './act.jsx';
import * as api from './api.js';
import { itemName, knownName, learn, named, siteName, sitesRead } from './catalogue.js';
import { fields, Files } from './files.jsx';
import { by, clear, draw, Fragment, h } from './preact.js';
import { Same } from './same.jsx';
import { siteColumns, siteId, sitesFile } from './sites.jsx';
import { linkTo, narrowed, state } from './state.js';
import { Scrolled } from './table.jsx';
import { language, money, number, percent, t } from './texts.js';
import { show } from './zone.js';

const mostWhole = 1000; // records of a list that is shown completely
const mostNamed = 50; // products whose names are requested, one request each

const opened = new Set(['PRICE_DOWN']); // lists that are open
const whole = new Set(); // lists that are shown completely
let shown = {}; // the lists as last read, with their query, and in `of` what was requested; a new object for each request

/** forgetStart clears the view. */
export function forgetStart() {
  shown = {};
  clear('moved', 'stand', 'seen');
}

/** readStart reads the view: of one site, or of the whole scope; again: no progress is shown meanwhile. */
export async function readStart(signal, again = false) {
  const { since = 'now-24h', ownMerchant = '' } = narrowed();
  const of = JSON.stringify([state.site, since, ownMerchant, state.zone]);
  if (shown.of !== of) forgetStart();
  shown.of = of;
  const read = { path: 'ext/v1/overview', params: { since, ownMerchant, site: state.site, timezone: state.zone } };
  const answer = api.page(read.path, read.params, signal);
  if (!again) {
    draw(<Same reads={[read]} />, by('overview-same'));
    by('overview-status').textContent = t.loadingView;
  }
  const { data, query } = await answer;
  learn(data.flatMap((list) => list.products));
  await sitesRead();
  await Promise.all(data.filter((list) => !list.problem && whole.has(list.list)).map((list) => complete(list, signal)));
  signal.throwIfAborted();
  by('overview-status').textContent = '';
  Object.assign(shown, { query, lists: data });
  showStart();
}

/** showStart shows what has been read. */
function showStart() {
  const { lists, query } = shown;
  const [above, sites] = ['ABOVE_CHEAPEST', 'SITES'].map((name) => lists.find((list) => list.list === name));
  draw(<Moved lists={lists.filter((list) => list !== above && list !== sites)} query={query.movers} since={query.since} />, by('moved'));
  draw(<Above list={above} query={query.positions} />, by('stand'));
  draw(<Seen list={sites} query={query.sites} until={query.until} />, by('seen'));
}

/** complete reads the records of a list that were left out. */
async function complete(list, signal) {
  const read = new URL(list.read, api.serviceURL(''));
  const found = await api.all(read.pathname.replace(/^\/+/, ''), { ...Object.fromEntries(read.searchParams), limit: mostWhole }, mostWhole, signal);
  if (list.list === 'ABOVE_CHEAPEST') list.positions = found.data.filter((p) => p.difference > 0);
  else list.movers = found.data;
  await named([...list.movers, ...list.positions].map((r) => r.itemId), mostNamed);
}

/** wholly shows all records of a list, even if it was read again meanwhile, but not if something else was requested. */
async function wholly(list) {
  const mine = shown;
  await complete(list, undefined);
  if (mine !== shown) return;
  whole.add(list.list);
  Object.assign(shown.lists.find((l) => l.list === list.list), { movers: list.movers, positions: list.positions });
  showStart();
}

/** More is a button that shows the complete list, where it is cut. */
function More({ list, on }) {
  if (on >= list.count) return null;
  if (on >= mostWhole) return <p class="small">{t.linesOf(number(on), number(list.count))}</p>;
  return <Acts>{(failed, failure) => <><Act class="secondary" act={() => wholly(list)} failed={failed}>{t.showAll(number(list.count))}</Act>{failure}</>}</Acts>;
}

const Item = ({ id }) => <a href={linkTo({ view: 'history', items: id, last: '720h' })}>{itemName(id)}</a>;

const Refused = ({ list }) => <p class="notice">{list.problem.detail}</p>;

/** FilesOf is a box with a button for each format of a file. */
const FilesOf = ({ id, file, what }) => <div class="buttons files" id={id}><Files files={() => [file()]} what={what} /></div>;

/** Moved has how many pairs changed, and a list for each kind of change: how many, and the greatest. */
function Moved({ lists, query, since }) {
  const title = narrowed().since ? t.movedSince(show(Date.parse(since), state.zone, language)) : t.movedTitle;
  if (!query) return <><h2>{title}</h2><Refused list={lists[0]} /></>;
  const some = lists.filter((list) => list.count > 0);
  return <>
    <h2>{title}</h2>
    <p class="lead">{t.moved(number(query.pairs), number(query.moved))}.</p>
    {some.map((list) => <Movers key={list.list} list={list} />)}
    {some.length > 0 && <FilesOf id="moved-files" file={() => movedFile(lists)} what={title} />}
  </>;
}

function Movers({ list }) {
  const name = t[list.list];
  return <details class="kind" data-list={list.list} open={opened.has(list.list)} onToggle={(e) => opened[e.currentTarget.open ? 'add' : 'delete'](list.list)}>
    <summary>{`${name}: ${number(list.count)}`}</summary>
    <Scrolled caption={name} rows={list.movers} id={(m) => `${m.itemId} ${m.site}`} columns={[
      { title: t.product, text: (m) => <Item id={m.itemId} /> },
      { title: t.difference, number: true, text: (m) => (m.priceDifferencePercent === null ? '' : `${m.priceDifference > 0 ? '+' : ''}${percent(m.priceDifferencePercent)}`) },
      { title: t.before, number: true, text: (m) => <Offer offer={m.before} /> }, { title: t.after, number: true, text: (m) => <Offer offer={m.after} /> },
      { title: t.site, text: (m) => siteName(m.site) },
      { title: t.what, text: (m) => m.kinds.map((k) => (k.startsWith('BUYBOX_') ? boxOf(m) : t[k])).join(', ') },
    ]} />
    <More list={list} on={list.movers.length} />
  </details>;
}

/** boxOf returns, as text, who held the buy box before, and who holds it now. */
const boxOf = ({ before, after }) => t.boxFromTo(...[before, after].map((o) => (o.isBuyBox ? o.merchant ?? t.noMerchant : t.nobody)));

/** states maps what was observed to words, where there is no price. */
const states = { UNAVAILABLE: 'unavailable', PRODUCT_NOT_FOUND: 'notFound' };

const Offer = ({ offer: o }) => o && <span>
  {o.price === null || o.price === undefined ? t[states[o.coverageState]] ?? t.unknown : money(o.price, o.currencyCode)}
  <time datetime={o.capturedAt}>{show(Date.parse(o.capturedAt), state.zone, language)}</time>
</span>;

/** Above has where the caller is above the cheapest featured offer, the farthest first. */
function Above({ list, query }) {
  if (!query || query.positions === 0) return <><h2>{t.aboveTitle}</h2>{query ? <p class="small">{t.noPositions}</p> : <Refused list={list} />}</>;
  const above = list.positions;
  return <>
    <h2>{t.aboveTitle}</h2>
    <p class="lead">{t.stands(number(query.positions), number(query.above), number(query.equal), number(query.below))}</p>
    {above.length > 0 && <>
      <Scrolled caption={t.aboveTitle} rows={above} id={(p) => `${p.itemId} ${p.country} ${p.currencyCode}`} columns={[
        { title: t.product, text: (p) => <Item id={p.itemId} /> },
        { title: t.difference, number: true, text: (p) => money(p.difference, p.currencyCode) + (p.differencePercent === null ? '' : ` (${percent(p.differencePercent)})`) },
        { title: t.own, number: true, text: (p) => money(p.ownPrice, p.currencyCode) },
        { title: t.cheapest, number: true, text: (p) => money(p.cheapest.price, p.currencyCode) },
        { title: t.of, text: (p) => [p.cheapest.merchant, siteName(p.cheapest.site)].filter(Boolean).join(' · ') },
        { title: t.country, text: (p) => `${p.country} ${p.currencyCode}` },
        { title: t.rank, number: true, text: (p) => t.rankOf(number(p.rank), number(p.offers)) },
      ]} />
      <More list={list} on={above.length} />
      <FilesOf id="stand-files" file={() => undercutFile(above)} what={t.aboveTitle} />
    </>}
  </>;
}

const nested = (kind, name, value) => ({ name, kind, value });

/** undercutFile has the displayed positions. */
const undercutFile = (positions) => ({
  name: 'undercut', rows: positions,
  columns: [
    ...fields('text', 'itemId', 'country', 'currencyCode'), ...fields('number', 'ownPrice'), nested('number', 'cheapestPrice', (p) => p.cheapest.price), nested('text', 'cheapestMerchant', (p) => p.cheapest.merchant),
    nested('text', 'cheapestSite', (p) => p.cheapest.site), ...fields('number', 'difference', 'differencePercent'), ...fields('count', 'rank', 'offers'), nested('text', 'name', (p) => knownName(p.itemId)),
  ],
});

/** movedFile has the displayed movers of each list. */
const movedFile = (lists) => ({
  name: 'moved', rows: lists.flatMap((list) => list.movers.map((m) => ({ ...m, list: list.list }))),
  columns: [
    ...fields('text', 'list', 'itemId', 'site'), nested('text', 'name', (m) => knownName(m.itemId)), nested('text', 'kinds', (m) => m.kinds.join(' ')), ...fields('number', 'priceDifference', 'priceDifferencePercent'),
    ...['before', 'after'].flatMap((end) => [
      nested('text', `${end}.coverageState`, (m) => m[end]?.coverageState), nested('number', `${end}.price`, (m) => m[end]?.price), nested('text', `${end}.currencyCode`, (m) => m[end]?.currencyCode),
      nested('text', `${end}.merchant`, (m) => m[end]?.merchant), nested('time', `${end}.capturedAt`, (m) => m[end]?.capturedAt),
    ]),
  ],
});

/** Seen has how fresh the sites are, those with the most overdue pairs first; if there are many, only the first ones. */
function Seen({ list, query, until }) {
  if (!query) return <><h2>{t.sites}</h2><Refused list={list} /></>;
  const newest = query.lastCapturedAt && t.newestCapture(show(Date.parse(query.lastCapturedAt), state.zone, language));
  return <>
    <h2>{t.sites}</h2>
    <p class="lead">{[newest, query.overdue ? t.overdueSites(number(query.overdue)) : ''].filter(Boolean).join(' ')}</p>
    <Scrolled caption={t.sites} columns={siteColumns(Date.parse(until))} rows={list.sites} id={siteId} />
    <FilesOf id="seen-files" file={() => sitesFile('sites', list.sites)} what={t.sites} />
    {list.count > list.sites.length && <p><a href={linkTo({ view: 'sites', site: state.site })}>{t.showAll(number(list.count))}</a></p>}
  </>;
}
