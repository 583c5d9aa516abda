// Schemas that data express leave the component, and nobody notices: the same endpoints with zod in the component.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as z from 'zod';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { hostEndpoint, invoke, pluginEndpoints, type ServedEndpoint } from '../../registry/index.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { PluginHost } from '../set/plugin-host.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';

const Data = suite('schemas as data');

/** Text of zod that each component with zod has. */
const ZOD = '$ZodType';

const definitions = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
import { Item } from './schemas.ts';
const Input = z.object({
  what: z._default(z.string().check(z.minLength(2), z.describe('What to do.')), 'echo'),
  items: z._default(z.array(Item), [{ name: 'default' }]),
  options: z.optional(z.strictObject({ deep: z._default(z.boolean(), true) })),
});
const Output = z.object({
  what: z.string(),
  count: z.nullable(z.number()),
  items: z.optional(z.array(Item)),
  at: z._default(z.int(), 7),
});
const texts = { summary: '', input: Input };
const answers: Record<string, (input: z.output<typeof Input>) => unknown> = {
  echo: (input) => ({ ...input, count: Object.keys(input).length, extra: 1 }),
  keys: (input) => ({ what: JSON.stringify(input), count: null }),
  nan: () => ({ what: 'x', count: NaN }),
  date: () => ({ what: new Date(0), count: 1 }),
  none: () => undefined,
  deep: () => ({ what: 'x', count: 1, items: [{ name: 'a' }, { name: 2 }, {}] }),
  fraction: () => ({ what: 'x', count: 1, at: 1.5 }),
};
const run = (input: z.output<typeof Input>) => answers[input.what]!(input) as never;
function* stream(input: z.output<typeof Input>) {
  yield run({ ...input, what: 'echo' });
  yield run(input);
}`;
const asData = `${definitions}
export const endpoint = definePlugin([
  defineEndpoint({ ...texts, name: 'run', path: '/run', output: Output, run }),
  defineEndpoint({ ...texts, name: 'stream', path: '/stream', output: Output, stream: true, run: stream }),
]);`;
// The build does not look into functions, so zod stays.
const asCode = `${definitions}
const make = () => [
  defineEndpoint({ ...texts, name: 'run', path: '/run', output: Output, run }),
  defineEndpoint({ ...texts, name: 'stream', path: '/stream', output: Output, stream: true, run: stream }),
];
export const endpoint = definePlugin(make());`;
const refined = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
const Even = z.object({ n: z.int().check(z.refine((n) => n % 2 === 0, 'must be even')) });
const None = z.object({});
const run = ({ n }: { n: number }) => ({ n: n + n / 2 });
export const endpoint = definePlugin([
  defineEndpoint({ name: 'plain', path: '/plain', summary: '', input: None, output: None, run: () => ({}) }),
  defineEndpoint({ name: 'even', path: '/even', summary: '', input: Even, output: Even, run }),
]);`;
const derived = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
const Name = z.string().register(z.globalRegistry, { id: 'Name' });
const Input = z.object({ a: Name, b: z.optional(Name.check(z.minLength(5))) });
export const endpoint = definePlugin([
  defineEndpoint({ name: 'derived', path: '/derived', summary: '', input: Input, output: z.object({}),
    run: () => ({}) }),
]);`;
const parsing = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
const Output = z.object({ n: z.int() });
const Input = z.object({ json: z.string() });
const run = ({ json }: { json: string }) => Output.parse(JSON.parse(json));
export const endpoint = definePlugin([
  defineEndpoint({ name: 'parse', path: '/parse', summary: '', input: Input, output: Output, run }),
]);`;

const numbers = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
const Input = z.object({ any: z.any(), int: z.optional(z.int()) });
export const endpoint = definePlugin([
  defineEndpoint({ name: 'numbers', path: '/numbers', summary: '', input: Input, output: z.any(), run: (all) => all }),
]);`;

/** Builds and loads a plugin, and gives its endpoints and component to `use`. */
async function withPlugin(
  source: string,
  use: (endpoints: Readonly<Record<string, ServedEndpoint>>, component: Buffer) => Promise<void>,
): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'aana-data-'));
  try {
    await mkdir(join(dir, 'src'));
    await writeFile(join(dir, 'plugin.json'), '{"name":"data","version":"1.0.0"}');
    await writeFile(join(dir, 'src', 'index.ts'), source);
    await writeFile(
      join(dir, 'src', 'schemas.ts'),
      `import { z } from 'aana-host/plugin';
       export const Item = z.object({ name: z.string().check(z.maxLength(9)) });`,
    );
    const { component } = await buildTestPlugin(dir);
    const host = new PluginHost({
      ...{ sandbox: testSandbox, ports: new FakePorts(), log: silentLogger },
      ...{ cacheDir: testCacheDir(), isFast: true },
    });
    try {
      const endpoints = pluginEndpoints(await host.load(dir)).map((one) => [one.name, one] as const);
      await use(Object.fromEntries(endpoints), await readFile(component));
    } finally {
      await host.close();
    }
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Returns all that a caller and the log see of a run. */
async function outcome(endpoint: ServedEndpoint, input: unknown): Promise<unknown> {
  const written: string[] = [];
  const options = { requestId: 'r', timeoutMs: 60_000, signal: new AbortController().signal };
  const write = async (chunk: string): Promise<void> => void written.push(chunk);
  try {
    return { answer: await invoke(endpoint, input, { ...options, write }), written };
  } catch (error) {
    if (!(error instanceof AanaError)) throw error;
    const { name, message, kind, data, logFields } = error;
    return { error: { name, message, kind, data, logFields }, written };
  }
}

const inputs: readonly object[] = [
  ...['echo', 'keys', 'nan', 'date', 'none', 'deep', 'fraction', 'missing'].map((what) => ({ what })),
  {},
  { what: 'keys', items: [{ name: 'a', more: 1 }], options: {}, unknown: 1 },
  { options: { deep: false }, what: 'keys' },
  { what: 'x', items: [{ name: 'a long name' }, {}], options: { other: 1 } },
];

Data('give what zod in the component gives, and the component has no zod', async () => {
  const expected: unknown[] = [];
  await withPlugin(asCode, async (endpoints, component) => {
    assert.ok(component.includes(ZOD));
    for (const input of inputs)
      for (const name of ['run', 'stream']) expected.push(await outcome(endpoints[name]!, input));
  });
  await withPlugin(asData, async (endpoints, component) => {
    assert.not.ok(component.includes(ZOD));
    for (const input of inputs)
      for (const name of ['run', 'stream'])
        assert.equal(await outcome(endpoints[name]!, input), expected.shift(), `${name} ${JSON.stringify(input)}`);
  });
});

Data('are only those that data express: a refinement still answers 422', async () => {
  await withPlugin(refined, async ({ plain, even }, component) => {
    assert.ok(component.includes(ZOD));
    assert.equal(await outcome(plain!, {}), { answer: '{}', written: [] });
    assert.equal(await outcome(even!, { n: 4 }), { answer: '{"n":6}', written: [] });
    const { error } = (await outcome(even!, { n: 3 })) as { error: AanaError };
    assert.is(error.name, 'ValidationError');
    assert.is(error.kind, 'invalid-input');
    assert.equal(error.data, [{ type: 'value_error', loc: ['n'], msg: 'Value error, must be even', input: 3 }]);
    assert.is(((await outcome(even!, { n: 2 })) as { error: AanaError }).error.name, 'OutputError');
  });
});

Data('stay where a JSON Schema has checks beside a reference, which only zod reads', async () => {
  await withPlugin(derived, async ({ derived: endpoint }) => {
    assert.equal(await outcome(endpoint!, { a: 'x', b: 'abcde' }), { answer: '{}', written: [] });
    const { error } = (await outcome(endpoint!, { a: 'x', b: 'abc' })) as { error: AanaError };
    assert.is(error.name, 'ValidationError');
  });
});

Data('take the numbers that endpoints of the host take, which are those of JavaScript', async () => {
  const own = hostEndpoint({
    ...{ name: 'numbers', path: '/numbers', summary: '', output: z.unknown() },
    input: z.object({ any: z.any(), int: z.optional(z.int()) }),
    run: async (all) => all,
  });
  const texts = ['9007199254740991', '9007199254740993', '-9007199254740993', '123456789012345678901234567890'];
  texts.push('1e21', '5e-324', '1.7976931348623157e308', '0.1234567890123456789', '-0', '0.1', '123456789.123456789');
  await withPlugin(numbers, async ({ numbers: endpoint }) => {
    for (const text of texts) {
      const input = (): unknown => JSON.parse(`{"any":[${text}]}`);
      const { answer } = (await outcome(endpoint!, input())) as { answer: string };
      assert.is(answer, `{"any":[${JSON.stringify(JSON.parse(text))}]}`);
      assert.equal((await outcome(own, input())) as { answer: string }, { answer, written: [] });
    }
    for (const one of [endpoint!, own]) {
      const { error } = (await outcome(one, { any: 1, int: JSON.parse('9007199254740993') })) as { error: AanaError };
      assert.is(error.name, 'ValidationError');
    }
  });
});

Data('stay where the plugin parses with them', async () => {
  await withPlugin(parsing, async ({ parse }, component) => {
    assert.ok(component.includes(ZOD));
    assert.equal(await outcome(parse!, { json: '{"n":1,"m":2}' }), { answer: '{"n":1}', written: [] });
  });
});

Data.run();
