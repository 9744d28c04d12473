// A reader's actions on a page, in a browser without a window.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { drawAll, folder, ink, launch, open, program, violations } from './browser.mjs';

const EVERY = readdirSync(folder).filter((name) => name.endsWith('.html')).map((name) => name.slice(0, -5));
const USUAL = ['lab', 'datasheet', 'explain', 'hostile'];
const PAGES = process.env.WIRELAB_ALL_PAGES ? EVERY : EVERY.filter((name) => USUAL.includes(name));
const LARGEST = 1.5e6;
/** A test of depth: only with --all. */
const deep = process.env.WIRELAB_ALL_PAGES ? test : () => undefined;

const skip = program() ? false : 'chromium: Chromium is not installed';
let browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
});

/** Opens a page, does something with it, and checks that it reported nothing. */
async function on(name, options, act) {
  const { page, told } = await open(browser, name, options);
  try {
    await act(page);
    assert.deepEqual(told, [], name);
  } finally {
    await page.context().close();
  }
}

test('every picture of every page is drawn, without a message or a request', { skip }, async () => {
  assert.ok(EVERY.length >= 10 && PAGES.length >= USUAL.length, EVERY.join());
  let seen = 0;
  for (const name of PAGES) {
    await on(name, {}, async (page) => {
      await drawAll(page);
      await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
      for (const plot of await page.locator('.plot:has(svg)').all()) {
        let found = await ink(page, await plot.screenshot());
        // Right after a screenshot of the whole page the browser may show an unpainted part.
        if (found.drawn === 0) found = await ink(page, await plot.screenshot());
        const caption = await plot.locator('xpath=..').locator('figcaption').innerText();
        assert.ok(found.drawn > 800 && found.colours > 3, `${name}: ${caption}: ${JSON.stringify(found)}`);
        seen += 1;
      }
    });
  }
  assert.ok(seen >= 3 * PAGES.length, `${seen} pictures`);
});

test('a page is small with a hundred trials', { skip: false }, () => {
  for (const name of EVERY) {
    const size = readFileSync(join(folder, `${name}.html`)).length;
    assert.ok(size < LARGEST, `${name}: ${size} bytes`);
  }
});

test('pointer and keyboard say value, unit, trial and command', { skip }, async () => {
  await on('lab', {}, async (page) => {
    await drawAll(page);
    const figure = page.locator('figure').first();
    const plot = figure.locator('.plot');
    await plot.focus();
    await page.keyboard.press('ArrowRight');
    const said = figure.locator('.said');
    const first = await said.innerText();
    assert.match(first, /^trial \d+, \w+ on .*: [\d.]+ % at \d+ B payload \(measured\), load .*; [\d,]+ frames/);
    assert.match(first, /wirelab measure lab:\S* --payload \d+ --direction \w+ --load \S+/);
    await page.keyboard.press('ArrowRight');
    assert.notEqual(await said.innerText(), first);
    const box = await figure.locator('.cursor').boundingBox();
    await page.keyboard.press('Escape');
    assert.equal(await figure.locator('.hint').isVisible(), false);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    assert.equal(await figure.locator('.hint').isVisible(), true);
    await page.mouse.move(2, 2);
    assert.equal(await figure.locator('.hint').isVisible(), false);
  });
});

test('a distribution has three views and a slider', { skip }, async () => {
  await on('lab', {}, async (page) => {
    await drawAll(page);
    const figure = page.locator('figure:has(.slider)').first();
    const look = () => figure.locator('.plot svg').evaluate((svg) => svg.outerHTML);
    const views = new Set([await look()]);
    for (const name of ['CDF', 'Histogram']) {
      await figure.getByRole('button', { name: `Show as ${name}` }).click();
      views.add(await look());
    }
    await figure.locator('input[type=range]').focus();
    await page.keyboard.press('ArrowRight');
    views.add(await look());
    assert.equal(views.size, 4);
  });
});

test('a figure says what a reader must know of its trial', { skip }, async () => {
  await on('lab', {}, async (page) => {
    await drawAll(page);
    const figure = page.locator('figure').nth(1);
    await figure.locator('.plot').focus();
    await page.keyboard.press('ArrowRight');
    for (const place of ['.said', '.hint']) {
      assert.match(await figure.locator(place).innerText(), /△ tester-was-limit: the tester reached its own ceiling/);
    }
    // The mark in the table leads to the notice, which is folded.
    const notice = page.locator('li[id^=notice-]').first();
    assert.equal(await notice.isVisible(), false);
    await page.locator('sup a[href^="#notice-"]').first().click();
    await notice.waitFor({ state: 'visible' });
  });
});

test('latency is chosen by its load where several were measured', { skip }, async () => {
  await on('loads', {}, async (page) => {
    await drawAll(page);
    const slider = page.getByRole('slider', { name: 'Which load' });
    const said = [];
    for (let at = 0; at < 4; at += 1) {
      said.push(await slider.getAttribute('aria-valuetext'));
      await slider.press('ArrowRight');
    }
    assert.deepEqual(said.map((text) => text.split(' · ')[0]), [
      'every load', '1,000 frames/s', '20,000 frames/s', '50,000 frames/s',
    ]);
  });
});

test('a flame graph is walked through from the lowest bar up', { skip }, async () => {
  await on('called', {}, async (page) => {
    await drawAll(page);
    const figure = page.locator('figure').filter({ hasText: 'by paths of calls' });
    await figure.locator('.plot').focus();
    const said = [];
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown']) {
      await page.keyboard.press(key);
      said.push(await figure.locator('.said').innerText());
    }
    assert.match(said[0], /^all: 1.200 instructions of a frame/);
    assert.match(said[1], /^receive 64 B: /);
    assert.match(said[2], /^interrupt to /);
  });
});

deep('the first paint comes within a second with a million samples behind it', { skip }, async () => {
  await on('million', {}, async (page) => {
    const text = await page.locator('.instead').allInnerTexts();
    assert.ok(text.some((words) => words.includes('1,000,000 samples')), text.join());
    const paints = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint').map((of) => of.startTime));
    assert.equal(paints.length, 1);
    // The page's processor time, which other programs do not lengthen, from its start past its first paint.
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const { metrics } = await session.send('Performance.getMetrics');
    const took = metrics.find((of) => of.name === 'ProcessTime').value;
    assert.ok(took > 0 && took < 1, `${took} s; painted after ${paints[0]} ms`);
  });
});

test('pictures and tables are saved', { skip }, async () => {
  await on('lab', { acceptDownloads: true }, async (page) => {
    await drawAll(page);
    const figure = page.locator('figure').first();
    const saved = async (name) => {
      const [download] = await Promise.all([page.waitForEvent('download'), figure.getByRole('button', { name }).click()]);
      return readFileSync(await download.path());
    };
    const svg = (await saved('Save the picture as SVG')).toString();
    assert.ok(svg.startsWith('<svg') && !svg.includes('var('), svg.slice(0, 200));
    const png = await saved('Save the picture as PNG');
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    assert.ok((await ink(page, png)).colours > 3);
    const csv = (await saved('Save the figures of the picture as CSV')).toString();
    assert.match(csv, /^series,payload in bytes,.*,trial,words,command\r\n/);
    assert.ok(csv.split('\r\n').length > 4, csv);
  });
});

test('a table sorts by a column, up and down', { skip }, async () => {
  await on('lab', {}, async (page) => {
    const table = page.locator('.scroll > table').first();
    const column = async () => {
      const cells = await table.locator('tbody tr td:nth-child(1)').allInnerTexts();
      return cells.map((text) => Number.parseInt(text, 10));
    };
    const before_ = await column();
    const head = table.locator('thead th').first();
    await head.getByRole('button').click();
    assert.equal(await head.getAttribute('aria-sort'), 'ascending');
    assert.deepEqual(await column(), [...before_].sort((a, b) => a - b));
    await head.getByRole('button').click();
    assert.deepEqual(await column(), [...before_].sort((a, b) => b - a));
  });
});

test('light and dark follow the reader and the button', { skip }, async () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await on('lab', { colorScheme: 'dark' }, async (page) => {
    const dark = await paper(page);
    await page.screenshot({ path: join(folder, 'lab-dark.png'), fullPage: true });
    await page.locator('.theme').click();
    const light = await paper(page);
    assert.notEqual(light, dark);
    assert.equal(light, 'rgb(255, 255, 255)');
  });
});

deep('400 pixels are enough, with charts drawn anew', { skip }, async () => {
  for (const name of PAGES) {
    await on(name, { viewport: { width: 400, height: 800 } }, async (page) => {
      await drawAll(page);
      await page.screenshot({ path: join(folder, `${name}-400.png`), fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 400, `${name} is ${wide} pixels wide`);
      const texts = await page.evaluate(() =>
        [...document.querySelectorAll('.plot svg text')].map((text) => parseFloat(getComputedStyle(text).fontSize)),
      );
      assert.ok(texts.every((size) => size >= 11), `${name}: ${Math.min(...texts)}`);
    });
  }
});

deep('axe finds nothing, in light and in dark', { skip }, async () => {
  // The dark theme differs only in its colours, so a few pages are enough.
  for (const name of PAGES) {
    for (const colorScheme of ['lab', 'datasheet'].includes(name) ? ['light', 'dark'] : ['light']) {
      await on(name, { colorScheme }, async (page) => {
        await drawAll(page);
        await page.evaluate(() => document.querySelectorAll('details').forEach((of) => (of.open = true)));
        assert.deepEqual(await violations(page), [], `${name}, ${colorScheme}`);
      });
    }
  }
});

deep('hostile text stays text', { skip }, async () => {
  for (const name of PAGES.filter((of) => of.startsWith('hostile'))) {
    await on(name, {}, async (page) => {
      await drawAll(page);
      const body = await page.evaluate(() => document.body.innerText);
      assert.ok(body.includes('<script>'), name);
      const odd = await page.evaluate(() => document.querySelectorAll('img, iframe, object, a[href^=javascript]').length);
      assert.equal(odd, 0);
      for (const figure of await page.locator('figure:has(.plot svg)').all()) {
        await figure.locator('.plot').focus();
        await page.keyboard.press('ArrowRight');
        // A picture saves as PNG only if its SVG is well-formed for all names.
        const saved = page.waitForEvent('download');
        await figure.getByRole('button', { name: 'as PNG' }).click();
        await saved;
      }
    });
  }
});

test('a datasheet prints on three pages of A4', { skip }, async () => {
  await on('datasheet', { colorScheme: 'dark' }, async (page) => {
    const pdf = await page.pdf({ path: join(folder, 'datasheet.pdf'), preferCSSPageSize: true });
    const pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g).length;
    assert.ok(pages <= 3, `${pages} pages`);
  });
});

test('without its program a page has tables and a sentence for each picture', { skip }, async () => {
  await on('lab', { javaScriptEnabled: false }, async (page) => {
    const figures = await page.locator('figure').count();
    assert.ok(figures >= 4 && (await page.locator('table').count()) >= 2);
    for (const words of await page.locator('.instead').all()) {
      assert.ok((await words.isVisible()) && (await words.innerText()).length > 20);
    }
    assert.equal(await page.locator('.instead').count(), figures);
  });
});
