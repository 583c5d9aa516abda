import { Agent, request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Body, FuzzRequest } from './requests.ts';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** Whether the whole answer arrived. Endless streams are cut off after a while. */
  readonly isWhole: boolean;
}

const BOUNDARY = 'fuzz-boundary-5d0c';
const HEAD_MS = 60_000;
/** Time limit for reading a stream, because streams of servers may be long. */
const STREAM_MS = 500;

export class Sender implements Disposable {
  readonly #base: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });

  constructor(url: string) {
    this.#base = new URL(url);
  }

  /** Sends a request unchanged. Rejects if the connection ends without an answer. */
  async send({ method, path, headers, body }: FuzzRequest): Promise<Answer> {
    const { hostname, port, pathname } = this.#base;
    const { type, bytes } = contentOf(body);
    const all = new Map<string, string>([
      ...(type === undefined ? [] : ([['content-type', type]] as const)),
      ...headers.map(([name, value]) => [name.toLowerCase(), value] as const),
    ]);
    const options = {
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      method,
      path: `${pathname.replace(/\/$/, '')}${path}`,
      agent: this.#agent,
      headers: { ...Object.fromEntries(all), 'content-length': String(bytes.byteLength) },
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(options, resolve);
      sent.setTimeout(HEAD_MS, () => sent.destroy(new Error(`no answer within ${HEAD_MS / 1000} s`)));
      sent.on('error', reject);
      sent.end(bytes);
    });
    return {
      status: response.statusCode ?? 0,
      type: (response.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '',
      ...(await textOf(response)),
    };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

async function textOf(response: IncomingMessage): Promise<{ text: string; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise<boolean>((resolve) => {
    response
      .once('end', () => resolve(true))
      .once('error', () => resolve(false))
      .once('close', () => resolve(response.complete));
  });
  const timer = new AbortController();
  const isWhole = await Promise.race([ended, delay(STREAM_MS, false, { signal: timer.signal }).catch(() => false)]);
  timer.abort();
  if (!isWhole) response.destroy();
  return { text: Buffer.concat(chunks).toString(), isWhole };
}

function contentOf(body: Body): { readonly type?: string; readonly bytes: Buffer } {
  if (body.kind === 'none') return { bytes: Buffer.alloc(0) };
  if (body.kind === 'text') return { type: body.type, bytes: Buffer.from(body.text) };
  const parts = body.parts.map(({ name, filename, content }) => {
    const file = filename === undefined ? '' : `; filename="${quoted(filename)}"`;
    const disposition = `form-data; name="${quoted(name)}"${file}`;
    return (
      `--${BOUNDARY}\r\nContent-Disposition: ` +
      `${disposition}\r\n${filename === undefined ? '' : 'Content-Type: video/mp4\r\n'}\r\n${content}\r\n`
    );
  });
  return {
    type: `multipart/form-data; boundary=${BOUNDARY}`,
    bytes: Buffer.from(`${parts.join('')}--${BOUNDARY}--\r\n`),
  };
}

function quoted(text: string): string {
  return text.replaceAll('"', '%22');
}

/** Returns the request as a shell command. */
export function curlLine(url: string, { method, path, headers, body }: FuzzRequest): string {
  const { type, bytes } = contentOf(body);
  const all = [...(type === undefined ? [] : ([['content-type', type]] as const)), ...headers];
  const binary = /[^\t\r\n\x20-\x7e]/.test(bytes.toString('latin1'));
  const data =
    bytes.byteLength === 0
      ? ''
      : binary
        ? ` --data-binary @<(echo ${bytes.toString('base64')} | base64 -d)`
        : ` --data-binary ${shellQuoted(bytes.toString())}`;
  return (
    `curl -i -X ${method} ` +
    `${shellQuoted(`${url}${path}`)}` +
    `${all.map(([name, value]) => ` -H ${shellQuoted(`${name}: ${value}`)}`).join('')}${data}`
  );
}

function shellQuoted(text: string): string {
  if (/[\r\n]/.test(text))
    return `$'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\r', '\\r').replaceAll('\n', '\\n')}'`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
