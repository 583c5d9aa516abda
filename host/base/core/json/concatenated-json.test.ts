import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { concatenatedJson } from './concatenated-json.ts';

async function* bytes(text: string, size: number): AsyncGenerator<Uint8Array> {
  const all = new TextEncoder().encode(text);
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size);
}

async function parse(text: string, size: number): Promise<unknown[]> {
  const objects: unknown[] = [];
  for await (const object of concatenatedJson(bytes(text, size))) objects.push(object);
  return objects;
}

const Concatenated = suite('concatenated JSON');

Concatenated('finds each object however the bytes are split', async () => {
  const objects = [{ text: 'a "quoted} brace\\' }, { text: '日本\n{' }, { nested: { list: [{}] } }];
  const text = objects.map((object) => JSON.stringify(object)).join('');
  for (const size of [1, 2, 3, 7, 1000]) assert.equal(await parse(text, size), objects);
});

Concatenated('throws when the stream ends inside an object', async () => {
  const error = await parse('{"text":"a"}{"te', 1000).catch((thrown: unknown) => thrown);
  assert.instance(error, SyntaxError);
});

Concatenated.run();
