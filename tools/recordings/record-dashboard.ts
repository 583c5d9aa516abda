// Serves `plugins/` as `npm start` does, sends requests for a minute, and writes pictures of the dashboard in Chromium:
// docs/dashboard.png and docs/dashboard-….png. Start it with `npm run record:dashboard`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { delay } from '../../host/base/core/abort.ts';
import { loadConfig } from '../../host/base/config/index.ts';
import { silentLogger } from '../../host/base/core/log/logger.ts';
import { packageRoot } from '../../host/base/core/package-root.ts';
import { ModelStore } from '../../host/setup/models/index.ts';
import { findChromium, startBrowser } from '../../host/test/helpers/browser.ts';
import { freePort } from '../../host/test/helpers/server.ts';

const LOAD_MS = 60_000;
/** Widths in CSS pixels. */
const [DESKTOP, PHONE] = [1200, 390];

const program = findChromium();
if (program === undefined) throw new Error('Chromium is missing');
const port = await freePort();
const args = ['serve', 'plugins/', '--port', String(port), '--dashboard-port', '0', '--log-level', 'error'];
const server = spawn(process.execPath, ['bundle/host/cli/main.js', ...args], {
  cwd: packageRoot,
  stdio: ['ignore', 'pipe', 'inherit'],
});
let printed = '';
await new Promise<void>((resolve) => {
  server.on('exit', resolve);
  server.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    if (printed.includes('Try it')) resolve();
  });
});
const address = /^Dashboard: (.*)$/m.exec(printed)?.[1];
if (address === undefined) throw new Error(`the server printed no address of the dashboard:\n${printed}`);
const url = `http://127.0.0.1:${port}`;
const until = performance.now() + LOAD_MS;

/** Sends one request after the other. */
async function send(request: () => Promise<Response>, pauseMs: number): Promise<void> {
  while (performance.now() < until) {
    await (await request()).arrayBuffer();
    await delay(pauseMs);
  }
}
const chat = JSON.stringify({
  model: 'llm_deployment',
  messages: [{ role: 'user', content: 'Name a colour, and say why you like it.' }],
  max_tokens: 60,
});
const models = new ModelStore({ cacheDir: loadConfig().cache_dir, log: silentLogger });
const speech = new Blob([await readFile(await models.pullTool('speech-sample'))]);
const clip = (): FormData => {
  const form = new FormData();
  form.set('model', 'asr_deployment');
  form.set('file', speech, 'speech.wav');
  return form;
};
const video = (): FormData => {
  const form = new FormData();
  form.set('body', JSON.stringify({ video: { content: 'video' } }));
  form.set('video', speech, 'speech.wav');
  return form;
};
const headers = { 'content-type': 'application/json' };
const load = Promise.all([
  send(() => fetch(`${url}/v1/chat/completions`, { method: 'POST', body: chat, headers }), 100),
  send(() => fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body: clip() }), 3000),
  send(() => fetch(`${url}/video/summarize`, { method: 'POST', body: video() }), 5000),
  send(() => fetch(`${url}/v1/models`), 200),
]);

await using browser = await startBrowser(program);
const page = await browser.open(address);
await page.emulate({ scheme: 'light', width: DESKTOP });
await load;

/** Writes a picture of what the page shows. */
async function record(name: string): Promise<void> {
  await delay(1000);
  const file = join(packageRoot, `docs/${name}.png`);
  await writeFile(file, await page.screenshot());
  process.stderr.write(`${file}\n`);
}
await record('dashboard');
await page.emulate({ scheme: 'dark', width: DESKTOP });
await page.evaluate(`location.hash = '#/deployments'`);
await page.until(`document.querySelector('.device')`);
await record('dashboard-deployments');
await page.emulate({ scheme: 'light', width: DESKTOP });
await page.evaluate(`location.hash = '#/requests'`);
const request = `[...document.querySelectorAll('tbody a')].find((link) => link.innerText.includes('/video/summarize'))`;
await page.until(request);
await page.evaluate(`${request}.click()`);
await page.until(`document.querySelectorAll('.waterfall .bar').length > 3`);
await record('dashboard-request');
await page.emulate({ scheme: 'light', width: PHONE });
await page.evaluate(`location.hash = '#/deployments'`);
await page.until(`document.querySelector('.device')`);
await record('dashboard-phone');
server.kill('SIGTERM');
await once(server, 'exit');
