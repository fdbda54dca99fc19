// What all scripts for a browser share. chromium.go runs them: node script.mjs
// <chromium> <folder for pictures> <plan>, and reads what done() prints.
import axe from 'axe-core';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [executablePath, pictures, planText] = process.argv.slice(2);

/** plan is what the test told. */
export const plan = JSON.parse(planText);

const failures = [];
export const fail = (where, what) => failures.push(`${where}: ${what}`);

export const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });

/**
 * open gives an empty page in a context of its own, and watches it: what it
 * writes to the console is a failure unless expected says otherwise (a policy
 * that stops something says so there), and so is a request to a URL that
 * begins with none of plan.hosts.
 */
export async function open(where, options = {}, expected = () => false) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  page.on('console', (m) => { if (!expected(m.text())) fail(where, `console: ${m.text()} ${m.location().url}`); });
  page.on('pageerror', (e) => fail(where, `script: ${e}`));
  page.on('request', (r) => { if (![...plan.hosts, 'data:'].some((start) => r.url().startsWith(start))) fail(where, `asked for ${r.url()}`); });
  return page;
}

/** picturing tells whether somebody asked for pictures. */
export const picturing = Boolean(pictures);

/** picture takes one of the page, where somebody asked for pictures. */
export async function picture(page, name, options = {}) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name.replaceAll(' ', '-')}.png`), ...options });
}

/** wide finds a page that has to be scrolled sideways. */
export async function wide(page, where) {
  if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) fail(where, 'has to be scrolled sideways');
}

/**
 * accessible lets axe see the page as it is. types are those of its findings
 * that are failures; it has to look at so many rules.
 */
export async function accessible(page, where, { types = ['violations', 'incomplete'], rules = 10 } = {}) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const result = await page.evaluate((resultTypes) => window.axe.run(document, { resultTypes }), types);
  for (const type of types) {
    for (const found of result[type]) {
      for (const n of found.nodes.slice(0, 3)) fail(where, `axe ${found.id}: ${n.html.slice(0, 200)} ${n.failureSummary ?? found.help}`);
    }
  }
  if (result.passes.length < rules) fail(where, `axe looked at ${result.passes.length} rules only`);
}

/** done ends the script; said is for the test. */
export async function done(said = {}) {
  await browser.close();
  console.log(JSON.stringify({ failures, said }));
}
