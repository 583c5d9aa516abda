import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newSpanId, newTraceId } from './ids.ts';

const Ids = suite('the ids of traces');

Ids('are hexadecimal and all different, also after the random digits were made again', () => {
  const ids = Array.from({ length: 5000 }, () => [newTraceId(), newSpanId()]);
  for (const [traceId, spanId] of ids) {
    assert.match(traceId!, /^[0-9a-f]{32}$/);
    assert.match(spanId!, /^[0-9a-f]{16}$/);
  }
  assert.is(new Set(ids.map(([traceId]) => traceId)).size, ids.length);
  assert.is(new Set(ids.map(([, spanId]) => spanId)).size, ids.length);
});

Ids.run();
