import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AanaError } from '../../base/core/errors.ts';
import { fetchToFile } from '../../io/media/fetch.ts';
import { downloadError, type Guards, openGuardProxy, requestGuarded } from '../../io/outgoing/index.ts';

export interface AskOptions extends Guards {
  readonly maxBytes: number;
}

/** One of the ways in which a client can make the host or a child process request a URL. */
export interface AskingWay {
  readonly name: string;
  readonly followsRedirects: boolean;
  /** Returns the body of the answer. */
  ask(url: string, options: AskOptions): Promise<string>;
}

async function askMedia(url: string, options: AskOptions): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-ask-'));
  try {
    const path = join(folder, 'file');
    await fetchToFile(url, path, options);
    return await readFile(path, 'latin1');
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function askPlugin(url: string, options: AskOptions): Promise<string> {
  const { body } = await requestGuarded({ method: 'get', url, headers: [] }, options);
  return Buffer.from(body).toString('latin1');
}

async function askWebhook(url: string, options: AskOptions): Promise<string> {
  const { body } = await requestGuarded(
    { method: 'post', url, headers: [['content-type', 'application/json']], body: Buffer.from('{}') },
    { ...options, maxRedirects: 0 },
  );
  return Buffer.from(body).toString('latin1');
}

/** Requests a URL like a child process, which follows redirects itself and knows only the proxy. */
async function askThroughProxy(address: string, options: AskOptions): Promise<string> {
  await using proxy = await openGuardProxy(options);
  const { port, username, password } = new URL(proxy.url);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  let url = address;
  for (let hops = 0; hops <= options.maxRedirects; hops++) {
    const answer = await new Promise<{ status: number; location: string | undefined; body: string }>(
      (resolve, reject) => {
        const asked = httpRequest(
          {
            host: '127.0.0.1',
            port,
            path: url.replace(/[^!-~]/g, encodeURIComponent),
            headers: { 'proxy-authorization': authorization },
            agent: false,
          },
          async (message) => {
            const chunks: Buffer[] = [];
            try {
              for await (const chunk of message) chunks.push(chunk as Buffer);
              resolve({
                status: message.statusCode ?? 0,
                location: message.headers.location,
                body: Buffer.concat(chunks).toString('latin1'),
              });
            } catch (error) {
              reject(proxy.refusal() ?? downloadError(address, String(error)));
            }
          },
        );
        asked.on('error', (error) => reject(proxy.refusal() ?? downloadError(address, String(error)))).end();
      },
    );
    const refusal = proxy.refusal();
    if (refusal) throw refusal;
    if (answer.status >= 400) throw downloadError(address, answer.body);
    if (answer.location === undefined || answer.status < 300) return answer.body;
    url = new URL(answer.location, url).href;
  }
  throw downloadError(address, 'redirects');
}

export const ASKING_WAYS: readonly AskingWay[] = [
  { name: 'a media URL', followsRedirects: true, ask: askMedia },
  { name: 'a request of a plugin', followsRedirects: true, ask: askPlugin },
  { name: 'a webhook', followsRedirects: false, ask: askWebhook },
  { name: 'a child behind the guarding proxy', followsRedirects: true, ask: askThroughProxy },
];

/** Returns the error of a refused request. Throws if the request succeeded. */
export async function refusalOf(asking: Promise<string>): Promise<AanaError> {
  const error = await asking.then(
    (body) => new Error(`the request was answered: ${body.slice(0, 100)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AanaError)) throw error;
  return error;
}
