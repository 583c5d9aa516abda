import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  fromWireContext,
  remainingMs,
  requestContextOf,
  tenantOf,
  toWireContext,
  traceFields,
  validTraceparent,
} from './request-context.ts';

const Context = suite('the context of a request');

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

Context('crosses a process border; its deadline is the time that is left, because clocks differ', () => {
  const context = { requestId: 'r', userId: 'u', priority: -3, deadlineAt: 10_000, traceparent: TRACEPARENT };
  const wire = JSON.parse(JSON.stringify(toWireContext(context, 4_000)));
  assert.equal(wire, { requestId: 'r', userId: 'u', priority: -3, remainingMs: 6_000, traceparent: TRACEPARENT });
  assert.equal(fromWireContext(wire, 70_000), { ...context, deadlineAt: 76_000 });
});

Context('takes no bytes for absent facts and defaults', () => {
  assert.equal(toWireContext({ requestId: undefined, userId: null, priority: 0 }), {});
  assert.equal(fromWireContext(undefined), {
    requestId: undefined,
    userId: null,
    priority: 0,
    deadlineAt: undefined,
    traceparent: undefined,
  });
});

Context('names the tenant: a user, an address where no keys are required, or the host itself', () => {
  const address = { userId: null, client: '192.0.2.1' };
  assert.is(tenantOf(address), 'address 192.0.2.1');
  assert.is(tenantOf({ userId: 'ann', client: '192.0.2.1' }), 'user ann');
  // A user may have any name.
  assert.is.not(tenantOf({ userId: 'address 192.0.2.1' }), tenantOf(address));
  assert.is(tenantOf({ userId: null }), '');
  for (const context of [address, { userId: 'ann', client: '192.0.2.1' }, {}])
    assert.is(tenantOf(fromWireContext(toWireContext(context))), tenantOf(context));
});

Context('has no time left after its deadline, and always has without one', () => {
  assert.is(remainingMs({ deadlineAt: 5 }, 9), 0);
  assert.is(remainingMs({}), undefined);
});

Context('leaves out everything except facts about the request', () => {
  const options = { requestId: 'r', signal: new AbortController().signal, affinity: 'x' };
  assert.equal(JSON.parse(JSON.stringify(requestContextOf(options))), { requestId: 'r' });
});

const REFUSED = [
  '',
  TRACE,
  `ff-${TRACE}-00f067aa0ba902b7-01`,
  `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `${TRACEPARENT}-more`,
  TRACEPARENT.toUpperCase(),
];
Context('recognises a valid traceparent of the W3C', () => {
  assert.is(validTraceparent(TRACEPARENT), TRACEPARENT);
  assert.is(traceFields(TRACEPARENT).traceId, TRACE);
  for (const value of REFUSED) assert.is(validTraceparent(value), undefined, value);
});

Context.run();
