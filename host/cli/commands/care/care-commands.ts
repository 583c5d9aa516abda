import type { Command } from 'commander';
import { addConfigOptions, configOf } from '../../config-options.ts';
import { createLogger } from '../../../core/log/logger.ts';
import { untilSignal } from '../../until-signal.ts';
import { backup, type BackupCommand, restore } from './backup-commands.ts';
import { doctorText, examine } from '../../doctor/doctor.ts';

type Options = Readonly<Record<string, unknown>>;

/** Adds the commands that examine an installation and keep its data safe. */
export function addCareCommands(
  root: Command,
  command: (parent: Command, name: string, description: string) => Command,
  state: { exitCode: number },
): void {
  addConfigOptions(
    command(
      root,
      'doctor',
      'examine this machine and the configuration, and say what to do; exit code 1 if a check fails',
    ),
    'all',
  )
    .argument('[config]', 'configuration file, as with --config')
    .option('--json', 'print JSON')
    .action(async (file: string | undefined, options: Options) => {
      const report = await examine(
        () => configOf(file === undefined ? options : { ...options, config: file }),
        process.env,
      );
      process.stdout.write(options['json'] === true ? `${JSON.stringify(report, undefined, 2)}\n` : doctorText(report));
      state.exitCode = report.status === 'fail' ? 1 : 0;
    });

  const keep = (name: string, description: string): Command =>
    addConfigOptions(command(root, name, description), 'common');
  keep('backup', 'copy the database and the files of tasks and users, also while the application runs')
    .argument('<target>', 'new folder, or new file that ends in .tar.gz')
    .action(async (target: string, options: Options) => {
      state.exitCode = await untilSignal((signal) => backup(backupCommand(options, signal), target));
    });
  keep('restore', 'restore a backup into the empty data folder of an application that does not run')
    .argument('<source>', 'folder or file of the backup')
    .option('--force', 'put data that are there aside')
    .action(async (source: string, options: Options) => {
      state.exitCode = await untilSignal((signal) =>
        restore(backupCommand(options, signal), source, options['force'] === true),
      );
    });
}

function backupCommand(options: Options, signal: AbortSignal): BackupCommand {
  const config = configOf(options);
  const log = createLogger({ level: 'warn', format: config.log.format, write: (line) => process.stderr.write(line) });
  return { config, log, signal, out: process.stdout };
}
