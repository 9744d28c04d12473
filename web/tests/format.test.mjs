// The values on axes.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';

const { buildSync } = createRequire(import.meta.url)('esbuild');
const source = new URL('../src/format.ts', import.meta.url).pathname;
const { outputFiles } = buildSync({ entryPoints: [source], bundle: true, format: 'esm', write: false });
const { digitsOf, linearTicks, show } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);

test('ticks that lie near each other are told apart, others are as short as ever', () => {
  for (const [how, low, high, first] of [
    ['si', 99_960, 100_000, '99.96\u00a0k'],
    ['si', 1_234_500, 1_234_560, '1.2345\u00a0M'],
    ['time', 5e9, 5.0002e9, '5\u00a0ms'],
    ['share', 0, 0.5, '0\u00a0%'],
  ]) {
    const ticks = linearTicks(low, high, 6);
    const labels = ticks.map((at) => show(how, at, digitsOf(how, ticks)));
    assert.equal(new Set(labels).size, ticks.length, labels.join());
    assert.equal(labels[0], first);
  }
  assert.equal(digitsOf('si', [0, 200_000, 400_000]), 4);
});
