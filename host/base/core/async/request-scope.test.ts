import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CallFacts, RequestScope, trackRequests, withRequest } from './request-scope.ts';

const Scope = suite('the scope of a request');
const { signal } = new AbortController();
const ann: CallFacts = { requestId: 'r', userId: 'ann', client: '::1', deadlineAt: 1000, traceparent: 't', signal };
const seenBy = (scope: RequestScope, options: CallFacts): CallFacts => scope.run(() => withRequest(options));

Scope('is followed only by a process that has something to call', () => {
  assert.equal(seenBy(new RequestScope(ann), {}), {});
  trackRequests();
  assert.equal(seenBy(new RequestScope(ann), {}), ann);
  assert.equal(withRequest({ priority: 1 }), { priority: 1 }, 'no request is here');
});

Scope('adds the facts that are not given, and the earlier deadline counts', () => {
  const own = new AbortController().signal;
  const scope = new RequestScope(ann);
  assert.equal(seenBy(scope, { signal: own, priority: 3, userId: undefined }), { ...ann, signal: own, priority: 3 });
  assert.is(seenBy(scope, { deadlineAt: 999 }).deadlineAt, 999);
  assert.is(seenBy(scope, { deadlineAt: 1001 }).deadlineAt, 1000);
  assert.is(seenBy(new RequestScope({ userId: null }), {}).deadlineAt, undefined);
});

Scope('leaves the options of another user as they are', () => {
  const bob = { userId: 'bob', requestId: 'q' };
  assert.is(seenBy(new RequestScope(ann), bob), bob);
});

Scope('has only its user after its end, and its signal if it was aborted', () => {
  const scope = new RequestScope(ann);
  scope[Symbol.dispose]();
  const { requestId, userId, deadlineAt, traceparent, signal: none } = seenBy(scope, {});
  assert.equal([requestId, userId, deadlineAt, traceparent, none], ['r', 'ann', undefined, undefined, undefined]);
  const aborted = new RequestScope({ ...ann, signal: AbortSignal.abort() });
  aborted[Symbol.dispose]();
  assert.is(seenBy(aborted, {}).signal?.aborted, true);
});

Scope('is that of a generator, whoever asks for its next value, and closes it', async () => {
  let isClosed = false;
  async function* users(): AsyncGenerator<unknown> {
    try {
      for (;;) yield withRequest<CallFacts>({}).userId;
    } finally {
      isClosed = withRequest<CallFacts>({}).userId === 'ann';
    }
  }
  const values = new RequestScope(ann).around(users());
  assert.equal(await values.next(), { done: false, value: 'ann' });
  await new RequestScope({ userId: 'bob' }).run(async () => {
    for await (const value of values) {
      assert.is(value, 'ann');
      break;
    }
  });
  assert.ok(isClosed);
});

Scope.run();
