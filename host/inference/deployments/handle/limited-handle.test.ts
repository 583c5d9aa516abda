// Limits of the calls of a handle, over a real replica.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RequestScope } from '../../../base/core/async/request-scope.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { DeploymentManager } from '../manager/deployment-manager.ts';
import { SentimentDeployment } from '../fixtures/sentiment-deployment.ts';
import type { HandleOf } from './typed-handle.ts';

const Limits = suite('limits of a handle');

let manager: DeploymentManager;
let handle: HandleOf<typeof SentimentDeployment>;

Limits.before(async () => {
  manager = new DeploymentManager({
    ...{ log: silentLogger, models: { pull: async () => ({ path: '' }) }, env: process.env },
  });
  manager.register('sentiment', SentimentDeployment.options({ max_ongoing_requests: 20 }));
  await manager.start();
  handle = manager.handle('sentiment') as typeof handle;
});
Limits.after(() => manager.shutdown({ graceMs: 0 }));

const cancelled = async (): Promise<number> => Number((await handle.facts())['cancelled']);

Limits('ends a call after its time, and tells the method', async () => {
  const before = await cancelled();
  const { name, kind, data } = await errorOf(handle.options({ timeoutS: 0.1 }).untilCancelled());
  assert.equal(
    [name, kind, data],
    ['DeadlineExceeded', 'deadline-exceeded', { deployment: 'sentiment', timeout_s: 0.1 }],
  );
  while ((await cancelled()) !== before + 1);
});

Limits('ends a stream after its time, with the values before', async () => {
  const words: string[] = [];
  const error = await errorOf(
    (async () => {
      for await (const { word } of handle.options({ timeoutS: 0.5 }).words({ text: 'one wait two' })) words.push(word);
    })(),
  );
  assert.equal([words, error.name], [['one', 'wait'], 'DeadlineExceeded']);
});

Limits('gives the method its deadline and priority, and keeps those of the caller', async () => {
  const limited = handle.options({ timeoutS: 50 }).options({ priority: 7 });
  const { priority, leftMs } = await limited.facts();
  assert.ok(Number(leftMs) > 0 && Number(leftMs) <= 50_000);
  assert.is(priority, 7);
  const own = await limited.facts({}, { priority: 1, deadlineAt: performance.now() + 20_000 });
  assert.ok(Number(own['leftMs']) <= 20_000);
  assert.is(own['priority'], 1);
  const reason = new Error('enough');
  const waiting = errorOf(limited.untilCancelled({}, { signal: AbortSignal.abort(reason) }), Error);
  assert.is(await waiting, reason);
});

Limits('belongs to the request whose code calls', async () => {
  const leaving = new AbortController();
  using scope = new RequestScope({ requestId: 'r-1', userId: 'Zoë', priority: 3, signal: leaving.signal });
  const limited = handle.options({ timeoutS: 50 });
  const { requestId, userId, priority } = await scope.run(() => limited.facts());
  assert.equal([requestId, userId, priority], ['r-1', 'Zoë', 3]);
  const reason = new Error('enough');
  const waiting = errorOf(
    scope.run(() => limited.untilCancelled()),
    Error,
  );
  leaving.abort(reason);
  assert.is(await waiting, reason);
  assert.is((await handle.options({ priority: 2 }).facts())['priority'], 2);
});

Limits('are checked', () => {
  for (const [limits, key] of [
    [{ timeoutS: 0 }, 'timeoutS'],
    [{ timeoutS: '1' }, 'timeoutS'],
    [{ priority: 1001 }, 'priority'],
    [{ priority: 0.5 }, 'priority'],
    [{ timeout_s: 1 }, 'timeout_s'],
  ] as const)
    assert.throws(
      () => handle.options(limits as object),
      (error: Error) => error.message.startsWith(`options of the handle of deployment sentiment: ${key}: `),
    );
});

Limits.run();
