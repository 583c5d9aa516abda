import type { Config } from '../../base/config/index.ts';
import { errorLogFields, faultOf } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Counter, Telemetry } from '../../base/core/telemetry.ts';
import type { HostDeployments, ModelDirectory } from '../../inference/deployments/index.ts';
import type { ModelsOnDemand } from './models-on-demand.ts';
import { servedModel } from './served-model.ts';

/** A directory whose settings may change. */
export interface AppModels extends ModelDirectory {
  configure(config: Pick<Config['openai'], 'aliases' | 'on_demand'>): void;
}

/** Returns the counter of requests that another model of their alias got. */
export function fallbackCounter(telemetry: Telemetry): Counter {
  return telemetry.counter('aana.model.fallbacks', {
    unit: '{request}',
    description: 'Requests that a fallback of their alias got, by the deployment that did not answer and the cause.',
    attributes: ['aana.model', 'aana.deployment', 'aana.outcome'],
  });
}

export interface ModelDirectoryOptions {
  readonly deployments: HostDeployments;
  readonly onDemand: ModelsOnDemand;
  readonly aliases: Config['openai']['aliases'];
  readonly log: Logger;
  readonly telemetry: Telemetry;
}

/** Returns the deployments as the models of OpenAI's API. */
export function modelDirectory({
  deployments,
  onDemand,
  aliases: first,
  log,
  telemetry,
}: ModelDirectoryOptions): AppModels {
  let aliases = first;
  const counted = fallbackCounter(telemetry);
  return {
    get aliases() {
      return aliases;
    },
    configure(config) {
      aliases = config.aliases;
      onDemand.configure(config.on_demand);
    },
    list() {
      const states = deployments.status();
      const hearing = deployments.hearing();
      return [...deployments.registered()].map(([name, bound]) =>
        servedModel(name, bound, { state: states[name]?.status ?? 'NOT_STARTED', takesAudio: hearing.has(name) }),
      );
    },
    onDemand,
    call: (deployment, method, args, options) =>
      onDemand.isFor(deployment)
        ? onDemand.call(deployment, method, args, options)
        : deployments.handle(deployment).call(method, args, options),
    stream: (deployment, method, args, options) =>
      onDemand.isFor(deployment)
        ? onDemand.stream(deployment, method, args, options)
        : deployments.handle(deployment).stream(method, args, options),
    onFallback({ alias, from, to, error, requestId }) {
      log.warn('request goes to a fallback', { model: alias, from, to, requestId, ...errorLogFields(error) });
      counted.add(1, { 'aana.model': alias, 'aana.deployment': from, 'aana.outcome': faultOf(error) });
    },
  };
}
