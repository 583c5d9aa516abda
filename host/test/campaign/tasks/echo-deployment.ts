import { setTimeout as sleep } from 'node:timers/promises';
import { Deployment, type Input, method, streamingMethod, z } from 'aana-host/deployment';

/**
 * The deployment that the campaign's tasks call in replicas. An `id` makes a call differ from all others: a call with
 * which two replicas were lost is refused, and the campaign kills replicas while many tasks make equal calls.
 */
export class EchoDeployment extends Deployment {
  static readonly module: string = import.meta.url;
  static readonly config = z.strictObject({});
  static readonly methods = {
    echo: method({
      description: 'Returns its input after a while.',
      input: z.strictObject({ text: z.string(), ms: z.number().default(50), id: z.string().optional() }),
      output: z.strictObject({ text: z.string() }),
    }),
    count: streamingMethod({
      description: 'Counts.',
      input: z.strictObject({ to: z.int(), id: z.string().optional() }),
      output: z.int(),
    }),
  };

  async echo({ text, ms }: Input<typeof EchoDeployment, 'echo'>): Promise<{ text: string }> {
    await sleep(ms);
    return { text };
  }

  async *count({ to }: Input<typeof EchoDeployment, 'count'>): AsyncGenerator<number> {
    for (let n = 0; n < to; n += 1) {
      await sleep(15);
      yield n;
    }
  }
}
