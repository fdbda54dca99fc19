// Which newest captures found a shop closed to us. Rows of results say only that
// nothing is known; the quality of the orders says why, of the newest capture.
import * as api from './api.js';

const reason = 'ACCESS_TEMPORARILY_RESTRICTED';

/** markRestricted sets restricted of the pairs ({itemId, site, at, outcome}) whose newest capture was. */
export async function markRestricted(pairs, signal) {
  const open = pairs.filter((p) => p.outcome.at(-1) === 'unknown');
  if (!open.length) return;
  const newest = (await Promise.all([...new Set(open.map((p) => p.itemId))].map((itemId) => api.page('v1/results', { itemId, latestPerPair: true, includeOrderIds: true, limit: 1000 }, signal)))).flatMap(({ data }) => data);
  const orders = new Map(); // the sites to ask each order about
  for (const { itemId, site, orderIds } of newest) {
    if (open.some((p) => p.itemId === itemId && p.site === site)) for (const id of orderIds) orders.set(id, (orders.get(id) ?? new Set()).add(site));
  }
  const asks = [...orders].flatMap(([id, sites]) => [...sites].map((site) => api.all(`v1/orders/${id}/observation-quality`, { site, reasonCode: reason, limit: 1000 }, 10000, signal)));
  for (const q of (await Promise.all(asks)).flatMap(({ data }) => data)) {
    const p = open.find((one) => one.itemId === q.itemId && one.site === q.site);
    if (p && Date.parse(q.lastCapturedAt) === Math.round(p.at.at(-1) * 1e3)) p.restricted = true;
  }
}
