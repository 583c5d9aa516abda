import { setImmediate as turn } from 'node:timers/promises';
import { jsonLines, readLine } from '../../openai/index.ts';
import type { MessageBatchRequest } from './message-batch-fields.ts';
import { MESSAGE_BATCHES, MESSAGES_PATH } from './message-batches.ts';

/** Yields the requests of a batch as the lines of an input. */
export async function* messageLines({ requests }: MessageBatchRequest): AsyncGenerator<string, void> {
  for (const { custom_id, params } of requests) {
    await turn();
    yield `${JSON.stringify({ custom_id, method: 'POST', url: MESSAGES_PATH, body: params })}\n`;
  }
}

/** Yields the results of a batch whose requests all have none, from its input. */
export async function* unansweredResults(
  file: AsyncIterable<Buffer>,
  reason: keyof typeof MESSAGE_BATCHES.unanswered,
): AsyncGenerator<string, void> {
  const tell = MESSAGE_BATCHES.unanswered[reason];
  for await (const line of jsonLines(file, Infinity))
    yield `${tell(readLine(line, { endpoint: MESSAGES_PATH })).json}\n`;
}
