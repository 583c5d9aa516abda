import type { Context } from 'koa';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaError } from '../../../base/core/errors.ts';
import { queryReader } from './query.ts';

const Query = suite('the query of a request');

const read = queryReader(
  z.object({
    page: z.int().min(1).max(10).default(1),
    seconds: z.number().optional(),
    is: z.boolean('a boolean').default(false),
    word: z.enum(['one', 'two'], 'one of two').optional(),
    text: z.string().max(3, 'short').optional(),
  }),
);

/** As Koa parses it. */
function contextOf(querystring: string): Context {
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(new URLSearchParams(querystring).keys())) {
    const all = new URLSearchParams(querystring).getAll(name);
    query[name] = all.length > 1 ? all : (all[0] ?? '');
  }
  return { querystring, query } as unknown as Context;
}

function entriesOf(querystring: string): unknown {
  try {
    return read(contextOf(querystring));
  } catch (error) {
    return (error as AanaError).data;
  }
}

Query('has defaults for absent parameters, and ignores unknown ones', () => {
  for (const querystring of ['', 'other=1']) assert.equal(read(contextOf(querystring)), { page: 1, is: false });
});

Query('is read by the types of its schema, and the last of several values counts', () => {
  assert.equal(read(contextOf('page=3&page=2&seconds=0.5&is=Yes&word=two&text=')), {
    page: 2,
    seconds: 0.5,
    is: true,
    word: 'two',
    text: '',
  });
});

Query('is refused with an entry for each wrong parameter, in the order of the schema', () => {
  assert.equal(entriesOf('text=long&page=&is=maybe&word=three&seconds=1'), [
    {
      type: 'number_parsing',
      loc: ['query', 'page'],
      msg: 'Input should be a valid number',
      input: '',
    },
    { type: 'bool_parsing', loc: ['query', 'is'], msg: 'a boolean', input: 'maybe' },
    { type: 'enum', loc: ['query', 'word'], msg: 'one of two', input: 'three' },
    { type: 'string_too_long', loc: ['query', 'text'], msg: 'short', input: 'long' },
  ]);
});

Query('says the limit that a number breaks, also to programs', () => {
  assert.equal(
    ['page=11', 'page=1.5', 'seconds=1e999'].map((query) => (entriesOf(query) as { type: string }[])[0]?.type),
    ['less_than_equal', 'int_from_float', 'number_parsing'],
  );
  assert.equal(entriesOf('page=0&seconds=x'), [
    {
      type: 'greater_than_equal',
      loc: ['query', 'page'],
      msg: 'Input should be greater than or equal to 1',
      input: '0',
    },
    { type: 'number_parsing', loc: ['query', 'seconds'], msg: 'Input should be a valid number', input: 'x' },
  ]);
});

Query('has only types that a text can express', () => {
  assert.throws(() => queryReader(z.object({ list: z.array(z.string()).optional() })), /no values of the type array/);
});

Query.run();
