/**
 * What a grammar costs for each token: pairs of completions with and without a JSON Schema, of the same number of
 * tokens, one at a time on one thread. Prints the medians of their processor times per token, because other work on the
 * machine changes the elapsed time more than a grammar does.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/grammar.mjs path/to/model.gguf…
 */
import { fileURLToPath } from 'node:url';
import { structuredGrammar } from '../../dist/host/base/structured-output/index.js';
import { loadNative, nativeAddonPath } from '../../dist/native/lib/index.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PAIRS = 5;
const item = {
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
const grammar = { text: structuredGrammar({ json: { type: 'array', items: item, minItems: 100 } }) };
const messages = [{ role: 'user', content: 'List films as JSON, with title, year, genre, summary and rating.' }];
const greedy = { temperature: 0, topK: -1, topP: 1, minP: 0, repetitionPenalty: 1, stop: [], maxTokens: 120 };
const kinds = { greedy: {}, drawn: { temperature: 1 }, 'drawn with top_p': { temperature: 1, topP: 0.95 } };

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

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
  let id = 0;
  const perToken = async (settings) => {
    const ended = new Promise((done) => (onEnd = done));
    const begin = process.cpuUsage();
    engine.submit((id += 1), { messages, prefix: '' }, { ...greedy, ...settings, ignoreEos: !settings.grammar });
    const end = await ended;
    if (end.type !== 'end') throw new Error(end.message);
    const { user, system } = process.cpuUsage(begin);
    return (user + system) / 1000 / end.completionTokens;
  };
  for (const [kind, settings] of Object.entries(kinds)) {
    await perToken({ ...settings, seed: 1, grammar }); // the first one compiles
    const [free, bound] = [[], []];
    for (let seed = 1; seed <= PAIRS; seed += 1) {
      free.push(await perToken({ ...settings, seed }));
      bound.push(await perToken({ ...settings, seed, grammar }));
    }
    const [a, b] = [median(free), median(bound)];
    process.stdout.write(
      `${modelPath.split('/').at(-1)}, ${kind}: ${a.toFixed(2)} ms without, ${b.toFixed(2)} ms with a schema: ` +
        `${((b / a - 1) * 100).toFixed(1)} %\n`,
    );
  }
  await engine.close();
}

const models = process.argv.slice(2);
if (models.length === 0) throw new Error('missing model; usage: node native/bench/grammar.mjs path/to/model.gguf…');
for (const model of models) await measure(model);
