import { type Command, InvalidArgumentError } from 'commander';
import {
  type ApplicationCommand,
  applicationDashboard,
  applicationLogs,
  applicationStatus,
  scaleDeployment,
  stopApplication,
} from './application.ts';
import { applicationTraces } from './traces.ts';
import { addConfigOptions, configOf } from '../config-options.ts';
import { untilSignal } from '../until-signal.ts';

type Options = Readonly<Record<string, unknown>>;

/** Adds the commands for the running application. */
export function addApplicationCommands(
  root: Command,
  command: (parent: Command, name: string, description: string) => Command,
  state: { exitCode: number },
): void {
  const add = (name: string, description: string): Command =>
    addConfigOptions(command(root, name, description), 'common')
      .option('--port <number>', 'port of the application, if several run', portOf)
      .option('--listen <address>', 'socket of the application, if several run');
  add('status', 'show the running application, its deployments and replicas; exit code 1 if it is not healthy')
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      state.exitCode = await applicationStatus(runningApplication(options), options['json'] === true);
    });
  add('dashboard', 'print the address that opens the dashboard of the running application, with its token').action(
    async (options: Options) => {
      state.exitCode = await applicationDashboard(runningApplication(options));
    },
  );
  add('scale', 'set the number of replicas of a deployment')
    .argument('<deployment>')
    .argument('<replicas>', 'number of replicas', countOf)
    .action(async (deployment: string, replicas: number, options: Options) => {
      state.exitCode = await scaleDeployment(runningApplication(options), deployment, replicas);
    });
  add('logs', 'print the latest log lines of the application')
    .option('-f, --follow', 'print new lines until the application ends')
    .option('--deployment <name>', 'print only lines of this deployment')
    .option('-n, --lines <number>', 'number of latest lines', countOf, 100)
    .action(async (options: Options) => {
      const { log } = configOf({ ...options, port: undefined, listen: undefined });
      const wanted = {
        lines: options['lines'] as number,
        follow: options['follow'] === true,
        deployment: options['deployment'] as string | undefined,
        format: log.format,
      };
      state.exitCode = await untilSignal((signal) => applicationLogs(runningApplication(options), wanted, signal));
    });
  add('traces', 'print the last failed and slow requests of the application, or those of one trace with their spans')
    .argument('[trace_id]')
    .option('--json', 'print JSON')
    .action(async (traceId: string | undefined, options: Options) => {
      state.exitCode = await applicationTraces(runningApplication(options), traceId, options['json'] === true);
    });
  add('stop', 'let the application finish its running requests and end')
    .option(
      '--grace <seconds>',
      'time in which requests may finish (default: the application’s configuration)',
      secondsOf,
    )
    .action(async (options: Options) => {
      state.exitCode = await stopApplication(runningApplication(options), options['grace'] as number | undefined);
    });
}

/** Returns the selected application. Here `--port` and `--listen` select an application; they do not set an address. */
export function runningApplication({ port, listen, ...options }: Options): ApplicationCommand {
  return {
    runtimeDir: configOf(options).runtime_dir,
    host: listen as string | undefined,
    port: port as number | undefined,
    out: process.stdout,
  };
}

function portOf(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('Expected a number from 1 to 65535.');
  return Number(text);
}

/** Parses the value of a flag or argument that may be 0. */
function countOf(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('Expected a number from 0 to 9999.');
  return Number(text);
}

function secondsOf(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 86_400))
    throw new InvalidArgumentError('Expected seconds from 0 to 86400.');
  return value;
}
