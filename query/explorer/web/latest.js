// The newest offers of a site or of products.
import * as api from './api.js';
import { asked, narrowed, remember, sortedOf, zoned } from './asked.js';
import { listsRead } from './catalogue.js';
import { by, element } from './dom.js';
import { offerFiles } from './files.js';
import { columns } from './rows.js';
import { same } from './same.js';
import { table } from './table.js';
import { number, t } from './texts.js';

let offers = [];

/** forgetLatest clears the view. */
export function forgetLatest() {
  offers = [];
  for (const id of ['offers', 'latest-files']) by(id).replaceChildren();
}

/** readLatest reads the newest offers of the site or the products asked for; again: those on show stay until all are there. */
export async function readLatest(signal, again = false) {
  if (!again) forgetLatest();
  if (!asked.site && !asked.items.length && !narrowed().orderId) {
    by('latest-status').textContent = t.chooseEither;
    by('latest-same').replaceChildren();
    return;
  }
  const zone = zoned();
  const reads = (asked.items.length ? asked.items : ['']).map((itemId) => ({
    path: 'v1/results', params: { itemId, site: asked.site, ...narrowed(), latestObservationPerPair: true, includeExportFields: true, timezone: zone, limit: 1000 },
  }));
  offerFiles(by('latest-files'), () => reads.map(({ params: { limit, ...params } }) => ({ name: `latest-${params.itemId || params.site || params.orderId}`, path: 'v1/results/stream', params })));
  if (!again) {
    same(by('latest-same'), reads, reads.map((r) => ({ name: 'list_results', args: r.params })));
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
    }
  }
}

/** named tells whether the lines have to name their product. */
const named = () => asked.items.length !== 1;

function showOffers() {
  const zone = zoned();
  const at = [...by('offers').querySelectorAll('button')].indexOf(document.activeElement);
  by('offers').replaceChildren(table(t.latest, columns(zone).filter((c) => named() || c.name !== 'product'), offers, { sorted: sortedOf.latest, again: () => { showOffers(); remember(); } }));
  if (at >= 0) by('offers').querySelectorAll('button')[at].focus();
}
