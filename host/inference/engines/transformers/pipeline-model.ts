import { InferenceException } from '../../replicas/process/inference-exception.ts';
import { ComputeThread } from '../onnx/compute-thread.ts';
import { runFailed } from '../onnx/run-failed.ts';
import type { OnnxTensor } from '../onnx/runtime.ts';
import type { LoadedPipeline, PipelineAnswer, PipelineQuestion, PipelineSpec } from './pipeline-thread.ts';

export interface PipelineModelSpec extends Omit<PipelineSpec, 'transformers'> {
  readonly model_name: string;
  readonly transformers_path: string;
  readonly max_memory_bytes: number;
}

/** A pipeline of Transformers.js in a thread of its own. */
export class PipelineModel {
  readonly name: string;
  readonly thread: ComputeThread<LoadedPipeline, PipelineQuestion, PipelineAnswer>;

  private constructor(name: string, thread: PipelineModel['thread']) {
    this.name = name;
    this.thread = thread;
  }

  /** Throws `ModelFormatError` for a model that cannot be used for the task. */
  static async load(spec: PipelineModelSpec): Promise<PipelineModel> {
    const { model_name: name, task, folder, transformers_path: transformers, max_memory_bytes: maxMemoryBytes } = spec;
    const entry = new URL('./pipeline-thread.js', import.meta.url);
    const given: PipelineSpec = { ...spec, transformers };
    const model = { name, task, place: { path: folder } };
    return new PipelineModel(name, await ComputeThread.load(entry, given, { model, maxMemoryBytes }));
  }

  /**
   * Rejects with the signal's reason, with `OnnxRunFailed` where the model cannot compute with these inputs, or with
   * `InferenceException` where its answer has numbers that are not finite. Both call the inputs by `inputs`.
   */
  async ask(question: PipelineQuestion, signal: AbortSignal, inputs = 'these inputs'): Promise<PipelineAnswer> {
    const answer = await this.thread.run(question, signal).catch(runFailed(this.name, `compute with ${inputs}`));
    if (answer.isNotFinite || !hasOnlyFinite(answer.result))
      throw new InferenceException(this.name, `it answers numbers that are not finite for ${inputs}`);
    return answer;
  }
}

export const isTensor = (result: unknown): result is OnnxTensor =>
  typeof result === 'object' && result !== null && 'dims' in result && 'data' in result;

/** Returns whether all numbers in JSON are finite. Tensors may have others. */
function hasOnlyFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null || isTensor(value)) return true;
  return Object.values(value).every(hasOnlyFinite);
}
