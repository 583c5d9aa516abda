/**
 * Compares a cache that all sequences share with a cache for each sequence: text per CPU second, and passes over the
 * weights in a step, with 1, 8 and 32 requests of unequal length that arrive one after the other. The two engines run
 * in turn. Prints JSON.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/cache.mjs path/to/model.gguf [--runs 3] [--prompt 60] [--tokens 64] [--sequences 32] [--history
 *   0] [--kv f16]
 *
 * `--prompt` and `--tokens` are averages. `--history` fills the cache with conversations of that many words first.
 * `--kv` is the type of keys and values; our kernels compute attention to f16 only.
 */
import { basename } from 'node:path';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadNative, nativeAddonPath } from '../../dist/native/lib/index.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '3' },
    prompt: { type: 'string', default: '60' },
    tokens: { type: 'string', default: '64' },
    sequences: { type: 'string', default: '32' },
    history: { type: 'string', default: '0' },
    counts: { type: 'string', default: '1,8,32' },
    kv: { type: 'string', default: 'f16' },
  },
});
const [modelPath] = positionals;
if (modelPath === undefined) throw new Error('missing model; usage: node native/bench/cache.mjs path/to/model.gguf');
const { counts, kv, ...sizes } = values;
const numbers = Object.fromEntries(Object.entries(sizes).map(([name, value]) => [name, Number(value)]));
const maxSequences = numbers.sequences;

const binding = loadNative({ addonPath: nativeAddonPath(fileURLToPath(new URL('../..', import.meta.url))) });

/** Returns words that no other text has, so that no request reuses what another one left. */
let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const WORDS = 'sea lake house friend number story old blue night road tree garden boat letter winter stone'.split(' ');
const textOf = (words) =>
  Array.from({ length: words }, () => `${WORDS[Math.floor(random() * WORDS.length)]}${Math.floor(random() * 10)}`).join(
    ' ',
  );

async function load(totalCells) {
  const listeners = new Map();
  const engine = await binding.loadLlama(
    {
      modelPath,
      contextTokens: Math.max(512, 6 * (numbers.prompt + numbers.history) + 3 * numbers.tokens),
      maxSequences,
      threads: 1,
      gpuLayers: 0,
      prefillTokensPerStep: 256,
      keyType: kv,
      valueType: kv,
      totalCells,
    },
    (event) => listeners.get(event.id)(event),
    () => {},
  );
  let lastId = 0;
  const generate = (text, maxTokens) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      listeners.set(id, (event) => {
        if (event.type === 'text') engine.acknowledge(id, 1);
        else if (event.type === 'end') resolve(event);
        else reject(new Error(event.message));
      });
      const sampling = { temperature: 0, topK: -1, topP: 1, minP: 0, repetitionPenalty: 1, seed: 1 };
      engine.submit(id, { text }, { ...sampling, maxTokens, stop: [], ignoreEos: true });
    });
  return { engine, generate };
}

/** Keeps `count` requests running, `total` in all, each with a length of its own. */
async function measure({ engine, generate }, count, requests) {
  const before = engine.counts;
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: count }, async () => {
      while (next < requests.length) {
        const { text, maxTokens } = requests[next++];
        await generate(text, maxTokens);
      }
    }),
  );
  const cpu = process.cpuUsage(cpuBefore);
  const seconds = (cpu.user + cpu.system) / 1e6;
  const after = engine.counts;
  const of = (name) => after[name] - before[name];
  return {
    cpuSeconds: seconds,
    wallSeconds: (performance.now() - started) / 1000,
    tokensPerCpuSecond: requests.reduce((sum, { maxTokens }) => sum + maxTokens, 0) / seconds,
    ubatchesPerStep: of('ubatches') / of('steps'),
    steps: of('steps'),
  };
}

const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const round = (number) => Math.round(number * 1000) / 1000;

const engines = { unified: await load(1e9), streams: await load(0) };
if (numbers.history > 0)
  for (const { generate } of Object.values(engines))
    await Promise.all(Array.from({ length: maxSequences }, () => generate(textOf(numbers.history), 1)));
const results = [];
for (const count of counts.split(',').map(Number)) {
  const runs = { unified: [], streams: [] };
  for (let run = 0; run < numbers.runs; run++) {
    const requests = Array.from({ length: Math.max(4, 2 * count) }, () => ({
      text: textOf(Math.ceil((numbers.prompt * (0.1 + 1.8 * random())) / 3)),
      maxTokens: Math.ceil(numbers.tokens * (0.25 + 1.5 * random())),
    }));
    for (const name of run % 2 === 0 ? ['unified', 'streams'] : ['streams', 'unified']) {
      runs[name].push(await measure(engines[name], count, requests));
    }
    process.stderr.write(
      `${count} requests, run ${run + 1}: ${runs.streams[run].cpuSeconds / runs.unified[run].cpuSeconds}\n`,
    );
  }
  const of = (name, key) => round(median(runs[name].map((result) => result[key])));
  const summary = (name) => ({
    tokens_per_cpu_s: of(name, 'tokensPerCpuSecond'),
    ubatches_per_step: of(name, 'ubatchesPerStep'),
    steps: of(name, 'steps'),
  });
  results.push({
    requests: count,
    unified: summary('unified'),
    streams: summary('streams'),
    speed_of_unified: round(median(runs.unified.map((result, i) => runs.streams[i].cpuSeconds / result.cpuSeconds))),
    all: runs.unified.map((result, i) => round(runs.streams[i].cpuSeconds / result.cpuSeconds)),
  });
}
for (const { engine } of Object.values(engines)) await engine.close();
const settings = { ...numbers, counts, kv };
process.stdout.write(
  `${JSON.stringify({ model: basename(modelPath), load: loadavg(), settings, results }, null, 2)}\n`,
);
