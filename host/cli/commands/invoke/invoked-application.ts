import { networkFrom } from '../../../application/ports/outgoing-ports.ts';
import { Attached } from '../../../application/attach/attached.ts';
import { Services } from '../../../application/services.ts';
import type { LocalApplication } from '../../../apis/control/index.ts';
import type { Config } from '../../../base/config/index.ts';
import { AanaError, fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { noTelemetry } from '../../../base/core/telemetry.ts';
import type { DeploymentPort, PluginPorts } from '../../../endpoints/plugins/index.ts';
import type { DeploymentOptionsInput } from '../../../inference/deployments/index.ts';

export interface InvokedApplicationOptions {
  readonly config: Config;
  /** The running application whose deployments are called, if several run. */
  readonly at: LocalApplication;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Finds a deployment, and starts it if necessary. */
type FindDeployment = (name: string) => Promise<DeploymentPort>;

/**
 * What one invocation gets of an application: the database and the media of the configuration, and the deployments of
 * the running application. Without a running one, a deployment of the configuration starts when it is first called.
 */
export class InvokedApplication implements AsyncDisposable {
  readonly #options: InvokedApplicationOptions;
  readonly #services: Services;
  readonly #started = new Map<string, Promise<void>>();
  #find: Promise<FindDeployment> | undefined;
  #attached: Attached | undefined;

  constructor(options: InvokedApplicationOptions) {
    const { config, log, signal } = options;
    this.#options = options;
    this.#services = new Services({
      ...{ config, log, signal, network: networkFrom(config), definitions: undefined, telemetry: noTelemetry },
    });
  }

  /** Returns the ports of a plugin with these capabilities. */
  async ports(capabilities: readonly string[]): Promise<PluginPorts> {
    if (capabilities.includes('media')) await this.#services.openMedia();
    return {
      ...this.#services.pluginPorts,
      deployments: { handle: (name) => this.#deployment(name), reserve: () => ({ release: () => {} }) },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#attached?.running.close();
    await this.#services.close(0);
  }

  #deployment(name: string): DeploymentPort {
    const find = async (): Promise<DeploymentPort> => (await (this.#find ??= this.#findDeployments()))(name);
    return {
      call: async (...call) => (await find()).call(...call),
      stream: async function* (...call) {
        return yield* (await find()).stream(...call);
      },
    };
  }

  async #findDeployments(): Promise<FindDeployment> {
    const attached = (this.#attached = await this.#attach());
    if (attached) return async (name) => attached.handle(name);
    return async (name) => {
      await this.#start(name);
      return this.#services.deployments.handle(name);
    };
  }

  /** Attaches to the running application. Returns undefined if there is none, and none was asked for. */
  async #attach(): Promise<Attached | undefined> {
    const {
      config,
      at: { host, port },
    } = this.#options;
    const isNamed = host !== undefined || port !== undefined;
    try {
      const attached = await Attached.open(config, { host, port });
      if (!attached) throw fail('NotRunning', `no aana-host application of this user is running at ${host ?? port}`);
      return attached;
    } catch (error) {
      if (!isNamed && error instanceof AanaError && error.name === 'NotRunning') return undefined;
      throw error;
    }
  }

  /** Starts a deployment of the configuration, once. */
  async #start(name: string): Promise<void> {
    const entry = this.#options.config.deployments[name];
    if (entry === undefined) return; // the handle says which there are
    let starting = this.#started.get(name);
    if (!starting) {
      this.#services.configureDeployment(name, entry as DeploymentOptionsInput);
      this.#started.set(name, (starting = this.#services.startOne(name)));
    }
    await starting;
  }
}
