import type { Context } from 'koa';
import { type ServedEndpoint, textAnswerOf } from '../../../endpoints/registry/index.ts';

/** Browsers run nothing in a text answer, because the author of a plugin chooses its media type. */
const TEXT_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

/** Sends the output of an endpoint that does not stream: JSON, or text of the media type that the output names. */
export function sendOutput(ctx: Context, endpoint: ServedEndpoint, output: string): void {
  const answer = textAnswerOf(endpoint, output);
  if (!answer) {
    ctx.type = 'application/json';
    ctx.body = output;
    return;
  }
  const { mediaType, text } = answer;
  ctx.res.setHeader('content-type', mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType);
  ctx.res.setHeader('content-security-policy', TEXT_POLICY);
  ctx.body = text;
}
