// The start of the page, without any input: where the caller stands beside
// others, and what each site showed in a day. The service adds up; the page
// shows.
import * as api from './api.js';
import { asked, link, zoned } from './asked.js';
import { catalogue, itemName, named, siteName } from './catalogue.js';
import { csv, download } from './csv.js';
import { by, element } from './dom.js';
import { same } from './same.js';
import { table } from './table.js';
import { language, money, number, percent, t } from './texts.js';
import { show } from './zone.js';

const most = 10; // positions on show

/** readStart reads the view: of one site, or of all that is seen. */
export async function readStart(signal) {
  const reads = readsOf(asked.site, zoned());
  same(by('overview-same'), reads, []);
  by('overview-status').textContent = t.loadingView;
  try {
    const [movers, positions, days] = await Promise.all(reads.map((r) => api.page(r.path, r.params, signal)));
    await named([...movers.data, ...positions.data].map((p) => p.itemId));
    if (signal.aborted) return;
    const links = {
      siteName,
      itemLink: (id) => link(itemName(id), { view: 'history', items: id, last: '720h' }),
      siteLink: (site) => link(siteName(site), { view: 'latest', site }),
    };
    showMovers(by('moved'), movers, links);
    showPosition(by('stand'), positions, links);
    showSites(by('seen'), days, catalogue.sites.filter((s) => !asked.site || s.site === asked.site), links);
  } finally {
    if (!signal.aborted) by('overview-status').textContent = '';
  }
}

function readsOf(site, zone) {
  const to = Math.floor(Date.now() / 60e3) * 60e3;
  const day = { capturedFrom: new Date(to - 86400e3).toISOString(), capturedTo: new Date(to).toISOString() };
  return [
    { path: 'ext/v1/movers', params: { site, since: day.capturedFrom, until: day.capturedTo, timezone: zone, limit: most } },
    { path: 'ext/v1/position', params: { site, limit: most } },
    { path: 'ext/v1/statistics', params: { by: 'site', site, globalScope: !site, ...day, timezone: zone, limit: 1000 } },
  ];
}

/** showMovers writes how many moved, by kind, and those whose price moved most. */
function showMovers(box, { data, query }, { itemLink, siteName }) {
  const kinds = Object.entries(query.kinds).filter(([, n]) => n > 0).map(([kind, n]) => `${t[kind]} ${number(n)}`).join(', ');
  const offer = (o) => (!o ? '' : element('span', {}, o.price === null || o.price === undefined ? t[states[o.coverageState]] ?? t.unknown : money(o.price, o.currencyCode),
    element('time', { datetime: o.capturedAt }, show(Date.parse(o.capturedAt), zoned(), language))));
  box.replaceChildren(heading(t.movedTitle), element('p', { class: 'lead' }, `${t.moved(number(query.pairs), number(query.moved))}${kinds && `: ${kinds}`}.`), ...(data.length ? [scroll(t.movedTitle, table(t.movedTitle, [
    { title: t.product, text: (m) => itemLink(m.itemId) }, { title: t.site, text: (m) => siteName(m.site) },
    { title: t.before, number: true, text: (m) => offer(m.before) }, { title: t.after, number: true, text: (m) => offer(m.after) },
    { title: t.difference, number: true, text: (m) => (m.priceDifferencePercent === null ? '' : `${m.priceDifference > 0 ? '+' : ''}${percent(m.priceDifferencePercent)}`) },
    { title: t.what, text: (m) => m.kinds.map((k) => t[k]).join(', ') },
  ], data, { headed: true }))] : []));
}

/** states are the words for what was observed where there is no price. */
const states = { UNAVAILABLE: 'unavailable', PRODUCT_NOT_FOUND: 'notFound' };

/** showPosition writes where the caller is above the cheapest offer, the farthest first. */
function showPosition(box, { data, query }, { itemLink, siteName }) {
  if (query.positions === 0) return box.replaceChildren(heading(t.aboveTitle), element('p', { class: 'small' }, t.noPositions));
  const above = data.filter((p) => p.difference > 0);
  box.replaceChildren(
    heading(t.aboveTitle),
    element('p', { class: 'lead' }, t.stands(number(query.positions), number(query.above), number(query.equal), number(query.below))),
    ...(above.length ? [scroll(t.aboveTitle, table(t.aboveTitle, [
      { title: t.product, text: (p) => itemLink(p.itemId) }, { title: t.country, text: (p) => `${p.country} ${p.currencyCode}` },
      { title: t.own, number: true, text: (p) => money(p.ownPrice, p.currencyCode) },
      { title: t.cheapest, number: true, text: (p) => money(p.cheapest.price, p.currencyCode) },
      { title: t.of, text: (p) => [p.cheapest.merchant, siteName(p.cheapest.site)].filter(Boolean).join(' · ') },
      { title: t.difference, number: true, text: (p) => `${money(p.difference, p.currencyCode)} (${percent(p.differencePercent)})` },
      { title: t.rank, text: (p) => t.rankOf(number(p.rank), number(p.offers)) },
    ], above, { headed: true })), fileOf(above)] : []),
  );
}

/** fileOf is a button that keeps the positions on show as a file. */
function fileOf(positions) {
  const head = ['itemId', 'country', 'currencyCode', 'ownPrice', 'cheapestPrice', 'cheapestMerchant', 'cheapestSite', 'difference', 'differencePercent', 'rank', 'offers', 'name'];
  const button = element('button', { type: 'button', class: 'secondary', id: 'stand-file' }, t.download);
  button.addEventListener('click', () => download('undercut.csv', 'text/csv', csv([head, ...positions.map((p) => {
    const flat = { ...p, cheapestPrice: p.cheapest.price, cheapestMerchant: p.cheapest.merchant, cheapestSite: p.cheapest.site, name: itemName(p.itemId) };
    return head.map((name) => flat[name]);
  })])));
  return button;
}

/** showSites writes what each site showed in the last day; silent ones first. */
function showSites(box, { data }, all, { siteLink }) {
  const seen = new Map(data.map((s) => [s.site, s]));
  const rows = all.map((site) => ({ site, s: seen.get(site.site) })).sort((a, b) => Boolean(a.s) - Boolean(b.s) || a.site.name.localeCompare(b.site.name));
  const of = (title, value) => ({ title, number: true, text: (r) => (r.s ? value(r.s) : '') });
  box.replaceChildren(heading(t.sitesTitle), scroll(t.sitesTitle, table(t.sitesTitle, [
    { title: t.site, text: (r) => siteLink(r.site.site) },
    { title: t.inStock, number: true, text: (r) => (r.s ? (r.s.shareInStock === null ? '' : percent(r.s.shareInStock)) : element('span', { class: 'badge none' }, t.silent)) },
    of(t.priced, (s) => number(s.observations.priced)), of(t.unavailable, (s) => number(s.observations.unavailable)),
    of(t.notFound, (s) => number(s.observations.notFound)), of(t.unknown, (s) => number(s.observations.unknown)),
    of(t.changesOf, (s) => number(s.changes)),
    { title: t.mostBuyBoxes, text: (r) => (r.s?.buyBox.length ? `${r.s.buyBox[0].merchant ?? t.noMerchant} (${percent(r.s.buyBox[0].share)})` : '') },
  ], rows, { headed: true })));
}

const heading = (words) => element('h2', {}, words);

const scroll = (label, what) => element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, what);
