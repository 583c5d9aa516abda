// Runs in a replica: any graph with the ONNX Runtime.
import type { AanaError } from '../../../base/core/errors.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import { wrongArgument } from '../wrong-argument.ts';
import { ComputeThread } from './compute-thread.ts';
import type { GraphAnswer, GraphQuestion, GraphSpec, LoadedGraph } from './graph-thread.ts';
import { notUsable, type UsedModel } from './not-usable.ts';
import { runFailed } from './run-failed.ts';
import type { OnnxProvider, OnnxTensor, OnnxValue } from './runtime.ts';
import {
  answerOf,
  type Declared,
  type Encoding,
  isTensorType,
  requireRoom,
  type TensorAnswer,
  tensorOf,
} from './tensors.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/onnx/onnx-deployment.ts`. */
interface OnnxSpec {
  readonly model_path: string;
  readonly model_name: string;
  readonly runtime_path: string;
  readonly threads: number;
  readonly max_memory_bytes: number;
  readonly provider: OnnxProvider;
}

type GraphThread = ComputeThread<LoadedGraph, GraphQuestion, GraphAnswer>;

interface RunArgs {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs?: readonly string[] | null;
  readonly encoding: Encoding;
}

export async function start(spec: OnnxSpec, _context: StartContext): Promise<Implementation> {
  const { runtime_path: runtime, model_path: file, threads, provider } = spec;
  const graph: GraphSpec = { runtime, file, threads, provider };
  const used: UsedModel = { name: spec.model_name, place: { file: spec.model_path } };
  const thread = await loadGraph(graph, used, spec.max_memory_bytes);
  const model = new OnnxModel(used, thread);
  return {
    info: { model: spec.model_name, ...model.graph },
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      run: (args, context) => model.run(args as unknown as RunArgs, context),
      describe: async () => model.graph,
    },
    steps: () => thread.steps,
    activity: () => ({ busy: thread.isBusy, beats: thread.steps }),
    close: () => thread.close(),
  };
}

/** Loads a graph in a thread. See `ComputeThread.load`. */
export const loadGraph = (spec: GraphSpec, model: UsedModel, maxMemoryBytes: number): Promise<GraphThread> =>
  ComputeThread.load(new URL('./graph-thread.js', import.meta.url), spec, { model, maxMemoryBytes });

class OnnxModel {
  readonly graph: { readonly inputs: readonly Declared[]; readonly outputs: readonly Declared[] };
  readonly #name: string;
  readonly #thread: GraphThread;

  constructor(model: UsedModel, thread: GraphThread) {
    const { inputs, outputs } = thread.loaded;
    this.#name = model.name;
    this.#thread = thread;
    this.graph = { inputs: declared(model, 'input', inputs), outputs: declared(model, 'output', outputs) };
  }

  async run(
    { inputs, outputs, encoding }: RunArgs,
    { signal }: CallContext,
  ): Promise<{ outputs: Readonly<Record<string, TensorAnswer>> }> {
    const question = { feeds: this.#feeds(inputs), outputs: this.#wanted(outputs) };
    const { outputs: computed } = await this.#thread.run(question, signal).catch(runFailed(this.#name));
    requireRoom(Object.values(computed), encoding);
    const answers = Object.entries(computed).map(([name, tensor]) => [name, answerOf(tensor, encoding)]);
    return { outputs: Object.fromEntries(answers) as Readonly<Record<string, TensorAnswer>> };
  }

  #feeds(given: RunArgs['inputs']): Readonly<Record<string, OnnxTensor>> {
    const names = this.graph.inputs.map(({ name }) => name);
    for (const name of Object.keys(given)) if (!names.includes(name)) throw unknownName('inputs', name, names);
    return Object.fromEntries(
      this.graph.inputs.map((input) => {
        const value = Object.hasOwn(given, input.name) ? given[input.name] : undefined;
        const loc = ['inputs', input.name];
        if (value === undefined) throw wrongArgument('ValidationError', loc, 'is missing');
        return [input.name, tensorOf(input, value, loc)];
      }),
    );
  }

  #wanted(outputs: RunArgs['outputs']): readonly string[] {
    const names = this.graph.outputs.map(({ name }) => name);
    for (const name of outputs ?? []) if (!names.includes(name)) throw unknownName('outputs', name, names);
    return outputs ? [...new Set(outputs)] : names;
  }
}

function declared(model: UsedModel, what: string, values: readonly OnnxValue[]): Declared[] {
  return values.map(({ name, isTensor, type, shape = [] }) => {
    if (!isTensor)
      throw notUsable(model, `its ${what} ${name} is not a tensor; convert it to one that has only tensors`);
    if (!isTensorType(type)) throw notUsable(model, `its ${what} ${name} has the type ${type}, which is not supported`);
    return { name, type, shape };
  });
}

const unknownName = (argument: string, name: string, names: readonly string[]): AanaError =>
  wrongArgument('ValidationError', [argument], `the model has no "${name}"; it has ${names.join(', ') || 'none'}`);
