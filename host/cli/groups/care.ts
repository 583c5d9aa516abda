import { type Command, InvalidArgumentError } from 'commander';
import { MAX_PROFILE_S } from '../../base/telemetry/profile/profiler.ts';
import { addLocalOptions } from '../application-options.ts';
import { addConfigOptions, configOf } from '../config-options.ts';
import type { Config } from '../../base/config/index.ts';
import { createLogger } from '../../base/core/log/logger.ts';
import { untilSignal } from '../until-signal.ts';
import type { BackupCommand } from '../commands/care/backup-commands.ts';
import type { MakeCommand } from '../program.ts';

type Options = Readonly<Record<string, unknown>>;

const DEFAULT_PROFILE_S = 5;

/** Adds the commands that examine an installation and keep its data safe. */
export function addCareCommands(root: Command, command: MakeCommand, state: { exitCode: number }): void {
  addConfigOptions(command(root, 'doctor'), 'all')
    .argument('[config]', 'configuration file, as with --config')
    .option('--json', 'print JSON')
    .action(async (file: string | undefined, options: Options) => {
      const { doctorText, examine } = await import('../doctor/doctor.ts');
      const report = await examine(
        () => configOf(file === undefined ? options : { ...options, config: file }),
        process.env,
      );
      process.stdout.write(options['json'] === true ? `${JSON.stringify(report, undefined, 2)}\n` : doctorText(report));
      state.exitCode = report.status === 'fail' ? 1 : 0;
    });

  const keep = (name: string): Command => addConfigOptions(command(root, name), 'common');
  keep('backup')
    .argument('<target>', 'new folder, or new file that ends in .tar.gz')
    .action(async (target: string, options: Options) => {
      const { backup } = await import('../commands/care/backup-commands.ts');
      state.exitCode = await untilSignal((signal) => backup(backupCommand(options, signal), target));
    });
  keep('restore')
    .argument('<source>', 'folder or file of the backup')
    .option('--force', 'put data that are there aside')
    .action(async (source: string, options: Options) => {
      const { restore } = await import('../commands/care/backup-commands.ts');
      state.exitCode = await untilSignal((signal) =>
        restore(backupCommand(options, signal), source, options['force'] === true),
      );
    });

  const ask = (parent: Command, name: string, description?: string): Command =>
    addLocalOptions(command(parent, name, description));
  ask(root, 'diagnose')
    .option('--output <file>', 'file to write (default: aana-diagnosis-<time>.tar.gz)')
    .action(async (options: Options) => {
      const output = (options['output'] as string | undefined) ?? timedName('aana-diagnosis', '.tar.gz');
      const load = (): Config => configOf({ ...options, port: undefined, listen: undefined });
      const { diagnose } = await import('../diagnose/diagnose.ts');
      const path = await diagnose({ load, env: process.env, output, ...applicationOf(options) });
      process.stdout.write(`${path}\n`);
    });
  const profile = command(root, 'profile');
  const addProfile = (kind: 'cpu' | 'heap', ending: string, description: string): Command =>
    ask(profile, kind, description)
      .option('--output <file>', `file to write (default: aana-${kind}-<time>${ending})`)
      .action(async (options: Options) => {
        const output = (options['output'] as string | undefined) ?? timedName(`aana-${kind}`, ending);
        const { runtime_dir: runtimeDir } = configOf({ ...options, port: undefined, listen: undefined });
        const seconds = (options['seconds'] as number | undefined) ?? DEFAULT_PROFILE_S;
        const { writeProfile } = await import('../diagnose/profile.ts');
        const path = await untilSignal((signal) =>
          writeProfile({ runtimeDir, choice: applicationOf(options), kind, seconds, output, signal }),
        );
        process.stdout.write(`${path}\n`);
      });
  addProfile('cpu', '.cpuprofile', 'write where the main thread of the host spends its time').option(
    '--seconds <number>',
    `time of the profile, at most ${MAX_PROFILE_S} s (default: ${DEFAULT_PROFILE_S})`,
    secondsOf,
  );
  addProfile('heap', '.heapsnapshot', 'write what is in the memory of the host, with requests and keys');
}

function applicationOf({ port, listen }: Options): {
  readonly port: number | undefined;
  readonly host: string | undefined;
} {
  return { port: port as number | undefined, host: listen as string | undefined };
}

/** Returns the name of a new file, such as `aana-cpu-2026-11-24T08-30-00.cpuprofile`. */
function timedName(name: string, ending: string): string {
  return `${name}-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}${ending}`;
}

function secondsOf(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= MAX_PROFILE_S))
    throw new InvalidArgumentError(`Expected up to ${MAX_PROFILE_S} seconds.`);
  return value;
}

function backupCommand(options: Options, signal: AbortSignal): BackupCommand {
  const config = configOf(options);
  const log = createLogger({ level: 'warn', format: config.log.format, write: (line) => process.stderr.write(line) });
  return { config, log, signal, out: process.stdout };
}
