// Runs in a replica: a pipeline of Transformers.js over the ONNX Runtime.
import type { AanaError } from '../../../base/core/errors.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import type { ImageReference } from '../../../base/schemas/index.ts';
import { readImage } from '../chat/media.ts';
import { Embedder, type EmbedderSpec } from '../embedding/embedder.ts';
import type { OnnxTensor } from '../onnx/runtime.ts';
import { answerOf, requireRoom } from '../onnx/tensors.ts';
import { wrongArgument } from '../wrong-argument.ts';
import type { Pixels } from './images/raw-image.ts';
import { isTensor, PipelineModel, type PipelineModelSpec } from './pipeline-model.ts';
import { Seq2Seq, type Seq2SeqArguments } from './seq2seq/seq2seq.ts';
import { type SpeechSpec, transcription } from './speech/transcription.ts';
import { TextVectors } from './text-vectors.ts';
import type { Pooling } from './token-vectors.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/onnx/transformers-deployment.ts`. */
interface TransformersSpec extends PipelineModelSpec {
  readonly task: TaskName | 'automatic-speech-recognition';
}

/** The further configuration of a model for embeddings. */
interface ExtractionSpec extends TransformersSpec, EmbedderSpec {
  readonly pooling: Pooling;
  readonly max_seq_length?: number;
}

/** The further configuration of a model that generates texts. */
interface Seq2SeqSpec extends TransformersSpec {
  readonly generation_kwargs?: Seq2SeqArguments;
}

type Item = string | ImageReference;
type CallArgs = { readonly inputs: Item | readonly Item[] } & Readonly<Record<string, unknown>>;

interface Task {
  /** Whether it reads images in the place of texts. */
  readonly readsImages?: true;
  /** The argument that the task needs beside the text, with a value for trying. */
  readonly needs?: readonly [name: string, example: unknown];
  readonly options: readonly string[];
}

/** Arguments of tasks that generate texts. */
const GENERATION = [
  'max_new_tokens',
  'min_new_tokens',
  'no_repeat_ngram_size',
  'repetition_penalty',
  'num_beams',
  'do_sample',
];

const TASKS = {
  'feature-extraction': { options: ['pooling', 'normalize'] },
  'text-classification': { options: ['top_k'] },
  'token-classification': { options: ['ignore_labels', 'aggregation_strategy'] },
  'zero-shot-classification': {
    needs: ['candidate_labels', ['one', 'two']],
    options: ['hypothesis_template', 'multi_label'],
  },
  'image-classification': { readsImages: true, options: ['top_k'] },
  'object-detection': { readsImages: true, options: ['threshold', 'percentage'] },
  'question-answering': { needs: ['context', 'This is an example.'], options: ['top_k'] },
  summarization: { options: [...GENERATION, 'truncation'] },
  translation: { options: [...GENERATION, 'truncation', 'src_lang', 'tgt_lang'] },
  'image-to-text': { readsImages: true, options: GENERATION },
} as const satisfies Readonly<Record<string, Task>>;
type TaskName = keyof typeof TASKS;

/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

export async function start(spec: TransformersSpec, context: StartContext): Promise<Implementation> {
  const model = await PipelineModel.load(spec);
  const { thread } = model;
  const life = {
    steps: () => thread.steps,
    activity: () => ({ busy: thread.isBusy, beats: thread.steps }),
    close: () => thread.close(),
  };
  const info = { model: model.name, task: spec.task, dtype: spec.dtype };
  if (spec.task === 'automatic-speech-recognition')
    return { info, ...life, ...(await transcription(model, spec as TransformersSpec & SpeechSpec, context)) };
  const { seq2seq: facts } = thread.loaded;
  const seq2seq = facts && new Seq2Seq(model, facts, present((spec as Seq2SeqSpec).generation_kwargs ?? {}));
  const pipeline = new Pipeline(spec.task, model, context.artifactPath, seq2seq);
  const vectors = embeddings(spec, model);
  return {
    ...life,
    info: { ...info, ...vectors?.info },
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: { call: (args, context) => pipeline.call(args as CallArgs, context), ...vectors?.methods },
    warmUp: () => pipeline.tryOut(),
    ...(vectors && { reconfigure: vectors.reconfigure }),
  };
}

/** Returns the methods for embeddings of a model that has vectors of texts. */
function embeddings(spec: TransformersSpec, model: PipelineModel) {
  const { text } = model.thread.loaded;
  if (!text) return undefined;
  const { pooling, max_seq_length: maxTokens } = spec as ExtractionSpec;
  const vectors = new TextVectors(model, text, { pooling, maxTokens });
  const { methods, reconfigure } = new Embedder(vectors, spec as ExtractionSpec).served;
  return { info: vectors.info, methods, reconfigure };
}

class Pipeline {
  readonly #taskName: TaskName;
  readonly #task: Task;
  readonly #model: PipelineModel;
  readonly #artifactPath: StartContext['artifactPath'];
  readonly #seq2seq: Seq2Seq | undefined;

  constructor(
    task: TaskName,
    model: PipelineModel,
    artifactPath: StartContext['artifactPath'],
    seq2seq: Seq2Seq | undefined,
  ) {
    this.#seq2seq = seq2seq;
    this.#taskName = task;
    this.#task = TASKS[task];
    this.#model = model;
    this.#artifactPath = artifactPath;
  }

  /** Computes one text or image after the other, so it has the same result alone and in a list. */
  async call({ inputs, ...args }: CallArgs, { signal, progress }: CallContext): Promise<unknown> {
    const items = isList(inputs) ? inputs : [inputs];
    const { readsImages = false } = this.#task;
    if (items.some((item) => (typeof item === 'string') === readsImages))
      throw this.#wrong('inputs', `${this.#taskName} reads ${readsImages ? 'images' : 'texts'}`);
    const rest = await this.#arguments(items, args, signal);
    const results: unknown[] = [];
    for (const [index, item] of items.entries()) {
      const name = isList(inputs) ? `inputs.${index}` : undefined;
      results.push(await this.#run([await this.#read(item), ...rest], signal, name));
      requireRoom(results.filter(isTensor), 'list');
      progress?.(results.length / items.length);
    }
    const answers = results.map((result) => (isTensor(result) ? answerOf(result, 'list') : result));
    return isList(inputs) ? answers : answers[0];
  }

  async tryOut(): Promise<void> {
    const { needs, readsImages } = this.#task;
    const item = readsImages ? BLACK : 'Hello';
    const args = needs ? { [needs[0]]: needs[1] } : { ...this.#seq2seq?.example };
    await this.#run([item, ...(await this.#arguments([item], args, UNLIMITED))], UNLIMITED);
  }

  async #read(item: Item): Promise<string | Pixels> {
    if (typeof item === 'string') return item;
    const { pixels, width, height } = await readImage(item, this.#artifactPath);
    return { pixels, width, height };
  }

  /**
   * Returns the arguments of the pipeline after the text. Rejects with `ValidationError` for those of other tasks, and
   * for texts as {@link Seq2Seq.options} does.
   */
  async #arguments(
    items: readonly unknown[],
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<unknown[]> {
    const { needs, options } = this.#task;
    const given = Object.entries({ ...this.#seq2seq?.defaults, ...present(args) });
    const known = [...(needs ? [needs[0]] : []), ...options];
    for (const [name] of given)
      if (!known.includes(name)) throw this.#wrong(name, `is not an argument of ${this.#taskName}`);
    if (needs && !given.some(([name]) => name === needs[0]))
      throw this.#wrong(needs[0], `is missing; ${this.#taskName} needs it`);
    const chosen = Object.fromEntries(given.filter(([name]) => options.includes(name)));
    if (this.#seq2seq) return [await this.#seq2seq.options(items, chosen, signal)];
    return needs ? [args[needs[0]], chosen] : [chosen];
  }

  async #run(args: readonly unknown[], signal: AbortSignal, inputs?: string): Promise<unknown> {
    const { result } = await this.#model.ask({ args }, signal, inputs);
    return isTensor(result) ? withoutBatch(result) : result;
  }

  #wrong(name: string, msg: string): AanaError {
    return wrongArgument('ValidationError', [name], msg);
  }
}

/** An image for trying. */
const BLACK: Pixels = { pixels: new Uint8Array(3 * 64 * 64), width: 64, height: 64 };

/** Returns the arguments that are neither undefined nor null. */
const present = <Of extends object>(args: Of): Of =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined && value !== null)) as Of;

const isList = (inputs: CallArgs['inputs']): inputs is readonly Item[] => Array.isArray(inputs);

/** Returns the tensor of the only text of a batch. */
const withoutBatch = ({ type, dims: [, ...dims], data }: OnnxTensor): OnnxTensor => ({ type, dims, data });
