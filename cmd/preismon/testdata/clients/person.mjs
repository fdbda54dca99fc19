// The person at the browser: logs in, reads what is asked, and answers.
// Fields and buttons are found as a screen reader finds them.
import { chromium } from 'playwright-core';

// person opens an authorization URL in a browser of its own, and ends on the
// page that `redirect` begins. It gives the address of that page, and the text
// of each page on the way.
export async function person({ url, redirect, login, password, answer = 'Allow', browser: executablePath }) {
  const browser = await chromium.launch({ executablePath, args: ['--disable-gpu', '--disable-dev-shm-usage'] });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    const pages = [];
    const read = async () => pages.push(await page.locator('body').innerText());
    await page.goto(String(url));
    await read();
    await page.getByLabel('Login', { exact: true }).fill(login);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    const button = page.getByRole('button', { name: answer, exact: true });
    await button.waitFor();
    await read();
    await button.click();
    await page.waitForURL((at) => at.href.startsWith(redirect), { waitUntil: 'commit' });
    return { end: page.url(), pages };
  } finally {
    await browser.close();
  }
}
