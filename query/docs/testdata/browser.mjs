// Opens the reference and tells what is wrong with it, for browser_test.go.
import { accessible, done, fail, open as watched, picture, plan, wide } from './harness.mjs';

// open shows the page in a context of its own.
async function open(where, hash = '', options = {}) {
  const page = await watched(where, { permissions: ['clipboard-read', 'clipboard-write'], reducedMotion: 'reduce', ...options });
  await page.goto(`${plan.base}/docs${hash}`);
  return page;
}

// seen tells whether an element is in what the window shows.
const seen = (page, id) => page.evaluate((name) => {
  const box = document.getElementById(name)?.getBoundingClientRect();
  return box !== undefined && box.top >= -1 && box.top < innerHeight / 2 && box.width > 0;
}, id);

for (const scheme of ['light', 'dark']) {
  for (const width of [1440, 900, 360]) {
    const where = `${scheme} ${width}`;
    const page = await open(where, '', { viewport: { width, height: 900 }, colorScheme: scheme });
    const doc = await page.evaluate(() => ({ styled: getComputedStyle(document.querySelector('.card')).borderRadius !== '0px', open: document.getElementById('contents').open }));
    await wide(page, where);
    if (!doc.styled) fail(where, 'has no style');
    if (doc.open !== width > 960) fail(where, `the contents are ${doc.open ? 'open' : 'closed'}`);
    await picture(page, `docs ${where} top`);
    for (const [id, name] of [['listResults', 'operation'], ['schema-Result', 'record']]) {
      await page.evaluate((to) => document.getElementById(to).scrollIntoView(), id);
      await picture(page, `docs ${where} ${name}`);
    }
    await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
    // Each scheme and the widest and narrowest once: axe takes ten seconds for a page of this length.
    if ((scheme === 'light' && width === 1440) || (scheme === 'dark' && width === 360)) await accessible(page, where, { rules: 15 });
    await page.context().close();
  }
}

// Each operation and record has an address that shows it, without script too.
const addresses = await open('addresses');
for (const id of plan.ids) {
  await addresses.goto(`${plan.base}/docs#${id}`);
  if (!await seen(addresses, id)) fail(`#${id}`, 'is not shown by its address');
}
await addresses.context().close();
const still = await open('without script', `#${plan.ids[0]}`, { javaScriptEnabled: false });
if (!await still.locator(`#${plan.ids[0]} pre.code`).first().isVisible()) fail('without script', 'no command');
if (await still.locator('button:visible').count() !== 0) fail('without script', 'buttons that do nothing');
await still.context().close();

// The keyboard: the first stop leads past the contents; a button copies.
const page = await open('keyboard');
await page.keyboard.press('Tab');
const skip = await page.evaluate(() => { const b = document.activeElement.getBoundingClientRect(); return { href: document.activeElement.getAttribute('href'), top: b.top }; });
if (skip.href !== '#reference' || skip.top < 0) fail('keyboard', `first stop ${JSON.stringify(skip)}`);
await page.keyboard.press('Enter');
if (!await seen(page, 'reference')) fail('keyboard', 'the first stop leads nowhere');
const button = page.locator('[data-copy=curl-listSites]');
await button.focus();
await page.keyboard.press('Enter');
await page.waitForFunction(() => document.querySelector('[data-copy=curl-listSites]').textContent === 'Copied');
const copied = await page.evaluate(() => navigator.clipboard.readText());
if (copied !== await page.locator('#curl-listSites').textContent() || !copied.startsWith('curl ')) fail('copy', copied);

// The search finds what is in the texts, not in names only; what is read is marked.
const texts = await open('search', '', { viewport: { width: 1440, height: 900 } });
const left = () => texts.locator('#contents li li:visible').allTextContents();
const everything = (await left()).length;
await texts.keyboard.press('/');
await texts.keyboard.type('kept for 30 days');
const some = await left();
await texts.fill('#search', 'listResults');
const named = await left();
await texts.fill('#search', 'latestObservationPerPair parquet');
const inside = await left();
await texts.fill('#search', 'zzzz');
if (some.length >= everything || !named.length || named.length >= everything || !inside.some((n) => /observations/i.test(n)) || (await left()).length) fail('search', `finds ${some.length}, ${named.length}, ${inside} of ${everything}`);
if (!/^Nothing/.test(await texts.textContent('#found'))) fail('search', `says ${await texts.textContent('#found')}`);
await texts.fill('#search', 'listSites');
await texts.keyboard.press('Enter');
if (!/#\w+$/.test(texts.url())) fail('search', `Enter leads to ${texts.url()}`);
await texts.fill('#search', '');
if ((await left()).length !== everything || (await texts.textContent('#found'))) fail('search', 'nothing typed does not show everything');
for (const id of ['listSites', 'schema-Result']) {
  await texts.evaluate((to) => document.getElementById(to).scrollIntoView(), id);
  await texts.waitForFunction((to) => document.querySelector('#contents [aria-current]')?.hash === `#${to}`, id).catch(async () => fail('mark', `at ${id} ${await texts.evaluate(() => document.querySelector('#contents [aria-current]')?.hash)} is marked`));
}
await picture(texts, 'docs marked');
await texts.context().close();
const german = await open('de', '', { locale: 'de-DE', viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
await german.click('#contents summary');
await german.fill('#search', 'parquet');
if (!/^\d+ gefunden$/.test(await german.textContent('#found'))) fail('de', `says ${await german.textContent('#found')}`);
await wide(german, 'de');
await picture(german, 'docs de');
await done();
