// The newest offers of a site or of products, and where an own price stands
// among them.
import { amountOf } from './amount.js';
import * as api from './api.js';
import { asked, remember, sortedOf, zoned } from './asked.js';
import { catalogue, itemName, listsRead } from './catalogue.js';
import { by, element } from './dom.js';
import { offerFiles } from './files.js';
import { markets, standing } from './position.js';
import { columns } from './rows.js';
import { same } from './same.js';
import { table } from './table.js';
import { language, money, number, t } from './texts.js';

let offers = [];
let latestReads = [];
let placed = []; // market positions on show

/** forgetLatest clears the view. */
export function forgetLatest() {
  offers = [];
  for (const id of ['offers', 'positions', 'latest-files']) by(id).replaceChildren();
}

/** readLatest reads the newest offers of the site or the products asked for; again: those on show stay until all are there. */
export async function readLatest(signal, again = false) {
  if (!again) forgetLatest();
  if (!asked.site && !asked.items.length) {
    by('latest-status').textContent = t.chooseEither;
    by('latest-same').replaceChildren();
    return;
  }
  const zone = zoned();
  const reads = latestReads = (asked.items.length ? asked.items : ['']).map((itemId) => ({
    path: 'v1/results', params: { itemId, site: asked.site, latestObservationPerPair: true, includeExportFields: true, timezone: zone, limit: 1000 },
  }));
  offerFiles(by('latest-files'), () => reads.map(({ params: { limit, ...params } }) => ({ name: `latest-${params.itemId || params.site}`, params })));
  if (!again) {
    placed = [];
    sameLatest();
    by('latest-status').textContent = t.loading(0);
  }
  const next = [];
  let whole = again;
  let more = false;
  try {
    await listsRead();
    for (const read of reads) {
      const found = await api.all(read.path, read.params, 5000, signal);
      next.push(...found.data);
      more ||= found.more;
    }
    whole = true;
    offers = next;
  } finally {
    if (!signal.aborted) {
      by('latest-status').textContent = whole ? (more ? t.incomplete : '') + t.loaded(number(offers.length), number(new Set(offers.map((o) => `${o.itemId} ${o.site}`)).size)) : '';
      showOffers();
      showPositions();
    }
  }
}

/** sameLatest offers a position only for a price that is on show. */
function sameLatest() {
  same(by('latest-same'), latestReads, [
    ...latestReads.map((r) => ({ name: 'list_results', args: r.params })),
    ...placed.map((m) => ({ name: 'get_market_price_position', args: { itemId: m.itemId, candidatePrice: String(m.own), currencyCode: m.currency, ...(m.country && { country: m.country }), includeCustomerReference: true } })),
  ]);
}

/** named tells whether the lines have to name their product. */
const named = () => asked.items.length !== 1;

function showOffers() {
  const zone = zoned();
  const at = [...by('offers').querySelectorAll('button')].indexOf(document.activeElement);
  by('offers').replaceChildren(table(t.latest, columns(zone).filter((c) => named() || c.name !== 'product'), offers, { sorted: sortedOf.latest, again: () => { showOffers(); remember(); } }));
  if (at >= 0) by('offers').querySelectorAll('button')[at].focus();
}

/** showPositions places the own price, or the reference price of the caller, in each market. */
export function showPositions() {
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
  const rows = markets(current, (site) => catalogue.sites.find((s) => s.site === site)?.countryCode ?? '').flatMap((m) => {
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
    ...(named() ? [{ title: t.product, text: (r) => itemName(r.itemId) }] : []), { title: t.country, text: (r) => `${r.country} ${r.currency}` },
    { title: t.own, number: true, text: (r) => money(r.own, r.currency) },
    { title: t.rank, text: (r) => t.rankOf(number(r.s.rank), number(r.s.offers)) },
    count('cheaper'), count('equal'), count('dearer'), sum('min'), sum('median'), sum('max'),
    { title: t.against, number: true, text: (r) => `${new Intl.NumberFormat(language, { maximumFractionDigits: 1, signDisplay: 'exceptZero' }).format(r.s.percentOfMedian)} %` },
    { title: t.rankShipped, text: ({ s: { shipped } }) => (shipped.offers ? t.rankOf(number(shipped.rank), number(shipped.offers)) : '') + (shipped.unknown ? ` ${t.unknownOf(number(shipped.unknown))}` : '') },
  ], rows)));
}
