// Takes a screenshot of a part of a page: node web/tests/shot.mjs PAGE.html PICTURE.png [SELECTOR [WIDTH]]. It makes the
// pictures of docs/images.
import { pathToFileURL } from 'node:url';

import { drawAll, launch } from './browser.mjs';

const [file, picture, selector, width = '1000'] = process.argv.slice(2);
if (!file || !picture) {
  console.error('no page or no picture is named; fix: node web/tests/shot.mjs PAGE.html PICTURE.png [SELECTOR [WIDTH]]');
  process.exit(2);
}
const browser = await launch();
const page = await browser.newPage({ viewport: { width: Number(width), height: 1120 } });
await page.goto(pathToFileURL(file).href);
await drawAll(page);
await page.evaluate(() => window.scrollTo(0, 0));
if (selector) await page.locator(selector).first().screenshot({ path: picture });
else await page.screenshot({ path: picture });
await browser.close();
