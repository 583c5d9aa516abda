import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SamplingParams } from '../../../base/schemas/index.ts';
import { answerGrammar } from './answer-grammar.ts';
import { samplingOfAnswer } from './choices.ts';

const Grammars = suite('grammars of answers');

Grammars('are made once for all answers to a request', () => {
  const structured_outputs = { quote_of: ['one two three four five'] };
  const request: SamplingParams = { n: 3, seed: 1, structured_outputs };
  const [first, second] = [0, 1].map((index) => answerGrammar({}, samplingOfAnswer({}, request, index), null));
  assert.ok(first!.quotes);
  assert.is(first, second);
  const schema = { type: 'array', uniqueItems: true };
  const format = { type: 'json_schema', json_schema: { schema } } as const;
  assert.is(answerGrammar({}, null, format), answerGrammar({}, {}, format));
  assert.equal(answerGrammar({}, null, format).unbound, ['#/response_format/json_schema/schema/uniqueItems']);
});

Grammars('of other requests are others', () => {
  const of = (text: string) => answerGrammar({}, { structured_outputs: { choice: [text] } }, null).grammar?.text;
  assert.is.not(of('a'), of('b'));
  assert.is(answerGrammar({ structured_outputs: { choice: ['a'] } }, null, null).grammar?.text, of('a'));
  assert.equal(answerGrammar({ structured_outputs: { choice: ['a'] } }, null, { type: 'text' }), { unbound: [] });
});

Grammars.run();
