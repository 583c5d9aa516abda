// Runs in a replica: makes the object of a deployment class from a module of the application.
import { fileURLToPath } from 'node:url';
import { flatMapped } from '../../../base/core/async/async-values.ts';
import { fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { requestContextOf } from '../../../base/core/request-context.ts';
import { RequestScope, trackRequests } from '../../../base/core/async/request-scope.ts';
import { codeStamp, importModule } from '../../../base/modules/index.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext as ReplicaCall, ServedMethod } from '../../rpc/index.ts';
import { check } from '../class/check.ts';
import { schemaOf } from '../class/config-class.ts';
import type { CustomSpec } from '../class/custom-definition.ts';
import { attachBatches } from '../class/host-batches.ts';
import { attachHandles } from '../class/host-handles.ts';
import { type BatchSize, batchSizes } from './batch-size.ts';
import { batchedMethod, type BatchedMethodOptions, batchedStream } from './batched-method.ts';
import { calledDeployments } from './called-deployments.ts';
import type { CallContext, Deployment, DeploymentClass, DeploymentContext } from '../class/deployment.ts';
import { LoadedModels, type ModelInUse } from './loaded-models.ts';
import type { MethodDefinition } from '../class/method.ts';

/** A method of the class, with checks of its values. */
type ServedByClass = (
  args: Record<string, unknown>,
  context: CallContext,
) => Promise<unknown> | AsyncIterable<unknown, unknown>;

type Method = (args: unknown, context: CallContext) => Promise<unknown> | AsyncIterable<unknown, unknown>;

export async function start(
  spec: CustomSpec,
  { log, progress, artifactPath, host, onModels }: StartContext,
): Promise<Implementation> {
  const type = await importClass(spec);
  trackRequests(); // methods may call deployments by handles, and over connections that they open themselves
  const code = codeStamp(fileURLToPath(spec.module)); // computed while the model loads
  const deployment = new type() as Deployment;
  attachHandles(deployment, calledDeployments(type.name, spec.called, host));
  const batches = batchSizes(type.name, type.methods);
  attachBatches(deployment, batches.set);
  const context = ({ models }: CustomSpec): DeploymentContext => ({ log, progress, models, artifactPath });
  await deployment.applyConfig?.(configOf(type, spec.config), context(spec));
  let current = spec;
  const models =
    type.multiplexed &&
    new LoadedModels({
      limits: type.multiplexed,
      log,
      load: (id) => deployment.loadModel!(id, { log, models: current.models }),
      onChange: onModels,
    });
  const methods = Object.entries(type.methods).map(([name, definition]) => {
    const size = batches.sizes.get(name);
    const served = (): ServedByClass => implementationOf(deployment, type.name, name, { definition, size }, log);
    const method = models ? withModel(models, served, definition, log) : ofCall(served(), log);
    return [name, withCheckedArguments(method, definition)];
  });
  return {
    methods: Object.fromEntries(methods),
    info: { class: type.name, module: spec.module },
    gpuMemory: () => [], // a class cannot report its GPU memory; its main memory is measured
    code: await code,
    ...(deployment.warmUp && { warmUp: async () => deployment.warmUp?.() }),
    ...(models && { metrics: () => models.metrics() }),
    ...(deployment.reconfigure && {
      reconfigure: async (changed: CustomSpec) => {
        await deployment.reconfigure?.(configOf(type, changed.config), context(changed));
        current = changed;
        models?.renew();
      },
    }),
    ...(deployment.checkHealth && { checkHealth: async () => deployment.checkHealth?.() }),
    ...((models ?? deployment.dispose) && {
      close: async () => {
        await models?.close();
        await deployment.dispose?.();
      },
    }),
  };
}

async function importClass({ module, class: name }: CustomSpec): Promise<DeploymentClass> {
  const path = fileURLToPath(module);
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = await importModule(path);
  } catch (error) {
    throw fail('DeploymentImportError', `${path} cannot be imported by the replica: ${whyNot(error)}`, {
      cause: error,
    });
  }
  const found = Object.hasOwn(exported, name)
    ? exported[name]
    : Object.values(exported).find((value) => typeof value === 'function' && value.name === name);
  if (typeof found === 'function') return found as unknown as DeploymentClass;
  const names = Object.keys(exported).join(', ') || 'none';
  throw fail('DeploymentImportError', `${path} exports no class ${name}; its exports are: ${names}`);
}

const whyNot = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));

/** Returns the configuration as an object of its configuration class, or as checked JSON if it has no class. */
function configOf({ config }: DeploymentClass, values: unknown): unknown {
  return typeof config === 'function' ? new config(values as never) : check(schemaOf(config), values, 'user_config');
}

function implementationOf(
  deployment: Deployment,
  type: string,
  name: string,
  { definition, size }: { readonly definition: MethodDefinition; readonly size: BatchSize | undefined },
  log: Logger,
): ServedByClass {
  const { output, streaming, end } = definition;
  const method = (deployment as unknown as Record<string, Method>)[name]!;
  const checked = (value: unknown, schema = output): unknown => {
    try {
      return check(schema, value, `${type}.${name} returned a value that its output schema does not allow`);
    } catch (error) {
      throw fail('InvalidOutput', (error as Error).message, { cause: error });
    }
  };
  if (size) {
    const compute = method.bind(deployment) as unknown as BatchedMethodOptions['compute'];
    const options = { type, name, size, log, checked, compute };
    return streaming ? batchedStream(options) : batchedMethod(options);
  }
  const run = (args: Record<string, unknown>, context: CallContext, scope: RequestScope): ReturnType<Method> =>
    scope.run(() => method.call(deployment, args, context));
  if (!streaming)
    return async (args, context) => {
      using scope = scopeOf(context);
      return checked(await run(args, context, scope));
    };
  return async function* stream(args, context) {
    using scope = scopeOf(context);
    const values = scope.around(run(args, context, scope) as AsyncIterable<unknown, unknown, undefined>);
    const result = yield* flatMapped(values, (value) => [checked(value)]);
    return end === undefined || result === undefined ? undefined : checked(result, end);
  };
}

/** Returns a method that checks the arguments of callers that do not have the class. */
const withCheckedArguments =
  (method: ServedMethod, { input, feed }: MethodDefinition): ServedMethod =>
  (args, given) => {
    if (given.unchecked === undefined) return method(args, given);
    const { [feed?.name ?? '']: values, ...others } = args;
    const checked = check(input, feed ? others : args, given.unchecked) as Record<string, unknown>;
    return method(feed ? { ...checked, [feed.name]: values } : checked, given);
  };

const ofCall =
  (served: ServedByClass, log: Logger): ServedMethod =>
  (args, given) =>
    served(args, contextOf(given, log));

/** Returns a method whose calls have the models that they name. Calls of one model are computed together. */
function withModel(
  models: LoadedModels,
  make: () => ServedByClass,
  { streaming }: MethodDefinition,
  log: Logger,
): ServedMethod {
  const plain = ofCall(make(), log);
  const ofModel = new WeakMap<object, ServedByClass>();
  const started = ({ model }: ModelInUse, args: Record<string, unknown>, given: ReplicaCall): ReturnType<Method> => {
    const served = ofModel.get(model) ?? make();
    ofModel.set(model, served);
    return served(args, Object.assign(contextOf(given, log), { model }));
  };
  const call = async (id: string, args: Record<string, unknown>, given: ReplicaCall): Promise<unknown> => {
    const used = await models.use(id, given.signal);
    try {
      return await started(used, args, given);
    } finally {
      used.release();
    }
  };
  const stream = async function* (
    id: string,
    args: Record<string, unknown>,
    given: ReplicaCall,
  ): AsyncGenerator<unknown, unknown> {
    const used = await models.use(id, given.signal);
    try {
      return yield* started(used, args, given) as AsyncIterable<unknown, unknown, undefined>;
    } finally {
      used.release();
    }
  };
  return (args, given) => {
    const { multiplexedModelId: id } = given;
    return id === undefined ? plain(args, given) : (streaming ? stream : call)(id, args, given);
  };
}

const scopeOf = (context: CallContext): RequestScope =>
  new RequestScope(Object.assign(requestContextOf(context), { signal: context.signal }));

/** Returns what a method of a class gets with a call. */
function contextOf(
  { signal, progress = () => {}, id, multiplexedModelId, ...facts }: ReplicaCall,
  log: Logger,
): CallContext {
  return {
    ...requestContextOf(facts),
    call: id,
    multiplexedModelId,
    signal,
    progress,
    get log() {
      return log.child({ requestId: facts.requestId });
    },
  };
}
