import { setTimeout as sleep } from 'node:timers/promises';
import { Deployment, type Input, method, streamingMethod, z } from '../../../deployments/class/author.ts';

/** The deployment that the campaign's tasks call in replicas. */
export class EchoDeployment extends Deployment {
  static readonly module: string = import.meta.url;
  static readonly config = z.strictObject({});
  static readonly methods = {
    echo: method({
      description: 'Returns its input after a while.',
      input: z.strictObject({ text: z.string(), ms: z.number().default(5) }),
      output: z.strictObject({ text: z.string() }),
    }),
    count: streamingMethod({ description: 'Counts.', input: z.strictObject({ to: z.int() }), output: z.int() }),
  };

  async echo({ text, ms }: Input<typeof EchoDeployment, 'echo'>): Promise<{ text: string }> {
    await sleep(ms);
    return { text };
  }

  async *count({ to }: Input<typeof EchoDeployment, 'count'>): AsyncGenerator<number> {
    for (let n = 0; n < to; n += 1) {
      await sleep(3);
      yield n;
    }
  }
}
