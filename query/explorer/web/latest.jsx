// The newest offers of a site or of products.
import * as api from './api.js';
import { itemName, learn, sitesRead } from './catalogue.js';
import { Files } from './files.jsx';
import { by, clear, draw, h } from './preact.js';
import { columns, offerId } from './rows.jsx';
import { Same } from './same.jsx';
import { linkTo, narrowed, state, windowAddress } from './state.js';
import { Table } from './table.jsx';
import { number, t } from './texts.js';

/** forgetLatest clears the view. */
export function forgetLatest() {
  clear('offers', 'latest-files');
}

/** readLatest reads the newest offers of the requested site, products or order; again: the displayed ones stay until all are there. */
export async function readLatest(signal, again = false) {
  if (!again) forgetLatest();
  if (!state.site && !state.items.length && !narrowed().orderId) {
    by('latest-status').textContent = t.chooseEither;
    clear('latest-same');
    return;
  }
  const zone = state.zone;
  const reads = (state.items.length ? state.items : ['']).map((itemId) => ({
    path: 'v1/results', params: { itemId, site: state.site, ...narrowed(), latestObservationPerPair: true, includeExportFields: true, includeIdentity: true, timezone: zone, limit: 1000 },
  }));
  const files = () => reads.map(({ params: { limit, ...params } }) => ({ name: `latest-${params.itemId || params.site || params.orderId}`, path: 'v1/results/stream', params }));
  draw(<Files files={files} />, by('latest-files'));
  if (!again) {
    draw(<Same reads={reads} calls={reads.map((r) => ({ name: 'list_results', args: r.params }))} />, by('latest-same'));
    by('latest-status').textContent = t.loading(0);
  }
  const offers = [];
  let more = false;
  await sitesRead();
  for (const read of reads) {
    const found = await api.all(read.path, read.params, 5000, signal);
    offers.push(...found.data);
    more ||= found.more;
  }
  signal.throwIfAborted();
  learn(offers.map(({ itemId, productName: name }) => ({ itemId, name })));
  by('latest-status').textContent = (more ? t.incomplete : '') + t.loaded(number(offers.length), number(new Set(offers.map((o) => `${o.itemId} ${o.site}`)).size));
  const product = (r) => <a href={linkTo({ view: 'history', site: state.site, items: r.itemId, ...windowAddress() })}>{itemName(r.itemId)}</a>;
  const shown = columns(zone).filter((c) => state.items.length !== 1 || c.name !== 'product') // a single product is named above
    .map((c) => (c.name === 'product' ? { ...c, text: product } : c));
  draw(<Table caption={t.latest} columns={shown} rows={offers} id={offerId} view="latest" />, by('offers'));
}
