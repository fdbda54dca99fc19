// A service for the explorer that is made up here, whose answers come late, in
// another order, or not at all, as each check needs them.
import { open as watched, plan } from './harness.mjs';

export const problem = (status, detail) => ({ status, contentType: 'application/problem+json', body: JSON.stringify({ code: 'MADE_UP', detail }) });
export const list = (data, more = {}) => ({ data, paging: { limit: 1000, returned: data.length }, ...more });
export const range = (n) => Array.from({ length: n }, (_, i) => i);

/** held is an answer that waits: it comes when let() is called. */
export function held() {
  const one = {};
  one.answer = new Promise((ok) => { one.let = ok; });
  return one;
}

export const siteOf = (site) => ({ site, name: `Shop ${site}`, currencyCode: 'EUR' });
export const itemOf = (itemId) => ({ itemId, name: `Product ${itemId}` });

/** sumOf is the statistics of a product with one price. */
export const sumOf = (itemId, identity = {}) => ({
  itemId, identity: { ean: null, pzn: null, asin: null, asinLocale: null, productName: `Product ${itemId}`, brand: null, manufacturer: null, ...identity },
  pairs: 1, shareInStock: 100, changes: 0, buyBox: [], prices: [{ currencyCode: 'EUR', min: 1, median: 1, max: 1 }],
});

export const status = {
  site: 'a.example', pairs: 2, late: 0, lastCapturedAt: null, nextDueAt: null, lateSince: null,
  reasons: { priceObserved: 2, productUnavailable: 0, productNotFound: 0, overdue: 0, accessTemporarilyRestricted: 0, siteTemporarilyUnavailable: 0, pending: 0, unknown: 0 },
};

/** orderOf is an order with 20 files, of which so many are told. */
export const orderOf = (id, name, files) => ({
  orderId: id, name, active: true, health: 'OK', createdAt: '2026-01-01T00:00:00Z', coverage: { configuredPairs: 1, observedPairs: 1, ratio: 1 },
  monitoring: { sites: ['a.example'], intervalMinutes: 60, lastRunAt: null, nextRunAt: '2026-01-01T12:00:00Z' }, qualitySummary: { sourceCountsConsistent: true }, fileCount: 20,
  files: range(Math.min(files, 20)).map((i) => ({ kind: 'exports', name: 'e', exportName: 'e', filename: `${name} ${i}.csv`, sizeBytes: 1, archivedAt: '2026-01-01T00:00:00Z' })),
});
export const orders = (p) => list(['A', 'B', 'C'].map((name, i) => orderOf(String(i + 1), `Order ${name}`, Number(p.get('files')))).filter((o) => !p.get('orderId') || o.orderId === p.get('orderId')));

/** ago is the instant so many hours ago. */
export const ago = (hours) => new Date(Date.now() - hours * 3600e3).toISOString();

/** rowOf is a row that was captured so many hours ago. */
export const rowOf = (hours, price, more = {}) => ({ itemId: '1', site: 'a.example', capturedAt: ago(hours), availability: 'AVAILABLE', price, totalPrice: price, currencyCode: 'EUR', merchant: 'M', ...more });

/** history is the summary of a product, with what is told of its market, and its rows: three, an hour apart, if none are given. */
export function history(itemId, rows = range(3).map((i) => rowOf(4 - i, 10 + i, { itemId })), told = {}) {
  const market = { country: 'DE', currencyCode: 'EUR', sites: [], buyBox: [], position: null, ownPrice: null, rank: null, rankWithShipping: null, low: null, high: null, cheapest: null, offers: 0, withoutShipping: 0, ...told };
  return { contentType: 'application/x-ndjson', body: [{ query: { itemId, name: `Product ${itemId}`, asOf: new Date().toISOString() }, data: [market] }, ...rows].map((r) => `${JSON.stringify(r)}\n`).join('') };
}

export const usual = {
  'v1/auth/token': () => ({ accessToken: 'made-up' }),
  'v1/auth/logout': () => ({}),
  'v1/sites': () => list([siteOf('a.example')]),
  'v1/items': () => list(['1', '2', '9'].map(itemOf)),
  'v1/results': () => list([]),
  'ext/v1/changes': (p) => (p.get('since') ? new Promise(() => {}) : { data: [], progress: { token: 'now', upToDate: true } }),
  'ext/v1/sites/status': () => list([status], { query: { asOf: '2026-01-01T00:00:00Z', ...status } }),
  'ext/v1/orders/status': orders,
  'ext/v1/statistics': () => list([]),
  'ext/v1/items/1/summary': () => history('1'),
  'ext/v1/items/2/summary': () => history('2'),
};

/** opened opens a view of a service that answers as usual, except for some paths: functions of the parameters that return JSON, a whole answer, or a promise of one of them. */
export async function opened(where, hash, answers = {}, { login = true, clock = false, expected = () => false, ...options } = {}) {
  const page = await watched(where, { locale: 'en-GB', timezoneId: 'UTC', viewport: { width: 1280, height: 900 }, ...options }, expected);
  const all = { ...usual, ...answers };
  await page.route(/\/(ext\/)?v1\//, async (route) => {
    const url = new URL(route.request().url());
    const answer = await all[url.pathname.slice(1)](url.searchParams, route.request());
    await route.fulfill(answer.body ? answer : { contentType: 'application/json', body: JSON.stringify(answer) }).catch(() => {}); // the page no longer waits
  });
  if (clock) await page.clock.install();
  if (login) await page.addInitScript(() => sessionStorage.setItem('preismon.token', 'made-up'));
  await page.goto(`${plan.base}/explorer/#${hash}`);
  return page;
}

export const text = (page, what) => page.textContent(what);
export const says = (page, what, words) => page.waitForFunction(([what, words]) => document.querySelector(what).textContent.includes(words), [what, words], { timeout: 30e3 }); // a machine may be busy
export const param = (page, name) => page.evaluate((name) => new URLSearchParams(location.hash.slice(1)).get(name), name);
export const go = (page, hash) => page.evaluate((hash) => { location.hash = hash; }, hash);

/** feeding makes up a feed: it answers requests of what is new with next(), and counts them; reads are those of the view. */
export function feeding(path, answer, next) {
  const made = { asked: 0, reads: 0 };
  return [made, {
    [path]: () => { made.reads++; return answer(); },
    'ext/v1/changes': (p) => {
      if (!p.get('since')) return { data: [], progress: { token: 'now', upToDate: true } };
      made.asked++;
      return next(made);
    },
  }];
}

export const change = (itemId) => ({ itemId, site: 'a.example' });

/** until waits for something here. */
export async function until(page, what, done) {
  for (let i = 0; i < 600 && !done(); i++) await page.waitForTimeout(50);
  if (!done()) throw new Error(`not in time: ${what}`);
}

/** chartOf waits until the chart of a product is drawn completely. */
export const chartOf = (page, itemId) => page.waitForFunction((itemId) => !document.querySelector('#history').hasAttribute('aria-busy') && window.preismon.chart && window.preismon.lines.pairs.has(`${itemId} a.example`), itemId);
