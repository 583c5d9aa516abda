/**
 * Measures how much longer a step of the language model engine takes beside programs that compute all the time. Each
 * round generates one text alone and one beside them. Prints JSON: milliseconds of a step, and the medians' ratio.
 * Other programs on the machine are in both, so run it on a quiet machine.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/neighbours.mjs path/to/model.gguf [--rounds 6] [--threads 1,2] [--tokens 48] [--neighbours 2]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadNative, nativeAddonPath } from '../../dist/native/lib/index.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '6' },
    threads: { type: 'string', default: '1,2' },
    tokens: { type: 'string', default: '48' },
    neighbours: { type: 'string', default: String(availableParallelism()) },
  },
});
const [modelPath] = positionals;
if (modelPath === undefined)
  throw new Error('missing model; usage: node native/bench/neighbours.mjs path/to/model.gguf');
const maxTokens = Number(values.tokens);
const binding = loadNative({ addonPath: nativeAddonPath(fileURLToPath(new URL('../..', import.meta.url))) });

/** Loads the model. Returns a function that generates a text and resolves to the milliseconds of each of its steps. */
async function load(threads) {
  let listener;
  const engine = await binding.loadLlama(
    {
      modelPath,
      contextTokens: 64 + maxTokens,
      maxSequences: 1,
      threads,
      gpuLayers: 0,
      prefillTokensPerStep: 256,
      keyType: 'f16',
      valueType: 'f16',
    },
    (event) => listener(event),
    () => {},
  );
  let lastId = 0;
  return () => {
    const id = ++lastId;
    const steps = [];
    let before;
    return new Promise((resolve, reject) => {
      listener = (event) => {
        const now = performance.now();
        if (event.type === 'text') {
          if (before !== undefined) steps.push(now - before);
          before = now;
          engine.acknowledge(id, 1);
        } else if (event.type === 'end') {
          resolve(steps);
        } else {
          reject(new Error(event.message));
        }
      };
      engine.submit(
        id,
        { text: `Story ${id * 7919} begins as follows. Once upon a time` },
        { temperature: 0, topK: -1, topP: 1, minP: 0, repetitionPenalty: 1, seed: 1, maxTokens, stop: [] },
      );
    });
  };
}

/** Runs `work` while a neighbour for each of the processors computes. */
async function besideNeighbours(work) {
  const neighbours = Array.from({ length: Number(values.neighbours) }, () =>
    spawn(process.execPath, ['-e', "console.log('computes'); for (;;);"], { stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  await Promise.all(neighbours.map(({ stdout }) => once(stdout, 'data')));
  try {
    return await work();
  } finally {
    await Promise.all(neighbours.map((one) => (one.kill('SIGKILL'), once(one, 'exit'))));
  }
}

const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

function summary(steps) {
  const sorted = [...steps].sort((a, b) => a - b);
  return Object.fromEntries([0.1, 0.5, 0.9].map((part) => [`p${part * 100}`, +percentile(sorted, part).toFixed(2)]));
}

const results = [];
const engines = [];
for (const threads of values.threads.split(',').map(Number)) {
  const generate = await load(threads);
  await generate(); // reads the weights
  engines.push({ threads, generate, alone: [], beside: [], cpuAlone: 0, cpuBeside: 0 });
}
const cpuMs = () => process.cpuUsage().user / 1e3 + process.cpuUsage().system / 1e3;
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const one of engines) {
    let before = cpuMs();
    one.alone.push(...(await one.generate()));
    one.cpuAlone += cpuMs() - before;
    await besideNeighbours(async () => {
      before = cpuMs();
      one.beside.push(...(await one.generate()));
      one.cpuBeside += cpuMs() - before;
    });
  }
}
for (const { threads, alone, beside, cpuAlone, cpuBeside } of engines) {
  const [quiet, busy] = [summary(alone), summary(beside)];
  results.push({
    threads,
    alone: { ...quiet, cpuMs: +(cpuAlone / alone.length).toFixed(2) },
    beside: { ...busy, cpuMs: +(cpuBeside / beside.length).toFixed(2) },
    ratio: +(busy.p50 / quiet.p50).toFixed(2),
  });
}
const report = {
  model: basename(modelPath),
  rounds: Number(values.rounds),
  neighbours: Number(values.neighbours),
  load: loadavg(),
  results,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
process.exit(0);
