import { setTimeout as sleep } from 'node:timers/promises';
import { Deployment, type Implements, type Input, method, z } from '../../inference/deployments/class/author.ts';

const methods = {
  work: method({ description: 'Takes its time.', input: z.strictObject({ ms: z.int() }), output: z.null() }),
};

/** A deployment whose calls all take the same time. */
export class SleepDeployment extends Deployment implements Implements<typeof methods> {
  static readonly module: string = import.meta.url;
  static readonly config = z.strictObject({});
  static readonly methods: typeof methods = methods;

  async work({ ms }: Input<typeof SleepDeployment, 'work'>): Promise<null> {
    await sleep(ms);
    return null;
  }
}
