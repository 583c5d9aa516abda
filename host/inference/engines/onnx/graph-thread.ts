// The entry of the thread that computes a graph.
import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal } from './compute-thread.ts';
import {
  loadOnnxRuntime,
  type OnnxProvider,
  openSession,
  type OnnxTensor,
  type OnnxValue,
  reasonOf,
} from './runtime.ts';

export interface GraphSpec {
  /** File of the runtime. */
  readonly runtime: string;
  /** File of the model. */
  readonly file: string;
  readonly threads: number;
  /** Default: `cpu`. */
  readonly provider?: OnnxProvider;
}

/** What the graph declares. */
export interface LoadedGraph {
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

export interface GraphQuestion {
  readonly feeds: Readonly<Record<string, OnnxTensor>>;
  /** Names of the outputs that are wanted. */
  readonly outputs: readonly string[];
}

export interface GraphAnswer {
  readonly outputs: Readonly<Record<string, OnnxTensor>>;
}

const port = parentPort!;
const spec = workerData as GraphSpec;

try {
  const runtime = loadOnnxRuntime(spec.runtime);
  const session = await openSession(runtime, spec.file, spec.threads, spec.provider);
  port.on('message', async ({ feeds, outputs }: GraphQuestion) => {
    try {
      const tensors = Object.entries(feeds).map(
        ([name, { type, dims, data }]) => [name, new runtime.Tensor(type, data, dims)] as const,
      );
      const computed = Object.entries(await session.run(Object.fromEntries(tensors), outputs));
      const plain = computed.map(([name, { type, dims, data }]) => [name, { type, dims, data }] as const);
      port.postMessage({ outputs: Object.fromEntries(plain) } satisfies GraphAnswer, buffersOf(plain));
    } catch (error) {
      port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
    }
  });
  port.postMessage({ inputs: session.inputMetadata, outputs: session.outputMetadata } satisfies LoadedGraph);
} catch (error) {
  port.postMessage({ reason: reasonOf(error) } satisfies Refusal);
}

/** Returns the memory of tensors that goes to the other thread without a copy. */
function buffersOf(tensors: readonly (readonly [string, OnnxTensor])[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const [, { data }] of tensors)
    if (ArrayBuffer.isView(data) && data.buffer instanceof ArrayBuffer) buffers.add(data.buffer);
  return [...buffers];
}
