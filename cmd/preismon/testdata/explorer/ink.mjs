// Checks the pixels of a history that is made up here: there is ink where
// something was observed, and nowhere else. It also measures the size of the page,
// the time to its first number and its first chart, and panning 100,000 points.
import { done, fail, open as watched, picture, plan } from './harness.mjs';
import { login, makesRows } from './person.mjs';

const said = {};
const other = 'other.example';
const planned = 'planned.example';

/** madeUp replaces the rows of the service by those of a shop with outages, of another shop that is observed all the time, and of one with a schedule, which restricted access for some time. */
const madeUp = (page, zero) => page.evaluate(({ item, site, other, planned, zero }) => {
  const real = fetch;
  const rows = [];
  const row = (minute, at, price, availability = price ? 'AVAILABLE' : 'UNAVAILABLE') => rows.push({ itemId: item, site: at, capturedAt: new Date(zero + minute * 60e3).toISOString(), availability, price, totalPrice: price, currencyCode: price && 'EUR', merchant: price && `of ${at}` });
  for (let m = 0; m <= 620; m += 10) {
    if (m <= 60) row(m, site, 10);
    else if (m <= 120) row(m, site, null);
    else if (m <= 180) row(m, site, 12);
    else if (m === 600) row(m, site, 11);
    else if (m === 610) row(m, site, null, 'UNKNOWN');
    if (m < 500) row(m, other, 20);
    else if (m === 500) row(m, other, null, 'UNKNOWN');
    if (m <= 100 || m === 260) row(m, planned, 15);
    else if (m >= 200 && m < 260) row(m, planned, null, 'UNKNOWN');
  }
  window.fetch = (to, options) => {
    const path = String(to);
    if (path.includes('includeRows=true')) {
      const observations = { priced: 1, unavailable: 0, notFound: 0, unknown: 0 };
      const when = (minute) => new Date(zero + minute * 60e3).toISOString();
      const known = (at, minute, intervalSeconds, restricted = []) => ({ site: at, lastCapturedAt: when(minute), coverageState: 'UNKNOWN', accessRestricted: restricted.some(([, to]) => to === minute), intervalSeconds, nextDueAt: null, restricted: restricted.map(([from, to]) => ({ from: when(from), to: when(to), captures: 1 })), notFound: [], observations, days: [], dayCounts: {} });
      const market = { country: 'DE', currencyCode: 'EUR', cheapest: null, offers: 0, withoutShipping: 0, ownPrice: null, rank: null, rankWithShipping: null, low: null, high: null, observations, buyBox: [], lastCapturedAt: null, sites: [known(site, 610, null), known(other, 500, null, [[500, 500]]), known(planned, 260, 600, [[200, 250]])] };
      const summary = { data: [market], query: { itemId: item, name: null, asOf: new Date(zero + 900 * 60e3).toISOString() } };
      return Promise.resolve(new Response([summary, ...rows].map((line) => `${JSON.stringify(line)}\n`).join('')));
    }
    return real(to, options);
  };
}, { item: plan.items[0], site: plan.site, other, planned, zero });

/** pixels counts the pixels of a colour in a canvas, in columns between two times, without their edges, so many pixels wide; lane is the index of a lane; undefined: the chart. */
const pixels = (page, zero, from, until, colour, lane, edge = 6) => page.evaluate(({ zero, from, until, colour, lane, edge }) => {
  const u = window.preismon.chart;
  const canvas = lane === undefined ? u.ctx.canvas : document.querySelector('#lanes');
  const probe = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(colour).trim();
  probe.fillRect(0, 0, 1, 1);
  const want = probe.getImageData(0, 0, 1, 1).data;
  const [left, right] = [from, until].map((m) => Math.round(u.valToPos(zero / 1e3 + m * 60, 'x', true)));
  const [top, height] = lane === undefined ? [u.bbox.top, u.bbox.height] : [(lane * 34 + 18) * devicePixelRatio, 11 * devicePixelRatio];
  const { data, width } = canvas.getContext('2d').getImageData(left + edge, top, Math.max(1, right - left - 2 * edge), height);
  const columns = new Set();
  let n = 0;
  for (let i = 0; i < data.length; i += 4) {
    if ([0, 1, 2].every((k) => Math.abs(data[i + k] - want[k]) < 24) && data[i + 3] > 200) {
      n++;
      columns.add((i / 4) % width);
    }
  }
  return { n, columns: columns.size, of: width, share: n / (width * height) };
}, { zero, from, until, colour, lane, edge });

async function honest() {
  const page = await watched('ink', { locale: 'en-GB', viewport: { width: 1440, height: 900 } }, (m) => /getImageData/.test(m));
  await page.goto(`${plan.base}/explorer/`);
  await login(page);
  const zero = Math.floor(Date.now() / 600e3) * 600e3 - 1000 * 60e3;
  await madeUp(page, zero);
  await page.evaluate((item) => { location.hash = `#view=history&items=${item}&last=24h&zone=UTC`; }, plan.items[0]);
  await page.waitForFunction(() => window.preismon.chart && !document.querySelector('#history').hasAttribute('aria-busy') && document.querySelector('#pairs tbody tr'));
  await page.evaluate((zero) => window.preismon.chart.setScale('x', { min: zero / 1e3 - 600, max: zero / 1e3 + 900 * 60 }), zero);
  await page.waitForTimeout(200);
  const { lines, lanes } = await page.evaluate(() => ({ lines: window.preismon.chart.series.length - 1, lanes: [...window.preismon.lines.pairs.values()].map((p) => p.site) }));
  if (lines !== 3 || lanes[0] !== plan.site) fail('ink', `${lines} lines, lanes ${lanes}`);
  const colour = await page.evaluate((sites) => sites.map((site) => `--c${window.preismon.lines.chosen(3).findIndex((l) => l.pair.site === site)}`), [plan.site, other, planned]);
  const drawn = [[0, 70], [130, 210], [600, 610]]; // until the next capture, or three times ten minutes
  const silent = [[70, 130], [210, 600], [610, 900]];
  for (const [from, until] of drawn) {
    const found = await pixels(page, zero, from, until, colour[0]);
    if (until - from > 30 && found.columns !== found.of) fail('ink', `from ${from} to ${until} a price was seen, and ${found.columns} of ${found.of} columns are drawn`);
  }
  for (const [from, until] of silent) {
    const found = await pixels(page, zero, from, until, colour[0]);
    if (found.n) fail('ink', `from ${from} to ${until} no price was seen, and ${found.n} pixels are of a line`);
  }
  if ((await pixels(page, zero, 0, 490, colour[1])).columns < 300) fail('ink', 'the other shop has no line');
  if ((await pixels(page, zero, 540, 900, colour[1])).n) fail('ink', 'the other shop has a line where nothing is known');
  if (!(await pixels(page, zero, 50, 110, colour[2])).n) fail('ink', 'the shop with a schedule has no line');
  for (const [from, until] of [[110, 130], [130, 260], [270, 290]]) { // from 110 and 270 on a capture was due, though three times ten minutes have not passed
    if ((await pixels(page, zero, from, until, colour[2])).n) fail('ink', `from ${from} to ${until} the shop with a schedule has a line`);
  }
  for (const [what, lane, from, until, mark, least, most] of [
    ['a price', 0, 0, 70, '--accent', 0.95, 1], ['unavailable', 0, 70, 130, '--error-edge', 0.1, 0.6], ['overdue', 0, 210, 600, '--quiet', 0.1, 0.6], ['no price while overdue', 0, 210, 600, '--accent', 0, 0],
    ['unknown', 0, 610, 640, '--quiet', 0.02, 0.14], ['restricted', 1, 500, 530, '--quiet', 0.3, 0.7], ['before', 0, -9, 0, '--accent', 0, 0],
    ['a price until one was due', 2, 0, 110, '--accent', 0.95, 1], ['overdue by the schedule', 2, 110, 130, '--quiet', 0.1, 0.6], ['no price while overdue by the schedule', 2, 110, 130, '--accent', 0, 0],
    ['restricted before a price', 2, 200, 260, '--quiet', 0.3, 0.7], ['a price after that', 2, 260, 270, '--accent', 0.95, 1],
  ]) {
    const { share } = await pixels(page, zero, from, until, mark, lane);
    if (share < least || share > most) fail('ink', `${what}: ${share.toFixed(3)} of the lane is ${mark}, between ${least} and ${most} is expected`);
  }
  for (const [from, until, most] of [[25, 55, 4], [80, 120, 0]]) { // where a zoom begins there is no more than the line, or nothing
    await page.evaluate(([min, max]) => window.preismon.chart.setScale('x', { min, max }), [from, until].map((m) => zero / 1e3 + m * 60));
    await page.waitForTimeout(200);
    const { n } = await pixels(page, zero, from, from, colour[0], undefined, 0);
    if (n > most) fail('ink', `zoomed from ${from} to ${until}, the first column has ${n} pixels of a line`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await picture(page, 'ink light', { fullPage: true });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.waitForTimeout(200);
  await picture(page, 'ink dark', { fullPage: true });
  await page.context().close();
}

/** greys returns parts of an element as lightness, 0 to 255 for each pixel, all from one picture of it; boxes are relative to its corner. */
async function greys(page, what, boxes) {
  const picture = (await page.locator(what).screenshot({ scale: 'css' })).toString('base64');
  return page.evaluate(async ([picture, boxes]) => {
    const image = Object.assign(new Image(), { src: `data:image/png;base64,${picture}` });
    await image.decode();
    const ctx = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height }).getContext('2d', { willReadFrequently: true });
    ctx.drawImage(image, 0, 0);
    return boxes.map(({ x, y, width, height }) => {
      const { data } = ctx.getImageData(x, y, width, height);
      return Array.from({ length: width * height }, (_, i) => 0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2]);
    });
  }, [picture, boxes]);
}

/** calendar checks days of every kind: each has its own pattern, even without colours, and a title that names its kind. */
async function calendar() {
  const page = await watched('calendar', { locale: 'en-GB', viewport: { width: 1440, height: 900 }, deviceScaleFactor: 2 });
  const kinds = ['IN_STOCK', 'PARTLY_IN_STOCK', 'OUT_OF_STOCK', 'ACCESS_RESTRICTED', 'UNKNOWN'];
  const counts = { inStock: 1, partlyInStock: 1, outOfStock: 1, accessRestricted: 1, unknown: 1, notObserved: 1 };
  await page.route('**/ext/v1/items/*/summary*', (route) => {
    const item = /items\/(\d+)/.exec(route.request().url())[1];
    const observations = { priced: 5, unavailable: 0, notFound: 0, unknown: 1 };
    const days = kinds.map((state, i) => ({ date: `2026-03-0${i + 1}`, state }));
    const site = { site: plan.site, lastCapturedAt: '2026-03-05T10:00:00.000Z', coverageState: 'UNKNOWN', accessRestricted: true, observations, days, dayCounts: counts };
    const market = { country: 'DE', currencyCode: 'EUR', cheapest: null, offers: 0, withoutShipping: 0, ownPrice: null, rank: null, rankWithShipping: null, low: null, high: null, observations, buyBox: [], lastCapturedAt: null, sites: [site] };
    route.fulfill({ contentType: 'application/x-ndjson', body: `${JSON.stringify({ data: item === plan.items[0] ? [market] : [], query: { itemId: item, name: null, asOf: '2026-03-20T00:00:00.000Z' } })}\n` });
  });
  await page.goto(`${plan.base}/explorer/`);
  await login(page);
  const other = await page.locator('#items input').evaluateAll((all, item) => all.map((i) => i.value).find((v) => v !== item), plan.items[0]);
  await page.evaluate(([item, other, site]) => { location.hash = `#view=history&items=${item},${other}&site=${site}&from=2026-03-01T00:00:00.000Z&to=2026-03-07T00:00:00.000Z&zone=UTC`; }, [plan.items[0], other, plan.site]);
  await page.waitForFunction(() => !document.querySelector('#history').hasAttribute('aria-busy') && document.querySelectorAll('#stock tbody tr').length === 2);
  const said = await page.locator('#stock tbody tr').evaluateAll((rows) => rows.map((r) => [...r.querySelectorAll('.days i')].map((i) => i.title.split(': ')[1])));
  const words = ['In stock', 'Part of the day out', 'Out of stock', 'Access restricted', 'Unknown', 'Not seen', 'Not monitored'];
  if (said[0].join() !== words.slice(0, 6).join() || said[1].join() !== Array(6).fill('Not monitored').join()) fail('calendar', `the days say ${said.join(' | ')}`);
  if ((await page.locator('#stock .key li').allTextContents()).join() !== words.join()) fail('calendar', `the key says ${await page.textContent('#stock .key')}`);
  if (!/Access restricted/.test(await page.textContent('#pairs tbody'))) fail('calendar', 'the newest capture of the site does not say that access was restricted');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    const boxes = await page.evaluate(() => {
      const zero = document.querySelector('#stock').getBoundingClientRect();
      return [...document.querySelectorAll('#stock tbody .days')].flatMap((row) => [...row.children].map((e) => ({ x: Math.round(e.getBoundingClientRect().x - zero.x), y: Math.round(row.getBoundingClientRect().y - zero.y), width: 12, height: 16 })));
    });
    const seen = await greys(page, '#stock', boxes.slice(0, 7));
    seen.forEach((a, i) => seen.slice(i + 1).forEach((b, k) => {
      const unlike = a.filter((v, at) => Math.abs(v - b[at]) > 40).length / a.length;
      if (unlike < 0.08) fail('calendar', `${colorScheme}: without colours ${words[i]} looks like ${words[i + 1 + k]}: ${unlike.toFixed(3)} of the pixels are unlike`);
    }));
    await picture(page, `calendar ${colorScheme}`);
  }
  await page.context().close();
}

/** cold opens a page with a login but an empty cache, and returns after how many ms the awaited part was there, and the number and total bytes of the scripts. */
async function cold(token, path, what) {
  const page = await watched('cold', { locale: 'en-GB', viewport: { width: 1280, height: 900 } });
  await page.addInitScript(([token, what]) => {
    sessionStorage.setItem('preismon.token', token);
    const there = what === 'chart' ? () => globalThis.preismon?.chart : () => /\d/.test(document.querySelector('#moved')?.textContent);
    const look = () => (there() ? (globalThis.thereAt = performance.now()) : requestAnimationFrame(look));
    requestAnimationFrame(look);
  }, [token, what]);
  const scripts = [];
  page.on('requestfinished', (r) => { if (r.resourceType() === 'script') scripts.push(r.sizes().then((s) => s.responseBodySize)); });
  await page.goto(`${plan.base}/explorer/${path}`);
  await page.waitForFunction(() => globalThis.thereAt);
  const ms = await page.evaluate(() => globalThis.thereAt);
  await page.waitForTimeout(500);
  const bytes = (await Promise.all(scripts)).reduce((a, b) => a + b, 0);
  await page.context().close();
  return { ms, bytes, scripts: scripts.length };
}

/** budget measures the times, each as the best of three, since disturbances of a single run do not come from the page. */
async function budget() {
  const page = await watched('budget', { locale: 'en-GB', viewport: { width: 1280, height: 900 } });
  await page.goto(`${plan.base}/explorer/`);
  await login(page);
  const token = await page.evaluate(() => sessionStorage.getItem('preismon.token'));
  const best = async (path, what) => {
    const all = [];
    for (let i = 0; i < 3; i++) all.push(await cold(token, path, what));
    return all.reduce((a, b) => (b.ms < a.ms ? b : a));
  };
  said.number = await best('', 'number');
  said.chart = await best(`#view=history&items=${plan.items[0]}&last=168h`, 'chart');
  await makesRows(page);
  await page.evaluate(({ item, site }) => {
    globalThis.madeRows = (summary) => {
      const start = Date.now() - 6 * 86400e3;
      let text = summary;
      for (let i = 0; i < 100000; i++) text += `${JSON.stringify({ itemId: item, site, capturedAt: new Date(start + Math.floor(i / 5) * 20000).toISOString(), availability: 'AVAILABLE', price: 10 + ((i * 7919) % 100) / 10, totalPrice: 10, currencyCode: 'EUR', merchant: `M${i % 5}` })}\n`;
      return new Response(text);
    };
  }, { item: plan.items[0], site: plan.site });
  await page.evaluate((item) => { location.hash = `#view=history&items=${item}&last=168h&zone=UTC`; }, plan.items[0]);
  await page.waitForFunction(() => !document.querySelector('#history').hasAttribute('aria-busy') && window.preismon.lines?.rows === 100000);
  await page.focus('#chart'); // with the focus there, it does not follow the feed
  await page.evaluate(() => { const u = window.preismon.chart; const { min, max } = u.scales.x; u.setScale('x', { min, max: max - (max - min) / 5 }); });
  const from = await page.evaluate(() => window.preismon.chart.scales.x.min);
  await page.keyboard.press('Shift+ArrowRight');
  await page.waitForFunction((from) => window.preismon.chart.scales.x.min > from, from).catch(() => fail('budget', 'Shift and the right key do not move the part on show'));
  await page.waitForTimeout(400); // the address is written when the chart is at rest
  const steps = await page.evaluate(() => history.length);
  said.pan = await page.evaluate(() => new Promise((ok) => { // back and forth by the wheel, for 120 frames: two seconds at 60 Hz
    const times = [];
    let [n, last] = [0, performance.now()];
    const frame = (now) => {
      if (n) times.push(now - last);
      last = now;
      if (n++ === 120) return ok(times.sort((a, b) => a - b));
      document.querySelector('#chart').dispatchEvent(new WheelEvent('wheel', { deltaX: n % 60 < 30 ? -6 : 6, bubbles: true, cancelable: true }));
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }));
  await page.waitForTimeout(400);
  const more = await page.evaluate(() => history.length) - steps; // one, or one for each pause of a busy machine
  if (more > 10) fail('budget', `a pan is ${more} steps back`);
  await page.context().close();
}

await Promise.all(Object.entries({ honest, calendar }).map(([name, part]) => part().catch((e) => fail(name, `${e.stack}`.slice(0, 900)))));
await budget().catch((e) => fail('budget', `${e.stack}`.slice(0, 900))); // alone, since it measures
await done(said);
