import type { Command } from 'commander';
import { addConfigOptions, configOf } from '../../config-options.ts';
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
}
