/**
 * Measures how many texts the engine for embeddings computes in a second of CPU time, on one thread. Beside it, it
 * measures llama-server (native/bench/llama-server/build.mjs prints its path) and sentence-transformers, when they are
 * given. The subjects take turns. Prints JSON.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/embedding.mjs path/to/model.gguf [--runs 3] [--llama-server path] [--python venv/bin/python
 *   --folder model]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadNative, nativeAddonPath } from '../../dist/native/lib/index.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '3' },
    'llama-server': { type: 'string' },
    python: { type: 'string' },
    folder: { type: 'string' },
  },
});
const [modelPath] = positionals;
if (modelPath === undefined)
  throw new Error('missing model; usage: node native/bench/embedding.mjs path/to/model.gguf');

const MAX_TOKENS = 256;
const WORDS =
  'the spring force is measured by its extension when a mass hangs on it and we read the scale of the balance'.split(
    ' ',
  );
const text = (words, seed) =>
  Array.from({ length: words }, (_, at) => WORDS[(at * 7 + seed * 13) % WORDS.length]).join(' ');
/** Each set is one call. */
const SETS = {
  short: Array.from({ length: 128 }, (_, at) => text(8 + (at % 8), at)),
  mixed: Array.from({ length: 32 }, (_, at) => text(10 + ((at * 37) % 180), at)),
  long: Array.from({ length: 12 }, (_, at) => text(230, at)),
};

async function startAana() {
  const binding = loadNative({ addonPath: nativeAddonPath(fileURLToPath(new URL('../..', import.meta.url))) });
  const waiting = new Map();
  const options = { task: 'embed', modelPath, maxTokens: MAX_TOKENS, batchTokens: 512, threads: 1, gpuLayers: 0 };
  const engine = await binding.loadLlamaEmbedding(
    options,
    (event) => waiting.get(event.id)(event),
    () => {},
  );
  let lastId = 0;
  return {
    embed: async (texts) => {
      const id = ++lastId;
      const event = await new Promise((resolve) => {
        waiting.set(id, resolve);
        engine.submit(id, { texts }, {});
      });
      if (event.type !== 'vectors') throw new Error(JSON.stringify(event));
    },
    cpuMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    close: () => engine.close(),
  };
}

/** Milliseconds of CPU time of a process, in steps of 10 (Linux). */
function cpuMsOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function startLlamaServer(path) {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const flags = ['--model', modelPath, '--embeddings', '--host', '127.0.0.1', '--port', port, '--threads', 1];
  flags.push('--threads-batch', 1, '--n-gpu-layers', 0, '--batch-size', 512, '--ubatch-size', 512, '--parallel', 32);
  flags.push('--ctx-size', 32 * MAX_TOKENS);
  const child = spawn(path, flags.map(String), { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; !(await fetch(`${url}/health`).catch(() => undefined))?.ok; tries++) {
    if (tries > 300 || child.exitCode !== null) throw new Error(`${path} did not start`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    embed: async (texts) => {
      const answer = await fetch(`${url}/v1/embeddings`, { method: 'POST', body: JSON.stringify({ input: texts }) });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.json();
    },
    cpuMs: () => cpuMsOf(child.pid),
    close: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}

const PYTHON = `
import json, sys, torch
torch.set_num_threads(1)
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device='cpu')
print('ready', flush=True)
for line in sys.stdin:
    model.encode(json.loads(line))
    print('done', flush=True)
`;

async function startSentenceTransformers(python, folder) {
  const child = spawn(python, ['-c', PYTHON, folder], { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  if ((await lines.next()).done) throw new Error(`${python} ended`);
  return {
    embed: async (texts) => {
      child.stdin.write(`${JSON.stringify(texts)}\n`);
      if ((await lines.next()).done) throw new Error(`${python} ended`);
    },
    cpuMs: () => cpuMsOf(child.pid),
    close: async () => {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

const subjects = { aana: await startAana() };
if (values['llama-server'] !== undefined) subjects['llama-server'] = await startLlamaServer(values['llama-server']);
if (values.python !== undefined)
  subjects['sentence-transformers'] = await startSentenceTransformers(values.python, values.folder);

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const round = (number) => Math.round(number * 10) / 10;
const results = {};
for (const { embed } of Object.values(subjects)) await embed(SETS.short); // warm-up
for (const [set, texts] of Object.entries(SETS)) {
  const rates = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  for (let run = 0; run < Number(values.runs); run++) {
    for (const [name, { embed, cpuMs }] of Object.entries(subjects)) {
      const before = cpuMs();
      await embed(texts);
      rates[name].push(texts.length / ((cpuMs() - before) / 1000));
    }
  }
  results[set] = Object.fromEntries(Object.entries(rates).map(([name, all]) => [name, round(median(all))]));
}
for (const { close } of Object.values(subjects)) await close();
const machine = { cpu: cpus()[0]?.model, load: loadavg().map(round), node: process.version };
process.stdout.write(
  `${JSON.stringify({ machine, model: basename(modelPath), texts_per_cpu_second: results }, null, 2)}\n`,
);
