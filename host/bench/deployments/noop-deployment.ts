import { Deployment, type Input, method, streamingMethod, z } from '../../inference/deployments/class/author.ts';

export class NoopDeployment extends Deployment {
  static readonly module: string = import.meta.url;
  static readonly config = z.strictObject({});
  static readonly methods = {
    noop: method({ description: 'Does nothing.', input: z.strictObject({}), output: z.null() }),
    echo: method({
      description: 'Returns its input.',
      input: z.strictObject({ text: z.string() }),
      output: z.strictObject({ text: z.string() }),
    }),
    count: streamingMethod({ description: 'Counts.', input: z.strictObject({ to: z.int() }), output: z.int() }),
  };

  async noop(): Promise<null> {
    return null;
  }

  async echo({ text }: Input<typeof NoopDeployment, 'echo'>): Promise<{ text: string }> {
    return { text };
  }

  async *count({ to }: Input<typeof NoopDeployment, 'count'>): AsyncGenerator<number> {
    for (let n = 0; n < to; n += 1) yield n;
  }
}
