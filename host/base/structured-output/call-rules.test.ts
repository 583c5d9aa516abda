// Rules for the arguments of tools, read by the engine's own code.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { skip } from '../../test/skip.ts';
import { cannotCheck, GrammarCheck } from './fixtures/grammar-check.ts';
import { callRules, type CallRules, UnusableStructure } from './index.ts';

const Calls = suite('rules for the arguments of tools');
let check: GrammarCheck;

Calls.before(() => void (check = new GrammarCheck()));
Calls.after(() => check?.close());

async function expectTexts(made: CallRules, rule: string | undefined, good: string[], bad: string[]): Promise<void> {
  const grammar = `root ::= ${rule}\n${made.rules}`;
  for (const text of good) assert.is(await check.takes(grammar, text), true, `${text} is not taken\n${grammar}`);
  for (const text of bad) assert.is(await check.takes(grammar, text), false, `${text} is taken\n${grammar}`);
}

const rulesFor = (parameters: unknown, isBound = true): CallRules => callRules([{ name: 'f', parameters, isBound }]);

Calls('describe all arguments, and each one for templates that write them one by one', async () => {
  const made = callRules([
    { name: 'first', parameters: { properties: { n: { type: 'integer', minimum: 5 } } }, isBound: true },
    {
      name: 'second',
      parameters: {
        type: 'object',
        properties: { unit: { enum: ['a', 'b'] }, any: {}, list: { $ref: '#/$defs/list' } },
        required: ['unit', 'any'],
        $defs: { list: { type: ['array', 'null'], items: { type: 'boolean' } } },
      },
      isBound: true,
    },
  ]);
  const { first, second } = made.functions;
  await expectTexts(made, first?.all, ['{}', '{"n": 5}'], ['{"n":4}', '{"x":1}', '5']);
  await expectTexts(made, first?.values['n'], ['5', '60'], ['4', '"5"']);
  await expectTexts(made, second?.all, ['{"unit":"a","any":{"x":[]}}'], ['{"unit":"c","any":1}', '{"unit":"a"}']);
  await expectTexts(made, second?.texts['unit'], ['a', 'b'], ['"a"', 'c', '']);
  await expectTexts(made, second?.values['list'], ['null', '[true]'], ['[1]']);
  assert.equal(second?.outline, {
    type: 'object',
    properties: { unit: { type: 'string' }, any: {}, list: { type: ['array', 'null'] } },
    required: ['unit', 'any'],
  });
  assert.ok(
    made.rules
      .trim()
      .split('\n')
      .every((line) => line.startsWith('args-')),
  );
});

Calls('describe texts without quotes, which have no mark', async () => {
  const made = rulesFor({
    properties: {
      day: { type: 'string', format: 'date' },
      code: { type: 'string', pattern: '^[A-Z<]{2}$' },
      short: { type: 'string', maxLength: 3 },
      free: { type: 'string' },
      number: { type: 'integer' },
      mark: { type: 'string', pattern: '^<$' },
    },
  });
  const { texts } = made.functions['f']!;
  assert.equal(Object.keys(texts), ['day', 'code', 'short']);
  await expectTexts(made, texts['day'], ['2024-02-28'], ['"2024-02-28"', '2024-02-31']);
  await expectTexts(made, texts['code'], ['AB'], ['A<', 'ABC']);
  await expectTexts(made, texts['short'], ['', 'a"b'], ['abcd', '<']);
});

Calls('take no arguments but the named ones, unless the schema says so', async () => {
  const cases: readonly (readonly [parameters: object, good: string[], bad: string[]])[] = [
    [{ type: 'object', properties: {} }, ['{}'], ['{"a":1}', '1']],
    [{ type: 'object' }, ['{}', '{"a":1}'], ['[]']],
    [{}, ['{}', '{"a":1}'], ['null']],
    [{ type: ['object', 'null'], properties: { a: true } }, ['{"a":1}'], ['null', '{"b":1}']],
    [{ properties: { a: true }, additionalProperties: true }, ['{"a":1,"b":2}'], []],
    [{ properties: { ['__proto__']: { const: 1 } } }, ['{"__proto__":1}'], ['{"__proto__":2}']],
  ];
  for (const [parameters, good, bad] of cases) {
    const made = rulesFor(parameters);
    await expectTexts(made, made.functions['f']?.all, good, bad);
  }
});

Calls('are refused by the name of the tool, the place and the keyword', () => {
  const cases: readonly (readonly [parameters: unknown, pattern: RegExp])[] = [
    [{ properties: { a: { not: {} } } }, /^the parameters of "f": #\/properties\/a: the keyword "not"/],
    [{ properties: { a: { type: 'string', pattern: '(?=a)' } } }, /^the parameters of "f": #\/properties\/a\/pattern/],
    [{ type: 'array' }, /^the parameters of "f": #\/type: arguments are an object/],
    [{ properties: { a: false }, required: ['a'] }, /^the parameters of "f": .*no value is possible/],
  ];
  for (const [parameters, pattern] of cases) {
    try {
      rulesFor(parameters);
      assert.unreachable(JSON.stringify(parameters));
    } catch (error) {
      assert.instance(error, UnusableStructure);
      assert.match((error as Error).message, pattern);
    }
  }
});

Calls('bind as far as they can where they need not bind', async () => {
  const made = rulesFor(
    {
      properties: {
        a: { type: 'string', pattern: '(?=a)' },
        b: { type: 'integer', not: { const: 1 }, minimum: 0 },
        c: { type: 'array', items: { type: 'null' }, uniqueItems: true },
        d: { type: 'array', items: { type: 'text' } },
      },
      required: ['a'],
    },
    false,
  );
  const { all, unbound } = made.functions['f']!;
  assert.equal([...unbound].sort(), [
    '#/properties/a/pattern',
    '#/properties/b/not',
    '#/properties/c/uniqueItems',
    '#/properties/d',
    '#/properties/d/items',
  ]);
  await expectTexts(
    made,
    all,
    ['{"a":"x","b":1,"d":[]}', '{"a":"","c":[null,null]}'],
    ['{}', '{"a":1}', '{"a":"","b":-1}', '{"a":"","c":[1]}'],
  );
  for (const parameters of [
    { type: 'array' },
    { properties: { a: false }, required: ['a'] },
    { type: 'thing' },
    { properties: { a: { $ref: '#/$defs/none' } } },
  ]) {
    const loose = rulesFor(parameters, false);
    await expectTexts(loose, loose.functions['f']?.all, ['{}', '{"a":1}'], ['[]']);
  }
});

if (cannotCheck === undefined) Calls.run();
else skip('rules for the arguments of tools', cannotCheck);
