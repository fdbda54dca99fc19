// Uses the explorer with a service that is made up, whose answers come late, in
// another order, or not at all.
import { readFile } from 'node:fs/promises';
import { done, fail } from './harness.mjs';
import { ago, change, chartOf, feeding, go, held, history, itemOf, list, opened, orderOf, orders, param, problem, range, rowOf, says, siteOf, status, sumOf, text, until, usual } from './service.mjs';

/** behind: a page that is far behind reads its view again, and not all that it missed. */
async function behind() {
  const [made, answers] = feeding('ext/v1/sites/status', () => usual['ext/v1/sites/status'](), ({ asked }) => ({ data: [change('1')], progress: { token: `t${asked}`, upToDate: false } }));
  const page = await opened('behind', 'view=sites', answers, { clock: true });
  await until(page, 'news', () => made.asked);
  await page.waitForTimeout(1000);
  if (made.asked > 2) fail('behind', `in a second it asks the feed ${made.asked} times`);
  await page.clock.fastForward(20e3);
  await until(page, 'the view is read again', () => made.reads > 1);
  await page.context().close();
}

/** others: changes of products that are not on show cost few requests, and one of those on show is followed. */
async function others() {
  let itemId = '9';
  const [made, answers] = feeding('v1/results', () => list([]), ({ asked }) => ({ data: [change(itemId)], progress: { token: `t${asked}`, upToDate: true } }));
  const page = await opened('others', 'view=latest&items=1,2', answers, { clock: true });
  await until(page, 'news', () => made.asked);
  await page.waitForTimeout(1000);
  if (made.asked > 2) fail('others', `in a second it asks the feed ${made.asked} times`);
  if (made.reads > 2) fail('others', 'it reads the view again for other products');
  itemId = '2';
  for (let i = 0; i < 5 && made.reads <= 2; i++) { // so long that it is not read without news
    await page.clock.fastForward(20e3);
    for (let n = 0; n < 20 && made.reads <= 2; n++) await page.waitForTimeout(100); // a slow machine takes a while to ask
  }
  if (made.reads <= 2) fail('others', 'it does not follow its products');
  await page.context().close();
}

/** silent: without any news a view is read again after a while, but not while it is hidden; what somebody uses stays. */
async function silent() {
  const overdue = () => ({ ...status, reasons: { ...status.reasons, overdue: 1 }, lateSince: ago(2) });
  const quiet = () => new Promise((ok) => { setTimeout(ok, 200, { data: [], progress: { token: 'none', upToDate: true } }); });
  const [made, answers] = feeding('ext/v1/sites/status', () => (made.reads > 1 ? list([overdue()], { query: { asOf: ago(0), ...overdue() } }) : usual['ext/v1/sites/status']()), quiet);
  const page = await opened('silent', 'view=sites', answers, { clock: true });
  await page.focus('#fresh th:nth-child(3) button');
  await until(page, 'it follows', () => made.asked);
  await page.clock.fastForward(90e3);
  await page.waitForTimeout(1000);
  if (made.reads !== 1) fail('silent', `in a minute and a half without news it is read ${made.reads} times`);
  const hidden = (is) => page.evaluate((is) => Object.defineProperty(document, 'hidden', { configurable: true, get: () => is }), is);
  await hidden(true);
  await page.clock.fastForward(300e3);
  await page.waitForTimeout(1000);
  if (made.reads !== 1) fail('silent', 'it is read while it is hidden');
  await hidden(false);
  await page.waitForSelector('#fresh .badge.overdue', { timeout: 10e3 }).catch(() => fail('silent', 'what became overdue without news is not shown'));
  if (!(await page.evaluate(() => document.activeElement.matches('#fresh th:nth-child(3) button')))) fail('silent', 'read again, it takes the focus away');
  await page.waitForTimeout(1000);
  if (made.reads !== 2) fail('silent', `it is read ${made.reads} times instead of twice`);
  await page.context().close();
}

/** names: products that are not in the list of the form have their names where an answer tells them, and nowhere a number as their name. */
async function names() {
  const page = await opened('names', 'view=assortment&last=24h&zone=UTC', {
    'v1/items': () => list(range(5000).map((i) => itemOf(String(i + 1))), { paging: { nextCursor: 'more' } }), // as many as are read
    'ext/v1/statistics': (p) => list([sumOf('7000', { productName: null }), sumOf('7001', { ean: '4006381333931' }), sumOf('2')].filter(() => p.get('includeIdentity') === 'true')),
    'v1/results': (p) => list([rowOf(1, 10, { itemId: '7002', ...(p.get('includeIdentity') === 'true' && { productName: 'Product 7002' }) })]),
    'ext/v1/items/7002/summary': () => history('7002'),
    'ext/v1/items/7003/summary': () => history('7003'),
  });
  for (const name of ['Product 2', 'Product 7001']) await says(page, '#products', name);
  await says(page, '#assortment-status', 'without a known name: 1').catch(async () => fail('names', `of a product without a name it says ${await text(page, '#assortment-status')}`));
  const [kept] = await Promise.all([page.waitForEvent('download'), page.click('#assortment-files [data-form=csv]')]);
  const file = await readFile(await kept.path(), 'utf8');
  if (!file.includes('\r\n7000,,,,,,EUR,') || !file.includes('\r\n7001,Product 7001,,4006381333931,,,EUR,')) fail('names', `the file has the names ${file}`);
  for (const words of ['7000', '4006381333931', 'product 7001']) {
    await page.fill('#filter', words);
    if ((await page.locator('#products tbody tr').count()) !== 1) fail('names', `the filter does not find a product by ${words}`);
  }
  await go(page, 'view=latest&site=a.example&zone=UTC');
  await says(page, '#offers', 'Product 7002').catch(async () => fail('names', `the newest prices name it ${await text(page, '#offers')}`));
  await page.click('#offers tbody a');
  await page.waitForFunction(() => ['view=history', 'items=7002', 'site=a.example'].every((part) => location.hash.includes(part)), undefined, { timeout: 5e3 }).catch(async () => fail('names', `a product of the newest prices leads to ${await page.evaluate(() => location.hash)}`));
  await go(page, 'view=history&items=7003&last=24h&zone=UTC');
  for (const part of ['#chosen', '#asked']) await says(page, part, 'Product 7003').catch(async () => fail('names', `${part} names it ${await text(page, part)}`));
  await page.context().close();
}

/** paged: the assortment shows its products while their pages arrive, says that it is not complete, and has a file only of all. */
async function paged() {
  const [second, third] = [held(), held()];
  const pages = { null: () => list([sumOf('1')], { paging: { nextCursor: 'b' } }), b: () => second.answer, c: () => third.answer };
  const page = await opened('paged', 'view=assortment&last=24h&zone=UTC', { 'ext/v1/statistics': (p) => pages[p.get('cursor')]() }, { expected: (m) => /503/.test(m) });
  await says(page, '#products', 'Product 1');
  await says(page, '#assortment-status', 'Incomplete: 1 products so far. 1 of 1 lines').catch(async () => fail('paged', `after one page it says ${await text(page, '#assortment-status')}`));
  if (await page.locator('#assortment-files button').count()) fail('paged', 'it offers a file of a part');
  await page.waitForTimeout(1100); // it is drawn once a second at most
  second.let(list([sumOf('2')], { paging: { nextCursor: 'c' } }));
  await says(page, '#products', 'Product 2');
  await page.fill('#filter', '2');
  await says(page, '#assortment-status', 'Incomplete: 2 products so far. 1 of 2 lines').catch(async () => fail('paged', `filtered it says ${await text(page, '#assortment-status')}`));
  third.let(problem(503, 'Busy.'));
  await says(page, '#assortment-error', 'Incomplete').catch(async () => fail('paged', `after a failed page it says ${await text(page, '#assortment-error')}`));
  await page.fill('#filter', '');
  await says(page, '#assortment-status', 'Incomplete: 2 products so far.').catch(async () => fail('paged', `after a failed page it says ${await text(page, '#assortment-status')}`));
  pages.c = () => list([sumOf('3')]);
  pages.b = () => list([sumOf('2')], { paging: { nextCursor: 'c' } });
  await page.click('#assortment-error button');
  await says(page, '#assortment-status', '3 of 3 lines');
  if ((await text(page, '#assortment-status')).includes('Incomplete') || !(await page.locator('#assortment-files button').count())) fail('paged', `complete it says ${await text(page, '#assortment-status')}`);
  await page.context().close();
}

/** retries: after the lists of the form failed once, a view's own button reads everything again. */
async function retries() {
  let tries = 0;
  const page = await opened('retries', 'view=sites', { 'v1/sites': () => (tries++ ? list([siteOf('a.example')]) : problem(503, 'Busy.')) }, { viewport: { width: 390, height: 844 }, expected: (m) => /503/.test(m) });
  await page.click('#sites-error button');
  await page.waitForSelector('#fresh tbody tr', { timeout: 10e3 });
  if (!(await text(page, '#fresh')).includes('Shop a.example')) fail('retries', `without the names of sites: ${await text(page, '#fresh')}`);
  await page.context().close();
}

/** accounts: what the former account saw, and what was still under way for it, is not there for the next one; logging out waits for nothing. */
async function accounts() {
  let [logins, lists] = [0, undefined];
  const [found, loggedOut] = [held(), held()];
  const page = await opened('accounts', 'view=stream', {
    'v1/auth/token': () => ({ accessToken: `made-up-${++logins}` }),
    'v1/auth/logout': () => loggedOut.answer,
    'v1/sites': () => (lists ? lists.answer : list([siteOf('a.example')])),
    'v1/items': (p) => (p.get('ean') ? found.answer : list(['1', '2'].map(itemOf))),
    'v1/results/stream': () => ({ contentType: 'application/x-ndjson', body: '{"itemId":"1"}\n' }),
  }, { login: false, expected: (m) => /401/.test(m) });
  const login = async () => {
    await page.fill('#login-name', 'somebody');
    await page.fill('#login-password', 'x');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#app:not([hidden])');
  };
  const options = () => page.locator('#site option').allTextContents();
  await login();
  await page.waitForFunction(() => document.querySelectorAll('#site option').length === 2 && document.querySelectorAll('#items li').length === 2);
  await page.click('#start');
  await page.waitForSelector('#stream-state[data-state=complete]');
  await page.fill('#search', '4006381333931');
  await page.click('#logout');
  await page.waitForSelector('#login:not([hidden])', { timeout: 5e3 });
  lists = held();
  await login();
  if ((await options()).join()) fail('accounts', `the next account sees ${await options()}`);
  const numbers = await page.locator('#stream dd').allTextContents();
  if (numbers.join() !== '0,–,–,0') fail('accounts', `the next account sees the numbers ${numbers}`);
  found.let(list([itemOf('777')]));
  loggedOut.let(problem(401, 'expired'));
  lists.let(list([siteOf('b.example')]));
  await page.waitForFunction(() => document.querySelectorAll('#site option').length === 2, undefined, { timeout: 5e3 }).catch(async () => fail('accounts', `the next account does not get in: ${await text(page, '#login-error')}`));
  await page.fill('#search', '');
  const items = await page.locator('#items li').allTextContents();
  if (items.length !== 2 || !(await options()).join().includes('Shop b.example')) fail('accounts', `the next account sees ${items}, ${await options()}`);
  await page.context().close();
}

/** evidence: a late answer about a point is not shown once another point or another product is. */
async function evidence() {
  const late = [];
  const page = await opened('evidence', 'view=history&items=1&last=24h&zone=UTC', {
    'ext/v1/evidence': (p) => { // rows of a merchant that is named after the time of the point
      const one = held();
      late.push(() => one.let(list([{ merchant: p.get('capturedAt'), price: 10, currencyCode: 'EUR', capturedAt: p.get('capturedAt'), nextDueAt: null, productUrl: '', eventId: '' }])));
      return one.answer;
    },
  });
  await chartOf(page, '1');
  await page.focus('#chart');
  const asks = async (...keys) => {
    const before = late.length;
    for (const key of keys) await page.keyboard.press(key);
    await until(page, 'a point is asked for', () => late.length > before);
  };
  const shown = () => text(page, '#evidence tbody');
  await asks('End', 'Enter');
  await asks('ArrowLeft', 'Enter');
  late[1]();
  await page.waitForSelector('#evidence tbody tr');
  const second = await shown();
  late[0]();
  await page.waitForTimeout(300);
  if (await shown() !== second) fail('evidence', `the slower answer wins: ${await shown()}, not ${second}`);
  await asks('Home', 'Enter');
  await go(page, 'view=history&items=2&last=24h&zone=UTC');
  await chartOf(page, '2');
  late[2]();
  await page.waitForTimeout(300);
  if (await text(page, '#evidence')) fail('evidence', `beside another product it tells ${await text(page, '#evidence')}`);
  await page.context().close();
}

/** zoomed: the keys stay in the visible part of a chart, and what they reach is read out. */
async function zoomed() {
  const zoomed = (...hours) => `view=history&items=1&last=24h&zone=UTC&zoom=${hours.map((h) => new Date(Date.now() - h * 3600e3).toISOString()).join('/')}`;
  const page = await opened('zoomed', zoomed(3.5, 1.5)); // without the first of the points 4, 3 and 2 hours ago
  await chartOf(page, '1');
  if ((await page.getAttribute('#readout', 'aria-live')) !== 'polite') fail('zoomed', 'a screen reader does not read out what the keys reach');
  await page.focus('#chart');
  for (const [key, price] of [['Home', '€11.00'], ['ArrowLeft', '€11.00'], ['End', '€12.00'], ['ArrowRight', '€12.00'], ['ArrowLeft', '€11.00']]) {
    await page.keyboard.press(key);
    await says(page, '#readout', price).catch(async () => fail('zoomed', `${key} reads ${await text(page, '#readout')}`));
  }
  await go(page, zoomed(3.9, 2.6)); // with one point, and nearer to another one
  await chartOf(page, '1');
  await page.focus('#chart');
  for (const key of ['Home', 'ArrowRight', 'ArrowLeft']) {
    await page.keyboard.press(key);
    await says(page, '#readout', '€11.00').catch(async () => fail('zoomed', `of one point ${key} reads ${await text(page, '#readout')}`));
  }
  await page.context().close();
}

/** files: all files of an order stay when it is read again, and are not shown with another order, or without one. */
async function files() {
  let [news, gone, late] = [undefined, false, undefined];
  const page = await opened('files', 'view=orders&order=1&zone=UTC', {
    'ext/v1/changes': (p) => (p.get('since') ? (news = held()).answer : { data: [], progress: { token: 'now', upToDate: true } }),
    'ext/v1/orders/status': (p) => {
      if (p.get('orderId') && late) return late.answer;
      const { data, ...rest } = orders(p);
      return { ...rest, data: data.filter((o) => !gone || o.orderId !== '1') };
    },
  }, { clock: true });
  const count = (n) => page.waitForFunction((n) => document.querySelectorAll('#files tbody tr').length === n, n, { timeout: 30e3 });
  const reads = async () => { // of the view, for something new
    const old = await page.getAttribute('#live time', 'datetime');
    await until(page, 'it follows', () => news);
    news.let({ data: [change('1')], progress: { token: 'next', upToDate: true } });
    news = undefined;
    for (let i = 0; i < 50 && (await page.getAttribute('#live time', 'datetime')) === old; i++) {
      await page.clock.fastForward(70e3);
      await page.waitForTimeout(100);
    }
  };
  await count(5);
  await page.click('#files .small button');
  await count(20);
  await page.evaluate(() => document.activeElement.blur());
  await reads();
  await count(20).catch(async () => fail('files', `read again, there are ${await page.locator('#files tbody tr').count()} files`));
  gone = true;
  await reads();
  await says(page, '#order', 'no such order');
  if (await text(page, '#files')) fail('files', 'an order that is gone leaves its files');
  gone = false;
  await go(page, 'view=orders&order=2&zone=UTC');
  await says(page, '#order', 'Order B');
  late = held();
  await page.click('#files .small button');
  await go(page, 'view=orders&order=3&zone=UTC');
  await says(page, '#order', 'Order C');
  late.let(list([orderOf('2', 'Order B', 100)]));
  await page.waitForTimeout(300);
  if (!/Order C/.test(await text(page, '#order')) || /Order B/.test(await text(page, '#files'))) fail('files', `late files are shown with another order: ${await text(page, '#order')} ${await text(page, '#files')}`);
  await page.context().close();
}

/** filtered: a link to an order keeps the filter that was typed. */
async function filtered() {
  const page = await opened('filtered', 'view=orders&order=1&zone=UTC');
  await page.waitForSelector('#ordered tbody tr');
  await page.fill('#orders-filter', 'order b ');
  await page.click('#ordered tbody a');
  await says(page, '#order', 'Order B');
  if ((await param(page, 'filter')) !== 'order b' || (await page.locator('#ordered tbody tr').count()) !== 1) fail('filtered', `it filters ${await param(page, 'filter')}`);
  await page.fill('#orders-filter', '');
  await page.click('#ordered tbody tr:last-child a');
  await says(page, '#order', 'Order C');
  if ((await param(page, 'filter')) !== null) fail('filtered', `it still filters ${await param(page, 'filter')}`);
  await page.context().close();
}

/** unread: typing in a filter says nothing of records that are not there yet, or were not to be had. */
async function unread() {
  for (const [view, path, filter] of [['orders', 'ext/v1/orders/status', 'orders-filter'], ['sites', 'ext/v1/sites/status', 'sites-filter'], ['assortment', 'ext/v1/statistics', 'filter']]) {
    const late = held();
    const page = await opened('unread', `view=${view}`, { [path]: () => late.answer }, { expected: (m) => /503/.test(m) });
    await says(page, `#${view}-status`, 'Loading');
    await page.fill(`#${filter}`, 'a');
    if ((await text(page, `#${view}-status`)) !== 'Loading') fail('unread', `while it is read, ${view} says ${await text(page, `#${view}-status`)}`);
    late.let(problem(503, 'Busy.'));
    await says(page, `#${view}-error`, 'Busy');
    await page.fill(`#${filter}`, 'b');
    if (await text(page, `#${view}-status`)) fail('unread', `unread, ${view} says ${await text(page, `#${view}-status`)}`);
    await page.context().close();
  }
}

/** zones: a zone that the browser does not know is told, changes nothing that is on show, and is forgotten with the next one. */
async function zones() {
  const reads = [];
  const page = await opened('zones', 'view=orders&order=1&zone=Asia/Tokyo', { 'ext/v1/orders/status': (p) => { reads.push(p.get('timezone')); return orders(p); } });
  await says(page, '#ordered', '9:00 PM');
  await page.fill('#zone', 'Europe/Berlni');
  await page.locator('#zone').blur();
  await page.waitForSelector('#zone-error:not([hidden])', { timeout: 5e3 }).catch(() => fail('zones', 'an unknown zone is taken without a word'));
  await page.click('#tab-sites');
  await page.waitForSelector('#fresh tbody tr');
  await page.fill('#from', '2026-01-01T09:00');
  await page.locator('#from').blur();
  await page.click('#tab-orders');
  await says(page, '#ordered', '9:00 PM').catch(async () => fail('zones', `with an unknown zone it shows ${await text(page, '#ordered')}`));
  if ((await param(page, 'zone')) !== 'Asia/Tokyo' || (await param(page, 'from')) !== '2026-01-01T00:00:00.000Z') fail('zones', `the address is ${await page.evaluate(() => location.hash)}`);
  await page.click('[data-language=de]');
  await says(page, '#zone-error', 'kennt diese Zeitzone nicht').catch(() => fail('zones', 'the fault is not told in the other language'));
  await page.click('[data-language=en]');
  await page.fill('#zone', 'UTC');
  await says(page, '#ordered', '12:00 PM');
  await until(page, 'the orders are read in UTC', () => reads.at(-1) === 'UTC');
  await page.fill('#zone', 'europe/berlin'); // a browser takes it, the service does not
  await page.locator('#zone').blur();
  await says(page, '#ordered', '1:00 PM');
  await until(page, 'the orders are read in another zone', () => reads.at(-1) !== 'UTC');
  if (reads.at(-1) !== 'Europe/Berlin' || (await page.inputValue('#zone')) !== 'Europe/Berlin' || (await param(page, 'zone')) !== 'Europe/Berlin') fail('zones', `of europe/berlin it reads ${reads.at(-1)}, and shows ${await page.inputValue('#zone')}`);
  if (await page.isVisible('#zone-error') || new Set(reads).size !== 3) fail('zones', `after a known zone the fault stays, or it read in the zones ${[...new Set(reads)]}`);
  await page.context().close();
}

/** years: a year that is still being typed asks nothing, and one of the first millennium in a link is no fault of the script. */
async function years() {
  let reads = 0;
  const page = await opened('years', 'view=history&items=1&zone=UTC&from=0002-01-01T00:00&to=2026-01-01T00:00', { 'ext/v1/items/1/summary': () => { reads++; return history('1'); } });
  await chartOf(page, '1');
  await go(page, 'view=history&items=1&zone=UTC&last=24h');
  await page.waitForFunction(() => /last=24h/.test(location.hash));
  await chartOf(page, '1');
  reads = 0;
  for (const year of ['0002', '0020', '0202', '20261', '202614']) await page.fill('#from', `${year}-01-01T00:00`);
  await page.waitForTimeout(500);
  if (reads || (await param(page, 'last')) !== '24h') fail('years', `while a year is typed it reads ${reads} times, and asks ${await page.evaluate(() => location.hash)}`);
  for (const end of ['from', 'to']) if ((await page.getAttribute(`#${end}`, 'max')) !== '9999-12-31T23:59') fail('years', `the field ${end} waits for six digits of a year`);
  await page.fill('#from', '2026-01-01T00:00');
  await until(page, 'the window is read', () => reads);
  if ((await param(page, 'from')) !== '2026-01-01T00:00:00.000Z') fail('years', `the window begins ${await param(page, 'from')}`);
  await page.context().close();
}

/** empty: an assortment without anything in its window says when something was captured last, and leads there. */
async function empty() {
  const captured = ago(500);
  const page = await opened('empty', 'view=assortment&last=24h&zone=UTC', {
    'ext/v1/sites/status': () => list([status, { ...status, site: 'b.example', lastCapturedAt: captured }], { query: { asOf: ago(0), ...status } }),
    'ext/v1/statistics': (p) => list(p.get('capturedTo') < ago(400) ? [sumOf('1')] : []),
  });
  await page.click('#assortment-elsewhere a');
  await says(page, '#products', 'Product 1');
  if (!(await param(page, 'to')).startsWith(new Date(Date.parse(captured) + 60e3).toISOString().slice(0, 16))) fail('empty', `it leads to ${page.url()}`);
  if (await text(page, '#assortment-elsewhere')) fail('empty', 'beside products it says where others are');
  await page.context().close();
}

/** streaming: the keyboard gets from Start to Stop and back, though each is disabled in turn. */
async function streaming() {
  const late = held();
  const page = await opened('streaming', 'view=stream', { 'v1/results/stream': () => late.answer });
  const focused = () => page.evaluate(() => document.activeElement.id);
  await page.focus('#start');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#stream-state[data-state=running]');
  if ((await focused()) !== 'stop') fail('streaming', `started, the focus is at "${await focused()}"`);
  late.let({ contentType: 'application/x-ndjson', body: '{"itemId":"1"}\n' });
  await page.waitForSelector('#stream-state[data-state=complete]');
  if ((await focused()) !== 'start') fail('streaming', `at its end, the focus is at "${await focused()}"`);
  await page.context().close();
}

const checks = { behind, others, silent, names, paged, retries, accounts, evidence, zoomed, files, filtered, unread, zones, years, empty, streaming };

await Promise.all(Object.entries(checks).map(([name, check]) => check(name).catch((e) => fail(name, `${e.stack}`.slice(0, 900)))));
await done();
