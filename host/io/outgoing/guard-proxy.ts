import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Duplex, pipeline, Transform } from 'node:stream';
import { signalWithin } from '../../base/core/abort.ts';
import { AanaError, fail } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import { connectChecked, tunnelChecked } from './connect.ts';
import { downloadError, reasonOf } from './errors.ts';
import { type ActiveGuards, type Guards, parseUrl, requireAsked } from './guards.ts';

export interface GuardProxyOptions extends Guards {
  /** Most bytes that all connections together may receive. */
  readonly maxBytes: number;
}

export interface GuardProxy extends AsyncDisposable {
  /** `http://user:password@127.0.0.1:port`. Only clients with this password are served. */
  readonly url: string;
  /** Returns the error of the first refused request or exceeded limit. */
  refusal(): AanaError | undefined;
}

/**
 * Opens a forward proxy on loopback for a child process that makes its own requests. Each connection goes to a checked
 * address, like those of this process. The proxy resolves all names, so every address is checked.
 */
export async function openGuardProxy(options: GuardProxyOptions): Promise<GuardProxy> {
  const closing = new AbortController();
  const signal = signalWithin(options.timeoutMs, closing.signal, options.signal);
  const active: ActiveGuards = { ...options, signal };
  const password = `${randomSuffix()}${randomSuffix()}`;
  const expected = Buffer.from(`Basic ${Buffer.from(`aana:${password}`).toString('base64')}`);
  const isKnown = ({ headers }: IncomingMessage): boolean => {
    const given = Buffer.from(headers['proxy-authorization'] ?? '');
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  let refusal: AanaError | undefined;
  let left = options.maxBytes;
  const note = (url: string | URL, error: unknown): AanaError => {
    const known = error instanceof AanaError ? error : downloadError(url, reasonOf(error), error);
    if (known.kind === 'denied' || known.kind === 'too-large') refusal ??= known;
    return known;
  };
  const counted = (url: URL): Transform =>
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        left -= chunk.length;
        if (left >= 0) done(null, chunk);
        else
          done(
            note(
              url,
              fail(
                'MediaTooLargeException',
                `${url.host} and the hosts to which it leads sent more than ${options.maxBytes} bytes`,
                { data: { max_bytes: options.maxBytes } },
              ),
            ),
          );
      },
    });

  const server = createServer({ maxHeaderSize: 65_536 });
  const streams = new Set<Duplex>();
  const ends = (stream: Duplex): void => {
    streams.add(stream);
    stream.on('error', () => {}).once('close', () => streams.delete(stream));
  };
  server.on('connection', ends);

  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    const refuse = (status: string, why: string): void =>
      void client.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n${why}\n`);
    if (!isKnown(request)) {
      refuse('407 Proxy Authentication Required', 'not your proxy');
      return;
    }
    const address = `https://${request.url ?? ''}/`;
    void (async () => {
      try {
        const url = parseUrl(address);
        requireAsked(url, active);
        const upstream = await tunnelChecked(url, active);
        ends(upstream);
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        if (head.length > 0) upstream.write(head);
        pipeline(client, upstream, () => upstream.destroy());
        pipeline(upstream, counted(url), client, () => client.destroy());
      } catch (error) {
        const { kind, message } = note(address, error);
        refuse(kind === 'denied' ? '403 Forbidden' : '502 Bad Gateway', message);
      }
    })();
  });

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const refuse = (status: number, why: string): void =>
      void response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${why}\n`);
    if (!isKnown(request)) {
      refuse(407, 'not your proxy');
      return;
    }
    const address = request.url ?? '';
    void (async () => {
      try {
        const url = parseUrl(address);
        if (url.protocol !== 'http:') throw downloadError(url, 'https needs a tunnel through the proxy');
        requireAsked(url, active);
        const { stream, throughProxy } = await connectChecked(url, active);
        ends(stream);
        const headers = { ...endToEnd(request.headers), host: url.host, connection: 'close', ...throughProxy?.headers };
        const path = `${url.pathname}${url.search}`;
        const upstream = httpRequest({
          method: request.method,
          path: throughProxy ? `http://${url.host}${path}` : path,
          headers,
          createConnection: () => stream,
          signal,
        });
        upstream.setTimeout(options.idleTimeoutMs, () => upstream.destroy(new Error('silence')));
        const fail = (error: Error): void =>
          void (response.headersSent ? response.destroy() : refuse(502, note(address, error).message));
        upstream.on('error', fail);
        upstream.on('upgrade', (_, socket) => {
          socket.destroy();
          fail(new Error('its answer is not HTTP: it asks for another protocol'));
        });
        upstream.on('response', (message) => {
          response.writeHead(message.statusCode ?? 502, endToEnd(message.headers));
          pipeline(message, counted(url), response, () => stream.destroy());
        });
        pipeline(request, upstream, () => {});
      } catch (error) {
        const { kind, message } = note(address, error);
        refuse(kind === 'denied' ? 403 : 502, message);
      }
    })();
  });

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://aana:${password}@127.0.0.1:${(server.address() as AddressInfo).port}`,
    refusal: () => refusal,
    async [Symbol.asyncDispose]() {
      closing.abort();
      for (const stream of streams) stream.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const HOP_BY_HOP = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host)$/;

function endToEnd(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string | string[]] => entry[1] !== undefined && !HOP_BY_HOP.test(entry[0]),
    ),
  );
}
