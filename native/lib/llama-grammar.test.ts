// Grammars in the real engine with a tiny model, whose own texts are meaningless words.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaGrammar, LlamaSampling } from './binding/index.ts';
import { endOf, errorOf, isBuilt, prompt, TestEngine } from './fixtures/test-engine.ts';

const Grammar = suite('grammars in the engine');
if (!isBuilt) process.stdout.write('SKIP grammars in the engine: the native addon is not built\n');

const test = (title: string, run: (llama: TestEngine) => Promise<void>): void => {
  if (!isBuilt) return;
  Grammar(title, async () => {
    await using llama = await TestEngine.load();
    await run(llama);
  });
};

const JSON_GRAMMAR = String.raw`root ::= "{" pair ("," pair)* "}"
pair ::= string ":" (string | number | list)
list ::= "[" (number ("," number)*)? "]"
number ::= "-"? ("0" | [1-9] [0-9]{0,6})
string ::= "\"" [a-z]{1,12} "\""`;

const under = (text: string, changes: Partial<LlamaGrammar & LlamaSampling> = {}): Partial<LlamaSampling> => ({
  ...changes,
  grammar: { text, ...changes },
});

test('the completion meets the grammar and ends where nothing can follow', async (llama) => {
  for (const temperature of [0, 1, 4]) {
    for (const topP of [1, 0.8]) {
      const { text, last } = await llama.generate(prompt, {
        ...under('root ::= " "? ("cat" | "dog") (" was" | " né"){2} "!"', { temperature, topP, seed: 5 }),
        maxTokens: 60,
      });
      assert.match(text, /^ ?(?:cat|dog)(?: was| né){2}!$/);
      assert.is(last.type === 'end' && last.reason, 'stop');
    }
  }
});

test('each of several requests has its own place in a grammar, which is compiled once', async (llama) => {
  const generations = await Promise.all(
    Array.from({ length: 12 }, (_, seed) =>
      llama.generate(prompt, { ...under(JSON_GRAMMAR, { temperature: 1.5, seed }), maxTokens: 120 }),
    ),
  );
  const ended = generations.filter(({ last }) => last.type === 'end' && last.reason === 'stop');
  assert.ok(ended.length > 0);
  for (const { text } of ended) assert.type(JSON.parse(text), 'object');
});

test('a completion that is cut is closed on request', async (llama) => {
  for (let maxTokens = 1; maxTokens < 40; maxTokens += 1) {
    const settings = under(JSON_GRAMMAR, { temperature: 2, seed: maxTokens });
    const cut = await llama.generate(prompt, { ...settings, maxTokens });
    const closed = await llama.generate(prompt, {
      ...settings,
      grammar: { text: JSON_GRAMMAR, closes: true },
      maxTokens,
    });
    assert.type(JSON.parse(closed.text), 'object', closed.text);
    assert.ok(closed.text.startsWith(cut.text));
    const ends = [closed, cut].map((each) => [endOf(each).reason, endOf(each).completionTokens]);
    assert.equal(ends[0], ends[1]);
    if (endOf(cut).reason === 'stop') break;
  }
});

test('the beginning of an answer is part of what the grammar is about', async (llama) => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const grammar = { text: 'root ::= "[" ("cat" | "dog") "]"' };
  const { text } = await llama.generate({ messages, prefix: '[c' }, { grammar });
  assert.is(text, 'at]');
  const { code, fault, message } = errorOf(await llama.generate({ messages, prefix: '[x' }, { grammar }));
  assert.equal([code, fault], ['invalid-sampling', 'caller']);
  assert.match(message, /does not allow its prefix/);
});

test('a grammar that cannot be used is the mistake of its caller, and the engine goes on', async (llama) => {
  for (const [text, pattern] of [
    ['root ::= "a', 'the grammar cannot be read: line 1: a literal has no end'],
    ['root ::= root "a" | "b"', 'left-recursive'],
    ['root ::= "a" root', 'no text can meet the grammar'],
    ['root ::= "abcdef"{0,100000}', 'too large'],
    ['root ::= ("a"?){0,90000} "b"', 'too ambiguous'],
    ['root ::= <|nothing|>', 'is not a token of the model'],
  ] as const) {
    const { code, fault, message } = errorOf(await llama.generate(prompt, under(text)));
    assert.equal([code, fault], ['invalid-sampling', 'caller'], message);
    assert.ok(message.includes(pattern), message);
  }
  const banned = await llama.generate(prompt, {
    ...under('root ::= " "? "cat" " dog"'),
    badWords: ['dog', 'd', ' d', ' '],
    maxTokens: 40,
  });
  assert.is(banned.last.type, 'error');
  const large = errorOf(await llama.generate(prompt, under('root ::= "a"{20000}', { closes: true })));
  assert.match(large.message, /cannot be closed: the shortest answer has 20000 bytes/);
  endOf(await llama.generate(prompt));
});

test('values of a wrong type are refused by name', async (llama) => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [5, /grammar/],
    [{}, /text/],
    [{ text: 5 }, /text/],
    [{ text: 'a', root: 5 }, /root/],
  ];
  for (const [grammar, pattern] of cases)
    assert.throws(() => llama.submit(prompt, { grammar: grammar as LlamaGrammar }), pattern);
});

Grammar.run();
