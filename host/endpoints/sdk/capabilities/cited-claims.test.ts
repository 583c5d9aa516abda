import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Llm } from './deployments.ts';
import { citedClaims, claimSchema } from './cited-claims.ts';

const Cited = suite('claims with quotations');

const sources = {
  speech: [{ text: 'We lift the stone at noon.', start: 0, end: 2, confidence: 1 }],
  slide: [{ text: 'The stone weighs fifteen kilograms', start: 1, end: 9 }],
};
const quotations = [
  { text: 'We lift the stone at noon.', start: 0, end: 2, source: 0 },
  { text: 'The stone weighs fifteen kilograms', start: 1, end: 9, source: 1 },
];
const claims = [
  { quotes: [quotations[0]!.text, quotations[0]!.text], claim: 'It is noon.' },
  { quotes: [quotations[1]!.text, 'a passage that the end'], claim: 'It is heavy.' },
];

/** A model that answers so. */
const answering = (content: string, finish_reason: string, asked: unknown[] = []): Pick<Llm, 'chat'> => ({
  chat: (async (...args: unknown[]) => {
    asked.push(...args);
    return { message: { role: 'assistant', content }, details: { finish_reason, quotations } };
  }) as unknown as Llm['chat'],
});
const dialog = { messages: [] };
const cited = (content: string, finish = 'stop') => citedClaims(answering(content, finish), dialog, { sources });

Cited('have names and times of their sources, and whole quotations', async () => {
  const found = await cited(JSON.stringify({ claims }));
  assert.equal(found, [
    { claim: 'It is noon.', quotes: [{ text: quotations[0]!.text, start: 0, end: 2, source: 'speech' }] },
    { claim: 'It is heavy.', quotes: [{ text: quotations[1]!.text, start: 1, end: 9, source: 'slide' }] },
  ]);
  for (const claim of found) assert.ok(claimSchema(['speech', 'slide']).safeParse(claim).success);
});

Cited('leave out claims that are cut, empty, repeated or without a quotation', async () => {
  const names = async (...args: Parameters<typeof cited>) => (await cited(...args)).map(({ claim }) => claim);
  assert.equal(await names(JSON.stringify({ claims }), 'length'), ['It is noon.']);
  assert.equal(await names(JSON.stringify({ claims: [claims[0]] }), 'length'), ['It is noon.']);
  const more = [...claims, claims[0], { ...claims[0], claim: ' ' }, { quotes: ['nothing'], claim: 'It is late.' }];
  assert.equal(await names(JSON.stringify({ claims: more })), ['It is noon.', 'It is heavy.']);
  assert.equal(await names('{"claims": [{"quo', 'length'), []);
});

Cited('ask for the form with the parts of the sources, and take other sampling', async () => {
  const asked: unknown[] = [];
  const model = answering(JSON.stringify({ claims }), 'stop', asked);
  await citedClaims(model, dialog, { sources, mostClaims: 2, sampling_params: { top_k: 3, stop: null } });
  const [, { sampling_params: sampling }] = asked as [
    unknown,
    { sampling_params: { top_k: number; structured_outputs: { quote_of: unknown; json: unknown } } },
  ];
  assert.is(sampling.top_k, 3);
  assert.equal(sampling.structured_outputs.quote_of, [
    [{ text: 'We lift the stone at noon.', start: 0, end: 2 }],
    [{ text: 'The stone weighs fifteen kilograms', start: 1, end: 9 }],
  ]);
  assert.match(JSON.stringify(sampling.structured_outputs.json), /"maxItems":2,.*"quotes":.*"claim":/);
  await citedClaims(model, dialog, { sources, first: 'claim' });
  assert.match(JSON.stringify(asked[3]), /"maxItems":5,.*"claim":.*"quotes":/);
});

Cited.run();
