import type { Context } from 'koa';
import { bytesAnswerOf, type ServedEndpoint, textAnswerOf } from '../../../endpoints/registry/index.ts';
import { CALLER, contentType, RAW_POLICY, rawHeaders } from './bytes-answer.ts';

/**
 * Sends the output of an endpoint that does not stream: JSON, or text or bytes of the media type that the output names.
 */
export function sendOutput(ctx: Context, endpoint: ServedEndpoint, output: string): void {
  const text = textAnswerOf(endpoint, output);
  const bytes = bytesAnswerOf(endpoint, output);
  if (text) {
    ctx.res.setHeader('content-type', contentType(text.mediaType));
    ctx.res.setHeader('content-security-policy', RAW_POLICY);
    ctx.body = text.text;
  } else if (bytes) {
    ctx.status = bytes.status;
    for (const [name, value] of [...bytes.headers, ...Object.entries(rawHeaders)]) ctx.res.setHeader(name, value);
    ctx.res.setHeader('content-type', contentType(bytes.mediaType));
    ctx.vary(CALLER); // the plugin may let caches keep it
    ctx.body = bytes.bytes;
  } else {
    ctx.res.setHeader('content-type', 'application/json; charset=utf-8');
    ctx.body = output;
  }
}
