// What a person does on every page of the explorer.
import { readFile } from 'node:fs/promises';
import { accessible, fail, picture, plan, wide } from './harness.mjs';

/** looks runs axe on the page as it is: wide and light if full, and always as on a phone in dark. */
export async function looks(page, name, full) {
  for (const [scheme, width] of full ? [['light', 1280], ['dark', 375]] : [['dark', 375]]) {
    const where = `${name} ${scheme} ${width}`;
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(150); // the chart adapts to its new width
    await wide(page, where);
    await picture(page, where, { fullPage: true });
    await accessible(page, where, { types: ['violations'] });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** login fills in the login and waits for the page. */
export async function login(page, name = plan.login, password = plan.password) {
  await page.fill('#login-name', name);
  await page.fill('#login-password', password);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#app:not([hidden])');
  await page.waitForFunction(() => document.querySelectorAll('#items li').length > 0);
}

/** makesRows has a page read the rows of products from its global function madeRows, which returns an answer and gets its first line. */
export const makesRows = (page) => page.evaluate(() => {
  const real = fetch;
  window.fetch = async (to, options) => {
    if (!String(to).includes('includeRows=true')) return real(to, options);
    const summary = await real(String(to).replace('&includeRows=true', ''), { ...options, headers: { ...options.headers, Accept: 'application/json' } });
    return globalThis.madeRows(`${(await summary.text()).trim()}\n`);
  };
});

/** files downloads what a box offers in each format: CSV as UTF-8, Parquet as Latin-1. */
export async function files(page, box) {
  const all = [];
  for (const [form, encoding] of [['csv', 'utf8'], ['parquet', 'latin1']]) {
    const kept = [];
    const keep = (d) => kept.push(d);
    page.on('download', keep);
    await page.locator(`#${box} [data-form=${form}]`).click();
    await page.waitForFunction(([box, form]) => !document.querySelector(`#${box} [data-form=${form}]`).disabled, [box, form]);
    await page.waitForTimeout(300);
    page.off('download', keep);
    if (await page.locator(`#${box} .error:not([hidden])`).count()) fail(box, `no ${form}: ${await page.textContent(`#${box} .error`)}`);
    for (const d of kept) all.push({ name: d.suggestedFilename(), text: await readFile(await d.path(), encoding) });
  }
  return all;
}

let clipboard = Promise.resolve(); // the queue for it: the pages of a browser share one clipboard

/** copied presses the button next to the first command of a kind, and returns what is then on the clipboard. */
export const copied = (page, view, kind) => {
  const mine = clipboard.then(() => copy(page, view, kind));
  clipboard = mine.catch(() => {});
  return mine;
};

async function copy(page, view, kind) {
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await page.locator(`#${view}-same .copy`, { has: page.locator(`[data-kind=${kind}]`) }).first().getByRole('button').click();
  await page.waitForFunction(() => navigator.clipboard.readText());
  return page.evaluate(() => navigator.clipboard.readText());
}
