import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { formReader, type FormText } from './form-input.ts';

const read = formReader(
  z.object({
    text: z.string(),
    number: z.optional(z.nullable(z.number().min(0))),
    flag: z.optional(z.nullable(z.boolean())),
    list: z.optional(z.nullable(z.array(z.string()))),
    numbers: z.array(z.int()).optional(),
    choice: z.optional(z.nullable(z.union([z.literal('auto'), z.object({ type: z.string(), level: z.number() })]))),
  }),
  { max_json_bytes: 1000, max_json_depth: 8, max_json_elements: 100 },
);
const parts = (...pairs: readonly (readonly [name: string, text: string])[]): FormText[] =>
  pairs.map(([name, text]) => ({ name, text }));

const FormInput = suite('the input of a form');

FormInput('has values of the types that the schema asks for', () => {
  assert.equal(read(parts(['text', '5'], ['number', '0.5'], ['flag', 'True'], ['choice', 'auto'])), {
    text: '5',
    number: 0.5,
    flag: true,
    choice: 'auto',
  });
  assert.equal(read(parts(['number', '-1e3'], ['flag', '0'])), { number: -1000, flag: false });
  assert.equal(read(parts(['number', 'NaN'], ['flag', 'yes'])), { number: 'NaN', flag: 'yes' });
  assert.equal(read(parts(['number', '0x10'], ['flag', 'constructor'])), { number: '0x10', flag: 'constructor' });
});

FormInput('has lists from parts with brackets, repeated parts, one part and JSON', () => {
  const list = ['a', 'b'];
  assert.equal(read(parts(['list[]', 'a'], ['list[]', 'b'])), { list });
  assert.equal(read(parts(['list[0]', 'a'], ['list[1]', 'b'])), { list });
  assert.equal(read(parts(['list', 'a'], ['list', 'b'])), { list });
  assert.equal(read(parts(['list', '["a","b"]'])), { list });
  assert.equal(read(parts(['list', 'a'])), { list: ['a'] });
  assert.equal(read(parts(['list', '[a'])), { list: '[a' });
  assert.equal(read(parts(['numbers[]', '1'], ['numbers[]', 'x'])), { numbers: [1, 'x'] });
});

FormInput('has objects from parts with keys and JSON', () => {
  const choice = { type: 'manual', level: 3 };
  assert.equal(read(parts(['choice[type]', 'manual'], ['choice[level]', '3'])), { choice });
  assert.equal(read(parts(['choice', JSON.stringify(choice)])), { choice });
  const odd = read(parts(['choice[__proto__]', 'a'], ['constructor[toString]', 'b']));
  assert.equal(Object.keys(odd), ['choice', 'constructor']);
  assert.is(({} as { a?: string }).a, undefined);
});

FormInput('lacks empty parts and keeps unknown ones', () => {
  assert.equal(read(parts(['text', ''], ['number', ''], ['other', '5'], ['a[b]c', 'd'])), { other: '5', 'a[b]c': 'd' });
});

FormInput('has one value of a parameter that is no list', async () => {
  for (const pairs of [
    [['text', 'a'] as const, ['text', 'b'] as const],
    [['choice', 'auto'] as const, ['choice[type]', 'manual'] as const],
    [['choice[type]', 'a'] as const, ['choice[type]', 'b'] as const],
  ]) {
    const error = await errorOf((async () => read(parts(...pairs)))());
    assert.equal(error.data, { param: pairs[0]![0].replace(/\[.*/, '') });
    assert.match(error.message, /more than one part/);
  }
});

FormInput('has lists in JSON within the limits', async () => {
  const texts = JSON.stringify(Array(101).fill('a'));
  const { message } = await errorOf(Promise.resolve().then(() => read(parts(['list', texts]))));
  assert.match(message, "'list': Input should have at most 100 elements (limits.max_json_elements)");
  assert.equal(read(parts(['text', texts])), { text: texts });
});

FormInput.run();
