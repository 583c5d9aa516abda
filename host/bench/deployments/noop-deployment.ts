import { setTimeout as delay } from 'node:timers/promises';
import { Deployment, type Input, method, streamingMethod, z } from '../../inference/deployments/class/author.ts';

/** Milliseconds that a model takes, for one input or several. */
const COST_MS = 5;
const nothing = z.strictObject({});

function compute(): void {
  for (const end = performance.now() + COST_MS; performance.now() < end;);
}

export class NoopDeployment extends Deployment {
  static readonly module: string = import.meta.url;
  static readonly config = z.strictObject({});
  static readonly methods = {
    noop: method({ description: 'Does nothing.', input: nothing, output: z.null() }),
    echo: method({
      description: 'Returns its input.',
      input: z.strictObject({ text: z.string() }),
      output: z.strictObject({ text: z.string() }),
    }),
    alone: method({ description: 'Computes.', input: nothing, output: z.null() }),
    together: method({ description: 'Computes calls together.', input: nothing, output: z.null(), maxBatchSize: 32 }),
    count: streamingMethod({
      description: 'Counts.',
      input: z.strictObject({ to: z.int(), everyMs: z.int().default(0) }),
      output: z.int(),
    }),
  };

  async noop(): Promise<null> {
    return null;
  }

  async echo({ text }: Input<typeof NoopDeployment, 'echo'>): Promise<{ text: string }> {
    return { text };
  }

  async alone(): Promise<null> {
    compute();
    return null;
  }

  async together(inputs: readonly object[]): Promise<null[]> {
    compute();
    return inputs.map(() => null);
  }

  async *count({ to, everyMs }: Input<typeof NoopDeployment, 'count'>): AsyncGenerator<number> {
    for (let n = 0; n < to; n += 1) {
      if (everyMs > 0) await delay(everyMs);
      yield n;
    }
  }
}
