import { Agent, type IncomingMessage, request } from 'node:http';
import type { Completion, CompletionRequest } from './protocol.ts';

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

interface Piece {
  readonly content?: string;
  readonly text?: string;
  readonly tokens_predicted?: number;
  readonly tokens_evaluated?: number;
  readonly timings?: { readonly cache_n?: number };
  /** Numbers of tokens where another server tells them. */
  readonly tokens?: readonly (Completion['tokens'][number] | number)[];
}

/**
 * Requests a completion over HTTP and reads its events. `onPiece` is called with the number of texts so far; the client
 * leaves when it returns false.
 */
export async function complete(
  port: number,
  body: CompletionRequest,
  onPiece: (pieces: number) => boolean = () => true,
): Promise<Completion> {
  const startedAt = performance.now();
  let text = '';
  let pieces = 0;
  let firstMs = Number.NaN;
  let completionTokens = Number.NaN;
  let promptTokens = Number.NaN;
  let reusedTokens = Number.NaN;
  const response = await post(port, body);
  const tokens: Completion['tokens'][number][] = [];
  let rest = '';
  const answer = (): Completion => {
    const ms = performance.now() - startedAt;
    return { text, pieces, firstMs, ms, completionTokens, promptTokens, reusedTokens, tokens };
  };
  response.setEncoding('utf8');
  for await (const part of response) {
    const lines = (rest + (part as string)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      const piece = JSON.parse(line.slice(5)) as Piece;
      completionTokens = piece.tokens_predicted ?? completionTokens;
      promptTokens = piece.tokens_evaluated ?? promptTokens;
      reusedTokens = piece.timings?.cache_n ?? reusedTokens;
      const more = piece.content ?? piece.text ?? '';
      if (body.margins) tokens.push(...tokensOf(piece, more));
      if (more === '') continue;
      pieces += 1;
      if (pieces === 1) firstMs = performance.now() - startedAt;
      text += more;
      if (onPiece(pieces)) continue;
      response.destroy();
      return answer();
    }
  }
  if (pieces === 0) throw new Error(`the answer has no text: ${rest.slice(0, 200)}`);
  return answer();
}

function tokensOf({ tokens = [] }: Piece, text: string): readonly Completion['tokens'][number][] {
  const told = tokens.filter((token) => typeof token === 'object');
  if (told.length > 0 || text === '') return told;
  return [{ text: Buffer.from(text).toString('latin1'), margin: Number.NaN }];
}

function post(port: number, body: CompletionRequest): Promise<IncomingMessage> {
  const json = JSON.stringify({ ...body, stream: true, temperature: 0, ignore_eos: body.json_schema === undefined });
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(json),
      accept: 'text/event-stream',
    };
    request({ host: '127.0.0.1', port, path: '/completion', method: 'POST', agent, headers }, (response) => {
      if (response.statusCode === 200) return resolve(response);
      let answer = '';
      response.setEncoding('utf8').on('data', (part: string) => (answer += part));
      response.on('end', () => reject(new Error(`${response.statusCode}: ${answer.slice(0, 500)}`)));
    })
      .on('error', reject)
      .end(json);
  });
}
