import { type Command, InvalidArgumentError } from 'commander';
import {
  type ApplicationCommand,
  applicationLogs,
  applicationStatus,
  scaleDeployment,
  stopApplication,
} from './application.ts';
import { addConfigOptions, configOf } from '../config-options.ts';
import { untilSignal } from '../until-signal.ts';

type Options = Readonly<Record<string, unknown>>;

/** The commands about the application that runs. */
export function addApplicationCommands(
  root: Command,
  command: (parent: Command, name: string, description: string) => Command,
  state: { exitCode: number },
): void {
  const add = (name: string, description: string): Command =>
    addConfigOptions(command(root, name, description), 'common')
      .option('--port <number>', 'which application, where several run', portOf)
      .option('--listen <address>', 'the same, by the socket that it listens on');
  add('status', 'the application that runs, its deployments and their replicas; ends with 1 when it is not well')
    .option('--json', 'as JSON')
    .action(async (options: Options) => {
      state.exitCode = await applicationStatus(runningApplication(options), options['json'] === true);
    });
  add('scale', 'run so many replicas of a deployment')
    .argument('<deployment>')
    .argument('<replicas>', 'how many from now on', countOf)
    .action(async (deployment: string, replicas: number, options: Options) => {
      state.exitCode = await scaleDeployment(runningApplication(options), deployment, replicas);
    });
  add('logs', 'what the application logged last')
    .option('-f, --follow', 'go on with what it logs, until it ends')
    .option('--deployment <name>', 'what is about this deployment')
    .option('-n, --lines <number>', 'how many of the last lines', countOf, 100)
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
  add('stop', 'have the application finish its running requests and end')
    .option(
      '--grace <seconds>',
      'how long requests may take to finish (default: as the application is configured)',
      secondsOf,
    )
    .action(async (options: Options) => {
      state.exitCode = await stopApplication(runningApplication(options), options['grace'] as number | undefined);
    });
}

/** Here `--port` and `--listen` say which application is meant, not where one is to listen. */
export function runningApplication({ port, listen, ...options }: Options): ApplicationCommand {
  return {
    runtimeDir: configOf(options).runtime_dir,
    host: listen as string | undefined,
    port: port as number | undefined,
    out: process.stdout,
  };
}

function portOf(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('A number from 1 to 65535 is expected.');
  return Number(text);
}

/** The value of a flag or an argument that may be none. */
function countOf(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('A number from 0 to 9999 is expected.');
  return Number(text);
}

function secondsOf(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 86_400))
    throw new InvalidArgumentError('Seconds from 0 to 86400 are expected.');
  return value;
}
