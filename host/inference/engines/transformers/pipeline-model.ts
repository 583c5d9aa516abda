import { fail } from '../../../base/core/errors.ts';
import { ComputeThread, RefusedByRuntime } from '../onnx/compute-thread.ts';
import { runFailed } from '../onnx/run-failed.ts';
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
    const { model_name: name, task, folder } = spec;
    try {
      const thread = await ComputeThread.load<LoadedPipeline, PipelineQuestion, PipelineAnswer>(
        new URL('./pipeline-thread.js', import.meta.url),
        { ...spec, transformers: spec.transformers_path } satisfies PipelineSpec,
        spec.max_memory_bytes,
      );
      return new PipelineModel(name, thread);
    } catch (error) {
      if (!(error instanceof RefusedByRuntime)) throw error;
      throw fail('ModelFormatError', `${name} cannot be used for ${task}: ${error.message}`, {
        data: { path: folder },
      });
    }
  }

  /** Rejects with the signal's reason, or with `OnnxRunFailed` where the model cannot compute with these inputs. */
  ask(question: PipelineQuestion, signal: AbortSignal): Promise<PipelineAnswer> {
    return this.thread.run(question, signal).catch(runFailed(this.name));
  }
}
