import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from '../../application/app.ts';
import { startVariedApp } from '../helpers/varied-app.ts';
import { fuzz } from './fuzz.ts';

const Fuzz = suite('requests made from the OpenAPI document');

Fuzz('get answers that are documented, match their schemas, and show no fault of the server', async () => {
  await using varied = await startVariedApp();
  const misdirected = new Map<string, number | undefined>();
  const failures = await fuzz({
    url: varied.url,
    seed: 7,
    runs: 25,
    onOperation: ({ id }, answers) => void misdirected.set(id, answers['421']),
  });
  assert.equal(failures, []);
  assert.ok(misdirected.size >= 17, `${misdirected.size} operations`);
  assert.equal([...new Set(misdirected.values())], [2], 'every operation is requested under two foreign host names');
  assert.equal(
    varied.logged.filter((line) => line.includes('"request failed"')),
    [],
  );
});

const Answer = z.strictObject({ text: z.string() });
const answer = {
  description: 'The answer.',
  content: { 'application/json': { schema: { type: 'object', properties: { text: { type: 'number' } } } } },
};
const invalid = { description: 'Invalid.', content: { 'application/json': { schema: {} } } };

/** Registers endpoints that differ from their documentation. */
function registerFaults(app: AanaApp): void {
  const common = { summary: 'Faulty', defer_option: 'never' as const, output: Answer };
  app.registerEndpoint({
    ...{ ...common, name: 'throws', path: '/throws' },
    input: z.strictObject({ n: z.int().min(0).max(1e9), more: z.string().optional() }),
    run: async ({ n }) => {
      if (n > 1000) throw new RangeError('something broke');
      return { text: '' };
    },
  });
  app.registerEndpoint({
    ...common,
    name: 'lies',
    path: '/lies',
    input: z.strictObject({}),
    openapi_extra: { responses: { 200: answer, 422: invalid, 400: invalid, 415: invalid } },
    run: async () => ({ text: 'not a number' }),
  });
  app.registerEndpoint({
    ...common,
    name: 'conceals',
    path: '/conceals',
    input: z.strictObject({ n: z.int() }),
    openapi_extra: { responses: { 200: { description: 'Fine.', content: { 'application/json': { schema: {} } } } } },
    run: async () => ({ text: '' }),
  });
}

Fuzz('find planted faults and shrink the requests', async () => {
  await using varied = await startVariedApp({ register: registerFaults });
  const failures = await fuzz({ url: varied.url, seed: 7, runs: 60, only: ['throws', 'lies', 'conceals'] });
  const [throws, lies, conceals] = ['throws', 'lies', 'conceals'].map((name) =>
    failures.find(({ operation }) => operation === name),
  );
  assert.match(throws?.complaints[0] ?? '', /^the request is answered with 500/);
  assert.match(throws?.curl ?? '', '{"n":1001}', throws?.curl);
  assert.match(lies?.complaints[0] ?? '', /^the answer does not match its schema: data\/text must be number/);
  assert.match(conceals?.complaints[0] ?? '', /^the status 4\d\d is not documented/);
});

Fuzz.run();
