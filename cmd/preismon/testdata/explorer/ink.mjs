// Looks at the pixels of a history that is made up here: there is ink where
// something was seen, and none anywhere else. And what the page weighs, when
// its first number and its first chart are there, and how 100,000 points move.
import { done, fail, open as watched, picture, plan } from './harness.mjs';
import { login } from './person.mjs';

const said = {};
const other = 'other.example';

/** madeUp has the page read rows of a shop with outages, and of another that is seen all the time, instead of those of the service. */
const madeUp = (page, zero) => page.evaluate(({ item, site, other, zero }) => {
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
  }
  const json = (body) => Promise.resolve(new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } }));
  window.fetch = (to, options) => {
    const path = String(to);
    if (path.includes('/v1/results/stream')) return Promise.resolve(new Response(rows.map((r) => `${JSON.stringify(r)}\n`).join('')));
    if (path.includes('/v1/results?')) return json({ data: [{ itemId: item, site: other, orderIds: ['7'] }], paging: {} });
    if (path.includes('observation-quality')) return json({ data: [{ itemId: item, site: other, lastCapturedAt: new Date(zero + 500 * 60e3).toISOString() }], paging: {} });
    return real(to, options);
  };
}, { item: plan.items[0], site: plan.site, other, zero });

/** pixels counts those of a colour in a canvas, in columns between two times that are not at an end of a step; lane is one of the lanes, else it is the chart. */
const pixels = (page, zero, from, until, colour, lane) => page.evaluate(({ zero, from, until, colour, lane }) => {
  const u = window.preismon.chart;
  const canvas = lane === undefined ? u.ctx.canvas : document.querySelector('#lanes');
  const probe = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(colour).trim();
  probe.fillRect(0, 0, 1, 1);
  const want = probe.getImageData(0, 0, 1, 1).data;
  const [left, right] = [from, until].map((m) => Math.round(u.valToPos(zero / 1e3 + m * 60, 'x', true)));
  const [top, height] = lane === undefined ? [u.bbox.top, u.bbox.height] : [(lane * 34 + 18) * devicePixelRatio, 11 * devicePixelRatio];
  const { data, width } = canvas.getContext('2d').getImageData(left + 6, top, Math.max(1, right - left - 12), height);
  const columns = new Set();
  let n = 0;
  for (let i = 0; i < data.length; i += 4) {
    if ([0, 1, 2].every((k) => Math.abs(data[i + k] - want[k]) < 24) && data[i + 3] > 200) {
      n++;
      columns.add((i / 4) % width);
    }
  }
  return { n, columns: columns.size, of: width, share: n / (width * height) };
}, { zero, from, until, colour, lane });

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
  if (lines !== 2 || lanes[0] !== plan.site) fail('ink', `${lines} lines, lanes ${lanes}`);
  const colour = await page.evaluate((site) => (window.preismon.lines.chosen(2)[0].pair.site === site ? ['--c0', '--c1'] : ['--c1', '--c0']), plan.site);
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
  for (const [what, lane, from, until, mark, least, most] of [
    ['a price', 0, 0, 70, '--accent', 0.95, 1], ['unavailable', 0, 70, 130, '--error-edge', 0.1, 0.6], ['overdue', 0, 210, 600, '--quiet', 0.1, 0.6], ['no price while overdue', 0, 210, 600, '--accent', 0, 0],
    ['unknown', 0, 610, 640, '--quiet', 0.02, 0.14], ['restricted', 1, 500, 530, '--quiet', 0.3, 0.7], ['before', 0, -9, 0, '--accent', 0, 0],
  ]) {
    const { share } = await pixels(page, zero, from, until, mark, lane);
    if (share < least || share > most) fail('ink', `${what}: ${share.toFixed(3)} of the lane is ${mark}, between ${least} and ${most} is expected`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await picture(page, 'ink light', { fullPage: true });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.waitForTimeout(200);
  await picture(page, 'ink dark', { fullPage: true });
  await page.context().close();
}

await honest().catch((e) => fail('ink', `${e.stack}`.slice(0, 900)));
await done(said);
