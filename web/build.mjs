// Bundles the program of the page and its style: node build.mjs FOLDER writes page.js, page.css and page.csp, the content
// security policy that lets a browser run them and nothing else. The report crate's build.rs calls it.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];

function fail(why) {
  console.error(why);
  process.exit(1);
}

if (!out) fail('no folder to write to is named; fix: node build.mjs FOLDER');
if (!existsSync(join(web, 'node_modules', 'esbuild'))) {
  fail(`its packages are not installed in ${join(web, 'node_modules')}`);
}
const { buildSync } = await import('esbuild');

// A page is well-formed XML, too: the marks of a CDATA section stand in comments, where scripts and styles allow them.
function bundle(entry, options, notice = '') {
  const { outputFiles } = buildSync({
    absWorkingDir: web,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    write: false,
    ...options,
  });
  // The charting library has it as a word; minified code has a[b[c]]>d, to which a space does nothing.
  const text = outputFiles[0].text.trim().replaceAll('"]]>"', '"]]\\x3e"').replaceAll(']]>', ']] >');
  for (const end of ['</script', '</style', '<!--']) {
    if (text.includes(end)) fail(`${entry} holds ${end}, which would end it in a page`);
  }
  return `/*<![CDATA[*/${notice}${text}/*]]>*/`;
}

// The licences of what is bundled ask for their names beside it.
function licences() {
  const version = (name) => JSON.parse(readFileSync(join(web, 'node_modules', name, 'package.json'), 'utf8')).version;
  return (
    `/*! Apache ECharts ${version('echarts')}, Copyright 2017-2026 The Apache Software Foundation, Apache License 2.0, ` +
    `https://www.apache.org/licenses/LICENSE-2.0; zrender ${version('zrender')}, Copyright 2017 Baidu Inc., BSD-3-Clause, ` +
    `https://github.com/ecomfe/zrender/blob/master/LICENSE; tslib ${version('tslib')}, 0BSD */`
  );
}

const sha256 = (text) => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;

try {
  const script = bundle('src/main.ts', { format: 'iife', target: 'es2020' }, licences());
  const style = bundle('src/style.css', { target: ['chrome100', 'firefox100', 'safari15'] });
  const policy = [
    "default-src 'none'",
    `script-src ${sha256(script)}`,
    `style-src ${sha256(style)}`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  for (const [name, text] of [['page.js', script], ['page.css', style], ['page.csp', policy]]) {
    writeFileSync(join(out, name), text);
  }
} catch (error) {
  fail(error.message);
}
