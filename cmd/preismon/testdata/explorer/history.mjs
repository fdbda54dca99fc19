// Checks what the history of a product shows of a service that is made up: what
// was left out or had no price is not drawn as something else.
import { done, fail } from './harness.mjs';
import { ago, go, history, list, opened, param, range, rowOf, says, siteOf, text } from './service.mjs';

const [a, b] = ['a.example', 'b.example'];
const sites = { 'v1/sites': () => list([a, b].map(siteOf)) };

/** seen is a site in a summary: so many prices in the window, and when it was captured last. */
const seen = (site, priced, hours) => ({ site, lastCapturedAt: ago(hours), coverageState: 'PRICE_OBSERVED', accessRestricted: false, observations: { priced, unavailable: 0, notFound: 0, unknown: 0 }, days: [], dayCounts: {} });

/** shown waits until a history is complete: the page has written its address, with a site, and is no longer busy. */
const shown = (page) => page.waitForFunction(() => location.hash.includes('site=') && !document.querySelector('#history').hasAttribute('aria-busy') && document.querySelector('#pairs tbody tr'));

/** labels keeps the words that a page has written on its canvases since the last call. */
async function labels(page) {
  await page.evaluate(() => {
    const { prototype } = CanvasRenderingContext2D;
    const real = prototype.fillText;
    globalThis.labels = [];
    prototype.fillText = function fillText(words, ...rest) {
      globalThis.labels.push(words);
      return real.call(this, words, ...rest);
    };
  });
  return () => page.evaluate(() => globalThis.labels.splice(0).join());
}

/** narrowed: what a narrowing leaves out is not absent, and nothing holds until a capture that may have been left out. */
async function narrowed() {
  const rows = (p) => [20, 16, 8, 4].map((hours) => rowOf(hours, 10)).filter(() => p.get('merchant') !== 'Nobody');
  const told = (p) => (p.get('capturedFrom') < ago(48) ? { sites: [seen(a, 0, 4), seen(b, 0, 2)] } : { sites: [seen(a, 28, 4), seen(b, 28, 2)] });
  const page = await opened('narrowed', 'view=sites', { ...sites, 'ext/v1/items/1/summary': (p) => history('1', p.get('capturedFrom') < ago(48) ? [] : rows(p), told(p)) });
  await page.waitForSelector('#fresh tbody tr');
  const drawn = await labels(page);
  const steps = () => page.evaluate(() => [...window.preismon.lines.lines.values()].flatMap((l) => l.until.map((until, i) => until - l.at[i])));

  await go(page, 'view=history&items=1&last=24h&zone=UTC');
  await shown(page);
  if (await page.isVisible('#part') || !(await drawn()).includes('No result: Shop b.example') || Math.max(...await steps()) < 3600) fail('narrowed', `not narrowed, it says ${await text(page, '#part')}, and its steps last ${await steps()}`);
  await go(page, 'view=history&items=1&last=24h&zone=UTC&merchant=M');
  await shown(page);
  if ((await steps()).some((s) => s !== 0)) fail('narrowed', `an offer holds for ${await steps()} s, though other captures are not known`);
  if (!/are not shown.*is a dot/.test(await text(page, '#part')) || !(await page.isVisible('#part'))) fail('narrowed', `it says ${await text(page, '#part')}`);
  await go(page, 'view=history&items=1&last=24h&zone=UTC&orderId=5');
  await shown(page);
  if (Math.max(...await steps()) < 3600 || /dot/.test(await text(page, '#part'))) fail('narrowed', `of an order all captures of a pair are known, and its steps last ${await steps()}`);
  await go(page, 'view=history&items=1&last=24h&zone=UTC&merchant=Nobody');
  await shown(page);
  if (await text(page, '#elsewhere')) fail('narrowed', `beside prices in the window it says ${await text(page, '#elsewhere')}`);
  if (!(await text(page, '#history-status')).startsWith('0 rows')) fail('narrowed', `the status is ${await text(page, '#history-status')}`);
  const words = await drawn();
  if (words.includes('No result')) fail('narrowed', `a lane says ${words}`);
  await go(page, `view=history&items=1&from=${ago(72)}&to=${ago(60)}&zone=UTC&merchant=M`);
  await page.waitForSelector('#elsewhere a');
  if (!(await page.getAttribute('#elsewhere a', 'href')).includes('merchant=M')) fail('narrowed', `elsewhere is ${await page.getAttribute('#elsewhere a', 'href')}`);
  await page.context().close();
}

/** owned: beside the price of an own merchant no tool is offered that compares with other offers. */
async function owned() {
  const position = { min: 9, median: 10, max: 11, candidate: { price: 10, cheaper: 1, equal: 1, dearer: 1, rank: 2, differencePercent: 0 } };
  const page = await opened('owned', 'view=sites', { 'ext/v1/items/1/summary': () => history('1', undefined, { sites: [seen('a.example', 3, 2)], ownPrice: 10, position }) });
  for (const [asked, want] of [['', 1], ['&ownMerchant=Me', 0], ['&ownMerchant=Me&own=10', 1]]) {
    await go(page, `view=history&items=1&last=24h&zone=UTC${asked}`);
    await shown(page);
    const calls = (await page.locator('#history-same [data-kind=mcp]').allTextContents()).join();
    if (calls.split('get_market_price_position').length - 1 !== want || !calls.includes('list_results')) fail('owned', `of ${asked} it offers ${calls}`);
  }
  await page.context().close();
}

/** unavailable: a product that cannot be bought is no offer, even if its price is known. */
async function unavailable() {
  const rows = () => [rowOf(3, 24), rowOf(3, 29, { site: b }), rowOf(2, 24, { availability: 'UNAVAILABLE' }), rowOf(2, 29, { site: b })];
  const page = await opened('unavailable', 'view=history&items=1&last=24h&zone=UTC', { ...sites, 'ext/v1/items/1/summary': () => history('1', rows(), { sites: [seen(a, 1, 2), seen(b, 2, 2)] }) });
  await says(page, '#now', '€29.00');
  if ((await text(page, '#now')).includes('€24.00')) fail('unavailable', `the newest offers are ${await text(page, '#now')}`);
  await page.context().close();
}

/** unpriced: where nothing is drawn, nothing is zoomed. */
async function unpriced() {
  const rows = () => [20, 16, 12, 8, 4].map((hours) => rowOf(hours, null, { availability: 'UNAVAILABLE', merchant: null, currencyCode: null }));
  const asked = [];
  const page = await opened('unpriced', 'view=sites', {
    'ext/v1/items/1/summary': () => history('1', rows(), { sites: [seen(a, 0, 4)] }),
    'v1/results/stream': (p) => { asked.push(p.get('capturedFrom')); return { contentType: 'text/csv', body: 'itemId\r\n' }; },
  });
  await page.waitForSelector('#fresh tbody tr');
  await go(page, `view=history&items=1&last=24h&zone=UTC&zoom=${ago(6)}/${ago(2)}`);
  await shown(page);
  await page.waitForFunction(() => !/zoom=/.test(location.hash), undefined, { timeout: 10e3 }).catch(() => fail('unpriced', `it is zoomed: ${page.url()}`));
  await says(page, '#live', 'updates by itself').catch(async () => fail('unpriced', `it says ${await text(page, '#live')}`));
  if (await page.isVisible('#unzoom')) fail('unpriced', 'there is a button for a zoom');
  await Promise.all([page.waitForEvent('download'), page.click('#history-files [data-form=csv]')]);
  if (!(asked[0] < ago(23))) fail('unpriced', `the file begins at ${asked[0]}`);
  await page.goBack();
  await page.waitForFunction(() => /view=sites/.test(location.hash), undefined, { timeout: 10e3 }).catch(() => fail('unpriced', `Back leads to ${page.url()}`));
  await page.context().close();
}

/** held: the scale has room for an offer that still holds in the visible part, and for no more. */
async function held() {
  const rows = () => range(31).flatMap((i) => [...(i % 6 ? [] : [rowOf(6 - i / 6, i < 12 ? 5 : 10, { site: b })]), rowOf(6 - i / 6, 20)]);
  const page = await opened('held', 'view=history&items=1&last=24h&zone=UTC', { ...sites, 'ext/v1/items/1/summary': () => history('1', rows(), { sites: [seen(a, 31, 1), seen(b, 6, 1)] }) });
  await shown(page);
  const scale = () => page.evaluate(() => { const { min, max } = window.preismon.chart.scales.EUR; return [min, max]; });
  const whole = await scale();
  if (!(whole[0] <= 5 && whole[1] >= 20)) fail('held', `the scale is ${whole}`);
  await page.evaluate(([from, to]) => window.preismon.chart.setScale('x', { min: Date.parse(from) / 1e3, max: Date.parse(to) / 1e3 }), [ago(2.9), ago(2.3)]);
  await page.waitForFunction(() => /zoom=/.test(location.hash));
  const [min, max] = await scale();
  if (!(min <= 10 && min > 5 && max >= 20)) fail('held', `from 10, which holds, to 20 the scale is ${[min, max]}`);
  await page.context().close();
}

/** planned: by a schedule a step ends when a capture was due, and captures to which access was restricted are shown so, wherever they are. */
async function planned() {
  const known = { availability: 'UNKNOWN', merchant: null, currencyCode: null };
  const rows = [[20, 10], [19, 10], [18, 10], [17, null, known], [16, null, known], [15, 11], [14, null, known], [10, 12], [9, 12]].map((row) => rowOf(...row));
  const of = (site, intervalSeconds) => ({ ...seen(site, 6, 9), intervalSeconds, nextDueAt: ago(8), restricted: [{ from: rows[3].capturedAt, to: rows[4].capturedAt, captures: 2 }], notFound: [] });
  const page = await opened('planned', 'view=history&items=1&last=24h&zone=UTC', { ...sites, 'ext/v1/items/1/summary': () => history('1', rows, { sites: [of(a, 3600), seen(b, 0, 9)] }) });
  await shown(page);
  const drawn = await page.evaluate(() => [...window.preismon.lines.lines.values()].flatMap((l) => l.until.map((until, i) => (until - l.at[i]) / 3600)));
  if (drawn.some((h) => Math.abs(h - 1) > 0.01)) fail('planned', `at an interval of one hour its steps last ${drawn} hours`);
  const outcomes = await page.evaluate(() => [...window.preismon.lines.pairs.values()][0].outcome.join());
  if (outcomes !== 'price,price,price,restricted,restricted,price,unknown,price,price') fail('planned', `the captures are ${outcomes}`);
  for (const [i, want] of [[4, true], [6, false]]) {
    await page.evaluate((at) => { const u = window.preismon.chart; u.setCursor({ left: u.valToPos(at, 'x'), top: 9 }); }, Date.parse(rows[i].capturedAt) / 1e3);
    await page.waitForTimeout(100);
    if (/Shop a.example: Access restricted/.test(await text(page, '#readout')) !== want) fail('planned', `at capture ${i} it reads ${await text(page, '#readout')}`);
  }
  if (!/schedule that the orders have/.test(await text(page, '#due')) || /no schedule/i.test(await text(page, '#due'))) fail('planned', `it says ${await text(page, '#due')}`);
  if (!/Next due/.test(await text(page, '#pairs')) || !(await page.locator('#pairs tbody tr').first().locator('td').last().textContent())) fail('planned', `the pairs say ${await text(page, '#pairs')}`);
  await page.context().close();
}

/** unshipped: offers whose shipping is unknown are in the order of their prices, after the others, and the cheapest of them is told where no total is. */
async function unshipped() {
  const open = (price) => rowOf(2, price, { totalPrice: null, merchant: `M${price}` });
  const market = (known) => ({ offers: 4, withoutShipping: 4 - known, cheapest: known ? { site: a, merchant: null, price: 200, shippingCost: 1, totalPrice: 201, capturedAt: ago(2) } : null, position: { min: 123.21, median: 200, max: 1187.2, candidate: null }, sites: [seen(a, 4, 2)] });
  for (const known of [0, 1]) {
    const rows = [1187.2, 194.04, 210.58, 123.21].map(open).concat(known ? rowOf(2, 200, { totalPrice: 201, merchant: 'M200' }) : []);
    const page = await opened('unshipped', 'view=history&items=1&last=24h&zone=UTC', { ...sites, 'ext/v1/items/1/summary': () => history('1', rows, market(known)) });
    await page.waitForFunction((n) => document.querySelectorAll('#now tbody tr').length >= n, rows.length); // they come one by one
    const merchants = (await page.locator('#now tbody tr td:first-child').allTextContents()).join();
    if (merchants !== `${known ? 'M200,' : ''}M123.21,M194.04,M210.58,M1187.2`) fail('unshipped', `the newest offers are of ${merchants}`);
    if (!/unknown shipping/.test(await text(page, '#now h2'))) fail('unshipped', `the heading is ${await text(page, '#now h2')}`);
    const markets = await text(page, '#markets tbody');
    if (!(known ? /€201\.00/ : /€123\.21.*plus unknown shipping/).test(markets)) fail('unshipped', `the market is ${markets}`);
    if (/no merchant/.test(markets)) fail('unshipped', `of a site without merchants it says ${markets}`);
    await page.context().close();
  }
}

/** wide: the labels of the price axis are not cut off, however large the amounts are. */
async function wide() {
  for (const price of [7, 1400, 8400000]) {
    const page = await opened('wide', 'view=sites', { ...sites, 'ext/v1/items/1/summary': () => history('1', range(9).map((i) => rowOf(10 - i, price * (1 + i / 9))), { sites: [seen(a, 9, 2)] }) }, { locale: 'de-DE' });
    await page.waitForSelector('#fresh tbody tr');
    await page.evaluate(() => {
      const { prototype } = CanvasRenderingContext2D;
      const real = prototype.fillText;
      globalThis.cut = [];
      globalThis.right = 0;
      prototype.fillText = function fillText(words, x, ...rest) {
        if (this.textAlign === 'right') {
          globalThis.right++;
          if (x - this.measureText(words).width < 0) globalThis.cut.push(words);
        }
        return real.call(this, words, x, ...rest);
      };
    });
    await go(page, 'view=history&items=1&last=24h&zone=UTC');
    await shown(page);
    const [cut, right] = await page.evaluate(() => [globalThis.cut, globalThis.right]);
    if (cut.length || !right) fail('wide', `of ${right} labels these are cut off: ${cut}`);
    await page.context().close();
  }
}

/** merchants: where no merchant is known at all, the site names the line; beside others, that there is none. */
async function merchants() {
  for (const merchant of [null, 'M']) {
    const rows = [rowOf(3, 24, { merchant }), rowOf(3, 29, { site: b, merchant: null })];
    const page = await opened('merchants', 'view=history&items=1&last=24h&zone=UTC', { ...sites, 'ext/v1/items/1/summary': () => history('1', rows, { sites: [seen(a, 1, 3), seen(b, 1, 3)] }) });
    await shown(page);
    const legend = (await page.locator('#legend li').allTextContents()).sort().join();
    if (legend !== (merchant ? 'MShop a.example,no merchantShop b.example' : 'Shop a.example,Shop b.example')) fail('merchants', `the legend is ${legend}`);
    await page.evaluate((at) => { const u = window.preismon.chart; u.setCursor({ left: u.valToPos(at, 'x'), top: 9 }); }, Date.parse(rows[0].capturedAt) / 1e3);
    await page.waitForFunction(() => document.querySelector('#readout').textContent);
    const read = await text(page, '#readout');
    if (!read.includes(merchant ? 'no merchant €29.00' : 'Shop b.example €29.00')) fail('merchants', `under the cursor is ${read}`);
    await page.context().close();
  }
}

await Promise.all(Object.entries({ narrowed, owned, unavailable, unpriced, held, planned, unshipped, wide, merchants }).map(([name, check]) => check().catch((e) => fail(name, `${e.stack}`.slice(0, 900)))));
await done();
