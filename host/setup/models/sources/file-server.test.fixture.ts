import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly url: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  readonly authorization: string | undefined;
}

export interface FileServer extends AsyncDisposable {
  readonly url: string;
  readonly seen: SeenRequest[];
  /** Content by path. */
  readonly files: Map<string, Buffer>;
  etag: string | undefined;
  /**
   * Cuts the connection after so many bytes, when the client has received them, because data that it has not read is
   * lost with the connection. The first cut applies to the next answer, the second to the one after, and so on.
   */
  readonly cuts: { readonly bytes: number; readonly received: () => Promise<unknown> }[];
  /** Answers instead of the files. Returns true if it has answered. */
  handler: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
}

/** Starts a file server for tests that supports ranges. */
export async function startFileServer(): Promise<FileServer> {
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    const { range, authorization } = request.headers;
    const ifRange = request.headers['if-range'];
    result.seen.push({ url, range, authorization, ifRange: typeof ifRange === 'string' ? ifRange : undefined });
    if (result.handler?.(request, response)) return;
    const content = result.files.get(url.replace(/\?.*/, ''));
    if (!content) {
      response.writeHead(404).end();
      return;
    }
    const from =
      ifRange === undefined || ifRange === result.etag ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0;
    if (result.etag !== undefined) response.setHeader('etag', result.etag);
    if (from >= content.length && from > 0) {
      response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end();
      return;
    }
    const part = content.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': part.length,
      ...(from > 0 && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
    });
    const cut = result.cuts.shift();
    if (cut === undefined) response.end(part);
    else response.write(part.subarray(0, cut.bytes), () => void cut.received().then(() => response.destroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const result: FileServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    files: new Map(),
    etag: undefined,
    cuts: [],
    handler: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return result;
}
