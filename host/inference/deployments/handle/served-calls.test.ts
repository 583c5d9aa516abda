import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from '../../../base/core/async/async-values.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { CallContext } from '../../rpc/index.ts';
import type { DeploymentHandle } from './deployment-handle.ts';
import { servedCalls } from './served-calls.ts';

const Served = suite('calls that replicas ask of the host');

const context: CallContext = { signal: new AbortController().signal };
const asked = (deployment: unknown): Record<string, unknown> => ({ deployment, method: 'm', args: {}, retry: {} });

Served('reach only the deployments that the class names, whatever its process sends', async () => {
  const handle = (name: string): DeploymentHandle => ({
    name,
    call: async () => name,
    async *stream() {
      yield [name];
    },
  });
  const { call, stream } = servedCalls((name) => name === 'asr', handle);
  const values: unknown[] = [];
  const read = async (deployment: unknown): Promise<void> =>
    drained(stream!(asked(deployment), context) as AsyncIterable<unknown, void>, (value) => void values.push(value));
  assert.is(await call!(asked('asr'), context), 'asr');
  await read('asr');
  assert.equal(values, ['asr']);
  for (const deployment of ['llm', '', undefined, ['asr'], { asr: 1 }])
    for (const refused of [() => call!(asked(deployment), context) as Promise<unknown>, () => read(deployment)])
      assert.is((await errorOf(refused())).name, 'HandleNotDeclared');
});

Served.run();
