// Runs where stage.ts was unpacked, with or without a GPU. Finds the devices, generates a model, loads it through
// deployments and measures it. Prints one JSON object.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLogger } from '../../base/core/log/logger.ts';
import { DeploymentManager, type DeploymentOptionsInput } from '../../inference/deployments/index.ts';
import { llamaMemory } from '../../inference/deployments/builtin/memory-need.ts';
import { findMachine, type Machine } from '../../inference/devices/index.ts';
import { type ModelShape, SEVEN_BILLION, writeRandomModel } from './gguf-writer.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string' },
    work: { type: 'string' },
    /** `7b`, or `tiny` for a trial of this script. */
    size: { type: 'string', default: '7b' },
    weights: { type: 'string', default: 'q4_0' },
    tokens: { type: 'string', default: '64' },
    requests: { type: 'string', default: '1,8,32' },
  },
});
const { models: modelsFolder, work } = values;
if (modelsFolder === undefined || work === undefined)
  throw new Error(
    'usage: measure.js --models <folder of the staged models> --work <folder for the generated one> [--size ' +
      '7b|tiny] [--weights q4_0|q8_0|f16] [--tokens 64] [--requests 1,8,32]',
  );
const TINY: ModelShape = {
  layers: 2,
  embedding: 256,
  feedForward: 512,
  heads: 8,
  kvHeads: 4,
  contextTokens: 1024,
  weights: 'q4_0',
};
const shape: ModelShape = {
  ...(values.size === 'tiny' ? TINY : SEVEN_BILLION),
  weights: values.weights as ModelShape['weights'],
};
const MOST_SEQUENCES = 32;
const CONTEXT_TOKENS = 512;

const log = createLogger({ level: 'info', format: 'text', write: (line) => process.stderr.write(line) });
const round = (value: number): number => Math.round(value * 100) / 100;

mkdirSync(work, { recursive: true });
const modelPath = join(work, `${values.size}-${shape.weights}.gguf`);
const generateS = timed(
  () => existsSync(modelPath) || writeRandomModel(join(modelsFolder, 'vocabulary.gguf'), modelPath, shape),
);
const machine = await findMachine({ env: process.env, log });
const hasGpu = machine.gpus.length > 0;

const report = {
  machine: {
    cpu: cpus()[0]?.model,
    cores: availableParallelism(),
    memory_gib: round(totalmem() / 2 ** 30),
    load: loadavg().map(round),
    node: process.version,
  },
  driver: output('nvidia-smi', [
    '--query-gpu=name,driver_version,memory.total,memory.used,mig.mode.current',
    '--format=csv',
  ]),
  cuda_libraries: output('ldconfig', ['-p'])
    ?.split('\n')
    .filter((line) => /libcuda|libcublas/.test(line))
    .map((line) => line.trim()),
  devices: {
    gpus: machine.gpus,
    cpus: machine.cpus,
    free_gpu_bytes: await machine.probe?.freeGpuBytes?.(undefined),
    free_main_bytes: machine.probe?.freeMainBytes?.(),
  },
  model: { file_bytes: statSync(modelPath).size, generate_s: round(generateS), shape },
  alone: await measureText(hasGpu ? 1 : 0),
  shared: hasGpu ? await measureShared() : 'not run: no GPU',
  split: machine.gpus.length > 1 ? await measureText(2) : 'not run: fewer than two GPUs',
  speech: await measureSpeech(),
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);

function textOptions(gpus: number): DeploymentOptionsInput {
  return {
    type: 'LlamaTextGenerationDeployment',
    user_config: {
      model_id: modelPath,
      model_kwargs: { n_ctx: CONTEXT_TOKENS, n_seq_max: MOST_SEQUENCES },
      default_sampling_params: { max_tokens: Number(values.tokens) },
    },
    max_ongoing_requests: MOST_SEQUENCES,
    ray_actor_options: { num_gpus: gpus },
  };
}

/** Measures one deployment of the model: its load time, its memory compared with the estimate, and its speed. */
async function measureText(gpus: number): Promise<object | string> {
  return withDeployments({ llm: textOptions(gpus) }, async (manager, loadS) => {
    const estimate = await llamaMemory(modelPath, {
      contextTokens: CONTEXT_TOKENS,
      sequences: MOST_SEQUENCES,
      keyType: 'f16',
      valueType: 'f16',
      gpuLayers: -1,
    });
    const speeds = [];
    for (const requests of String(values.requests).split(',').map(Number))
      speeds.push(await speedOf(manager, requests));
    return {
      num_gpus: gpus,
      load_s: round(loadS),
      estimated_bytes: estimate.weightsBytes + estimate.contextBytes,
      status: manager.status()['llm']?.replicas,
      speeds,
    };
  });
}

async function speedOf(manager: DeploymentManager, requests: number): Promise<object> {
  const handle = manager.handle('llm');
  const started = performance.now();
  let [chunks, firstMs] = [0, 0];
  const one = async (n: number): Promise<void> => {
    for await (const values_ of handle.stream('generate_stream', {
      prompt: `Tell me a story about number ${n * 7919}, its friends and their house at the lake.`,
    })) {
      if (chunks === 0) firstMs = performance.now() - started;
      chunks += values_.length;
    }
  };
  await Promise.all(Array.from({ length: requests }, (_, n) => one(n)));
  const seconds = (performance.now() - started) / 1000;
  return { requests, chunks, chunks_per_s: round(chunks / seconds), first_chunk_ms: round(firstMs) };
}

/** Measures two deployments on one GPU, and tries a third one that does not fit. */
async function measureShared(): Promise<object | string> {
  return withDeployments({ one: textOptions(0.5), two: textOptions(0.5) }, async (manager) => {
    manager.register('three', textOptions(0.5));
    const refusal =
      machine.gpus.length > 1
        ? 'not tried: several GPUs'
        : await manager.deployOne('three').then(
            () => 'none',
            (error: unknown) => String(error),
          );
    return { status: manager.status(), refusal };
  });
}

async function measureSpeech(): Promise<object | string> {
  const [whisper, silero] = ['whisper.bin', 'silero.bin'].map((name) => join(modelsFolder!, name));
  if (!existsSync(whisper!) || !existsSync(silero!)) return 'not run: no Whisper model was staged';
  const options = {
    type: 'WhisperDeployment',
    user_config: { model_size: whisper! },
    ray_actor_options: { num_gpus: hasGpu ? 1 : 0 },
  };
  return withDeployments(
    { asr: options },
    async (manager, loadS) => ({ load_s: round(loadS), status: manager.status()['asr']?.replicas }),
    silero,
  );
}

async function withDeployments<T>(
  deployments: Record<string, DeploymentOptionsInput>,
  use: (manager: DeploymentManager, loadS: number) => Promise<T>,
  silero?: string,
): Promise<T | string> {
  const found: Machine = machine;
  const models = {
    pull: async (id: string) => ({ path: id.startsWith('silero') && silero !== undefined ? silero : id }),
  };
  const manager = new DeploymentManager({ log, models, env: process.env, machine: async () => found });
  for (const [name, options] of Object.entries(deployments)) manager.register(name, options);
  try {
    const started = performance.now();
    await manager.start();
    return await use(manager, (performance.now() - started) / 1000);
  } catch (error) {
    return `failed: ${String(error)}`;
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}

function timed(work_: () => unknown): number {
  const started = performance.now();
  work_();
  return (performance.now() - started) / 1000;
}

function output(command: string, args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
