// The store in a browser, as `wirelab serve` shows it: a test of depth, only with --all.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';

import { blank, folder, launch, program, violations } from './browser.mjs';

const WIRELAB = process.env.WIRELAB_PROGRAM;
const RUNS = 6;
const skip = program() ? false : 'chromium: Chromium is not installed';
const deep = process.env.WIRELAB_ALL_PAGES ? test : () => undefined;

let home, server, address, browser;

/** Six runs of one node, the first with a hostile tag. */
function fill(store) {
  const text = readFileSync(new URL('../../spec/examples/iperf.json', import.meta.url), 'utf8');
  for (let run = 0; run < RUNS; run += 1) {
    const file = JSON.parse(text);
    file.created_unix_ns += run * 1e9;
    const path = join(home, `${run}.json`);
    writeFileSync(path, JSON.stringify(file));
    const tag = run === 0 ? '<img src=x onerror=alert(1)>' : 'main';
    const done = spawnSync(WIRELAB, ['results', 'import', path, '--store', store, '--tag', tag], { encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
  }
}

before(async () => {
  if (skip || !process.env.WIRELAB_ALL_PAGES) return;
  home = mkdtempSync(join(tmpdir(), 'wirelab-serve-'));
  const store = join(home, 'results.db');
  fill(store);
  server = spawn(WIRELAB, ['serve', '--listen', '127.0.0.1:0', '--store', store], { stdio: ['ignore', 'pipe', 'inherit'] });
  address = await new Promise((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    server.stdout.on('data', (said) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(String(said));
      if (found) resolve(found[0]);
    });
  });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  server?.kill('SIGINT');
  if (home) rmSync(home, { recursive: true });
});

/** Opens a page of the server, does something with it, and checks that it reported nothing and made no other requests. */
async function on(path, options, act) {
  const { page, told } = await blank(browser, options, (asked) => asked.startsWith(`${address}/`));
  page.on('response', (response) => {
    if (response.status() >= 400) told.push(`${response.status()}: ${response.url()}`);
  });
  try {
    await page.goto(address + path);
    await act(page);
    assert.deepEqual(told, [], path);
  } finally {
    await page.context().close();
  }
}

/** The pages of every sort, with the first trend of the first run. */
async function paths() {
  let trend = '';
  await on('/runs/1/figures', {}, async (page) => {
    trend = await page.locator('a[href^="/trend/"]').first().getAttribute('href');
  });
  return ['/', '/runs/1/figures', trend];
}

deep('the pages of the store say nothing to the console and ask nobody', { skip }, async () => {
  for (const [at, path] of [...(await paths()), '/runs/1'].entries()) {
    await on(path, {}, (page) => page.screenshot({ path: join(folder, `serve-${at}.png`), fullPage: true }));
  }
});

deep('axe finds nothing on the pages of the store', { skip }, async () => {
  for (const path of await paths()) {
    for (const colorScheme of ['light', 'dark']) {
      // The pages have no script; the browser's policy is off for the test's own script.
      await on(path, { colorScheme, bypassCSP: true }, async (page) => {
        assert.deepEqual(await violations(page), [], `${path}, ${colorScheme}`);
      });
    }
  }
});

deep('400 pixels are enough for the pages of the store', { skip }, async () => {
  for (const [at, path] of (await paths()).entries()) {
    await on(path, { viewport: { width: 400, height: 800 } }, async (page) => {
      await page.screenshot({ path: join(folder, `serve-${at}-400.png`), fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 400, `${path} is ${wide} pixels wide`);
    });
  }
});

deep('runs are filtered, and two are compared by ticking them', { skip }, async () => {
  await on('/', {}, async (page) => {
    assert.equal(await page.locator('input[type=checkbox]').count(), RUNS);
    await page.getByLabel('Tag').fill('main');
    await page.getByRole('button', { name: 'Filter' }).click();
    assert.equal(await page.locator('input[type=checkbox]').count(), RUNS - 1);
    await page.locator('input[type=checkbox]').nth(0).check();
    await page.locator('input[type=checkbox]').nth(1).check();
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.waitForLoadState();
    assert.match(await page.textContent('h1'), /against/);
  });
});
