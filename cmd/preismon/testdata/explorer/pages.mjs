// Uses the pages of sites and of orders as a person does, and reports what is wrong
// and what they showed, which explorer_pages_test.go compares with the service.
import { readFile } from 'node:fs/promises';
import { done, fail, open as watched, plan } from './harness.mjs';
import { copied, files, login, looks } from './person.mjs';

const said = { curl: {}, cli: {}, mcp: {}, tables: [] };

const cells = (page, what) => page.locator(`${what} tbody tr`).evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));

const there = (page, view, what) => page.waitForFunction(([view, what]) => !document.querySelector(`#${view}`).hasAttribute('aria-busy') && document.querySelector(`#${view}:not([hidden]) ${what} tbody tr`), [view, what]);

async function file(page, button) {
  const [kept] = await Promise.all([page.waitForEvent('download'), typeof button === 'string' ? page.click(button) : button.click()]);
  return { name: kept.suggestedFilename(), text: await readFile(await kept.path(), 'utf8') };
}

/** keeps checks that the address holds the state of a view: through a reload, Back, an expired login and an outage. */
async function keeps(page, view, what, path, hash) {
  const now = async () => JSON.stringify([(await cells(page, what)).map((r) => r[0]), await page.inputValue(`#${view}-filter`), await page.locator(`${what} [aria-sort]`).textContent()]);
  const before = await now();
  const same = async (how) => {
    await there(page, view, what);
    if ((await now()) !== before) fail(view, `after ${how}: ${await now()}, before ${before}`);
  };
  const at = await page.evaluate(() => decodeURIComponent(location.hash));
  if (!hash.test(at)) fail(view, `the address is not the state: ${at}`);
  await page.reload();
  await same('a reload');
  await page.click('#tab-stream');
  await page.waitForFunction(() => /view=stream/.test(location.hash));
  await page.goBack();
  await same('Back');
  await page.route(path, (route) => route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"code":"TOKEN_EXPIRED","detail":"expired"}' }), { times: 1 });
  await page.evaluate((view) => document.querySelector(`#tab-${view}`).click(), view);
  await page.waitForSelector('#login:not([hidden])');
  await login(page);
  await same('a login that expired');
  await page.route(path, (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"code":"SERVICE_UNAVAILABLE","detail":"The tables are away."}' }), { times: 1 });
  await page.click(`#tab-${view}`);
  await page.waitForFunction((view) => /The tables are away/.test(document.querySelector(`#${view}-error:not([hidden])`)?.textContent), view);
  if ((await cells(page, what)).length || (await page.locator(`#${view}-files button`).count())) fail(view, 'an error leaves what was there before');
  await looks(page, `${view}-error-en`, false);
  await page.click(`#${view}-error button`);
  await same('an outage');
}

/** nothing checks a view for which the service has no records. */
async function nothing(page, view, path, words) {
  await page.route(path, (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"data":[],"paging":{"limit":100,"returned":0},"query":{"asOf":"2026-01-01T00:00:00.000Z"}}' }));
  await page.evaluate((view) => { location.hash = `#view=${view}`; }, view);
  await page.waitForFunction(([view, words]) => document.querySelector(`#${view}-status`).textContent === words, [view, words]).catch(async () => fail(view, `without records it says ${await page.textContent(`#${view}-status`)}`));
  if (await page.locator(`#${view} tbody tr`).count()) fail(view, 'without records there are lines');
  await page.unroute(path);
}

async function sites() {
  const page = await watched('sites', { locale: 'en-GB', viewport: { width: 1280, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] }, (m) => /401|503/.test(m));
  await page.goto(`${plan.base}/explorer/#view=sites&zone=Europe/Berlin`);
  await login(page); // the link survives it
  await there(page, 'sites', '#fresh');
  said.sites = { rows: await cells(page, '#fresh'), status: await page.textContent('#sites-status'), overdue: await page.textContent('#overdue'), file: await file(page, '#sites-files [data-form=csv]') };
  said.tables[0] = await files(page, 'sites-files'); // all pages are checked together
  for (const kind of ['curl', 'cli', 'mcp']) said[kind].sites = await copied(page, 'sites', kind);
  await looks(page, 'sites-en', true);
  await page.locator('#fresh th button', { hasText: 'Pairs' }).click();
  const pairs = (await cells(page, '#fresh')).map((r) => Number(r[5]));
  if (pairs.some((n, i) => i && n < pairs[i - 1]) || pairs[0] === pairs.at(-1)) fail('sites', `not sorted by pairs: ${pairs}`);
  if ((await page.evaluate(() => document.activeElement.textContent)) !== 'Pairs') fail('sites', 'sorting takes the focus away');
  await page.fill('#sites-filter', 'MARKT');
  await page.keyboard.press('Tab');
  const left = await cells(page, '#fresh');
  if (!left.length || left.length === said.sites.rows.length || left.some((r) => !/markt/i.test(r[0]))) fail('sites', `the filter leaves ${left.map((r) => r[0])}`);
  if ((await page.textContent('#sites-status')).includes('pairs')) fail('sites', 'the status tells of all pairs beside some sites');
  const kept = (await file(page, '#sites-files [data-form=csv]')).text.trimEnd().split('\r\n').slice(1).map((l) => l.split(',')[1]);
  if (kept.join() !== left.map((r) => r[5]).join()) fail('sites', `the file is not what is on show: pairs ${kept}, ${left.map((r) => r[5])}`);
  await keeps(page, 'sites', '#fresh', '**/ext/v1/sites/status*', /view=sites.*sort=pairs.*filter=MARKT/);
  await page.click('#fresh tbody a');
  await page.waitForSelector('#latest:not([hidden])');
  await page.goBack();
  await there(page, 'sites', '#fresh');
  await nothing(page, 'sites', '**/ext/v1/sites/status*', 'You have no pairs monitored at any site here.');
  await page.context().close();
}

async function orders() {
  const page = await watched('orders', { locale: 'en-GB', viewport: { width: 1280, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] }, (m) => /401|403|503/.test(m));
  await page.goto(`${plan.base}/explorer/#view=orders&zone=Europe/Berlin`);
  await login(page);
  await there(page, 'orders', '#ordered');
  await there(page, 'orders', '#files');
  const newest = (await cells(page, '#files')).length;
  if (await page.locator('#files .small button').count()) {
    await page.click('#files .small button');
    await page.waitForFunction((n) => document.querySelectorAll('#files tbody tr').length > n, newest);
  }
  said.orders = { rows: await cells(page, '#ordered'), file: await file(page, '#orders-files [data-form=csv]'), order: await page.textContent('#order'), files: await cells(page, '#files') };
  said.tables[1] = await files(page, 'orders-files');
  for (const kind of ['curl', 'cli', 'mcp']) said[kind].orders = await copied(page, 'orders', kind);
  await looks(page, 'orders-en', true);
  said.downloads = [];
  const buttons = page.locator('#files tbody button');
  for (let i = 0; i < Math.min(3, await buttons.count()); i++) said.downloads.push(await file(page, buttons.nth(i)));
  await page.route('**/history/download*', (route) => route.fulfill({ status: 403, contentType: 'application/problem+json', body: '{"code":"AUTH_FORBIDDEN","detail":"Only some of it."}' }), { times: 1 });
  await buttons.first().click();
  await page.waitForFunction(() => /Only some of it/.test(document.querySelector('#files .error:not([hidden])')?.textContent));
  const last = page.locator('#ordered tbody tr').last().locator('a'); // another order, by its link
  const name = await last.textContent();
  await last.focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction((name) => document.querySelector('#order h2')?.textContent === `Order ${name}`, name);
  await page.locator('#ordered th button', { hasText: 'Number' }).click();
  await page.fill('#orders-filter', name);
  await page.keyboard.press('Tab');
  await keeps(page, 'orders', '#ordered', '**/ext/v1/orders/status?*', /view=orders.*sort=orderId.*order=\d+.*filter=/);
  await page.waitForFunction((name) => document.querySelector('#order h2')?.textContent === `Order ${name}`, name);
  await page.evaluate((number) => { location.hash = `#view=sites&orderId=${number}`; }, said.orders.rows[0].at(-1)); // the sites of one order
  await there(page, 'sites', '#fresh');
  for (const kind of ['curl', 'cli', 'mcp']) said[kind].sitesOfOrder = await copied(page, 'sites', kind);
  await page.evaluate(() => { location.hash = '#view=orders&order=999999999'; });
  await page.waitForFunction(() => /no such order/.test(document.querySelector('#order').textContent));
  await nothing(page, 'orders', '**/ext/v1/orders/status?*', 'You see no orders.');
  await page.context().close();
}

/** german checks both pages in German. */
async function german() {
  const page = await watched('de', { locale: 'de-DE', viewport: { width: 390, height: 844 } }, () => false);
  await page.goto(`${plan.base}/explorer/#view=sites`);
  await login(page);
  await there(page, 'sites', '#fresh');
  await looks(page, 'sites-de', false);
  await page.evaluate(() => { location.hash = '#view=orders'; });
  await there(page, 'orders', '#files');
  await looks(page, 'orders-de', false);
  await page.context().close();
}

/** forbidden checks an account that may read orders, but not their files: the order stays. */
async function forbidden() {
  const page = await watched('forbidden', { locale: 'en-GB' }, (m) => /403/.test(m));
  await page.goto(`${plan.base}/explorer/#view=orders`);
  await login(page, ...plan.forbidden);
  await page.waitForFunction(() => /may not read/.test(document.querySelector('#files .notice')?.textContent));
  if (!(await page.textContent('#order h2')) || !(await cells(page, '#ordered')).length || (await page.isVisible('#orders-error'))) fail('forbidden', 'without files there is no order');
  await page.context().close();
}

/** elsewhere checks a window before all captures: the page links to the newest one of the product. */
async function elsewhere() {
  const page = await watched('elsewhere', { locale: 'en-GB' }, () => false);
  await page.goto(`${plan.base}/explorer/#view=sites`);
  await login(page);
  const item = await page.evaluate(async () => (await (await fetch('../v1/items?limit=1', { headers: { Authorization: `Bearer ${sessionStorage.getItem('preismon.token')}` } })).json()).data[0].itemId);
  await page.evaluate((item) => { location.hash = `#view=history&items=${item}&zone=UTC&from=2001-01-01T00:00:00.000Z&to=2001-01-02T00:00:00.000Z`; }, item);
  await page.locator('#elsewhere a', { hasText: 'Show the 7 days before it' }).click();
  await page.waitForFunction(() => window.preismon.lines?.rows > 0 && !document.querySelector('#elsewhere a'));
  await page.context().close();
}

/** filtered narrows the latest prices by the fields of the form: each filter is requested, named, and part of the commands. */
async function filtered(page, item) {
  await page.evaluate((hash) => { location.hash = hash; }, `#${new URLSearchParams({ view: 'latest', items: item })}`);
  await page.locator('#filters summary').click();
  const names = await page.$eval('#filters', (e) => JSON.parse(e.dataset.filters).map((f) => f.name));
  const fields = await page.locator('#filter-fields .field').count();
  if (fields !== names.length) fail('filtered', `${fields} fields for ${names}`);
  const asked = page.waitForRequest((r) => new URL(r.url()).pathname === '/v1/results' && new URL(r.url()).searchParams.get('isPrime') === 'false', { timeout: 10e3 });
  await page.selectOption('#filter-isPrime', 'false');
  await asked.catch(() => fail('filtered', 'isPrime=false is not requested'));
  await page.locator('#chosen button', { hasText: 'Prime: no' }).waitFor();
  await page.waitForFunction(() => /--is-prime false/.test(document.querySelector('#latest-same [data-kind=cli]')?.textContent ?? ''));
  const call = await page.textContent('#latest-same [data-kind=mcp]');
  if (JSON.parse(call).params.arguments.isPrime !== false) fail('filtered', `the tool is called with ${call}`);
  await page.locator('#chosen button', { hasText: 'Prime: no' }).click();
  if (await page.inputValue('#filter-isPrime') !== '') fail('filtered', 'a filter that was removed stays in its field');
}

/** narrowed follows links as agents return them: each view requests everything that they name, and no longer what the user removes. */
async function narrowed() {
  const page = await watched('narrowed', { locale: 'en-GB', viewport: { width: 1280, height: 900 } }, () => false);
  await page.goto(`${plan.base}/explorer/#view=orders`);
  await login(page);
  await there(page, 'orders', '#ordered');
  const [orderId, item] = await page.evaluate(async () => {
    const read = async (path) => (await (await fetch(`../v1/${path}`, { headers: { Authorization: `Bearer ${sessionStorage.getItem('preismon.token')}` } })).json()).data[0];
    return [(await read('orders?limit=1')).orderId, (await read('items?limit=1')).itemId];
  });
  const since = new Date(Date.now() - 48 * 3600e3).toISOString();
  for (const [view, path, given] of [
    ['overview', '/ext/v1/overview', { since, ownMerchant: 'A & B' }], ['assortment', '/ext/v1/statistics', { orderId }], ['latest', '/v1/results', { orderId, merchant: 'A & B' }],
    ['history', `/ext/v1/items/${item}/summary`, { orderId, merchant: 'A & B' }], ['history', `/ext/v1/items/${item}/summary`, { ownMerchant: 'A & B' }], ['sites', '/ext/v1/sites/status', { orderId }],
  ]) {
    const asks = (has) => page.waitForRequest((r) => {
      const url = new URL(r.url());
      return url.pathname === path && Object.entries(given).every(([name, value]) => url.searchParams.get(name) === (has ? value : name === 'since' ? 'now-24h' : null));
    }, { timeout: 10e3 }).catch(() => fail('narrowed', `${view} does not ${has ? '' : 'stop to '}ask ${path} for ${Object.keys(given)}`));
    const first = asks(true);
    await page.evaluate((hash) => { location.hash = hash; }, `#${new URLSearchParams({ view, ...(view === 'history' || view === 'latest' ? { items: item } : {}), ...given })}`);
    await first;
    const all = asks(false);
    for (const name of Object.keys(given)) await page.locator('#chosen button', { hasText: { since: 'Since: ', orderId: 'Order: ', merchant: /^Merchant: A & B/, ownMerchant: 'Own merchant: A & B' }[name] }).click();
    await all;
    await page.waitForFunction((names) => names.every((name) => !new URLSearchParams(location.hash.slice(1)).has(name)), Object.keys(given));
  }
  await filtered(page, item);
  await page.evaluate((hash) => { location.hash = hash; }, `#${new URLSearchParams({ view: 'history', items: item, ownMerchant: 'A & B', own: '12.5' })}`); // the price replaces the merchant's
  await page.waitForFunction(() => !document.querySelector('#history').hasAttribute('aria-busy'));
  if (await page.isVisible('#history-error') || !(await page.locator('#markets tbody tr').count())) fail('narrowed', `an own price beside an own merchant shows ${await page.textContent('#history-error')}`);
  await page.context().close();
}

await Promise.all(Object.entries({ sites, orders, german, forbidden, elsewhere, narrowed }).map(([name, part]) => part().catch((e) => fail(name, `${e.stack}`.slice(0, 900)))));
await done(said);
