// Looks at two pages, for chromium_test.go.
import { accessible, done, open, picture, plan, wide } from './harness.mjs';

for (const path of plan.paths) {
  const page = await open(path, { viewport: { width: 400, height: 400 } }, (text) => text === 'expected');
  await page.goto(plan.base + path);
  await wide(page, path);
  await picture(page, 'a page');
  await accessible(page, path, { rules: 1 });
}
await done({ paths: plan.paths.length });
