import type { Command } from 'commander';
import type { Config } from '../../base/config/index.ts';
import type * as Commands from '../../setup/models/commands.ts';
import type { CommandOutput, UsersOfFiles } from '../../setup/models/commands.ts';
import type { ModelStore } from '../../setup/models/index.ts';
import { addConfigOptions, configOf, loggerOf } from '../config-options.ts';
import { untilSignal } from '../until-signal.ts';
import type { MakeCommand } from '../program.ts';

type Options = Readonly<Record<string, unknown>>;
interface Context {
  readonly commands: typeof Commands;
  readonly store: ModelStore;
  readonly io: CommandOutput;
  /** Undefined if no application runs. */
  readonly usersOf: UsersOfFiles | undefined;
}

/** Adds `models` with its commands. */
export function addModelsCommands(root: Command, command: MakeCommand, state: { exitCode: number }): void {
  const models = command(root, 'models');
  /** Runs a command with a store that uses the configuration. */
  const run = async (options: Options, action: (context: Context) => Promise<number>): Promise<void> => {
    const config = configOf(options);
    const { hf_token: hfToken, hf_endpoint: hfEndpoint, offline } = config.models;
    const [commands, { ModelStore }] = await Promise.all([
      import('../../setup/models/commands.ts'),
      import('../../setup/models/index.ts'),
    ]);
    const store = new ModelStore({
      cacheDir: config.cache_dir,
      log: loggerOf(config, 'warn'),
      hfToken: hfToken ?? undefined,
      hfEndpoint: hfEndpoint ?? undefined,
      offline,
    });
    const usersOf = await usersInRunning(config);
    state.exitCode = await untilSignal((signal) =>
      action({ commands, store, io: { out: process.stdout, err: process.stderr, signal }, usersOf }),
    );
  };
  const add = (name: string, description: string): Command =>
    addConfigOptions(command(models, name, description), 'common');

  add('list', 'list the models of the catalogue, which are on this machine, and which deployments load them')
    .option('--all', 'list every file of every model')
    .option('--json', 'print JSON')
    .action((options: Options) =>
      run(options, ({ commands, store, io, usersOf }) =>
        commands.modelsList(store, io, { all: options['all'] === true, json: options['json'] === true, usersOf }),
      ),
    );
  add('pull <ids...>', 'fetch models: catalogue ids, owner/repo or owner/repo/file.gguf').action(
    (ids: string[], options: Options) => run(options, ({ commands, store, io }) => commands.modelsPull(store, ids, io)),
  );
  add('path <id>', 'print the path of a model file').action((id: string, options: Options) =>
    run(options, ({ commands, store, io }) => commands.modelsPath(store, id, io)),
  );
  add('import <source>', 'copy or convert a model from a file or folder into the cache')
    .option('--id <id>', 'id of the model (default: the name of the file or folder)')
    .option('--quantize <type>', 'quantize a Whisper model: q8_0, q5_1, …')
    .option('--licence <name>', 'licence to show in the list')
    .action((source: string, { id, quantize, licence, ...options }: Options) =>
      run(options, ({ commands, store, io }) =>
        commands.modelsImport(
          store,
          source,
          { id, quantize, licence } as Parameters<typeof Commands.modelsImport>[2],
          io,
        ),
      ),
    );
  add('rm <ids...>', 'remove models from the cache')
    .option('--force', 'also models that a running deployment loads')
    .action((ids: string[], options: Options) =>
      run(options, ({ commands, store, io, usersOf }) =>
        commands.modelsRemove(store, ids, io, options['force'] === true ? undefined : usersOf),
      ),
    );
}

/** Returns the function that asks the applications of this user. */
async function usersInRunning({ runtime_dir: dir }: Config): Promise<UsersOfFiles | undefined> {
  const { matchingServers, OperatorClient } = await import('../../apis/control/index.ts');
  const servers = await matchingServers(dir, {});
  if (servers.length === 0) return undefined;
  return async (files) => {
    const answers = await Promise.all(
      servers.map(async (address) => {
        const operator = await OperatorClient.at(address);
        return operator.ask('post /api/models/users', { body: { files: [...files] } });
      }),
    );
    return files.map((_, index) => [...new Set(answers.flatMap(({ users }) => users[index] ?? []))]);
  };
}
