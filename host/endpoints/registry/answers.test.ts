import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaError } from '../../base/core/errors.ts';
import { answerBy, textAnswer } from '../../base/schemas/index.ts';
import { answerCasesOf, pluginEndpoints, textAnswerOf, textTypesOf } from './index.ts';

const Answers = suite('answers that are text');

const endpoint = (outputSchema: object, streaming = false) => ({ name: 'tell', outputSchema, streaming });
const Count = z.strictObject({ n: z.int() });
const union = z.toJSONSchema(
  answerBy('format', { json: Count, csv: textAnswer('text/csv', 'text/tab-separated-values') }),
);

Answers('are found in an output, its union, and behind references', () => {
  assert.equal(textTypesOf(endpoint(union)), ['text/csv', 'text/tab-separated-values']);
  const one = z.toJSONSchema(textAnswer('application/x-subrip'));
  assert.equal(textTypesOf(endpoint(one)), ['application/x-subrip']);
  const behind = { oneOf: [{ type: 'null' }, { $ref: '#/$defs/t' }], $defs: { t: one } };
  assert.equal(textTypesOf(endpoint(behind)), ['application/x-subrip']);
  assert.equal(textTypesOf(endpoint({ type: 'object' })), []);
});

Answers('have exactly a declared media type and a text', () => {
  const answer = (value: unknown) => textAnswerOf(endpoint(union), JSON.stringify(value));
  assert.equal(answer({ media_type: 'text/csv', text: 'a,b' }), { mediaType: 'text/csv', text: 'a,b' });
  assert.equal(answer({ text: '', media_type: 'text/csv' }), { mediaType: 'text/csv', text: '' });
  for (const other of [
    { n: 1 },
    { media_type: 'text/html', text: '<b>' },
    { media_type: 'text/csv', text: 5 },
    { media_type: 'text/csv', text: '', more: 1 },
    { media_type: 'text/csv' },
    [{ media_type: 'text/csv', text: '' }],
    'text',
    null,
  ])
    assert.is(answer(other), undefined, JSON.stringify(other));
  assert.is(textAnswerOf(endpoint({}), '{"media_type":"text/csv","text":""}'), undefined);
});

Answers('are values like others in a stream', () => {
  assert.equal(textTypesOf(endpoint(union, true)), []);
  assert.is(textAnswerOf(endpoint(union, true), '{"media_type":"text/csv","text":""}'), undefined);
});

const text = { type: 'string' };
const BAD: readonly [schema: unknown, message: RegExp][] = [
  ...['text/csv\r\nx: y', 'text/csv; charset=latin1', 'image/png', 'application/json', 'csv', 'TEXT/CSV', 5].map(
    (type): [unknown, RegExp] => [
      { properties: { media_type: { const: type }, text } },
      /is not a media type for text/,
    ],
  ),
  [{ properties: { media_type: text, text } }, /an enum of media types/],
  [{ properties: { media_type: { enum: [] }, text } }, /an enum of media types/],
  [{ properties: { media_type: { enum: ['text/csv'] } } }, /`text` \(a string\)/],
  [{}, /an enum of media types/],
];
for (const [schema, message] of BAD) {
  Answers(`are refused when the plugin is loaded: ${JSON.stringify(schema)}`, () => {
    const outputSchema = { anyOf: [{ ...(schema as object), 'x-aana-text': true }] };
    const info = { ...endpoint(outputSchema), path: '/tell', summary: '', description: '', inputSchema: {} };
    assert.throws(
      () => pluginEndpoints({ name: 'p', endpoints: [info], run: async () => 'null' }),
      (error: AanaError) => error.name === 'EndpointError' && message.test(error.message),
    );
  });
}

Answers('have a case for each value of the key, unless the description is not well formed', () => {
  const by = answerCasesOf(union);
  assert.equal([by?.key, by?.cases.map(({ value }) => value)], ['format', ['json', 'csv']]);
  const anyOf = [{}, {}];
  for (const odd of [
    5,
    null,
    { key: 5, values: ['a', 'b'] },
    { key: 'k' },
    { key: 'k', values: ['a'] },
    { key: 'k', values: ['a', 5] },
  ])
    assert.is(answerCasesOf({ anyOf, 'x-aana-answer-by': odd }), undefined);
  assert.is(answerCasesOf({ 'x-aana-answer-by': { key: 'k', values: [] } }), undefined);
});

Answers.run();
