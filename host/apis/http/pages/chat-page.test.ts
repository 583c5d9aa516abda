// The page /chat in a real browser, with real models behind it.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { type Browser, findChromium, type Page, startBrowser } from '../../../test/helpers/browser.ts';
import { speakingWebm, speechPath } from '../../../test/helpers/media/media.ts';
import { npmPackages } from '../../../test/helpers/installed-packages.ts';
import { skip } from '../../../test/skip.ts';
import { startAudioApp } from '../../openai/fixtures/audio-app.ts';
import { type OpenAiApp, registerEndless, startOpenAiApp } from '../../openai/fixtures/openai-app.ts';

const Chat = suite('the page /chat in a browser');
const program = findChromium();
let at: OpenAiApp;
let browser: Browser;

Chat.before(async () => {
  at = await startOpenAiApp({ prepare: registerEndless });
  browser = await startBrowser(program!);
});
Chat.after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await at?.[Symbol.asyncDispose]();
});

/** Opens the page and waits for its models. */
async function open(url = at.url): Promise<Page> {
  const page = await browser.open(`${url}/chat`);
  await page.until(`document.querySelectorAll('#model option').length === 2`);
  return page;
}

async function choose(page: Page, model: string): Promise<void> {
  await page.evaluate(`document.querySelector('#model').value = ${JSON.stringify(model)}`);
}

/** Asserts that the page logged no complaint but for these, and requested only itself and the API. */
function assertQuiet(page: Page, expected = /(?!)/): void {
  assert.equal(
    page.complaints.filter((text) => !expected.test(text)),
    [],
  );
  assert.equal(
    page.requests.filter(
      (url) => url !== `${at.url}/chat` && !url.startsWith(`${at.url}/v1/`) && !url.startsWith('data:'),
    ),
    [],
  );
}

const textOf = async (page: Page, selector: string): Promise<string> =>
  String(await page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`));

Chat('streams an answer, counts its tokens and shows the command for it', async () => {
  const page = await open();
  await choose(page, 'tiny');
  await page.click('#open-settings');
  await page.fill('#system', "You don't lie.");
  await page.fill('#max_tokens', '5');
  await page.click('#close-settings');
  await page.fill('#prompt', 'Once upon a time <b>there was</b>');
  await page.click('#send');
  await page.until(`/^\\d+ tokens in/.test(document.querySelector('.facts:last-child')?.innerText ?? '')`);
  assert.is(await textOf(page, '.turn.user'), 'Once upon a time <b>there was</b>');
  assert.ok((await textOf(page, '.turn.assistant .body')).length > 0);
  const command = await textOf(page, 'details#request');
  assert.match(command, 'The last request as a curl command');
  const curl = String(await page.evaluate(`document.querySelector('#curl').textContent`));
  assert.ok(curl.startsWith(`curl -N '${at.url}/v1/chat/completions' \\\n`), curl);
  assert.ok(curl.includes(String.raw`"You don'\''t lie."`), curl);
  assert.ok(curl.includes('"max_tokens":5'), curl);
  assertQuiet(page);
});

Chat('stops an answer by its button and by the key Escape, and goes on afterwards', async () => {
  const page = await open();
  for (const [n, stop] of [
    async () => page.click('#stop'),
    async () => page.evaluate(`document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))`),
  ].entries()) {
    await choose(page, 'endless');
    await page.fill('#prompt', 'Once upon a time');
    await page.evaluate(
      `document.querySelector('#prompt').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ` +
        `cancelable: true }))`,
    );
    await page.until(`document.querySelectorAll('.turn.assistant .body')[${n}]?.innerText.length > 20`);
    await stop();
    await page.until(`document.querySelectorAll('.turn.assistant')[${n}].innerText.endsWith('Stopped.')`);
    await page.until(`document.querySelector('#stop').hidden`);
  }
  await page.click('#clear');
  assert.is(await textOf(page, '#log'), '');
  assertQuiet(page);
});

Chat('shows the error of the server', async () => {
  const page = await open();
  await choose(page, 'tiny');
  await page.fill('#prompt', 'dog '.repeat(2000));
  await page.click('#send');
  await page.until(`!document.querySelector('#error').hidden`);
  assert.match(await textOf(page, '#error'), /the context holds 512/);
  await page.until(`!document.querySelector('#send').hidden`);
  assertQuiet(page, /status of 400/); // the browser itself logs it
});

Chat('asks for a key where one is needed, and keeps it in the tab alone', async () => {
  await using guarded = await startOpenAiApp({ config: { api_service: { enabled: true } } });
  const { apiKey } = await guarded.app.apiKeys!.create({ user_id: 'ann' });
  const page = await browser.open(`${guarded.url}/chat`);
  await page.until(`!document.querySelector('#error').hidden`);
  assert.match(await textOf(page, '#error'), /an API key is needed/);
  await page.click('#open-settings');
  await page.fill('#key', apiKey);
  await page.click('#close-settings');
  await page.until(`document.querySelector('#model').value === 'tiny'`);
  assert.is(await page.evaluate(`document.querySelector('#error').hidden`), true);
  assert.equal(await page.evaluate(`[Object.values(sessionStorage), localStorage.length, document.cookie]`), [
    [apiKey],
    0,
    '',
  ]);
  await page.fill('#prompt', 'Once');
  await page.click('#send');
  await page.until(`document.querySelector('#curl').textContent !== ''`);
  const curl = String(await page.evaluate(`document.querySelector('#curl').textContent`));
  assert.ok(curl.includes('$AANA_API_KEY') && !curl.includes(apiKey), curl);
});

Chat('shows Markdown as elements and HTML as text', async () => {
  const page = await open();
  const build = await rolldown({ input: fileURLToPath(new URL('./chat/markdown.js', import.meta.url)) });
  const { output } = await build.generate({ format: 'iife', name: 'markdown' });
  await page.evaluate(`${output[0].code}; undefined`);
  const html = async (text: string): Promise<unknown> =>
    page.evaluate(`(() => {
      const box = document.createElement('div');
      box.append(markdown.renderMarkdown(${JSON.stringify(text)}));
      return box.innerHTML;
    })()`);
  const cases: [text: string, expected: string][] = [
    ['<img src=x onerror=alert(1)>', '<p>&lt;img src=x onerror=alert(1)&gt;</p>'],
    ['a **b** *c* `d*e*`\nf', '<p>a <strong>b</strong> <em>c</em> <code>d*e*</code><br>f</p>'],
    ['# A\n- b\n- **c**\n\n1. d', '<h3>A</h3><ul><li>b</li><li><strong>c</strong></li></ul><ol><li>d</li></ol>'],
    ['```js\n<b>\n- x', '<pre><code>&lt;b&gt;\n- x</code></pre>'],
    ['```\na\n```\nb', '<pre><code>a</code></pre><p>b</p>'],
    ['[a](javascript:alert(1))', '<p>[a](javascript:alert(1))</p>'],
    ['[a](https://b.c)', '<p><a href="https://b.c" rel="noopener noreferrer" target="_blank">a</a></p>'],
    ['2 * 3 * 4', '<p>2 * 3 * 4</p>'],
    ['', ''],
  ];
  for (const [text, expected] of cases) assert.is(await html(text), expected);
  assertQuiet(page);
});

Chat('is one document, whose policy allows its own script and style by their hashes', async () => {
  const response = await fetch(`${at.url}/chat`);
  const html = await response.text();
  const policy = Object.fromEntries(
    (response.headers.get('content-security-policy') ?? '').split('; ').map((one) => {
      const [name = '', ...sources] = one.split(' ');
      return [name, sources];
    }),
  );
  const hashes = (tag: string): string[] =>
    [...html.matchAll(new RegExp(`<${tag}[^>]*>([^]*?)</${tag}>`, 'g'))].map(
      ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
    );
  assert.equal([policy['script-src'], policy['style-src']], [hashes('script'), hashes('style')]);
  assert.equal([hashes('script').length, hashes('style').length], [1, 1]);
  assert.equal([policy['default-src'], policy['connect-src']], [["'none'"], ["'self'"]]);
  assert.not.match(html, /\s(src|style|on\w+)=|href="(?!data:)|@import|url\(/);
  for (const path of ['main.js', 'page.css', 'theme.css'])
    assert.is((await fetch(`${at.url}/chat/${path}`)).status, 404);
  const page = await open();
  assert.equal(
    page.requests.filter((url) => !url.startsWith('data:')),
    ['chat', 'v1/models'].map((path) => `${at.url}/${path}`),
  );
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))`,
  );
  assert.is(await page.evaluate('window.ran ?? null'), null);
  assertQuiet(page, /Content Security Policy/);
});

Chat('can be used with a screen reader, in the dark and on a phone', async () => {
  const folder = await npmPackages('axe-core', { 'axe-core': '4.14.1' });
  if (folder === undefined) return skip('the accessibility of the page /chat', 'npm cannot install axe-core');
  const page = await open();
  await page.show();
  await page.evaluate(`${await readFile(join(folder, 'node_modules/axe-core/axe.min.js'), 'utf8')}; undefined`);
  await choose(page, 'tiny');
  await page.fill('#prompt', 'Once');
  await page.click('#send');
  await page.until(`!document.querySelector('#request').hidden && document.querySelector('#stop').hidden`);
  for (const scheme of ['light', 'dark'] as const)
    for (const width of [1200, 390]) {
      await page.emulate({ scheme, width });
      for (const opened of [false, true]) {
        if (opened) await page.click('#open-settings');
        const found = await page.evaluate(
          `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => ` +
            `html).join(' ')))`,
        );
        assert.equal(found, [], `${scheme}, ${width}`);
        assert.is(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, String(width));
        if (opened) await page.click('#close-settings');
      }
    }
});

Chat('transcribes a file that is dropped, and answers questions about it', async () => {
  await using speaking = await startAudioApp();
  const page = await browser.open(`${speaking.url}/chat`);
  await page.until(`!document.querySelector('#attach').hidden`);
  assert.match(await textOf(page, '#hint'), 'Drop an audio or video file');
  const drop = async (name: string, content: Buffer): Promise<void> => {
    await page.evaluate(`(() => {
      const bytes = Uint8Array.from(atob('${content.toString('base64')}'), (one) => one.charCodeAt(0));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([bytes], ${JSON.stringify(name)}));
      document.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
    })()`);
    await page.until(`!document.querySelector('#stop').hidden`);
    await page.until(`document.querySelector('#stop').hidden`);
  };
  await drop(`it's "speech".wav`, await readFile(speechPath()));
  assert.is(await textOf(page, '.turn.user'), `Transcribe it's "speech".wav.`);
  // The page writes texts with the next frame.
  await page.until(`document.querySelector('.turn.assistant .body').innerText !== ''`);
  assert.match(await textOf(page, '.turn.assistant .body'), /^And so,? my fellow Americans/);
  const curl = String(await page.evaluate(`document.querySelector('#curl').textContent`));
  assert.ok(curl.includes(String.raw`-F 'file=@"it'\''s \"speech\".wav"'`), curl);
  await drop('notes.txt', Buffer.from('no audio'));
  assert.match(await textOf(page, '#error'), 'the file is not media that can be read');
  await page.fill('#prompt', 'Which country?');
  await page.click('#send');
  await page.until(`document.querySelectorAll('.turn.assistant .body')[2]?.innerText.length > 0`);
  const asked = String(await page.evaluate(`document.querySelector('#curl').textContent`));
  assert.match(asked, /"role":"assistant","content":"And so.*"role":"user","content":"Which country\?"/);
});

Chat('plays the moments of a video that an answer quotes', async () => {
  await using speaking = await startAudioApp();
  const page = await browser.open(`${speaking.url}/chat`);
  await page.until(`!document.querySelector('#attach').hidden`);
  const film = Buffer.from(await speakingWebm());
  await page.evaluate(`(() => {
    const bytes = Uint8Array.from(atob('${film.toString('base64')}'), (one) => one.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], 'talk.webm', { type: 'video/webm' }));
    document.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
  })()`);
  await page.until(`!document.querySelector('#cite-box').hidden && document.querySelector('#stop').hidden`);
  await page.until(`document.querySelector('video').duration > 10`);
  const said = await textOf(page, '.turn.assistant .body');
  await page.click('#cite');
  await page.fill('#prompt', 'What does he ask for?');
  await page.click('#send');
  await page.until(`document.querySelector('.claims a') !== null`);
  const quotes = (await page.evaluate(`[...document.querySelectorAll('.claims blockquote')].map((one) => ({
    quote: one.firstChild.data,
    times: /#t=([\\d.]+),([\\d.]+)$/.exec(one.querySelector('a')?.href)?.slice(1).map(Number),
  }))`)) as { quote: string; times?: [start: number, end: number] }[];
  assert.ok(quotes.length > 0);
  for (const { quote, times: [start, end] = [NaN, NaN] } of quotes) {
    assert.ok(said.includes(quote), quote);
    assert.ok(quote.split(' ').length >= 5, quote);
    assert.ok(start >= 0 && start < end && end <= 11.5, `${start}, ${end}`);
  }
  const [start] = quotes[0]!.times!;
  await page.click('.claims a');
  await page.until(
    `!document.querySelector('video').paused && document.querySelector('video').currentTime >= ${start}`,
  );
  assert.match(String(await page.evaluate(`document.querySelector('video').src`)), `#t=${start},`);
  await page.click('#clear');
  assert.is(await page.evaluate(`document.querySelector('#cite-box').hidden`), true);
});

Chat('is not served where the API is off', async () => {
  await using off = await startOpenAiApp({ config: { openai: { enabled: false } } });
  assert.is((await fetch(`${off.url}/chat`)).status, 404);
});

const missing = cannotRun ?? (program === undefined ? 'Chromium is missing' : undefined);
if (missing !== undefined) skip('the page /chat in a browser', missing);
else Chat.run();
