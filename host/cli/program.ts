import { Command } from 'commander';
import { packageVersion } from '../base/core/package-root.ts';

/** Adds a command to `parent`. A command of the root needs no description, because {@link GROUPS} has it. */
export type MakeCommand = (parent: Command, name: string, description?: string) => Command;

interface Group {
  /** Descriptions of the commands by their names. */
  readonly commands: Readonly<Record<string, string>>;
  /** Returns the function that adds the commands with their flags and actions. */
  load(): Promise<(root: Command, command: MakeCommand, state: { exitCode: number }) => void>;
}

const GROUPS: readonly Group[] = [
  {
    load: async () => (await import('./groups/serving.ts')).addServingCommands,
    commands: {
      serve: 'serve the plugins (folders and .wasm files) in these folders; set up missing parts first',
      config: 'print the configuration, and where each value comes from',
      deploy: 'deploy the AanaApp that a module exports, and serve it',
      migrate: 'create or update the tables of the host, and of the AanaApp that a module exports',
      setup: 'build and download everything that these plugins need',
      build: 'build the components of plugins, or a configuration file that serves <module>:<app>',
      dev: 'serve one plugin, and rebuild and reload it when its files change',
    },
  },
  {
    load: async () => (await import('./groups/application.ts')).addApplicationCommands,
    commands: {
      status: 'show the running application, its deployments and replicas; exit code 1 if it is not healthy',
      dashboard: 'print the address that opens the dashboard of the running application, with its token',
      scale: 'set the number of replicas of a deployment',
      deployments: 'list the deployments of the running application',
      apply: 'apply a configuration file to the running application without losing a request; print the plan first',
      logs: 'print the latest log lines of the application',
      'log-levels': 'change the levels of the log until the next start, and print them',
      traces: 'print the last failed and slow requests of the application, or those of one trace with their spans',
      alerts: 'print the alerts of the application; exit code 1 while one fires',
      drain: 'take no new requests and tasks, and wait until what runs has ended; then the application can be stopped',
      stop: 'let the application finish its running requests and end',
    },
  },
  {
    load: async () => (await import('./groups/work.ts')).addWorkCommands,
    commands: {
      endpoints: 'list the endpoints of the running application with their requests since the start',
      tasks: 'list the newest tasks of all users of the running application, without their contents',
      webhooks: 'list the webhooks of all users of the running application',
    },
  },
  {
    load: async () => (await import('./groups/keys.ts')).addKeysCommands,
    commands: {
      keys: 'create, list, change and revoke API keys, also while a server is running',
    },
  },
  {
    load: async () => (await import('./groups/cluster.ts')).addClusterCommands,
    commands: {
      cluster: 'make and renew the certificates with which machines of a cluster know each other',
    },
  },
  {
    load: async () => (await import('./groups/care.ts')).addCareCommands,
    commands: {
      doctor: 'examine this machine and the configuration, and say what to do; exit code 1 if a check fails',
      backup: 'copy the database and the files of tasks and users, also while the application runs',
      restore: 'restore a backup into the empty data folder of an application that does not run',
      diagnose: 'write a bundle about this machine and the running application, without secrets and contents',
      profile: 'make a profile of the running application, for Chrome’s DevTools',
    },
  },
  {
    load: async () => (await import('./groups/plugins.ts')).addPluginCommands,
    commands: {
      plugins: 'show the plugins of the running server: state, version, limits, counters',
      check: 'show what plugins import, ask for and would get, without serving them',
      invoke: 'run one endpoint of a plugin without a server, and print its answer',
      wit: 'print the WIT world with the capabilities that the plugin in this folder asks for',
      new: 'create a plugin in TypeScript, with tests, that works at once',
    },
  },
  {
    load: async () => (await import('./groups/models.ts')).addModelsCommands,
    commands: {
      models: 'list, fetch, import and remove models',
    },
  },
  {
    load: async () => (await import('./groups/tools.ts')).addToolCommands,
    commands: {
      'build-native': 'build the native addon, SQLite and the sandbox of plugins',
      demo: 'start a server, make a short video, and transcribe and summarize it',
      client: 'generate a client for a server: one TypeScript file without dependencies',
      version: 'print the version of this package',
    },
  },
];

/**
 * Returns the commands of `aana-host` for `args`. Each sets its exit code in `state`. Errors are thrown. Only the group
 * with the command in `args` has flags and actions, and a command imports what it runs when it runs: the modules of the
 * configuration take a quarter of a second to load, and those of a server more than one.
 */
export async function program(args: readonly string[], state: { exitCode: number }): Promise<Command> {
  const root = new Command('aana-host')
    .description('Multimodal applications over HTTP: sandboxed endpoints, native speech and language models.')
    .version(packageVersion(), '--version')
    .showSuggestionAfterError()
    .exitOverride();
  const wanted = args.find((text) => !text.startsWith('-') && text !== 'help') ?? '';
  for (const { commands, load } of GROUPS) {
    const command: MakeCommand = (parent, name, description = commands[name.split(' ')[0] ?? ''] ?? '') =>
      parent.command(name).description(description).exitOverride();
    if (Object.hasOwn(commands, wanted)) (await load())(root, command, state);
    else for (const name of Object.keys(commands)) command(root, name);
  }
  return root;
}
