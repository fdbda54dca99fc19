// Shows the pages of a server and tells what is wrong with them, for
// browser_test.go.
import { accessible, done, fail, open as watched, picture, plan, wide } from './harness.mjs';

// open shows a page in a context of its own.
async function open(path, { lang = 'en', where }) {
  const page = await watched(where, { locale: lang });
  await page.goto(plan.base + path);
  return page;
}

const focused = (page) => page.evaluate(() => {
  const e = document.activeElement;
  const s = getComputedStyle(e);
  return { name: e.getAttribute('name') ?? e.tagName, value: e.getAttribute('value') ?? '', outline: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 };
});

// look shows one page in all its looks.
async function look(name, lang) {
  const of = `${name} ${lang}`;
  const page = await open(`/show/${name}`, { lang, where: of });
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const width of [1024, 320]) {
      const where = `${of} ${scheme} ${width}`;
      await page.setViewportSize({ width, height: 800 });
      const doc = await page.evaluate(() => ({ lang: document.documentElement.lang, styled: getComputedStyle(document.querySelector('main')).borderRadius !== '0px' }));
      if (doc.lang !== lang) fail(where, `lang=${doc.lang}`);
      await wide(page, where);
      if (!doc.styled) fail(where, 'has no style');
      await picture(page, where, { fullPage: true });
      // Each scheme at each width, in one of the languages: axe takes a second.
      if ((lang === 'en') === ((scheme === 'light') === (width > 320))) await accessible(page, where);
    }
  }
  await page.context().close();
}

// walk goes through a page by keyboard: each step is [key or text, name and value of what
// is focused then].
async function walk(path, steps, wants, where) {
  const page = await open(path, { where });
  for (const [key, name, value = ''] of steps) {
    if (key.startsWith('type ')) await page.keyboard.type(key.slice(5));
    else if (key) await page.keyboard.press(key);
    if (!name) continue;
    const at = await focused(page);
    if (at.name !== name || (value && at.value !== value)) fail(where, `after ${key || 'opening'}: ${at.name} ${at.value} has the focus, not ${name} ${value}`);
    if (!at.outline && name !== 'BODY') fail(where, `the focus on ${at.name} is not seen`);
  }
  try {
    await page.waitForURL(wants, { timeout: 30000, waitUntil: 'commit' });
  } catch {
    fail(where, `ended at ${page.url()}, not ${wants}`);
  }
  await page.context().close();
}

for (const name of plan.pages) {
  for (const lang of ['en', 'de']) await look(name, lang);
}
for (const w of plan.walks) await walk(w.path, w.steps, w.wants, w.name);
await done();
