// Records what each page of the explorer requests from the service: in one tab, one
// page after the other, and each as the first page of a tab.
import { done, fail, open as watched, plan } from './harness.mjs';
import { login } from './person.mjs';

const asked = (url) => new URL(url).pathname.replace(/^\/+/, '').replace(/\d{6,}/, '{id}');

/** counting records the reads of a page, without those that follow the feed. */
function counting(page) {
  const reads = [];
  page.on('request', (r) => { if (/\/(ext\/)?v1\//.test(r.url()) && !/ext\/v1\/changes|v1\/auth/.test(r.url())) reads.push(asked(r.url())); });
  return reads;
}

/** whole waits until a page is complete, and a moment longer for requests that it should not make. */
async function whole(page, view, what) {
  await page.waitForFunction(([view, what]) => !document.querySelector(`#${view}`).hidden && !document.querySelector(`#${view}`).hasAttribute('aria-busy') && document.querySelector(`#${view} ${what}`), [view, what]);
  await page.waitForFunction(() => document.querySelector('#items li'));
  await page.waitForTimeout(400);
}

const said = { pages: [], first: [] };
const start = await watched('start', { locale: 'en-GB', viewport: { width: 1280, height: 900 } });
await start.goto(`${plan.base}/explorer/#view=stream`);
await login(start);
const token = await start.evaluate(() => sessionStorage.getItem('preismon.token'));
const reads = counting(start);
for (const { hash, view, what } of plan.pages) {
  reads.length = 0;
  await start.evaluate((hash) => { location.hash = hash; }, hash);
  await start.waitForFunction((view) => document.querySelector(`#${view}`).getAttribute('aria-busy') || !document.querySelector(`#${view}`).hidden, view);
  await whole(start, view, what);
  said.pages.push(reads.toSorted());
}
await start.context().close();

for (const { hash, view, what } of plan.pages) {
  const page = await watched('first', { locale: 'en-GB', viewport: { width: 1280, height: 900 } });
  await page.addInitScript((token) => sessionStorage.setItem('preismon.token', token), token);
  const all = counting(page);
  await page.goto(`${plan.base}/explorer/${hash}`);
  await whole(page, view, what).catch((e) => fail(view, `${e}`.slice(0, 300)));
  said.first.push(all.toSorted());
  await page.context().close();
}
await done(said);
