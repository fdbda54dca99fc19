// Uses the explorer as a person does, and reports what is wrong and what the page
// showed, which explorer_test.go compares with the service. Long: the steps follow
// each other in one session, and add to one report.
import { readFile } from 'node:fs/promises';
import { done, fail, open as watched, picture, picturing, plan } from './harness.mjs';
import { copied, files, login, looks, makesRows } from './person.mjs';

const open = (lang, where, expected) => watched(where, { locale: lang, viewport: { width: 1280, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] }, expected);

async function choose(page, words) {
  await page.fill('#search', words);
  await page.waitForFunction(() => document.querySelectorAll('#items li').length === 1);
  await page.check('#items input');
}

/** drawn waits until a history is displayed completely, not only its first rows. */
const drawn = (page) => page.waitForFunction(() => !document.querySelector('#history').hasAttribute('aria-busy') && /,|\d/.test(document.querySelector('#history-status').textContent) && window.preismon.chart && document.querySelector('#pairs table'));

/** chartOf returns what the chart holds, and how many of its pixels are painted. */
const chartOf = (page) => page.evaluate(() => {
  const { chart, lines } = window.preismon;
  const canvas = chart.root.querySelector('canvas');
  const painted = (c) => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i]) n++; return n; };
  const lanes = document.querySelector('#lanes');
  return {
    rows: lines.rows, counts: lines.counts(), series: chart.series.length - 1,
    points: chart.data.slice(1).map((c) => c.filter((v) => typeof v === 'number').length), gaps: chart.data.slice(1).map((c) => c.filter((v) => v === null).length),
    buyBox: [...lines.lines.values()].reduce((n, l) => n + l.buyBox.filter(Boolean).length, 0), prime: [...lines.lines.values()].reduce((n, l) => n + l.prime.filter(Boolean).length, 0),
    width: canvas.width, height: canvas.height, painted: painted(canvas), lanes: painted(lanes), lanesHeight: lanes.height,
  };
});

const said = { chart: {}, curl: {}, cli: {}, mcp: {}, files: {}, tables: [] };

/** keepFiles keeps the files of a view: CSV completely, of Parquet only the magic bytes. */
async function keepFiles(page, view) {
  const all = await files(page, `${view}-files`);
  if (view === 'history') all.push(...await files(page, 'markets-files'));
  said.files[view] = all.map(({ name, text }) => ({ name, text: name.endsWith('.csv') ? text : `${text.slice(0, 4)} ${text.slice(-4)}` }));
}

/** keeps checks that the address holds the state: through a reload, another zone, Back, an expired login, an outage and a link. */
async function keeps(page) {
  const state = () => page.evaluate(() => ({ hash: location.hash, chosen: document.querySelectorAll('#chosen li').length, own: document.querySelector('#own').value, from: document.querySelector('#from').value, sorted: document.querySelector('#offers [aria-sort]')?.textContent }));
  const shown = () => page.waitForSelector('#offers tbody tr');
  const before = await state();
  if (!/own=1234.5(&|$)/.test(before.hash) || !/sort=-price/.test(before.hash) || !/from=\d{4}-.*Z/.test(decodeURIComponent(before.hash))) fail('en', `the address is not the state: ${before.hash}`);
  const same = async (what) => {
    await shown();
    let now = await state(); // what was displayed before may still be there
    for (let i = 0; i < 100 && JSON.stringify(now) !== JSON.stringify(before); i++) {
      await page.waitForTimeout(100);
      now = await state();
    }
    if (JSON.stringify(now) !== JSON.stringify(before)) fail('en', `${what} changes what is asked: ${JSON.stringify(before)} ${JSON.stringify(now)}`);
  };
  await page.reload();
  await same('a reload');
  await page.fill('#zone', 'Asia/Tokyo');
  await page.locator('#zone').blur();
  await page.waitForFunction((from) => document.querySelector('#from').value !== from && /Tokyo/.test(location.hash), before.from);
  const ends = (hash) => ['from', 'to'].map((name) => new URLSearchParams(hash.slice(1)).get(name)).join();
  if (ends((await state()).hash) !== ends(before.hash)) fail('en', 'another zone moves the window');
  await page.goBack();
  await page.waitForFunction((hash) => location.hash === hash, before.hash);
  await same('Back');
  await page.route('**/v1/results?*', (route) => route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"code":"TOKEN_EXPIRED","detail":"expired"}' }));
  await page.evaluate(() => document.querySelector('#tab-latest').click()); // a read under way may already have hidden it
  await page.waitForSelector('#login:not([hidden])');
  await page.unroute('**/v1/results?*');
  await login(page);
  await same('a login that expired');
  await page.route('**/v1/sites*', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"code":"SERVICE_UNAVAILABLE","detail":"away"}' }));
  await page.reload();
  await page.waitForSelector('#start-error:not([hidden])');
  await page.unroute('**/v1/sites*');
  await page.click('#start-error button');
  await same('an outage at the start');
  await page.goto(`${plan.base}/`);
  await page.goto(`${plan.base}/explorer/#items=${plan.items.join()}&view=latest`); // a link of another form
  await shown();
  await page.goBack();
  await page.waitForURL(`${plan.base}/`).catch(() => fail('en', 'a link keeps Back from leaving the page'));
  await page.goto(`${plan.base}/explorer/${before.hash}`);
  await same('a link');
}

/** ownPrice types own prices on the page of products: the service positions them, and the rows are not read again. */
async function ownPrice(page, summaries) {
  const reads = [];
  const noted = (r) => { if (/\/v1\/results|\/summary/.test(r.url())) reads.push(new URL(r.url()).pathname.replace(/\d+/g, 'N')); };
  const placed = (text) => page.waitForFunction((text) => [...document.querySelectorAll('#positions tbody td:nth-child(3)')].some((c) => c.textContent === text), text).catch(() => fail('en', `an own price of ${text} is not placed`));
  const cells = (what) => page.locator(`${what} tbody tr`).evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => (c.querySelector('span')?.firstChild ?? c.firstChild)?.textContent ?? '')));
  await page.waitForSelector('#positions tbody tr');
  page.on('request', noted);
  await page.fill('#own', '100');
  await placed('€100.00');
  page.off('request', noted);
  if (new Set(reads).size !== 1 || !/summary/.test(reads[0]) || reads.length !== 2) fail('en', `an own price reads ${reads}`);
  said.positions = await cells('#positions');
  for (let i = 0; i < 50 && (await summaries()).some((s) => s.query.beside !== 'candidate'); i++) await page.waitForTimeout(100);
  said.placed = { told: await summaries(), markets: await cells('#markets'), curl: await page.textContent('#history-same [data-kind=curl]'), cli: await page.textContent('#history-same [data-kind=cli]'), mcp: await page.locator('#history-same [data-kind=mcp]').allTextContents() };
  await page.fill('#own', '1.234x');
  await page.waitForFunction(() => !document.querySelector('#positions tbody tr')).catch(() => fail('en', 'a price that is none has a position'));
  if (!(await page.isVisible('#own-error'))) fail('en', 'a price that is none is taken without a word');
  await page.fill('#own', '12.34567'); // more decimals than any currency has
  await page.locator('#own').blur();
  await page.reload();
  await page.waitForFunction(() => document.querySelector('#markets tbody tr') && document.querySelector('#now tbody tr')).catch(() => fail('en', 'an own price that the service refuses takes the page away'));
  if (!(await page.isVisible('#own-error'))) fail('en', 'a price with five decimals is taken without a word');
  await page.fill('#own', '1,234.50');
  await placed('€1,234.50');
  await page.locator('#own').blur();
}

/** readme takes the pictures of the README: one product over a week, dark and light. */
async function readme() {
  const page = await open('en-GB', 'readme', (m) => /401/.test(m));
  await page.setViewportSize({ width: 1280, height: 760 });
  await page.goto(`${plan.base}/explorer/`);
  await page.waitForSelector('#login:not([hidden])');
  await login(page);
  await page.selectOption('#site', plan.site);
  await choose(page, plan.searches[0]);
  await page.getByRole('button', { name: '7 days' }).click();
  await drawn(page);
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(300); // the chart takes its colours
    await page.hover('#chart', { position: { x: 420, y: 200 } });
    await picture(page, `readme ${colorScheme}`);
  }
  await page.context().close();
}

/** overview checks the start view: the positions of the account, what moved, and its sites. */
async function overview(page) {
  const cells = (what) => page.locator(`${what} tbody tr`).evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));
  const there = () => page.waitForFunction(() => document.querySelector('#overview:not([hidden])') && !document.querySelector('#overview').hasAttribute('aria-busy') && ['#stand', '#moved', '#seen'].every((id) => document.querySelector(`${id} tbody tr`)));
  await there();
  const reads = [];
  const noted = (r) => { if (/\/(ext\/)?v1\//.test(r.url()) && !/ext\/v1\/changes/.test(r.url())) reads.push(new URL(r.url()).pathname); };
  page.on('request', noted);
  await page.reload();
  await there();
  page.off('request', noted);
  const lists = ['/v1/sites', '/v1/items']; // read by the form
  if (reads.filter((r) => !lists.includes(r)).join() !== '/ext/v1/overview') fail('en', `the start needs ${reads}`);
  said.moved = {
    summary: await page.textContent('#moved .lead'), rows: await cells('#moved details[open]'),
    lists: await page.locator('#moved details').evaluateAll((all) => all.map((d) => `${d.dataset.list} ${d.querySelector('summary').textContent.replaceAll(/\D/g, '')}`)),
  };
  for (const list of ['BUYBOX_WON', 'BUYBOX_LOST']) {
    const what = await page.locator(`#moved [data-list=${list}] tbody td:last-child`).allTextContents();
    if (what.some((w) => !(list === 'BUYBOX_WON' ? /Buy box: from .+ to (?!nobody)/ : /Buy box: from .+ to nobody/).test(w))) fail('en', `who has the buy box: ${what}`);
  }
  said.stand = { summary: await page.textContent('#stand .lead'), rows: await cells('#stand') };
  said.sites = await cells('#seen');
  for (const [i, box] of ['moved-files', 'stand-files', 'seen-files'].entries()) said.tables[i] = await files(page, box); // all parts are checked together
  for (const kind of ['curl', 'cli', 'mcp']) said[kind].overview = await copied(page, 'overview', kind);
  await looks(page, 'overview-en', true);
  await page.click('#stand tbody a'); // one click from a price too high to its history
  await drawn(page);
  if ((await page.textContent('#chosen span')) !== said.stand.rows[0][0]) fail('en', 'a product of the overview leads to another one');
  await page.goBack();
  await there();
  if (await page.locator('#chosen li').count()) fail('en', 'Back keeps the product');
  const long = page.locator('#moved details:has(button)').first();
  if ((await long.getAttribute('open')) === null) await long.locator('summary').click();
  const list = await long.getAttribute('data-list'); // read it before the button disappears
  const count = Number((await long.locator('summary').textContent()).replaceAll(/\D/g, ''));
  await long.locator('button').click(); // shows the complete list
  await page.waitForFunction(({ list, count }) => document.querySelectorAll(`#moved [data-list=${list}] tbody tr`).length >= count - 2, { list, count });
  await page.click('#seen tbody tr:not(:has(td:nth-child(7):text-is("0"))) a');
  await page.waitForSelector('#offers tbody tr').catch(async (e) => { throw new Error(`${e.message} ${page.url()} ${await page.textContent('main')}`); });
  await page.goBack();
  await page.waitForSelector('#overview:not([hidden])');
}

/** assortment checks the view of the whole scope: it sorts and filters it, and checks the address and the file. */
async function assortment(page) {
  const lines = () => page.locator('#products tbody tr').evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));
  const there = () => page.waitForFunction(() => !document.querySelector('#assortment').hasAttribute('aria-busy') && document.querySelector('#assortment:not([hidden]) #products tbody tr'));
  const file = async () => {
    const [kept] = await Promise.all([page.waitForEvent('download'), page.click('#assortment-files [data-form=csv]')]);
    return { name: kept.suggestedFilename(), text: await readFile(await kept.path(), 'utf8') };
  };
  await page.click('#tab-assortment');
  await there();
  await page.evaluate(() => { location.hash = '#view=assortment&from=now-3d'; });
  await page.waitForFunction(() => /last=72h/.test(location.hash));
  await there();
  await page.evaluate((w) => { location.hash = `#view=assortment&zone=Europe/Berlin&from=${w.from}&to=${w.to}`; }, plan);
  await page.waitForFunction((from) => document.querySelector('#from').value === from, plan.from);
  await there();
  said.assortment = { lines: await lines(), status: await page.textContent('#assortment-status'), file: await file() };
  said.tables[3] = await files(page, 'assortment-files');
  for (const kind of ['curl', 'cli', 'mcp']) said[kind].assortment = await copied(page, 'assortment', kind);
  said.assortment.drawn = await page.locator('#products tbody tr').evaluateAll((rows) => rows.map((r) => r.querySelector('.spark path')?.getAttribute('d').match(/[ML]/g).length ?? 0));
  await looks(page, 'assortment-en', true);

  const changes = page.locator('#products th button', { hasText: 'Changes' });
  await changes.click();
  await changes.click(); // most first
  const most = (await lines()).map((l) => Number(l[10].replaceAll(',', '')));
  if (most.some((n, i) => i && n > most[i - 1]) || most[0] === most.at(-1)) fail('en', `the assortment is not sorted by changes: ${most.slice(0, 5)}`);
  const words = said.assortment.lines[0][0].split(' ').slice(0, 2).join(' ');
  await page.fill('#filter', words.toUpperCase());
  await page.keyboard.press('Tab');
  const kept = await lines();
  if (!kept.length || kept.length === said.assortment.lines.length || kept.some((l) => !words.split(' ').every((w) => l[0].includes(w)))) fail('en', `the filter ${words} leaves ${kept.length} lines`);
  if ((await file()).text.trimEnd().split('\r\n').length !== kept.length + 1) fail('en', 'the file is not what the filter leaves');
  const hash = await page.evaluate(() => decodeURIComponent(location.hash));
  if (!/sort=-changes/.test(hash) || !hash.includes('filter=')) fail('en', `the address is not the state of the assortment: ${hash}`);
  const again = async (how) => {
    await there();
    const now = await lines();
    if (JSON.stringify(now) !== JSON.stringify(kept)) fail('en', `after ${how} the assortment is another: ${now.length} lines, ${JSON.stringify(now[0])}`);
  };
  await page.reload();
  await again('a reload');
  await page.click('#products tbody a');
  await drawn(page);
  if ((await page.textContent('#chosen span')) !== kept[0][0]) fail('en', 'a product of the assortment leads to another one');
  await page.goBack();
  await again('Back');
  await page.fill('#filter', 'no such product');
  await page.waitForFunction(() => /^0 of [1-9]/.test(document.querySelector('#assortment-status').textContent)); // it may still be being read again
  if ((await lines()).length) fail('en', 'a filter that fits nothing leaves lines');
  await page.fill('#filter', '');
  const blank = said.assortment.lines.filter((l) => l[2] === '');
  if (blank.length) fail('en', `it is not said why there is no cheapest: ${blank[0]}`);
  const nothing = { itemId: plan.items[0], identity: {}, pairs: 1, shareInStock: 0, changes: 0, buyBox: [] };
  const none = { ...nothing, prices: [] };
  const gone = { ...nothing, prices: [{ currencyCode: 'EUR', min: 1, median: 1, max: 1, standing: { cheapest: null, ownPrice: null, differencePercent: null } }] };
  await page.route('**/ext/v1/statistics*', (route) => route.fulfill({ status: 200, contentType: 'application/json', body: JSON.stringify({ data: [none, gone], paging: { limit: 1000, returned: 2 } }) }), { times: 1 });
  await page.click('#tab-assortment');
  await page.waitForFunction(() => document.querySelectorAll('#products tbody tr').length === 2);
  const why = (await lines()).map((l) => l[2]).join();
  if (why !== 'no price in the window,no current offer') fail('en', `without a cheapest it says ${why}`);
  await page.evaluate(() => { location.hash = '#view=overview'; });
  await page.waitForSelector('#overview:not([hidden])');
}

async function english() {
  const page = await open('en-GB', 'en', (m) => /401|429|503/.test(m));
  await page.goto(`${plan.base}/`);
  await looks(page, 'front-en', false);
  await page.click('a[href="explorer/"]');
  await page.waitForSelector('#login:not([hidden])');
  if (await page.evaluate(() => document.activeElement.id) !== 'login-name') fail('en', 'the login does not take the focus');
  await page.fill('#login-name', plan.login);
  await page.fill('#login-password', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#login-error:not([hidden])');
  await looks(page, 'login-en', false);
  await page.route('**/ext/v1/position*', (route) => route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, contentType: 'application/problem+json', body: '{"code":"RATE_LIMITED","detail":"busy"}' }), { times: 1 }); // the page waits and reads again
  await login(page);
  if (await page.evaluate(() => [...Object.values(localStorage), document.cookie, location.href].join(' ').match(/ey[A-Za-z0-9_-]{20}/))) fail('en', 'the token is kept outside of the session');

  await overview(page);
  await assortment(page);
  const keep = () => { // the summaries that the page receives
    const { fetch } = window;
    window.told = [];
    window.fetch = async (...args) => {
      const answer = await fetch(...args);
      const item = /ext\/v1\/items\/(\d+)\/summary/.exec(answer.url)?.[1];
      if (item && answer.ok) answer.clone().text().then((text) => { window.told = [...window.told.filter((s) => s.query.itemId !== item), JSON.parse(text.split('\n')[0])]; }).catch(() => {}); // aborted
      return answer;
    };
  };
  await page.addInitScript(keep);
  await page.evaluate(keep);
  const summaries = () => page.evaluate(() => window.told);
  for (const words of plan.searches) await choose(page, words);
  await page.fill('#zone', 'Europe/Berlin');
  await page.fill('#from', plan.from);
  await page.fill('#to', plan.to);
  await page.locator('#to').blur();
  await page.waitForFunction((n) => window.preismon.lines?.rows === n && document.querySelectorAll('#chosen li').length === 2, plan.rows).catch(async () => fail('en', `the chart holds ${await page.evaluate(() => window.preismon.lines?.rows)} rows, the service has ${plan.rows}`));
  await drawn(page);
  said.chart = await chartOf(page);
  said.pairs = await page.locator('#pairs tbody tr').evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));
  said.markets = await page.locator('#markets tbody tr').evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => (c.querySelector('span')?.firstChild ?? c.firstChild)?.textContent ?? '')));
  said.boxes = await page.locator('#boxes tbody tr').evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));
  const window = await page.evaluate(() => ['from', 'to'].map((end) => Date.parse(new URLSearchParams(location.hash.slice(1)).get(end))));
  const ofWindow = ({ query }) => Date.parse(query.capturedFrom) === window[0] && Date.parse(query.capturedTo) === window[1];
  const received = async () => (await summaries()).filter(ofWindow);
  for (let i = 0; i < 100 && (await received()).length < 2; i++) await page.waitForTimeout(100); // the page shows them before they have ended
  said.summaries = await received();
  if (said.summaries.length < 2) fail('en', `the page received ${JSON.stringify((await summaries()).map(({ query }) => query))} for the window ${window}`);
  said.curl.history = await copied(page, 'history', 'curl');
  said.mcp.history = await copied(page, 'history', 'mcp');
  said.mcp.summaries = (await page.locator('#history-same [data-kind=mcp]').allTextContents()).filter((text) => text.includes('/summary')).join('');
  said.cli.history = await copied(page, 'history', 'cli');
  await keepFiles(page, 'history');
  await page.focus('#chart');
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => document.querySelector('#readout').textContent.length > 10);
  const gone = await page.evaluate(() => { // what the page shows at a capture that found nothing to buy
    const { chart, lines } = window.preismon;
    const pair = [...lines.pairs.values()].find((p) => p.outcome.includes('unavailable') && chart.data[0].includes(p.at[p.outcome.indexOf('unavailable')]));
    const at = pair.at[pair.outcome.indexOf('unavailable')];
    chart.setScale('x', { min: at - 600, max: at + 600 });
    return at;
  });
  await page.waitForFunction(() => /zoom=/.test(location.hash));
  await page.evaluate((at) => window.preismon.chart.setCursor({ left: window.preismon.chart.valToPos(at, 'x'), top: 50 }), gone);
  await page.waitForFunction(() => /Unavailable/.test(document.querySelector('#readout').textContent)).catch(async () => fail('en', `the readout of an outage: ${await page.textContent('#readout')}`));
  await page.setViewportSize({ width: 390, height: 844 }); // on a phone the form folds away, and the keyboard gets past it
  await page.reload();
  await drawn(page);
  const part = () => page.evaluate(() => { const { min, max } = window.preismon.chart.scales.x; return max - min; });
  if (await part() !== 1200) fail('en', `the zoom is not in the address: ${await part()} s are on show`);
  await page.click('#unzoom');
  await page.waitForFunction(() => !/zoom=/.test(location.hash) && document.querySelector('#unzoom').hidden);
  if (await part() < 86400) fail('en', `the whole window is ${await part()} s`);
  const place = () => page.evaluate(() => document.querySelector('#lanes').getBoundingClientRect().top + scrollY);
  const still = await place();
  await page.focus('#chart');
  await page.keyboard.press('End');
  for (let i = 0; i < 5; i++) {
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(() => document.querySelector('#readout').textContent);
    if (await place() !== still) fail('en', `reading the chart moves what is below it by ${await place() - still}`);
  }
  await page.reload();
  await drawn(page);
  const top = await page.evaluate(() => document.querySelector('#chart').getBoundingClientRect().top + scrollY);
  if (top > 600) fail('en', `on a phone the chart begins at ${top}`);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.waitForSelector('#asking[open]');
  await page.evaluate(() => document.activeElement.blur());
  for (let i = 0; i < 3 && (await page.evaluate(() => document.activeElement.id)) !== 'skip'; i++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  if ((await page.evaluate(() => document.activeElement.id)) !== 'tab-history') fail('en', 'the skip link does not lead to what is shown');
  await looks(page, 'history-en', true);
  await page.click('#legend button');
  if (await page.evaluate(() => window.preismon.chart.series[1].show)) fail('en', 'the legend does not hide a line');

  await ownPrice(page, summaries);
  await page.click('#tab-latest');
  await page.waitForSelector('#offers tbody tr');
  const prices = () => page.locator('#offers tbody td:nth-child(2)').allTextContents();
  const up = await prices();
  await page.click('#offers th:nth-child(2) button');
  await page.click('#offers th:nth-child(2) button');
  const down = await prices();
  if (up.length < 2 || up[0] === down[0] || up.length !== down.length) fail('en', `the table is not sorted the other way: ${up[0]}, ${down[0]}`);
  await page.setViewportSize({ width: 390, height: 844 });
  if (await page.evaluate(() => document.querySelector('#offers tbody td:nth-child(2)').getBoundingClientRect().right > innerWidth)) fail('en', 'a phone does not show the newest prices');
  await page.setViewportSize({ width: 1280, height: 900 });
  said.offers = await page.locator('#offers tbody tr').evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));
  said.curl.latest = await copied(page, 'latest', 'curl');
  said.mcp.latest = await copied(page, 'latest', 'mcp');
  said.cli.latest = await copied(page, 'latest', 'cli');
  await keepFiles(page, 'latest');
  await keeps(page);
  await looks(page, 'latest-en', false);

  await page.focus('#tab-latest'); // by keyboard to the stream
  for (const next of ['sites', 'orders', 'stream']) {
    await page.keyboard.press('ArrowRight');
    await page.waitForSelector(`#${next}:not([hidden])`);
  }
  await page.click('#start');
  await page.waitForSelector('#stream-state[data-state=complete]');
  said.stream = { rows: await page.textContent('#n-rows'), first: await page.textContent('#n-first'), rate: await page.textContent('#n-rate'), lines: (await page.textContent('#lines')).split('\n') };
  said.curl.stream = await copied(page, 'stream', 'curl');
  said.cli.stream = await copied(page, 'stream', 'cli');
  said.mcp.stream = await copied(page, 'stream', 'mcp');
  await keepFiles(page, 'stream');
  await looks(page, 'stream-en', false);
  await page.click('#logout');
  await page.waitForSelector('#login:not([hidden])');
  if (await page.evaluate(() => sessionStorage.getItem('preismon.token'))) fail('en', 'the token stays after the logout');
  await page.context().close();
}

/** german checks a site with everything, stops a stream, and checks a stream that breaks and a server without charts. */
async function german() {
  const page = await open('de-DE', 'de', (m) => /ERR_INCOMPLETE|uPlot|404|429/.test(m));
  await page.goto(`${plan.base}/`);
  await page.goto(`${plan.base}/explorer/`);
  await looks(page, 'login-de', false);
  await login(page);
  if (await page.evaluate(() => document.documentElement.lang) !== 'de') fail('de', 'is not in German');
  await choose(page, plan.searches[0]);
  await page.waitForFunction(() => document.querySelector('#pairs tbody tr'));
  const [item, site] = plan.elsewhere; // it is not monitored there: that is not "no result"
  await page.goto(`${plan.base}/explorer/#view=history&items=${item}&site=${site}`);
  await page.waitForFunction(() => /nicht beobachtet/.test(document.querySelector('#history-status').textContent));
  if (await page.locator('#pairs tbody tr, #pairs .badge').count()) fail('de', 'a pair that is not monitored has a line');
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('#pairs tbody tr'));
  await page.selectOption('#site', plan.site);
  for (const [end, time] of [['to', '2001-01-02T00:00'], ['from', '2001-01-01T00:00']]) await page.fill(`#${end}`, time); // nothing was observed then; from there to now would be too long
  await page.locator('#from').blur();
  await page.waitForFunction(() => !document.querySelector('#history').hasAttribute('aria-busy') && document.querySelectorAll('#pairs tbody tr').length === 1 && document.querySelector('#pairs .badge.none'));
  if (await page.isVisible('#chart') || !(await page.evaluate(() => { const c = document.querySelector('#lanes'); return c.width > 600 && c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v); }))) fail('de', 'without a price there is an axis of prices, or no lane');
  await looks(page, 'none-de', false);
  await page.click('#chosen button');
  await page.selectOption('#site', plan.site);
  await page.click('[data-hours="720"]');
  await page.click('#tab-stream');
  await page.route('**/v1/results/stream*', async (route) => { // a stream that breaks: one line and a half
    await route.fulfill({ status: 200, contentType: 'application/x-ndjson', body: '{"itemId":"1"}\n{"itemI' });
  });
  await page.click('#start');
  await page.waitForSelector('#stream-state[data-state=broken]');
  said.broken = await page.textContent('#stream-state');
  await page.unroute('**/v1/results/stream*');
  const network = await page.context().newCDPSession(page); // slow enough to be stopped
  await network.send('Network.enable');
  await network.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: 40000, uploadThroughput: -1 });
  await page.click('#start');
  await page.waitForFunction(() => document.querySelector('#n-rows').textContent !== '0');
  await page.click('#stop');
  await page.waitForSelector('#stream-state:not([data-state=running])');
  await network.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  said.stopped = await page.getAttribute('#stream-state', 'data-state');
  await looks(page, 'stream-de', false);

  await page.click('#tab-latest');
  await page.waitForSelector('#offers tbody tr');
  if (await page.locator('#offers th').count() !== 8 || (await page.locator('#offers [aria-sort=ascending]').textContent()) !== 'Gesamt') fail('de', 'the only site has a column, or the table is not sorted by what is paid');
  if (await page.evaluate(() => { const box = document.querySelector('#offers'); return box.scrollWidth > box.clientWidth; })) fail('de', 'the newest prices of a site are wider than the page');
  await looks(page, 'latest-de', true);
  await page.route('**/uPlot*', (route) => route.fulfill({ status: 404 }));
  await page.goto(`${plan.base}/explorer/#view=history&items=${plan.items[0]}`);
  await page.reload();
  await page.waitForSelector('#no-charts:not([hidden])');
  await page.waitForSelector('#history-rows tbody tr');
  await looks(page, 'tables-de', false);
  await page.context().close();
}

/** many draws 100,000 points that arrive in one stream. */
async function many() {
  const page = await open('en', 'many');
  await page.goto(`${plan.base}/explorer/`);
  await login(page);
  await makesRows(page);
  await page.evaluate(({ item, site }) => { // made in the page: sending them from here is slower than the page
    globalThis.madeRows = (summary) => {
      const start = Date.now() - 6 * 86400e3;
      let i = 0;
      const pull = (out) => {
        let text = i ? '' : summary;
        for (const end = i + 5000; i < end; i++) {
          text += `${JSON.stringify({ itemId: item, site, capturedAt: new Date(start + Math.floor(i / 5) * 20000).toISOString(), availability: 'AVAILABLE', price: 10 + ((i * 7919) % 100) / 10, currencyCode: 'EUR', merchant: `M${i % 5}` })}\n`;
        }
        out.enqueue(new TextEncoder().encode(text));
        if (i === 100000) out.close();
      };
      return new Response(new ReadableStream({ pull }));
    };
  }, { item: plan.items[0], site: plan.site });
  const began = Date.now();
  await choose(page, plan.searches[0]);
  await page.waitForFunction(() => !document.querySelector('#history').hasAttribute('aria-busy') && window.preismon.lines?.rows === 100000 && /100,000/.test(document.querySelector('#history-status').textContent) && document.querySelector('#pairs table'));
  said.many = { ms: Date.now() - began, ...await chartOf(page) };
  await picture(page, 'many', { fullPage: true });
  await page.context().close();
}

const parts = { english, german, many, ...(picturing ? { readme } : {}) };
await Promise.all(Object.entries(parts).map(([name, part]) => part().catch((e) => fail(name, `${e.stack}`.slice(0, 900)))));
await done(said);
