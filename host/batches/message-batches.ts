import { setImmediate as turn } from 'node:timers/promises';
import type { MessageBatchRequest } from '../anthropic/index.ts';
import { BATCH_FORMATS, type EndReason, MESSAGES_PATH } from './batch-format.ts';
import { readLine } from './batch-line.ts';
import { jsonLines } from './json-lines.ts';

/** Yields the requests of a batch of Anthropic's API as the lines of an input. */
export async function* messageLines({ requests }: MessageBatchRequest): AsyncGenerator<string, void> {
  for (const { custom_id, params } of requests) {
    await turn();
    yield `${JSON.stringify({ custom_id, method: 'POST', url: MESSAGES_PATH, body: params })}\n`;
  }
}

/** Yields the results of a batch whose requests all have none, from its input. */
export async function* unansweredResults(file: AsyncIterable<Buffer>, reason: EndReason): AsyncGenerator<string, void> {
  const { inputLimits: limits, unanswered } = BATCH_FORMATS.anthropic;
  for await (const line of jsonLines(file, Infinity))
    yield `${unanswered[reason]!(readLine(line, { endpoint: MESSAGES_PATH, limits: limits! })).json}\n`;
}
