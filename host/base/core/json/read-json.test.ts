import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../errors.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { checkJson, readJson } from './read-json.ts';

const limits = { max_json_bytes: 1000, max_json_depth: 3, max_json_elements: 10 };
const large = new Set(['data']);
const failed = (text: string): Promise<AanaError> => errorOf(Promise.resolve().then(() => readJson(text, limits)));
const failedCheck = (text: string): Promise<AanaError> =>
  errorOf(Promise.resolve().then(() => checkJson(text, limits, large)));
const refused = async (text: string): Promise<unknown> =>
  ((await failed(text)).data as readonly { readonly type: string }[])[0]?.type;

const ReadJson = suite('the reader of JSON');

ReadJson('reads what is within the limits', async () => {
  assert.equal(readJson('{"a":[[1,2],"b"]}', limits), { a: [[1, 2], 'b'] });
  assert.equal(readJson(JSON.stringify(Array(10).fill('a')), limits), Array(10).fill('a'));
});

ReadJson('does not count numbers in lists', async () => {
  const numbers = Array.from({ length: 200 }, (_, n) => -(n % 9));
  assert.equal(readJson(JSON.stringify(numbers, null, 1), limits), numbers);
});

ReadJson('refuses too many elements and levels, and names the setting', async () => {
  assert.is(await refused(JSON.stringify(Array(11).fill(null))), 'json_too_many');
  assert.is(
    await refused(JSON.stringify(Object.fromEntries(Array.from({ length: 11 }, (_, n) => [n, n])))),
    'json_too_many',
  );
  assert.is(await refused('[[[[]]]]'), 'json_too_deep');
  assert.match(JSON.stringify((await failed('[[[[]]]]')).data), 'limits.max_json_depth');
});

ReadJson('refuses a text before it is parsed', async () => {
  assert.is(await refused('{},'.repeat(11)), 'json_too_many');
  assert.is(await refused('{}{}'), 'json_invalid');
});

ReadJson('does not count the bytes of large parts', async () => {
  const value = { data: 'a'.repeat(2000), other: 'b'.repeat(900) };
  checkJson(JSON.stringify(value), limits, large);
  assert.is((await failed(JSON.stringify(value))).name, 'RequestTooLarge');
  const more = JSON.stringify({ ...value, other: 'b'.repeat(1000) });
  assert.match((await failedCheck(more)).message, 'limits.max_json_bytes');
  const list = JSON.stringify({ data: Array(500).fill(0), list: Array(500).fill(0) });
  assert.is((await failedCheck(list)).name, 'RequestTooLarge');
});

ReadJson('tells where half of a surrogate pair is', async () => {
  const { data } = await failed('{"a":[1,"\\ud83d\\ude00","\\ud83d"]}');
  assert.equal((data as { loc: unknown }[])[0]?.loc, ['a', 2]);
});

ReadJson.run();
