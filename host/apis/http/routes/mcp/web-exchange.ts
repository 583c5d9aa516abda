import type { Context } from 'koa';
import { StreamedAnswer } from '../../response/streamed-answer.ts';

/** Returns the head of a request for the SDK, which knows the Fetch API. The body was read before. */
export function webRequest(ctx: Context, signal: AbortSignal): Request {
  const headers = Object.entries(ctx.req.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  return new Request(`http://localhost${ctx.path}`, { method: 'POST', headers, signal });
}

/**
 * Sends an answer of the SDK: JSON, nothing, or a stream of events, of which `onTaken` is told each part. Rejects with
 * the reason of the signal.
 */
export async function sendWebResponse(
  ctx: Context,
  response: Response,
  { signal, onTaken }: { readonly signal: AbortSignal; readonly onTaken: () => void },
): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (!response.body || !type.startsWith('text/event-stream')) {
    ctx.status = response.status;
    if (type !== '') ctx.type = type;
    ctx.body = await response.text();
    return;
  }
  const answer = new StreamedAnswer(ctx, { type, keepAlive: undefined, keepAliveMs: 0 }); // the SDK keeps it alive
  answer.sendHead();
  const decoder = new TextDecoder();
  try {
    for await (const part of response.body) {
      await answer.write(decoder.decode(part, { stream: true }), signal);
      onTaken();
    }
    signal.throwIfAborted();
  } finally {
    answer.end();
  }
}
