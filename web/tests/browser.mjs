// A browser that opens pages from disk and records everything that a page must not do.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(import.meta.url);
const { chromium } = require('playwright-core');

export const folder = process.env.WIRELAB_PAGES;

/** The path of Chromium; null if it is not installed. */
export function program() {
  const found = spawnSync('bash', ['-c', 'command -v chromium || command -v chromium-browser'], { encoding: 'utf8' });
  return found.stdout.trim() || null;
}

/** Chromium without a window; as root it has no sandbox of its own. */
export function launch() {
  const root = process.getuid() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: program(), args: [...root, '--disable-gpu'] });
}

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** An empty page; `told` has its console messages, errors, dialogs and forbidden requests. */
export async function blank(browser, options, mayAsk) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  const told = [];
  page.on('console', (message) => told.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => told.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    told.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!mayAsk(request.url())) told.push(`request: ${request.url()}`);
  });
  return { page, told };
}

/** Opens a page from disk, which must not make requests. */
export async function open(browser, name, options = {}) {
  const url = `file://${join(folder, `${name}.html`)}`;
  const opened = await blank(browser, options, (asked) => asked === url || /^(data|blob):/.test(asked));
  await opened.page.goto(url);
  return opened;
}

/** The findings of axe on a page, as text. */
export async function violations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.map((of) => `${of.id}: ${of.help}: ${of.nodes[0].html.slice(0, 200)}: ${of.nodes[0].failureSummary}`);
}

/** Scrolls to each unfolded figure, until all are drawn. */
export async function drawAll(page) {
  for (const figure of await page.locator('figure').all()) {
    const folded = await figure.evaluate((of) => of.closest('details:not([open])') !== null);
    if (folded) continue;
    await figure.scrollIntoViewIfNeeded();
    await figure.locator('.plot svg').first().waitFor({ timeout: 5000 });
  }
}

/** How many pixels of a screenshot differ from its corner, and in how many colours. */
export async function ink(page, png) {
  return page.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const pixels = new Uint32Array(data.buffer);
    const colours = new Set();
    let drawn = 0;
    for (const pixel of pixels) {
      if (pixel === pixels[0]) continue;
      drawn += 1;
      colours.add(pixel);
    }
    return { drawn, share: drawn / pixels.length, colours: colours.size };
  }, `data:image/png;base64,${png.toString('base64')}`);
}
