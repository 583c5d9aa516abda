import { parseAst } from 'rolldown/parseAst';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { definitionsIn, type Range } from './definitions.ts';

const Definitions = suite('definitions in sources of plugins');

/** Returns the found parts of a source as texts. */
function found(source: string) {
  const names = 'bytesAnswer, defineEndpoint as define, definePlugin, z, VideoInput';
  const code = `import { ${names} } from 'aana-host/plugin';\n${source}`;
  const { calls, spread, pure } = definitionsIn(parseAst(code, { lang: 'ts' }));
  const texts = (ranges: readonly Range[]): string[] => ranges.map(({ start, end }) => code.slice(start, end).trim());
  return {
    calls: calls.map(({ callee, schemas }) => [...texts([callee]), ...texts(schemas)]),
    spread: [...spread].map(([name, { uses, schemas }]) => [name, uses, ...texts(schemas)]),
    pure: texts(pure),
  };
}

Definitions('are calls with a literal, and constants with schemas', () => {
  const { calls, spread, pure } = found(`
    const Input = z.object({ a: z.string().check(z.minLength(1), z.refine((text) => text !== 'x')) }) as const;
    export const Output = z.extend(VideoInput, { n: z.nullable(Input.shape.a) });
    const texts = { summary: '', input: Input };
    const shared = { output: Output };
    use(shared);
    export const one = define({ ...texts, name: 'one', output: z.object({ b: Output }), run: () => 1 });
    const three = define({ input: VideoInput, output: bytesAnswer('image/png', 'image/gif'), run() {} });
    export default definePlugin([one, three, define({ ...texts, ...shared, name: 'two' })]);`);
  const bytes = "output: bytesAnswer('image/png', 'image/gif'),";
  assert.equal(calls, [
    ['define', 'output: z.object({ b: Output }),'],
    ['define', 'input: VideoInput,', bytes],
    ['define'],
  ]);
  assert.equal(spread, [['texts', 2, 'input: Input']]);
  assert.is(pure.length, 2);
  assert.match(pure[0]!, /^z\.object.*as const$/);
});

Definitions('are not what may do more than describe', () => {
  const { calls, spread, pure } = found(`
    const list = ['a'];
    const names = list.map((one) => one);
    const made = z.object({ a: make() });
    const parsed = z.string().parse('x');
    const registered = z.string().register(registry, {});
    const applied = z.string().check(z.string().apply(run));
    let changed = z.string();
    const mine = own.object({});
    const make = (name) => define({ name, input: z.string() });
    for (const name of names) define({ name, input: z.string() });
    const selfish = define({ input: z.string(), run() { return this.input; } });
    define({ input: make(), output: made });
    define(definition);
    const exported = { input: z.string() };
    export { exported };
    define({ ...exported });`);
  assert.equal(calls, [['define'], ['define', 'output: made'], ['define']]);
  assert.equal(spread, []);
  assert.equal(pure, ['{ input: z.string() }']);
});

Definitions.run();
