// Does tasks of an analyst in the explorer, counts what a person would press
// and type, and compares each answer with the service. A click, Enter or Space
// on the focused element, and a typed term count 1 each; moving the focus by Tab
// and arrows is not counted. Each task begins on the start page, logged in.
// Long: one task after another.
import { readFile } from 'node:fs/promises';
import { done, fail, open as watched, picture, plan } from './harness.mjs';
import { login } from './person.mjs';

const said = [];
const start = (page) => page.waitForFunction(() => !document.querySelector('#overview').hasAttribute('aria-busy') && document.querySelector('#overview:not([hidden]) #seen tbody tr'));
const ready = (page, view) => page.waitForFunction((view) => !document.querySelector(`#${view}`).hasAttribute('aria-busy') && !document.querySelector(`#${view}`).hidden, view);
const cells = (page, what) => page.locator(`${what} tbody tr`).evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.innerText)));
const linked = (page, what, name) => page.locator(`${what} tbody a`).evaluateAll((links, name) => links.map((a) => new URLSearchParams(a.hash.slice(1)).get(name)), name);

/** api reads from the service with the login of the page. */
const api = (page, path) => page.evaluate(async (path) => (await fetch(`../${path}`, { headers: { Authorization: `Bearer ${sessionStorage.getItem('preismon.token')}` } })).json(), path);

/** money returns an amount as the page must show it. */
const money = (lang, value, currency) => new Intl.NumberFormat(lang, { style: 'currency', currency }).format(value);
const plain = (text) => text.replaceAll(/\s/g, ' ');

/** number parses an integer that the page wrote. */
const number = (text) => Number(text.replaceAll(/[^\d-]/g, ''));

/** product opens the page of a product, over the window of the plan. */
async function product(page, item) {
  await page.goto(`${plan.base}/explorer/#view=history&items=${item}&zone=Europe/Berlin&from=${plan.from}&to=${plan.to}`);
  await page.waitForFunction((item) => document.querySelector('#history:not([hidden])') && window.preismon.lines?.rows > 0 && location.hash.includes(item), item);
  await ready(page, 'history');
}

/** rowsOf reads the rows of a product. */
const rowsOf = (page, item, from, site = '') => page.evaluate(async (path) => {
  const text = await (await fetch(`../${path}`, { headers: { Authorization: `Bearer ${sessionStorage.getItem('preismon.token')}` } })).text();
  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}, `v1/results/stream?itemId=${item}${site && `&site=${site}`}&capturedFrom=${from}&capturedTo=${plan.to}&includeExportFields=true&sort=asc`);

/** days counts the days that were out of stock, partly in stock, in stock, and not observed. rows begin a day before the window, since a capture holds until the next one, at most a day. */
function days(rows) {
  const captures = new Map();
  for (const r of rows) {
    const at = Date.parse(r.capturedAt);
    const state = r.price !== null && r.availability === 'AVAILABLE' ? 'in' : r.availability === 'UNAVAILABLE' ? 'out' : 'unknown';
    if (captures.get(at) !== 'in') captures.set(at, state);
  }
  const held = [...captures].map(([at, state], i, all) => [at, Math.min(all[i + 1]?.[0] ?? Infinity, at + 86400e3, Date.parse(plan.to)), state]);
  const count = { out: 0, part: 0, in: 0, unknown: 0, none: 0 };
  plan.days.slice(0, -1).forEach((from, i) => {
    const on = new Set(held.filter(([a, b]) => Math.min(b, Date.parse(plan.days[i + 1])) > Math.max(a, Date.parse(from))).map(([, , state]) => state));
    count[on.has('out') ? (on.has('in') ? 'part' : 'out') : on.has('in') ? 'in' : on.has('unknown') ? 'unknown' : 'none']++;
  });
  return [count.out, count.part, count.in, count.none];
}

class Person {
  clicks = 0;

  constructor(page, lang, keys) { Object.assign(this, { page, lang, keys }); }

  /** seen is called when the answer is on the screen; the time for its comparison does not count. */
  seen() { this.first ??= Date.now(); }

  async click(what) {
    this.clicks++;
    const there = typeof what === 'string' ? this.page.locator(what).first() : what;
    if (!this.keys) return there.click();
    const kind = await there.evaluate((e) => e.type ?? e.tagName);
    await this.reach(there);
    await this.page.keyboard.press(kind === 'checkbox' ? 'Space' : 'Enter');
  }

  /** reach moves the focus to an element by keyboard: by Tab, and within tabs by arrows. */
  async reach(there) {
    await there.waitFor();
    const tab = (await there.getAttribute('role')) === 'tab';
    const focused = () => there.evaluate((e) => e === document.activeElement);
    for (let i = 0; i < 400 && !(await focused()); i++) {
      await this.page.keyboard.press(tab && (await this.page.evaluate(() => document.activeElement.role === 'tab')) ? 'ArrowRight' : 'Tab');
    }
    if (!(await focused())) throw new Error(`the keyboard does not reach ${await there.evaluate((e) => e.outerHTML.slice(0, 120))}`);
  }

  async type(what, words) {
    this.clicks++;
    if (!this.keys) return this.page.fill(what, words);
    await this.reach(this.page.locator(what));
    await this.page.keyboard.press('ControlOrMeta+a');
    await this.page.keyboard.type(words);
  }

  async choose(what, value) {
    this.clicks++;
    if (!this.keys) return this.page.selectOption(what, value);
    await this.reach(this.page.locator(what));
    for (let i = 0; i < 50 && (await this.page.inputValue(what)) !== value; i++) await this.page.keyboard.press('ArrowDown');
  }

  async press(key) { this.clicks++; await this.page.keyboard.press(key); }

  async file(what) {
    const [kept] = await Promise.all([this.page.waitForEvent('download'), this.click(what)]);
    return { name: kept.suggestedFilename(), text: await readFile(await kept.path(), 'utf8') };
  }
}

const columnsOf = (text) => text.trimEnd().split('\r\n').slice(1).map((line) => line.split(','));

/** moving lists tasks that compare current values, which may change between the page's read and the check. */
const moving = ['largest-drop', 'undercut', 'undercut-file', 'cheapest-by-ean', 'order-health', 'overdue-sites', 'never-captured'];

/** tasks maps names to the maximum number of clicks and a function that returns a fault, or undefined. */
const tasks = {
  // The largest drop in 24 hours: product, site, old and new price, both instants.
  'largest-drop': [0, async ({ page, lang }) => {
    const rows = await cells(page, '#moved');
    const items = await linked(page, '#moved', 'items');
    const i = rows.findIndex((r) => /^-/.test(r[1]));
    const asked = (await page.textContent('#overview-same [data-kind=curl]')).match(/\/(ext\/v1\/overview\?[^']*)'/)[1];
    const [told] = (await api(page, asked)).data.find((list) => list.list === 'PRICE_DOWN').movers;
    const want = [told.before, told.after].map((o) => money(lang, o.price, o.currencyCode));
    const times = await page.locator('#moved tbody tr').nth(i).locator('time').evaluateAll((all) => all.map((e) => e.dateTime));
    if (items[i] !== told.itemId || ![2, 3].every((c, k) => plain(rows[i][c]).startsWith(plain(want[k])))) return `${rows[i]} for ${told.itemId} ${want}`;
    if (times.join() !== [told.before, told.after].map((o) => o.capturedAt).join()) return `captured ${times}`;
  }],
  // Its history: the chart is there at once, in the first 600 px.
  'its-history': [1, async (who) => {
    const { page } = who;
    const [item] = await linked(page, '#moved', 'items');
    await who.click('#moved tbody a');
    await page.waitForFunction(() => window.preismon.chart && document.querySelector('#chart:not([hidden]) canvas'));
    who.seen();
    await ready(page, 'history');
    const top = await page.evaluate(() => document.querySelector('#chart').getBoundingClientRect().top + scrollY);
    const [lines, rows] = await page.evaluate(() => [[...new Set([...window.preismon.lines.pairs.values()].map((p) => p.itemId ?? p.item))], window.preismon.lines.rows]);
    if (top > 600 || rows === 0) return `the chart begins at ${top}, with ${rows} rows of ${lines}`;
    if (new URLSearchParams(new URL(page.url()).hash.slice(1)).get('items') !== item) return `another product: ${page.url()}`;
  }],
  // A product by its EAN: the cheapest with shipping, in each currency.
  'cheapest-by-ean': [3, async (who) => {
    const { page, lang } = who;
    const { data: [item] } = await api(page, `v1/items?itemId=${plan.item}`);
    if (!(await page.isVisible('#search'))) await who.click('#asking summary');
    await who.type('#search', item.ean);
    await page.waitForFunction(() => document.querySelectorAll('#items li').length === 1);
    await who.click('#items input');
    await page.waitForSelector('#now tbody tr');
    await ready(page, 'history');
    const { data: markets } = await api(page, `ext/v1/items/${plan.item}/summary`);
    const told = await page.locator('#markets tbody tr').evaluateAll((all) => all.map((r) => (r.cells[1].querySelector('span')?.firstChild ?? r.cells[1].firstChild)?.textContent));
    const least = markets.map((m) => (m.cheapest ? money(lang, m.cheapest.totalPrice, m.currencyCode) : told.find((text) => !/\d/.test(text))));
    if (told.map(plain).join() !== least.map(plain).join()) return `${told} for ${least}`;
    const { data } = await api(page, `v1/results?itemId=${plan.item}&latestObservationPerPair=true&includeExportFields=true&limit=1000`);
    const rows = await cells(page, '#now');
    const total = 1; // after the merchant, of one product
    const currencies = [...new Set(data.filter((r) => r.price !== null).map((r) => r.currencyCode))];
    for (const currency of currencies) {
      const known = data.filter((r) => r.currencyCode === currency && r.totalPrice !== null).map((r) => r.totalPrice);
      if (!known.length) continue;
      const first = plain(money(lang, Math.min(...known), currency));
      const of = rows.map((r) => plain(r[total])).filter((text) => known.some((v) => plain(money(lang, v, currency)) === text));
      if (of[0] !== first || of.length !== known.length) return `${currency}: first ${of[0]} of ${of.length}, the least of ${known.length} is ${first}`;
    }
    const unknown = data.filter((r) => r.price !== null && r.totalPrice === null).length;
    if (rows.filter((r) => /unknown|unbekannt/i.test(r[total])).length !== unknown) return `shipping is unknown ${unknown} times`;
  }],
  // Where am I undercut, ordered by gap?
  'undercut': [1, async ({ page }) => {
    const { query, data } = await api(page, 'ext/v1/position?limit=10');
    const words = (await page.textContent('#stand .lead')).match(/\d+/g).map(Number);
    const want = [query.positions, query.above, query.equal, query.below];
    const items = await linked(page, '#stand', 'items');
    if (words.join() !== want.join()) return `${words} for ${want}`;
    if (items.join() !== data.filter((p) => p.difference > 0).map((p) => p.itemId).join()) return `the order is ${items}`;
  }],
  // That list as a file.
  'undercut-file': [2, async (who) => {
    const { page } = who;
    const items = await linked(page, '#stand', 'items');
    const { name, text } = await who.file('#stand-files [data-form=csv]');
    const { data } = await api(page, 'ext/v1/position?limit=10');
    const rows = columnsOf(text).map((r) => [r[0], r[2], r[3]].join());
    const want = data.filter((p) => p.difference > 0).map((p) => [p.itemId, p.currencyCode, p.ownPrice].join());
    if (name !== 'undercut.csv' || rows.join(' ') !== want.join(' ') || rows.map((r) => r.split(',')[0]).join() !== items.join()) return `${name}: ${rows} for ${want}`;
  }],
  // Which sites are overdue, and since when? Must match the quality of the orders.
  'overdue-sites': [1, async (who) => {
    const { page } = who;
    await who.click('#tab-sites');
    await ready(page, 'sites');
    const told = await page.textContent('#overdue');
    const { data: orders } = await api(page, 'v1/orders');
    const sites = new Set();
    for (const { orderId } of orders) for (const q of (await api(page, `v1/orders/${orderId}/observation-quality?reasonCode=OVERDUE&limit=1000`)).data) sites.add(q.site);
    if (number(told.split('.')[0]) !== sites.size) return `${told} for ${[...sites]}`;
  }],
  // A link, opened without a login, shows the same after the login.
  'link-through-login': [1, async (who) => {
    const { page } = who;
    await who.click('#moved tbody a');
    await ready(page, 'history');
    const state = (p) => p.evaluate(() => [location.hash, document.querySelectorAll('#chosen li').length, document.querySelector('#zone').value, document.querySelector('#pairs tbody')?.rows.length].join());
    await page.waitForSelector('#pairs tbody tr');
    const before = await state(page);
    const other = await watched('tasks', { locale: who.lang, viewport: page.viewportSize() }, () => false);
    await other.goto(page.url());
    await login(other);
    await other.waitForSelector('#pairs tbody tr');
    await ready(other, 'history');
    const after = await state(other);
    await other.context().close();
    if (after !== before) return `${after} for ${before}`;
  }],
  // Another zone: the same instants.
  'another-zone': [2, async (who) => {
    const { page } = who;
    if (!(await page.isVisible('#zone'))) await who.click('#asking summary');
    const from = await page.inputValue('#from');
    await who.type('#zone', 'Asia/Tokyo');
    await page.waitForFunction((from) => document.querySelector('#from').value !== from, from);
    await page.waitForFunction(() => /Tokyo/.test(location.hash));
    const moved = Date.parse(`${await page.inputValue('#from')}Z`) - Date.parse(`${from}Z`);
    if (![0, 1].includes(moved / 60e3 - 9 * 60)) return `the window is ${moved} ms later`; // the browser's zone is UTC, and the window ends now: a minute may have passed
  }],
  // Where a point of the chart comes from: its row, its instant, the page of the product.
  'evidence': [1, async (who) => {
    const { page, lang } = who;
    await product(page, plan.items[1]);
    const point = await page.evaluate(() => {
      const { chart: u, lines } = window.preismon;
      const s = u.series.findIndex((one, n) => n > 0 && one.show && u.data[n].some((v) => v > 0));
      const i = u.data[s].findLastIndex((v, at) => v > 0 && at < u.data[0].length * 0.9);
      u.root.scrollIntoView({ block: 'center' });
      const box = u.over.getBoundingClientRect();
      return { x: box.left + u.valToPos(u.data[0][i], 'x'), y: box.top + u.valToPos(u.data[s][i], u.series[s].scale), at: u.data[0][i], price: u.data[s][i], currency: u.series[s].scale, rows: lines.rows };
    });
    if (who.keys) {
      await who.reach(page.locator('#chart'));
      await page.keyboard.press('End');
      const priced = async () => / · .*\d[.,]\d\d/.test(await page.textContent('#readout'));
      for (let i = 0; i < 50 && !(i > 3 && (await priced())); i++) await page.keyboard.press('ArrowLeft');
      await who.press('Enter');
    } else {
      who.clicks++;
      await page.mouse.move(point.x, point.y); // the chart shows a point under the cursor
      await page.waitForFunction(() => document.querySelector('#readout').textContent);
      await page.mouse.click(point.x, point.y);
    }
    await page.waitForSelector('#evidence tbody tr');
    who.seen();
    const at = await page.locator('#evidence time').first().getAttribute('datetime');
    const [row] = await cells(page, '#evidence');
    const { data } = await api(page, `v1/results?itemId=${plan.items[1]}&capturedFrom=${new Date(at).toISOString()}&capturedTo=${new Date(Date.parse(at) + 1).toISOString()}&includeExportFields=true&limit=1000`);
    const same = data.filter((r) => r.merchant === row[0] && r.price !== null && plain(money(lang, r.price, r.currencyCode)) === plain(row[1]));
    const off = await page.evaluate(([at, point]) => { // on a phone one pixel covers several captures
      const u = window.preismon.chart;
      return Math.abs(u.valToPos(Math.round(Date.parse(at)) / 1e3, 'x') - u.valToPos(point.at, 'x'));
    }, [at, point]);
    if (!who.keys && (off > 2 || plain(row[1]) !== plain(money(lang, point.price, point.currency)))) return `${row}, ${off} pixels from ${JSON.stringify(point)}`;
    if (!same.length || !row[4] || !row[5]) return `${row}: ${same.length} rows`;
  }],
  // Who held the buy box in 30 days, in each market: of all its captures, including those without a holder.
  'buy-box-share': [0, async (who) => {
    const { page } = who;
    await product(page, plan.items[1]);
    await page.waitForSelector('#boxes tbody tr');
    who.seen();
    const sites = new Map((await api(page, 'v1/sites?limit=1000')).data.map((s) => [s.site, s]));
    const [won, all] = [new Map(), new Map()]; // by market, for its sites with a buy box
    const more = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);
    const captures = new Set();
    for (const r of await rowsOf(page, plan.items[1], plan.from)) {
      const { countryCode, currencyCode, canonicalCountryMarket } = sites.get(r.site);
      if (!canonicalCountryMarket) continue;
      const market = `${countryCode} ${currencyCode}`;
      if (!captures.has(`${r.site} ${r.capturedAt}`)) more(all, market);
      captures.add(`${r.site} ${r.capturedAt}`);
      if (r.isBuyBox) more(won, `${market} ${r.merchant}`);
    }
    const [shares, seen, nobody] = [new Map(), new Map(), /^(nobody|niemand)$/];
    for (const [market, merchant, share, captures] of await cells(page, '#boxes')) {
      shares.set(market, (shares.get(market) ?? 0) + Number(share.replace(',', '.').replaceAll(/[^\d.]/g, '')));
      if (!nobody.test(merchant)) seen.set(`${market} ${merchant}`, number(captures));
      all.set(market, all.get(market) - number(captures));
    }
    if (![...shares.values()].every((sum) => Math.abs(sum - 100) < 0.5) || !shares.size) return `shares ${[...shares]}`;
    if ([...all.values()].some((rest) => rest)) return `captures that are missing: ${[...all]}`;
    const text = (m) => [...m].sort().join(' ');
    if (text(seen) !== text(won)) return `${text(seen)} for ${text(won)}`;
  }],
  // On how many days of a month was a product out of stock at a shop?
  'days-out-of-stock': [1, async (who) => {
    const { page } = who;
    await product(page, plan.items[0]);
    if (!(await page.isVisible('#site'))) await page.click('#asking summary'); // not counted: choosing the site is the one click
    await who.choose('#site', plan.site);
    await page.waitForFunction((site) => new URLSearchParams(location.hash.slice(1)).get('site') === site, plan.site);
    await ready(page, 'history');
    const [row, ...others] = await cells(page, '#stock');
    who.seen();
    const want = days(await rowsOf(page, plan.items[0], plan.before, plan.site));
    if (others.length || !want[1] || [2, 3, 4, 7].map((i) => number(row[i])).join() !== want.join()) return `${row} for ${want}`;
  }],
  // At which site was nothing ever captured, and why?
  'never-captured': [1, async (who) => {
    const { page } = who;
    await who.click('#tab-sites');
    await ready(page, 'sites');
    const rows = (await cells(page, '#fresh')).map((r, i) => [i, r]).filter(([, r]) => /^(never|nie)$/.test(r[1]));
    const sites = await linked(page, '#fresh', 'site');
    const { data } = await api(page, 'ext/v1/sites/status');
    const want = data.filter((s) => s.lastCapturedAt === null).map((s) => `${s.site} ${s.pairs - s.reasons.priceObserved - s.reasons.productUnavailable - s.reasons.productNotFound}`).sort();
    const got = rows.map(([i, r]) => `${sites[i]} ${r[4].match(/\d+/g).reduce((n, v) => n + Number(v), 0)}`).sort();
    if (!want.length || got.join() !== want.join()) return `${got} for ${want}`;
  }],
  // The newest file of the first order.
  'newest-file': [2, async (who) => {
    const { page } = who;
    await who.click('#tab-orders');
    await page.waitForSelector('#files tbody button');
    const order = (await linked(page, '#ordered', 'order'))[0];
    const { name, text } = await who.file('#files tbody button');
    const want = await api(page, `v1/orders/${order}/exports/history/latest`);
    if (name !== want.filename || !text) return `${name} for ${want.filename}`;
  }],
  // How well is each order observed?
  'order-health': [1, async (who) => {
    const { page } = who;
    await who.click('#tab-orders');
    await page.waitForSelector('#ordered tbody tr');
    const orders = await linked(page, '#ordered', 'order');
    const rows = await cells(page, '#ordered');
    const { data } = await api(page, 'v1/orders?includeCoverage=true');
    const got = rows.map((r, i) => [orders[i], number(r[2]), number(r[3])].join()).sort();
    const want = data.map((o) => [o.orderId, o.coverage.configuredPairs, o.coverage.observedPairs].join()).sort();
    if (got.join(' ') !== want.join(' ')) return `${got} for ${want}`;
  }],
  // Which product changed most often in the window?
  'most-changes': [3, async (who) => {
    const { page } = who;
    await who.click('#tab-assortment');
    await page.waitForSelector('#products tbody tr');
    await ready(page, 'assortment');
    const header = page.locator('#products th button').nth(10);
    await who.click(header);
    await who.click(header);
    const [item] = await linked(page, '#products', 'items');
    const asked = (await page.textContent('#assortment-same [data-kind=curl]')).match(/\/(ext\/v1\/statistics\?[^']*)'/)[1];
    const { data } = await api(page, asked);
    const most = Math.max(...data.map((r) => r.changes));
    if (data.find((r) => r.itemId === item)?.changes !== most) return `${item} did not change ${most} times`;
  }],
  // The rows of a product as a file.
  'product-file': [1, async (who) => {
    const { page } = who;
    await product(page, plan.items[0]);
    const { name, text } = await who.file('#history-files [data-form=csv]');
    who.seen();
    const rows = await page.evaluate(() => window.preismon.lines.rows);
    const lines = text.trimEnd().split(/\r?\n/).length - 1;
    if (name !== `history-${plan.items[0]}.csv` || lines !== rows) return `${name}: ${lines} lines for ${rows} rows`;
  }],
  // How old is what I see, and is it updated?
  'how-old': [0, async ({ page }) => {
    const [words, at] = await page.evaluate(() => [document.querySelector('#live').textContent, document.querySelector('#live time').dateTime]);
    if (!/^(As of|Stand) .*(ago|vor).* · (updates by itself|folgt|paused|angehalten)/.test(words) || Math.abs(Date.now() - Date.parse(at)) > 60e3) return `${words} ${at}`;
  }],
  // The whole assortment as a file.
  'assortment-file': [2, async (who) => {
    const { page } = who;
    await who.click('#tab-assortment');
    await page.waitForSelector('#products tbody tr');
    const { text } = await who.file('#assortment-files [data-form=csv]');
    const asked = (await page.textContent('#assortment-same [data-kind=curl]')).match(/\/(ext\/v1\/statistics\?[^']*)'/)[1];
    const lines = (await api(page, asked)).data.reduce((n, r) => n + Math.max(1, r.prices.length), 0);
    if (columnsOf(text).length !== lines) return `${columnsOf(text).length} lines for ${lines}`;
  }],
};

/** begin opens the start page and reloads it. */
async function begin(page) {
  await page.goto(`${plan.base}/explorer/#view=overview&zone=UTC`);
  await page.reload();
  await start(page);
}

/** round does the tasks of its turn on one page. */
async function round(turn, lang, scheme, width, keys) {
  const page = await watched(`tasks ${width}`, { locale: lang, timezoneId: 'UTC', colorScheme: scheme, viewport: { width, height: width > 600 ? 900 : 844 } }, () => false);
  await page.goto(`${plan.base}/explorer/`);
  await login(page);
  await start(page);
  await picture(page, `start ${lang} ${scheme} ${width}`);
  for (const [i, [task, [max, doing]]] of Object.entries(tasks).entries()) {
    if (turn !== undefined && i % turns.length !== turn) continue;
    await begin(page);
    const who = new Person(page, lang, keys);
    const began = Date.now();
    let fault = await doing(who).catch((e) => `${e}`.slice(0, 300));
    for (let tries = 0; fault && moving.includes(task) && tries < 5; tries++) { // values changed between the page's read and the check
      await begin(page);
      Object.assign(who, { clicks: 0 });
      fault = await doing(who).catch((e) => `${e}`.slice(0, 300));
    }
    const seconds = ((who.first ?? Date.now()) - began) / 1e3;
    if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) fault = 'has to be scrolled sideways';
    said.push({ task, width, scheme, lang, keys: Boolean(keys), clicks: who.clicks, max, seconds, fault: fault ?? '' });
  }
  await page.context().close();
}

// The rounds cover each pair of values of language, colours, width and mouse or
// keyboard. A task is done in one turn, on a wide page and on a narrow one; with
// plan.all in all turns.
const turns = [
  [['en-GB', 'light', 1440], ['de-DE', 'dark', 390]],
  [['de-DE', 'dark', 1440], ['en-GB', 'light', 390]],
  [['en-GB', 'dark', 1440, true], ['de-DE', 'light', 390, true]],
];
for (const [turn, rounds] of turns.entries()) {
  await Promise.all(rounds.map((r) => round(plan.all ? undefined : turn, ...r).catch((e) => fail(r.join(' '), `${e.stack}`.slice(0, 900)))));
}
await done(said);
