import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** Whether the client closed the connection before the answer ended. */
  readonly left: Promise<boolean>;
}

export type Answer = (response: ServerResponse, request: SeenRequest) => void;

/** A real HTTP server whose answers a test writes. */
export interface ScriptedServer extends AsyncDisposable {
  readonly baseUrl: string;
  /** All requests except those for the list of models. */
  readonly seen: SeenRequest[];
  /** The number of connections that it got. */
  connections: number;
  /** Answers of the next requests. The last one stays. */
  answers: Answer[];
  models: Answer;
}

/** Sends a status and JSON. */
export const json =
  (status: number, value: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));

export const asEvent = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** Sends texts as server-sent events, one write each. */
export const events =
  (...texts: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const text of texts) response.write(text);
    response.end();
  };

export const piece = (content: string): string => asEvent({ choices: [{ index: 0, delta: { content } }] });
export const ENDING = [
  asEvent({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  asEvent({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } }),
  'data: [DONE]\n\n',
];

export async function startScriptedServer(): Promise<ScriptedServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const seen: SeenRequest = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
        left: new Promise((resolve) => response.on('close', () => resolve(!response.writableFinished))),
      };
      if (request.url?.endsWith('/models')) return result.models(response, seen);
      result.seen.push(seen);
      const answer = result.answers.length > 1 ? result.answers.shift() : result.answers[0];
      answer?.(response, seen);
    });
  });
  server.on('connection', () => (result.connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const result: ScriptedServer = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen: [],
    connections: 0,
    answers: [],
    models: json(200, { object: 'list', data: [{ id: 'm', owned_by: 'vllm', max_model_len: 100 }] }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return result;
}
