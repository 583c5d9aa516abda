import type { Config } from '../../base/config/index.ts';
import { AanaError, kindOf } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { usableCores } from '../../base/core/machine/processors.ts';
import { check } from '../../inference/deployments/class/check.ts';
import type { PullOptions } from '../../inference/deployments/class/deployment-definition.ts';
import { builtinDefinitions, defaultCpus } from '../../inference/deployments/index.ts';
import { ModelStore } from '../../setup/models/index.ts';
import { type Check, type CheckResult, fail, ok, reasonOf, warn } from './check.ts';

/** Whether the models of the deployments are on this machine. Fetches nothing. */
export const modelsCheck: Check = {
  name: 'models',
  needsConfig: true,
  run: ({ config, signal }) =>
    Promise.all(Object.entries(config.deployments).map((entry) => deploymentResult(entry, config, signal))),
};

type Entry = readonly [name: string, options: Config['deployments'][string]];

async function deploymentResult(
  [deployment, { type, user_config: userConfig, ray_actor_options: devices }]: Entry,
  { cache_dir: cacheDir, app, models: { offline } }: Config,
  signal: AbortSignal,
): Promise<CheckResult> {
  const name = `deployment ${deployment}`;
  const definition = builtinDefinitions.find((one) => one.name === type);
  if (!definition) {
    const known = builtinDefinitions.map((one) => one.name).join(', ');
    return app === null
      ? fail(name, `unknown type ${type}`, `use one of ${known}`)
      : ok(name, `${type} of the application, which only a start examines`);
  }
  const store = new ModelStore({ cacheDir, log: silentLogger, offline: true });
  const present: string[] = [];
  const pull = async (id: string, { projector }: PullOptions): Promise<{ readonly path: string }> => {
    const found = projector
      ? await store.pull(id, { projector }).catch(() => undefined) // offline, so it only finds the file
      : await store.resolve(id);
    if (!found && projector) throw new MissingModel(`the projector of ${id}`, 'set mmproj to its file');
    if (!found) await store.requireKnown(id);
    if (!found) throw new MissingModel(id, `aana-host models pull ${id}`);
    present.push(projector ? `the projector of ${id}` : id);
    return found;
  };
  try {
    await definition.prepare(check(definition.configSchema, userConfig, `${name}: user_config`), {
      models: { pull },
      log: silentLogger,
      signal,
      env: {}, // the secrets of the server are not needed here
      cpus: async () => defaultCpus(usableCores()),
      numGpus: devices.num_gpus ?? 0,
      progress: () => {},
    });
    return ok(name, present.length === 0 ? `${type} needs no model here` : `${present.join(', ')}: present`);
  } catch (error) {
    if (!(error instanceof MissingModel))
      return fail(name, reasonOf(error), 'correct user_config, or pull the model again (aana-host models)');
    const { advice } = error;
    return offline
      ? fail(name, `${error.model} is not on this machine, and models.offline forbids downloads`, advice)
      : warn(name, `${error.model} is not on this machine; the start fetches it`, advice);
  }
}

class MissingModel extends AanaError {
  readonly model: string;
  readonly advice: string;

  constructor(model: string, advice: string) {
    super('ModelNotFound', kindOf('ModelNotFound'), `${model} is not on this machine`);
    this.model = model;
    this.advice = advice;
  }
}
