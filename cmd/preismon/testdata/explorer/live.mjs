// Checks what happens while a page of the explorer is open: it follows the feed,
// focus and selection stay, and what was missing at first is there later.
import { done, fail, open as watched, plan } from './harness.mjs';
import { login, looks, makesRows } from './person.mjs';

/** clocked returns a page whose clock can be forwarded. */
async function clocked(where) {
  const page = await watched(where, { locale: 'en-GB', viewport: { width: 1280, height: 900 } });
  await page.clock.install();
  return page;
}

const between = 16e3; // ms, a little more than a page waits between two reads

/** forwarded forwards the clock of a page, each second by ms, until a condition holds in it. */
async function forwarded(page, condition, arg, ms = between) {
  for (let tries = 0; tries < 40; tries++) {
    await page.clock.fastForward(ms);
    if (await page.waitForFunction(condition, arg, { timeout: 1000 }).then(() => true, () => false)) return;
  }
  throw new Error(`not in time: ${condition}`);
}

/** newer tells in a page whether its view is newer than before. */
const newer = (before) => document.querySelector('#live time')?.dateTime > before;

/** follows checks that a history follows a feed that is made up here, but not while it is zoomed, hidden or has the focus, and that nothing else on the page moves. */
async function follows() {
  const page = await clocked('live');
  await page.goto(`${plan.base}/explorer/`);
  await login(page);
  await makesRows(page);
  await page.evaluate(({ item, site }) => {
    const real = fetch;
    const made = globalThis.made = { rows: 3, feeds: 0, reads: 0, news: 0 };
    const json = (body) => new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } });
    globalThis.madeRows = (summary) => {
      made.reads++;
      const start = Date.now() - 3600e3;
      return new Response(summary + Array.from({ length: made.rows }, (_, i) => `${JSON.stringify({ itemId: item, site, capturedAt: new Date(start + i * 60e3).toISOString(), availability: 'AVAILABLE', price: 10 + i, totalPrice: 10 + i, currencyCode: 'EUR', merchant: 'M' })}\n`).join(''));
    };
    window.fetch = async (to, options) => {
      const path = String(to);
      if (!path.includes('/ext/v1/changes')) return real(to, options);
      made.feeds++;
      const asked = new URL(path).searchParams.get('since');
      const since = Number(asked ?? made.news);
      for (let i = 0; i < 20 && made.news === since && asked !== null; i++) await new Promise((ok) => { setTimeout(ok, 100); }); // the service waits, too
      return json({ data: Array.from({ length: made.news - since }, () => ({ itemId: item, site })), progress: { token: String(made.news), asOf: new Date().toISOString(), upToDate: true } });
    };
  }, { item: plan.items[0], site: plan.site });
  await page.evaluate((item) => { location.hash = `#view=history&items=${item}&last=24h&zone=UTC`; }, plan.items[0]);
  const shows = (n) => window.preismon.lines?.rows === n && /updates by itself|paused/.test(document.querySelector('#live').textContent);
  const rows = (n) => forwarded(page, shows, n);
  const news = () => page.evaluate(() => { globalThis.made.rows++; globalThis.made.news++; });
  const now = () => page.evaluate(() => [globalThis.made.reads, window.preismon.lines.rows, location.hash, scrollY].join());
  const state = (words) => page.waitForFunction((words) => document.querySelector('#live').textContent.includes(words), words);
  await page.waitForFunction(shows, 3);
  await state('updates by itself');
  if (!/^As of \D.*, \d+ sec\. ago/.test(await page.textContent('#live'))) fail('live', `it does not say how old it is: ${await page.textContent('#live')}`);
  await page.waitForFunction(() => globalThis.made.feeds >= 2);
  await page.evaluate(() => scrollTo(0, 200));
  const hash = await page.evaluate(() => location.hash);
  await news();
  await rows(4);
  if ((await page.evaluate(() => [location.hash, scrollY].join())) !== `${hash},200`) fail('live', `following changes the address or the place: ${await page.evaluate(() => [location.hash, scrollY].join())}`);

  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight)); // to its end, where a page that becomes shorter for a moment would scroll
  await page.focus('#legend button');
  const at = await page.evaluate(() => scrollY);
  await news();
  await rows(5).catch(() => fail('live', 'it does not follow while a button of the legend has the focus'));
  const still = await page.evaluate(() => [scrollY, document.activeElement.closest('#legend') !== null].join());
  if (still !== `${at},true`) fail('live', `following moves the page or takes the focus: ${at}, then ${still}`);

  await page.evaluate(() => { const { min, max } = window.preismon.chart.scales.x; window.preismon.chart.setScale('x', { min: min + 600, max: max - 600 }); });
  await state('paused while zoomed');
  await page.clock.runFor(2500); // earlier requests of the feed are answered by now
  await news();
  const zoomed = await now();
  await page.clock.runFor(17e3); // longer than it waits between two reads
  await page.waitForTimeout(500);
  if ((await now()) !== zoomed) fail('live', `zoomed, it went from ${zoomed} to ${await now()}`);
  await page.evaluate(() => Object.defineProperty(document, 'hidden', { configurable: true, get: () => true }));
  await page.click('#unzoom');
  await page.evaluate(() => document.activeElement.blur());
  await state('paused while hidden');
  const feeds = () => page.evaluate(() => globalThis.made.feeds);
  const asked = await feeds();
  await page.clock.runFor(3000);
  await page.waitForTimeout(300);
  if ((await feeds()) !== asked) fail('live', 'hidden, it asks the feed');
  await page.evaluate(() => { delete document.hidden; });
  await rows(6);
  await page.focus('#chart');
  await state('paused while you use it');
  await page.context().close();
}

/** real checks that the newest prices of a site follow the service. */
async function real() {
  const page = await clocked('real');
  await page.goto(`${plan.base}/explorer/#view=latest&site=${plan.site}&zone=UTC`);
  await login(page);
  await page.waitForSelector('#offers tbody tr');
  const before = await page.getAttribute('#live time', 'datetime');
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForResponse(async (r) => /\/changes\?.*since=/.test(r.url()) && (await r.json()).data.length > 0, { timeout: 90000 });
  await forwarded(page, newer, before);
  const [rows, newest] = await page.evaluate(async (site) => {
    const { data } = await (await fetch(`../v1/results?site=${site}&latestObservationPerPair=true&limit=1000`, { headers: { Authorization: `Bearer ${sessionStorage.getItem('preismon.token')}` } })).json();
    return [document.querySelectorAll('#offers tbody tr').length, data.length];
  }, plan.site);
  if (Math.abs(rows - newest) > newest / 4 || !rows) fail('real', `${rows} rows on show, the service has ${newest}`);
  await page.context().close();
}

/** feeding has a page follow a feed that is made up here; in the result, news is the number of changes, which the caller increases, and feeds the number of requests. */
async function feeding(page) {
  const made = { news: 0, feeds: 0 };
  await page.route('**/ext/v1/changes*', async (route) => {
    const asked = new URL(route.request().url()).searchParams.get('since');
    const since = Number(asked ?? made.news);
    made.feeds++;
    for (let i = 0; i < 20 && made.news === since && asked !== null; i++) await new Promise((ok) => { setTimeout(ok, 100); }); // the service waits, too
    const body = { data: Array.from({ length: made.news - since }, () => ({ itemId: '1', site: plan.site })), progress: { token: String(made.news), asOf: new Date().toISOString(), upToDate: true } };
    await route.fulfill({ contentType: 'application/json', body: JSON.stringify(body) }).catch(() => {}); // the page no longer waits
  });
  return made;
}

/** followed waits until a page requests what is new since it was read. */
async function followed(page, made) {
  for (let i = 0; i < 300 && made.feeds < 2; i++) await page.waitForTimeout(100);
}

/** answering answers with the first answer of the service, and when there are changes, with what later makes of its data. */
async function answering(page, path, made, later) {
  let first;
  await page.route(path, async (route) => {
    first ??= await (await route.fetch()).json();
    await route.fulfill({ contentType: 'application/json', body: JSON.stringify(made.news ? { ...first, data: later(first.data) } : first) }).catch(() => {});
  });
}

/** at returns where the user is: what has the focus, what is selected, and where that is on the screen. */
const at = (page) => page.evaluate(() => [document.activeElement.textContent, String(getSelection()), Math.round(getSelection().focusNode?.getBoundingClientRect?.().top)].join());

/** sorting checks that a table is read again while it is in use, and that focus, selection and position stay. */
async function sorting() {
  const page = await clocked('sorting');
  const made = await feeding(page);
  await answering(page, '**/v1/results?*', made, (rows) => [...rows, { ...rows.reduce((most, r) => (r.totalPrice > most.totalPrice ? r : most)), merchant: 'Newcomer' }]);
  await page.goto(`${plan.base}/explorer/#view=latest&site=${plan.site}&zone=UTC`);
  await login(page);
  await page.waitForSelector('#offers tbody tr:nth-child(30)');
  await followed(page, made);
  await page.focus('#offers th:nth-child(2) button');
  await page.evaluate(() => {
    document.querySelector('#offers').scrollTop = 200;
    getSelection().selectAllChildren(document.querySelector('#offers tbody tr:nth-child(12) td'));
  });
  const before = await at(page);
  if (!/^Price,.+,\d+$/.test(before) || !(await page.evaluate(() => document.querySelector('#offers').scrollTop))) fail('sorting', `somebody is at ${before}`);
  made.news++;
  await forwarded(page, () => document.querySelector('#offers').textContent.includes('Newcomer')).catch(() => fail('sorting', `the table does not follow: ${before}`));
  const after = await at(page);
  if (after !== before) fail('sorting', `somebody was at ${before}, and after it followed at ${after}`);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#offers th:nth-child(2)[aria-sort=ascending]');
  await page.context().close();
}

/** moving checks that a link keeps the focus when its line moves. */
async function moving() {
  const page = await clocked('moving');
  const made = await feeding(page);
  made.news = 2; // so that the first order, too, is made here and does not depend on the market
  await answering(page, '**/ext/v1/sites/status*', made, (sites) => sites.map((s, i) => ({ ...s, late: made.news % 2 ? i : -i, reasons: { ...s.reasons, overdue: 0 } })));
  await page.goto(`${plan.base}/explorer/#view=sites&zone=UTC`);
  await login(page);
  await page.waitForSelector('#fresh tbody tr:nth-child(3)');
  await followed(page, made);
  const places = () => page.locator('#fresh tbody a').allTextContents();
  for (const n of [1, (await places()).length]) { // one moves down, and another one up
    await page.focus(`#fresh tbody tr:nth-child(${n}) a`);
    const name = await page.evaluate(() => document.activeElement.textContent);
    made.news++;
    const old = await page.getAttribute('#live time', 'datetime');
    await forwarded(page, newer, old).catch(() => fail('moving', 'the sites are not read again'));
    const focused = await page.evaluate(() => document.activeElement.textContent);
    const now = (await places()).indexOf(name);
    if (focused !== name || now + 1 === n) fail('moving', `the focus was at ${name}, the line ${n}, and is at ${focused}; that is line ${now + 1}`);
  }
  await page.context().close();
}

/** large checks that the views of everything follow the feed, too, once a minute. */
async function large(view, row) {
  const page = await clocked(`large ${view}`);
  const made = await feeding(page);
  await page.goto(`${plan.base}/explorer/#view=${view}&last=24h&zone=UTC`);
  await login(page);
  await page.waitForSelector(row);
  await followed(page, made);
  if (!/updates by itself/.test(await page.textContent('#live'))) fail(view, `it says ${await page.textContent('#live')}`);
  const old = await page.getAttribute('#live time', 'datetime');
  made.news++;
  await forwarded(page, newer, old, 61e3).catch(() => fail(view, 'it is not read again'));
  if (!(await page.locator(row).count())) fail(view, 'read again, it is empty');
  await page.context().close();
}
const assortment = () => large('assortment', '#products tbody tr');
const orders = () => large('orders', '#files tbody tr');

/** opens checks a server without Preact: the page shows so, in both languages, and opens when it is there. */
async function opens() {
  const page = await watched('opens', { locale: 'de-DE', viewport: { width: 1280, height: 900 } }, (m) => /404/.test(m));
  await page.route('**/preact.module.js', (route) => route.fulfill({ status: 404 }));
  await page.goto(`${plan.base}/explorer/`);
  await page.waitForSelector('#missing:not([hidden])');
  const words = await page.locator('main').innerText();
  for (const said of [/Preact is missing/, /explorer-assets FOLDER/, /explorer-assets ORDNER/]) if (!said.test(words)) fail('opens', `without Preact it says ${words}`);
  await looks(page, 'missing', true);
  await page.unroute('**/preact.module.js');
  await page.waitForSelector('#login:not([hidden])');
  if (await page.isVisible('#missing')) fail('opens', 'it still says that Preact is missing');
  await login(page);
  await page.context().close();
}

await Promise.all(Object.entries({ follows, real, sorting, moving, opens, assortment, orders }).map(([name, part]) => part().catch((e) => fail(name, `${e.stack}`.slice(0, 900)))));
await done();
