import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from './errors.ts';
import { noTelemetry, type Telemetry } from './telemetry.ts';
import { WorkTelemetry } from './work-telemetry.ts';

const Work = suite('the telemetry of work');

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const INSIDE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000aa-01';

function recording(): { readonly telemetry: Telemetry; readonly told: unknown[] } {
  const told: unknown[] = [];
  const telemetry: Telemetry = {
    ...noTelemetry,
    histogram: (name) => ({ record: (value, attributes) => void told.push([name, value >= 0, attributes]) }),
    span: (name, options) => {
      told.push([name, options]);
      return {
        traceparent: INSIDE,
        event: (event) => void told.push(event),
        now: Date.now,
        end: (outcome) => void told.push(outcome),
      };
    },
  };
  return { telemetry, told };
}

Work('has the parent, the labels and the fault of an error', async () => {
  const { telemetry, told } = recording();
  const work = new WorkTelemetry(telemetry, 'aana.thing', { description: 'Time of a thing.' });
  assert.is(await work.run({ kind: 'a' }, PARENT, async (traceparent) => traceparent), INSIDE);
  const error = new AanaError('Full', 'unavailable', 'full');
  assert.is(await work.run({}, undefined, () => Promise.reject(error)).catch((thrown: unknown) => thrown), error);
  work.begin({ kind: 'b' }, undefined).end({ error, outcome: 'refused', attributes: { status: 418 } });
  assert.equal(told, [
    ['aana.thing', { parent: PARENT, kind: undefined, attributes: { kind: 'a' } }],
    ['aana.thing.duration', true, { kind: 'a', 'aana.outcome': 'ok' }],
    { error: undefined, attributes: { kind: 'a', 'aana.outcome': 'ok' } },
    ['aana.thing', { parent: undefined, kind: undefined, attributes: {} }],
    ['aana.thing.duration', true, { 'aana.outcome': 'overload' }],
    { error, attributes: { 'aana.outcome': 'overload' } },
    ['aana.thing', { parent: undefined, kind: undefined, attributes: { kind: 'b' } }],
    ['aana.thing.duration', true, { kind: 'b', 'aana.outcome': 'refused' }],
    { error, attributes: { kind: 'b', 'aana.outcome': 'refused', status: 418 } },
  ]);
});

Work('passes the place in the trace on when nothing is recorded', () => {
  const work = new WorkTelemetry(noTelemetry, 'aana.thing', { description: 'Time of a thing.' });
  assert.equal([work.begin({}, PARENT).traceparent, work.begin({}, undefined).traceparent], [PARENT, undefined]);
});

Work('waits by the given clock, and has a duration only when it has begun', () => {
  const told: unknown[] = [];
  const telemetry: Telemetry = {
    ...noTelemetry,
    histogram: (name) => ({ record: (value, attributes) => void told.push([name, value, attributes]) }),
    span: () => ({
      traceparent: INSIDE,
      event: (event) => void told.push(event),
      now: Date.now,
      end: (outcome) => void told.push(outcome),
    }),
  };
  let now = 500;
  const work = new WorkTelemetry(telemetry, 'aana.thing', { description: 'Time of a thing.' }, { now: () => now });
  const [done, refused] = [work.wait({ kind: 'a' }, undefined), work.wait({ kind: 'b' }, undefined)];
  now += 2000;
  assert.is(done.begin(), 2);
  now += 3000;
  done.end();
  const error = new AanaError('Full', 'unavailable', 'full');
  refused.end({ error });
  assert.equal(told, [
    'begun',
    ['aana.thing.duration', 3, { kind: 'a', 'aana.outcome': 'ok' }],
    { error: undefined, attributes: { kind: 'a', 'aana.outcome': 'ok' } },
    { error, attributes: { kind: 'b', 'aana.outcome': 'overload' } },
  ]);
});

Work.run();
