// Drives a headless Chromium over its debugging protocol on a pipe: performs a person's actions on a page and records
// the page's requests and complaints.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--window-size=1200,1600',
];
const PATIENCE_MS = 60_000;

/** Returns the path of this machine's browser, if there is one. */
export function findChromium(): string | undefined {
  return PROGRAMS.find((path) => existsSync(path));
}

type Params = Readonly<Record<string, unknown>>;
type Send = (method: string, params?: Params) => Promise<Record<string, unknown>>;

export interface Browser extends AsyncDisposable {
  /** Opens a page and waits until it is loaded. */
  open(url: string): Promise<Page>;
}

export interface BrowserOptions {
  /** Maps names to addresses without name resolution: `{ 'pages.example': '127.0.0.1' }`. */
  readonly hosts?: Readonly<Record<string, string>>;
  /** A WAV file that pages hear once as the microphone, without asking a person. */
  readonly microphone?: string;
}

/** Starts the browser. */
export async function startBrowser(program: string, { hosts = {}, microphone }: BrowserOptions = {}): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'aana-browser-'));
  const rules = Object.entries(hosts).map(([name, address]) => `MAP ${name} ${address}`);
  const child = spawn(
    program,
    [
      ...FLAGS,
      ...(microphone === undefined
        ? []
        : [
            '--use-fake-ui-for-media-stream',
            '--use-fake-device-for-media-stream',
            `--use-file-for-fake-audio-capture=${microphone}%noloop`,
          ]),
      ...(rules.length > 0 ? [`--host-resolver-rules=${rules.join(', ')}`] : []),
      `--user-data-dir=${profile}`,
      '--remote-debugging-pipe',
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  );
  const exited = once(child, 'exit');
  const [, , , input, output] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const waiting = new Map<
    number,
    { resolve: (result: Record<string, unknown>) => void; reject: (error: Error) => void }
  >();
  const pages = new Map<string, (method: string, params: Params) => void>();
  let text = '';
  let lastId = 0;
  const receive = (message: {
    id?: number;
    sessionId?: string;
    method?: string;
    params?: Params;
    result?: Record<string, unknown>;
    error?: { message: string };
  }): void => {
    if (message.id === undefined)
      return pages.get(message.sessionId ?? '')?.(message.method ?? '', message.params ?? {});
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) call?.reject(new Error(message.error.message));
    else call?.resolve(message.result ?? {});
  };
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const messages = (text + chunk).split('\0');
    text = messages.pop() ?? '';
    for (const message of messages) receive(JSON.parse(message));
  });
  void exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the browser has exited'));
  });
  const send = (method: string, params: Params = {}, sessionId?: string): Promise<Record<string, unknown>> =>
    new Promise((resolve, reject) => {
      waiting.set(++lastId, { resolve, reject });
      input.write(`${JSON.stringify({ id: lastId, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`);
    });
  return {
    open: async (url) => {
      const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
      const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
      const page = new Page((method, params) => send(method, params, sessionId as string));
      pages.set(sessionId as string, (method, params) => page.notice(method, params));
      await page.load(url);
      return page;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Codes of keys in the protocol. */
const KEY_CODES: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Escape: 27 };
const SHIFT = 8;

/** A page, with its requests and complaints. */
export class Page {
  /** Errors and warnings of the console, exceptions, and violations of the page's policy. */
  readonly complaints: string[] = [];
  /** URLs that the page requested. */
  readonly requests: string[] = [];
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  notice(method: string, params: Params): void {
    if (method === 'Network.requestWillBeSent') this.requests.push((params['request'] as { url: string }).url);
    if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params['exceptionDetails']));
    if (method === 'Runtime.consoleAPICalled' && /error|warning|assert/.test(String(params['type'])))
      this.complaints.push(JSON.stringify(params['args']));
    const entry = params['entry'] as { level: string; text: string; url?: string } | undefined;
    if (method === 'Log.entryAdded' && entry && /error|warning/.test(entry.level))
      this.complaints.push(`${entry.text} ${entry.url ?? ''}`);
  }

  async load(url: string): Promise<void> {
    for (const domain of ['Network', 'Runtime', 'Log', 'Page', 'DOM']) await this.#send(`${domain}.enable`);
    await this.#send('Page.navigate', { url });
    await this.until("document.readyState === 'complete' && location.href !== 'about:blank'");
  }

  /** Returns the value of an expression in the page. Waits for promises. */
  async evaluate(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = (await this.#send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    })) as { result: { value?: unknown }; exceptionDetails?: unknown };
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
    return result.value;
  }

  /** Waits until the expression is true. Throws an Error with the text of the page if it does not become true. */
  async until(expression: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await this.evaluate(`Boolean(${expression})`))) {
      if (performance.now() > deadline)
        throw new Error(`not on the page: ${expression}\n${await this.evaluate('document.body.innerText')}`);
      await delay(50);
    }
  }

  /** Clicks the first element that the selector finds. */
  async click(selector: string): Promise<void> {
    await this.until(`document.querySelector(${JSON.stringify(selector)})`);
    const box = (await this.evaluate(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: 'center', behavior: 'instant' });
      const { left, top, width, height } = element.getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    })()`)) as { x: number; y: number };
    for (const type of ['mousePressed', 'mouseReleased'])
      await this.#send('Input.dispatchMouseEvent', { type, ...box, button: 'left', clickCount: 1 });
  }

  /** Replaces the content of a field. */
  async fill(selector: string, text: string): Promise<void> {
    await this.click(selector);
    await this.evaluate(`document.querySelector(${JSON.stringify(selector)}).select()`);
    await this.#send('Input.insertText', { text });
  }

  /** Shows the tab, which other tabs may hide. */
  async show(): Promise<void> {
    await this.#send('Page.bringToFront');
    await this.until('!document.hidden');
  }

  /** Types a text into what has the focus. */
  async type(text: string): Promise<void> {
    await this.#send('Input.insertText', { text });
  }

  /** Presses a key, as a person does: `Tab`, `Shift+Tab`, `Enter`, `Escape`. */
  async press(name: string): Promise<void> {
    const key = name.replace('Shift+', '');
    const code = KEY_CODES[key];
    if (code === undefined) throw new Error(`the code of the key ${key} is unknown`);
    const event = { key, code: key, windowsVirtualKeyCode: code, modifiers: key === name ? 0 : SHIFT };
    await this.#send('Input.dispatchKeyEvent', {
      ...{ type: key === 'Enter' ? 'keyDown' : 'rawKeyDown', ...event },
      ...(key === 'Enter' && { text: '\r' }),
    });
    await this.#send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  /** Chooses a file, like in the dialog. */
  async attach(selector: string, file: string): Promise<void> {
    await this.until(`document.querySelector(${JSON.stringify(selector)})`);
    const { root } = (await this.#send('DOM.getDocument')) as { root: { nodeId: number } };
    const { nodeId } = await this.#send('DOM.querySelector', { nodeId: root.nodeId, selector });
    await this.#send('DOM.setFileInputFiles', { files: [file], nodeId });
  }

  /** Changes the colour scheme that the person prefers, and the width of the window in CSS pixels. */
  async emulate({ scheme, width }: { readonly scheme: 'light' | 'dark'; readonly width: number }): Promise<void> {
    await this.#send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    await this.#send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: false });
  }

  /** Returns a picture of the page, for people who search for an error. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.#send('Page.captureScreenshot', {});
    return Buffer.from(String(data), 'base64');
  }
}
