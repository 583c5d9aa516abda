import { Agent, type IncomingMessage, request } from 'node:http';

export interface Transcript {
  readonly text: string;
  /** Milliseconds from the request to the first text. */
  readonly firstMs: number;
}

export interface TranscriptRequest {
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
}

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

/** Encodes a form with a file and fields. */
export async function formRequest(
  path: string,
  file: readonly [name: string, wav: Buffer],
  fields: Readonly<Record<string, string>>,
): Promise<TranscriptRequest> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append(file[0], new Blob([new Uint8Array(file[1])], { type: 'audio/wav' }), 'audio.wav');
  const encoded = new Response(form);
  const contentType = encoded.headers.get('content-type') ?? '';
  return { path, contentType, body: Buffer.from(await encoded.arrayBuffer()) };
}

/** Sends audio to a server and reads its text, either one JSON object or server-sent events with a `text` each. */
export async function transcribed(port: number, job: TranscriptRequest): Promise<Transcript> {
  const startedAt = performance.now();
  const response = (await post(port, job)).setEncoding('utf8');
  const streams = String(response.headers['content-type']).startsWith('text/event-stream');
  let text = '';
  let firstMs = Number.NaN;
  let rest = '';
  const take = (json: string): void => {
    const piece = JSON.parse(json) as { readonly text?: string; readonly error?: unknown };
    if (piece.error !== undefined) throw new Error(json.slice(0, 500));
    if (Number.isNaN(firstMs) && piece.text) firstMs = performance.now() - startedAt;
    text += piece.text ?? '';
  };
  for await (const part of response) {
    rest += part as string;
    if (!streams) continue;
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data:')) take(line.slice(5));
  }
  if (!streams) take(rest);
  return { text, firstMs };
}

function post(port: number, { path, contentType, body }: TranscriptRequest): Promise<IncomingMessage> {
  const headers = { 'content-type': contentType, 'content-length': body.length, accept: 'text/event-stream' };
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (response) => {
      if (response.statusCode === 200) return resolve(response);
      let answer = '';
      response.setEncoding('utf8').on('data', (part: string) => (answer += part));
      response.on('end', () => reject(new Error(`${response.statusCode}: ${answer.slice(0, 500)}`)));
    })
      .on('error', reject)
      .end(body);
  });
}
