// Signs a person in and lets a client in, for chromium_test.go.
import { done, open, plan } from './harness.mjs';

const page = await open('flow', { ignoreHTTPSErrors: true, locale: 'en' }, (m) => /403/.test(m)); // of the wrong password
const titles = [];
const signIn = async (secret) => {
  await page.fill('[name=loginIdentifier]', plan.login);
  await page.fill('[name=password]', secret);
  await page.click('button[type=submit]');
  titles.push(await page.title());
};
const decide = (what) => page.click(`button[name=decision][value=${what}]`);

await page.goto(plan.start);
titles.push(await page.title());
await signIn('wrong');
await signIn(plan.password);
await decide('switch');
titles.push(await page.title());
await signIn(plan.password);
await decide('allow');
await page.waitForURL((u) => u.href.startsWith(plan.callback));
await done({ titles, end: page.url(), cookies: await page.context().cookies(plan.start) });
