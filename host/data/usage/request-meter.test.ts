import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RequestMeter } from './request-meter.ts';
import type { UsageRecord } from './record.ts';

const Meter = suite('the meter of a request');

function metered(attempt?: string): { meter: RequestMeter; records: UsageRecord[] } {
  const records: UsageRecord[] = [];
  const meter = new RequestMeter({ source: 'request', requestId: 'r', attempt }, (some) => records.push(...some));
  return { meter, records };
}
const END = { userId: 'ann', keyId: 'k', route: '/a', outcome: 'ok', status: 200 } as const;

Meter('has one record for each deployment, and counts the request and its plugins once', () => {
  const { meter, records } = metered();
  for (const [name, tokens] of [
    ['llm', 3],
    ['llm', 4],
    ['asr', undefined],
  ] as const) {
    const call = meter.call(name, name === 'llm');
    call.computed(0.5);
    call.end({ promptTokens: tokens, cachedTokens: 1, completionTokens: tokens, audioSeconds: name === 'asr' ? 2 : 0 });
  }
  meter.plugin(1500);
  assert.equal(records, []);
  meter.finish(END);
  assert.equal(
    records.map(({ id: _id, time: _time, duration_seconds: _duration, ...rest }) => rest),
    (
      [
        ['llm', 1, 2, 7, 2, 7, 0, 1, 1.5],
        ['asr', 0, 1, 0, 1, 0, 2, 0.5, 0],
      ] as const
    ).map(([deployment, requests, calls, prompt, cached, completion, audio, compute, cpu]) => ({
      ...{ source: 'request', request_id: 'r', user_id: 'ann', key_id: 'k', route: '/a', deployment, requests, calls },
      ...{ prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion, is_partial: false },
      ...{ audio_seconds: audio, compute_seconds: compute, plugin_cpu_seconds: cpu, outcome: 'ok', status: 200 },
    })),
  );
  assert.is(new Set(records.map(({ id }) => id)).size, 2);
});

Meter('waits for calls that end after the request', () => {
  const { meter, records } = metered();
  const call = meter.call('llm', true);
  call.values(5);
  meter.finish({ ...END, outcome: 'cancelled', status: 499 });
  assert.equal(records, []);
  call.computed(2);
  call.end(undefined);
  call.end({ completionTokens: 100 });
  const [record] = records;
  assert.equal(
    [record?.compute_seconds, record?.completion_tokens, record?.is_partial, record?.outcome],
    [2, 5, true, 'cancelled'],
  );
  meter.finish(END);
  assert.is(records.length, 1);
});

Meter('counts no values of a stream that generates no text', () => {
  const { meter, records } = metered();
  const call = meter.call('asr', false);
  call.values(9);
  call.heard(1.5);
  call.end(undefined);
  meter.finish(END);
  assert.equal([records[0]?.completion_tokens, records[0]?.is_partial, records[0]?.audio_seconds], [0, false, 1.5]);
});

Meter('has a record of an endpoint without deployments, and none of a request that ran nothing', () => {
  const nothing = metered();
  nothing.meter.finish(END);
  assert.equal(nothing.records, []);
  const ran = metered();
  ran.meter.ran();
  ran.meter.finish(END);
  assert.equal([ran.records.length, ran.records[0]?.deployment, ran.records[0]?.requests], [1, null, 1]);
});

Meter('gives an attempt the same ids in every host, and requests ids that their callers cannot choose', () => {
  const ids = (attempt?: string): string[] => {
    const { meter, records } = metered(attempt);
    for (const name of ['a', 'b']) meter.call(name, true).end({});
    meter.finish(END);
    return records.map(({ id }) => id);
  };
  assert.equal(ids('task 1 2'), ids('task 1 2'));
  assert.is(new Set([...ids('task 1 2'), ...ids('task 1 3'), ...ids(), ...ids()]).size, 8);
});

Meter('has a record of each part, which belongs to the owner of the whole', () => {
  const { meter, records } = metered();
  meter.belongsTo(() => ({ userId: 'ann' }));
  const part = meter.part({ id: 'batch b 1', requestId: 'b/1', route: '/v1/embeddings' });
  part.call('bert', true).end({ promptTokens: 4 });
  part.end('ok');
  meter.finish(END);
  assert.is(records.length, 1, 'the whole ran nothing itself');
  const { source, request_id: id, user_id: user, key_id: key, route, prompt_tokens: tokens } = records[0]!;
  assert.equal([source, id, user, key, route, tokens], ['batch', 'b/1', 'ann', null, '/v1/embeddings', 4]);
});

Meter.run();
