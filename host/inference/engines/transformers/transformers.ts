// Runs in a replica: a pipeline of Transformers.js over the ONNX Runtime.
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import { ComputeThread, RefusedByRuntime } from '../onnx/compute-thread.ts';
import type { OnnxTensor } from '../onnx/runtime.ts';
import { answerOf, requireRoom } from '../onnx/tensors.ts';
import { wrongArgument } from '../wrong-argument.ts';
import type { PipelineAnswer, PipelineQuestion, PipelineSpec } from './pipeline-thread.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/onnx/transformers-deployment.ts`. */
interface TransformersSpec extends Omit<PipelineSpec, 'transformers'> {
  readonly task: TaskName;
  readonly model_name: string;
  readonly transformers_path: string;
  readonly max_memory_bytes: number;
}

type CallArgs = { readonly inputs: string | readonly string[] } & Readonly<Record<string, unknown>>;

interface Task {
  /** The argument that the task needs beside the text, with a value for trying. */
  readonly needs?: readonly [name: string, example: unknown];
  readonly options: readonly string[];
}

const TASKS = {
  'feature-extraction': { options: ['pooling', 'normalize'] },
  'text-classification': { options: ['top_k'] },
  'token-classification': { options: ['ignore_labels', 'aggregation_strategy'] },
  'zero-shot-classification': {
    needs: ['candidate_labels', ['one', 'two']],
    options: ['hypothesis_template', 'multi_label'],
  },
  'question-answering': { needs: ['context', 'This is an example.'], options: ['top_k'] },
} as const satisfies Readonly<Record<string, Task>>;
type TaskName = keyof typeof TASKS;

/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

export async function start(spec: TransformersSpec, _context: StartContext): Promise<Implementation> {
  const { model_name: name, folder } = spec;
  const thread = await ComputeThread.load<object, PipelineQuestion, PipelineAnswer>(
    new URL('./pipeline-thread.js', import.meta.url),
    { ...spec, transformers: spec.transformers_path } satisfies PipelineSpec,
    spec.max_memory_bytes,
  ).catch((error: unknown) => {
    if (!(error instanceof RefusedByRuntime)) throw error;
    throw fail('ModelFormatError', `${name} cannot be used for ${spec.task}: ${error.message}`, {
      data: { path: folder },
    });
  });
  const pipeline = new Pipeline(spec, thread);
  return {
    info: { model: name, task: spec.task, file: spec.file },
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: { call: (args, context) => pipeline.call(args as CallArgs, context) },
    warmUp: () => pipeline.tryOut(),
    steps: () => thread.runs,
    activity: () => ({ busy: thread.isBusy, beats: thread.runs }),
    close: () => thread.close(),
  };
}

class Pipeline {
  readonly #name: string;
  readonly #taskName: TaskName;
  readonly #task: Task;
  readonly #thread: ComputeThread<object, PipelineQuestion, PipelineAnswer>;

  constructor(spec: TransformersSpec, thread: ComputeThread<object, PipelineQuestion, PipelineAnswer>) {
    this.#name = spec.model_name;
    this.#taskName = spec.task;
    this.#task = TASKS[spec.task];
    this.#thread = thread;
  }

  /** Computes one text after the other, so a text has the same result alone and in a list. */
  async call({ inputs, ...args }: CallArgs, { signal, progress }: CallContext): Promise<unknown> {
    const rest = this.#arguments(args);
    const texts = typeof inputs === 'string' ? [inputs] : inputs;
    const results: unknown[] = [];
    for (const text of texts) {
      results.push(await this.#run([text, ...rest], signal));
      requireRoom(results.filter(isTensor), 'list');
      progress?.(results.length / texts.length);
    }
    const answers = results.map((result) => (isTensor(result) ? answerOf(result, 'list') : result));
    return typeof inputs === 'string' ? answers[0] : answers;
  }

  async tryOut(): Promise<void> {
    const { needs } = this.#task;
    await this.call({ inputs: 'Hello', ...(needs && { [needs[0]]: needs[1] }) }, { signal: UNLIMITED });
  }

  /** Returns the arguments of the pipeline after the text. Throws `ValidationError` for those of other tasks. */
  #arguments(args: Readonly<Record<string, unknown>>): unknown[] {
    const { needs, options } = this.#task;
    const given = Object.entries(args).filter(([, value]) => value !== undefined && value !== null);
    const known = [...(needs ? [needs[0]] : []), ...options];
    for (const [name] of given)
      if (!known.includes(name)) throw this.#wrong(name, `is not an argument of ${this.#taskName}`);
    if (needs && !given.some(([name]) => name === needs[0]))
      throw this.#wrong(needs[0], `is missing; ${this.#taskName} needs it`);
    const chosen = Object.fromEntries(given.filter(([name]) => options.includes(name)));
    return needs ? [args[needs[0]], chosen] : [chosen];
  }

  async #run(args: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    try {
      const { result } = await this.#thread.run({ args }, signal);
      const unpacked = isTensor(result) ? withoutBatch(result) : result;
      if (!isTensor(unpacked) && !hasOnlyFinite(unpacked))
        throw new InferenceException(this.#name, 'it answers numbers that are not finite');
      return unpacked;
    } catch (error) {
      if (!(error instanceof RefusedByRuntime)) throw error;
      throw fail('OnnxRunFailed', `${this.#name} cannot compute with these inputs: ${error.message}`, {
        data: { model_name: this.#name },
        cause: error,
      });
    }
  }

  #wrong(name: string, msg: string): AanaError {
    return wrongArgument('ValidationError', [name], msg);
  }
}

const isTensor = (result: unknown): result is OnnxTensor =>
  typeof result === 'object' && result !== null && 'dims' in result && 'data' in result;

/** Returns the tensor of the only text of a batch. */
const withoutBatch = ({ type, dims: [, ...dims], data }: OnnxTensor): OnnxTensor => ({ type, dims, data });

/** Returns whether all numbers in JSON are finite. */
function hasOnlyFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(hasOnlyFinite);
}
