/**
 * What a form costs for each token: completions with a JSON Schema, with quotations in JSON and as one long quotation,
 * each beside a free one of the same number of tokens, one at a time on one thread. Prints medians of the pairs in
 * processor time, because other work on the machine changes the elapsed time more than a grammar does. Then prints what
 * the sources of quotations take before the first token.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/grammar.mjs [--pairs 5] [--tokens 120] [--kinds greedy,drawn] path/to/model.gguf…
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { structuredGrammar } from '../../dist/host/base/structured-output/index.js';
import { loadNative, nativeAddonPath } from '../../dist/native/lib/index.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags, positionals: models } = parseArgs({
  options: { pairs: { type: 'string' }, tokens: { type: 'string' }, kinds: { type: 'string' } },
  allowPositionals: true,
});
const pairs = Number(flags.pairs ?? 5);
const tokens = Number(flags.tokens ?? 120);
const SOURCES = [1000, 10_000, 100_000]; // characters
const film = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    year: { type: 'integer', minimum: 1900, maximum: 2030 },
    genre: { enum: ['drama', 'comedy', 'crime'] },
    summary: { type: 'string', maxLength: 80 },
    rating: { type: 'number', minimum: 0, maximum: 10 },
  },
  required: ['title', 'year', 'genre', 'summary', 'rating'],
};
const claim = {
  type: 'object',
  properties: {
    quotes: { type: 'array', items: { type: 'string', format: 'quote' }, minItems: 1, maxItems: 3 },
    claim: { type: 'string', maxLength: 80 },
  },
  required: ['quotes', 'claim'],
};
const documents = readdirSync(`${root}docs`)
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(`${root}docs/${name}`, 'utf8'))
  .join('');
/** Answers that do not end within the tokens of a pair. */
const list = (items) => ({ type: 'array', items, minItems: 100 });
const quotations = (text) => ({ json: list(claim), quote_of: [text], max_words: 30 });
const forms = {
  'a schema': { json: list(film) },
  ...Object.fromEntries(
    SOURCES.flatMap((length) => {
      const text = documents.slice(0, length);
      return [
        [`quotations of ${length} characters in JSON`, quotations(text)],
        [`one quotation of ${length} characters`, { quote_of: [text], min_words: 100 }],
      ];
    }),
  ),
};
const messages = [{ role: 'user', content: 'List films as JSON, with title, year, genre, summary and rating.' }];
const sampling = { temperature: 0, topK: -1, topP: 1, minP: 0, repetitionPenalty: 1, stop: [], seed: 1 };
const allKinds = { greedy: {}, drawn: { temperature: 1 }, 'drawn with top_p': { temperature: 1, topP: 0.95 } };
const kinds = flags.kinds?.split(',') ?? Object.keys(allKinds);

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function cpuOf(run) {
  const begin = process.cpuUsage();
  const result = await run();
  const { user, system } = process.cpuUsage(begin);
  return { result, ms: (user + system) / 1000 };
}

/** The grammar as a deployment makes it. */
function grammarOf(form) {
  const { text, quotes } = structuredGrammar(form);
  return { text, ...(quotes && { quotable: quotes.quotable(), closes: true }) };
}

async function measure(modelPath) {
  let onEnd;
  const onEvent = (event) => {
    if (event.type === 'text') engine.acknowledge(event.id, 1);
    else onEnd(event);
  };
  const options = {
    modelPath,
    contextTokens: 1024,
    maxSequences: 1,
    threads: 1,
    gpuLayers: 0,
    prefillTokensPerStep: 256,
    keyType: 'f16',
    valueType: 'f16',
  };
  const engine = await loadNative({ addonPath: nativeAddonPath(root) }).loadLlama(options, onEvent, () => {});
  const print = (line) => void process.stdout.write(`${modelPath.split('/').at(-1)}, ${line}\n`);
  let id = 0;
  const complete = (settings) =>
    cpuOf(async () => {
      const ended = new Promise((done) => (onEnd = done));
      engine.submit((id += 1), { messages, prefix: '' }, { ...sampling, ...settings, ignoreEos: !settings.grammar });
      const end = await ended;
      if (end.type !== 'end') throw new Error(end.message);
      return end.completionTokens;
    });
  const perToken = async (settings) => {
    const { result: count, ms } = await complete({ ...settings, maxTokens: tokens });
    if (count !== tokens) throw new Error(`an answer ended after ${count} tokens`);
    return ms / tokens;
  };

  const grammars = Object.entries(forms).map(([name, form]) => [name, grammarOf(form)]);
  for (const kind of kinds) {
    const settings = allKinds[kind];
    if (!settings) throw new Error(`the kind ${kind} is none of ${Object.keys(allKinds).join(', ')}`);
    const measured = new Map(grammars.map(([name]) => [name, []]));
    for (const [, grammar] of grammars) await perToken({ ...settings, seed: 1, grammar }); // the first one compiles
    for (let seed = 1; seed <= pairs; seed += 1) {
      for (const [name, grammar] of grammars)
        measured
          .get(name)
          .push([await perToken({ ...settings, seed }), await perToken({ ...settings, seed, grammar })]);
    }
    for (const [name, all] of measured) {
      const [free, bound, ratio] = [all.map(([a]) => a), all.map(([, b]) => b), all.map(([a, b]) => b / a)].map(median);
      const more = ((ratio - 1) * 100).toFixed(1);
      print(`${kind}: ${free.toFixed(2)} ms free, ${bound.toFixed(2)} ms with ${name}: ${more} %`);
    }
  }

  for (const length of SOURCES) {
    const [divide, index] = [[], []];
    for (let pair = 0; pair < pairs; pair += 1) {
      const form = quotations(documents.slice(pair * length, (pair + 1) * length));
      const { result: grammar, ms } = await cpuOf(() => grammarOf(form));
      divide.push(ms);
      const [first, again] = [await complete({ grammar, maxTokens: 1 }), await complete({ grammar, maxTokens: 1 })];
      index.push(first.ms - again.ms);
    }
    print(`${length} characters: ${median(divide).toFixed(1)} ms to divide, ${median(index).toFixed(1)} ms to index`);
  }
  await engine.close();
}

if (models.length === 0) throw new Error('missing model; usage: node native/bench/grammar.mjs path/to/model.gguf…');
for (const model of models) await measure(model);
