/**
 * Measures the speed of the language model engine with 1, 8 and 32 requests at the same time. Prints JSON.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/llama.mjs path/to/model.gguf [--runs 3] [--threads 1] [--tokens 64] [--prefill 256] [--gpu-layers
 *   0] [--plain] > result.json
 *
 * `--plain` is for a model without a chat template.
 */
import { execFileSync } from 'node:child_process';
import { basename } from 'node:path';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadNative, nativeAddonPath } from '../../dist/native/lib/index.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '3' },
    threads: { type: 'string', default: '1' },
    tokens: { type: 'string', default: '64' },
    prefill: { type: 'string', default: '256' },
    'gpu-layers': { type: 'string', default: '0' },
    plain: { type: 'boolean', default: false },
  },
});
const [modelPath] = positionals;
if (modelPath === undefined) throw new Error('missing model; usage: node native/bench/llama.mjs path/to/model.gguf');
const runs = Number(values.runs);
const maxTokens = Number(values.tokens);
const counts = [1, 8, 32];

const packageRoot = fileURLToPath(new URL('../..', import.meta.url));
const binding = loadNative({ addonPath: nativeAddonPath(packageRoot) });
const listeners = new Map();
const engine = await binding.loadLlama(
  {
    modelPath,
    contextTokens: 96 + maxTokens,
    maxSequences: Math.max(...counts),
    threads: Number(values.threads),
    gpuLayers: Number(values['gpu-layers']),
    prefillTokensPerStep: Number(values.prefill),
    keyType: 'f16',
    valueType: 'f16',
  },
  (event) => listeners.get(event.id)(event),
  () => {},
);

let lastId = 0;

/** Runs one request with a unique prompt. Resolves to its counts and times. */
function generate() {
  const id = ++lastId;
  const text = `Tell me a very long story about number ${id * 7919}, its friends and their house at the lake.`;
  const prompt = values.plain ? { text } : { messages: [{ role: 'user', content: text }], prefix: '' };
  const started = performance.now();
  let firstMs;
  return new Promise((resolve, reject) => {
    listeners.set(id, (event) => {
      if (event.type === 'text') {
        firstMs ??= performance.now() - started;
        engine.acknowledge(id, 1);
      } else if (event.type === 'end') {
        resolve({ firstMs, tokens: event.completionTokens, promptTokens: event.promptTokens });
      } else {
        reject(new Error(event.message));
      }
    });
    engine.submit(id, prompt, {
      temperature: 0,
      topK: -1,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      seed: 1,
      maxTokens,
      stop: [],
    });
  });
}

async function measure(count) {
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  const results = await Promise.all(Array.from({ length: count }, generate));
  const seconds = (performance.now() - started) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  const tokens = results.reduce((sum, result) => sum + result.tokens, 0);
  return {
    tokens,
    tokensPerSecond: tokens / seconds,
    // Other work on the machine disturbs this figure least.
    tokensPerCpuSecond: tokens / ((cpu.user + cpu.system) / 1e6),
    firstTokenMs: median(results.flatMap(({ firstMs }) => firstMs ?? [])),
    promptTokens: median(results.map(({ promptTokens }) => promptTokens)),
  };
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

const round = (number) => Math.round(number * 10) / 10;

await generate(); // warm-up
const results = [];
for (const count of counts) {
  const measured = [];
  for (let run = 0; run < runs; run++) measured.push(await measure(count));
  results.push({
    requests: count,
    prompt_tokens: median(measured.map(({ promptTokens }) => promptTokens)),
    tokens: median(measured.map(({ tokens }) => tokens)),
    tokens_per_s: round(median(measured.map(({ tokensPerSecond }) => tokensPerSecond))),
    tokens_per_cpu_s: round(median(measured.map(({ tokensPerCpuSecond }) => tokensPerCpuSecond))),
    first_token_ms: round(median(measured.map(({ firstTokenMs }) => firstTokenMs))),
    all_tokens_per_s: measured.map(({ tokensPerSecond }) => round(tokensPerSecond)),
  });
}
await engine.close();

const git = (...args) => execFileSync('git', args, { cwd: packageRoot, encoding: 'utf8' }).trim();
const report = {
  machine: {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memory_gib: round(totalmem() / 2 ** 30),
    load: loadavg().map(round),
    node: process.version,
  },
  devices: binding.devices().map(({ name, description }) => `${name}: ${description}`),
  commit: git('rev-parse', 'HEAD') + (git('status', '--porcelain', '--', 'native') === '' ? '' : ' (changed)'),
  versions: binding.versions,
  model: { file: basename(modelPath), ...engine.info },
  settings: {
    runs,
    max_tokens: maxTokens,
    threads: Number(values.threads),
    prefill_tokens_per_step: Number(values.prefill),
  },
  results,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
