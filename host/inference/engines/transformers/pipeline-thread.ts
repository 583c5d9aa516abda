// The entry of the thread that runs a pipeline of Transformers.js.
import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal } from '../onnx/compute-thread.ts';
import { Pulse } from '../onnx/pulse.ts';
import { type OnnxTensor, reasonOf } from '../onnx/runtime.ts';
import { imageOf, isPixels, type RawImageClass, replaceSharp } from './images/raw-image.ts';
import { loadTransformers, modelOptions } from './library.ts';
import {
  NotFinite,
  readTokensOf,
  type Seq2SeqFacts,
  seq2seqFactsOf,
  type Seq2SeqPipeline,
  watched,
} from './seq2seq/generation.ts';
import {
  type ExtractionPipeline,
  factsOf,
  type Pooling,
  type TensorClass,
  type TextModelFacts,
  tokensOf,
  vectorsOf,
} from './token-vectors.ts';

export interface PipelineSpec {
  /** File of Transformers.js. */
  readonly transformers: string;
  readonly task: string;
  /** Folder of the configuration and the tokenizer. Its folder `onnx` has the models. */
  readonly folder: string;
  /** Type of the weights, which the names of the models end with. */
  readonly dtype: string;
  readonly threads: number;
}

export interface LoadedPipeline {
  /** Of a model for `feature-extraction`. */
  readonly text?: TextModelFacts;
  /** Of a model that generates texts. */
  readonly seq2seq?: Seq2SeqFacts;
}

/**
 * What the thread is asked: the arguments of the pipeline, which are a text or what else it reads, what its task needs,
 * and options; the tokens of texts; or vectors of lists of tokens.
 */
export type PipelineQuestion =
  | { readonly args: readonly unknown[] }
  | { readonly texts: readonly string[] }
  | { readonly rows: readonly (readonly number[])[]; readonly pooling: Pooling };

export interface PipelineAnswer {
  /** The pipeline's: JSON, or a tensor. */
  readonly result?: unknown;
  readonly tokens?: readonly (readonly number[])[];
  readonly vectors?: readonly Float32Array[];
  /** Whether the pipeline has no result, because numbers are not finite. */
  readonly isNotFinite?: true;
}

type Pipeline = (...args: readonly unknown[]) => Promise<unknown>;

/** The used part of Transformers.js. */
interface Transformers {
  readonly Tensor: TensorClass;
  readonly RawImage: RawImageClass;
  pipeline(task: string, folder: string, options: object): Promise<Pipeline>;
}

const port = parentPort!;
const spec = workerData as PipelineSpec & { readonly pulse: SharedArrayBuffer };
const pulse = new Pulse(spec.pulse);
const SEQ2SEQ = ['summarization', 'translation', 'image-to-text'];
const GENERATING = [...SEQ2SEQ, 'automatic-speech-recognition'];

try {
  const { Tensor, RawImage, pipeline } = loadTransformers<Transformers>(spec.transformers);
  replaceSharp(RawImage);
  const run = await pipeline(spec.task, spec.folder, { ...modelOptions(spec.threads), dtype: spec.dtype });
  const extraction = run as unknown as ExtractionPipeline;
  const seq2seq = run as unknown as Seq2SeqPipeline;
  const isSeq2Seq = SEQ2SEQ.includes(spec.task);
  const read = (text: string): number[] =>
    isSeq2Seq ? readTokensOf(seq2seq, text) : tokensOf(extraction.tokenizer, text);
  const answerTo = async (question: PipelineQuestion): Promise<PipelineAnswer> => {
    if ('args' in question) {
      const args = question.args.map((arg) => (isPixels(arg) ? imageOf(RawImage, arg) : arg));
      if (GENERATING.includes(spec.task)) args.push(watched(args.pop(), pulse));
      return { result: plain(await run(...args)) };
    }
    if ('texts' in question) return { tokens: question.texts.map(read) };
    return { vectors: await vectorsOf(extraction, Tensor, question.rows, question.pooling) };
  };
  port.on('message', async (question: PipelineQuestion) => {
    try {
      port.postMessage(await answerTo(question));
    } catch (error) {
      const answer: PipelineAnswer | Refusal =
        error instanceof NotFinite ? { isNotFinite: true } : { reason: reasonOf(error) };
      port.postMessage(answer);
    }
  });
  const loaded: LoadedPipeline = {
    ...(spec.task === 'feature-extraction' && { text: await factsOf(extraction, Tensor) }),
    ...(isSeq2Seq && { seq2seq: seq2seqFactsOf(seq2seq) }),
  };
  port.postMessage(loaded);
} catch (error) {
  port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
}

/** Returns a result without classes: of tensors, only what they hold. */
function plain(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('dims' in result)) return result;
  const { type, dims, data } = result as OnnxTensor;
  return { type, dims, data } satisfies OnnxTensor;
}
