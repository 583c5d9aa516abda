// The clients of docs/live.md, as they are written there: in Node, in Python, and in a page with a microphone.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../../../application/fixtures/test-app.ts';
import { packageRoot } from '../../../../base/core/package-root.ts';
import { cannotRun } from '../../../../inference/engines/fixtures/cannot-run.ts';
import { type AanaApp, WhisperDeployment } from 'aana-host';
import { findChromium, startBrowser } from '../../../../test/helpers/browser.ts';
import { blocksOf } from '../../../../test/helpers/guide.ts';
import { pythonPackages } from '../../../../test/helpers/installed-packages.ts';
import { ffmpegPath, SAMPLE_TEXT, speechPath } from '../../../../test/helpers/media/media.ts';
import { wordErrors } from '../../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../../test/skip.ts';

const Guide = suite('the clients of the guide to live transcription');
const run = promisify(execFile);
const folder = makeFolder();
const blocks = blocksOf(readFileSync(join(packageRoot, 'docs/live.md'), 'utf8'));
const chromium = findChromium();
let app: AanaApp;
let url = '';
let pages: Server;

Guide.before(async () => {
  const page = blocks.find(({ language }) => language === 'html')!.text;
  pages = createServer((_req, res) => {
    res.setHeader('content-type', 'text/html; charset=utf-8');
    res.end(page.replace('127.0.0.1:8000', new URL(url).host));
  }).listen(0, '127.0.0.1');
  await once(pages, 'listening');
  app = makeApp(
    folder,
    {},
    { cache_dir: process.env['AANA_CACHE_DIR'] ?? folder, cors: { allow_origins: [pageUrl()] } },
  );
  const user_config = { model_size: 'tiny.en', threads: 1, max_states: 1 };
  await started(app.registerDeployment('asr', WhisperDeployment.options({ user_config })));
  url = app.url!.replace('http', 'ws');
});
Guide.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  pages?.close();
  rmSync(folder, { recursive: true, force: true });
});

const pageUrl = (): string => `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
const program = (name: string): string => blocks.find(({ about }) => about === name)!.text;

Guide('the client in Node prints the transcript', async () => {
  const args = ['--input-type=module', '--eval', program('live.mjs'), 'live.mjs', url, speechPath()];
  const { stdout, stderr } = await run(process.execPath, args, { cwd: packageRoot });
  assert.is(stderr, '');
  assert.ok(wordErrors(SAMPLE_TEXT, stdout) <= 4, stdout);
});

Guide('the client in Python prints the transcript', async () => {
  const packages = await pythonPackages('test-websockets-17.4', 'websockets==17.4');
  if (packages === undefined) return skip('the client in Python', 'pip cannot install websockets');
  const env = { ...process.env, PYTHONPATH: join(packages, 'lib') };
  const { stdout, stderr } = await run('python3', ['-c', program('live.py'), url, speechPath()], { env });
  assert.is(stderr, '');
  assert.ok(wordErrors(SAMPLE_TEXT, stdout) <= 4, stdout);
});

Guide('the page shows what its microphone hears', async () => {
  if (chromium === undefined) return skip('the page with a microphone', 'no Chromium is installed');
  const microphone = join(folder, 'microphone.wav');
  const silence = 'adelay=10s:all=1,apad=pad_dur=3';
  await run(ffmpegPath(), ['-v', 'error', '-i', speechPath(), '-af', silence, '-ar', '48000', microphone]);
  await using browser = await startBrowser(chromium, { microphone });
  const page = await browser.open(pageUrl());
  const text = "document.querySelector('#text').textContent";
  await page.until(`/for your country\\W*$/i.test(${text}) && /can do for you\\W.*for your country/i.test(${text})`);
  const shown = String(await page.evaluate(text));
  assert.ok(wordErrors(SAMPLE_TEXT, shown) <= 6, shown);
  assert.equal(page.complaints, []);
});

if (cannotRun === undefined) Guide.run();
else skip('the clients of the guide to live transcription', cannotRun);
