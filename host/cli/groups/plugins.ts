import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { ignoreOutputErrors } from '../../application/start/output-errors.ts';
import { fail } from '../../base/core/errors.ts';
import { addApplicationOptions, addLocalOptions, applicationOf, localApplicationOf } from '../application-options.ts';
import { addConfigOptions, configOf, loggerOf } from '../config-options.ts';
import type { MakeCommand } from '../program.ts';
import { untilSignal } from '../until-signal.ts';

type Options = Readonly<Record<string, unknown>>;

/** Adds the commands about plugins. */
export function addPluginCommands(root: Command, command: MakeCommand, state: { exitCode: number }): void {
  const plugins = addApplicationOptions(command(root, 'plugins'))
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      const { pluginsList } = await import('../commands/plugins.ts');
      state.exitCode = await pluginsList(applicationOf(options), options['json'] === true);
    });

  command(
    plugins,
    'reload [name]',
    'load the newest version of one plugin, or of all, without dropping requests',
  ).action(async (name: string | undefined, _own: Options, self: Command) => {
    const { pluginsReload } = await import('../commands/plugins.ts');
    state.exitCode = await pluginsReload(applicationOf(self.optsWithGlobals()), name);
  });

  addConfigOptions(command(root, 'check <plugins...>'), 'common').action(
    async (plugins: string[], options: Options) => {
      const config = configOf(options);
      const [{ findPluginFolders }, { check }] = await Promise.all([
        import('../../endpoints/plugins/index.ts'),
        import('../commands/check.ts'),
      ]);
      state.exitCode = await untilSignal((signal) =>
        check(config, plugins.flatMap(findPluginFolders), loggerOf(config, 'error'), process.stdout, signal),
      );
    },
  );

  addLocalOptions(command(root, 'invoke <plugin> <endpoint> [input]'))
    .option('--file <field=path>', 'a file that the input names, as an upload would be; may be repeated', collected, [])
    .addHelpText(
      'after',
      '\nThe input is JSON, @<file> or - for the standard input; without it, {}. Deployments are those of the ' +
        'running\napplication; without one, those of the configuration start when they are called.',
    )
    .action(async (plugin: string, endpoint: string, input: string | undefined, options: Options) => {
      const application = localApplicationOf(options);
      const config = configOf({ ...options, port: undefined, listen: undefined });
      const [{ findPluginFolders }, { invokeEndpoint }] = await Promise.all([
        import('../../endpoints/plugins/index.ts'),
        import('../commands/invoke/invoke.ts'),
      ]);
      const [source, ...others] = findPluginFolders(plugin);
      if (source === undefined || others.length > 0)
        throw fail('PluginNotFound', `${plugin} contains several plugins; name the folder of one`);
      const { level } = config.log;
      ignoreOutputErrors(); // the command sees them itself, and closes what it has opened
      await untilSignal((signal) =>
        invokeEndpoint({
          ...{ config, source, endpoint, input: input ?? '{}', application, signal },
          files: options['file'] as string[],
          log: loggerOf(config, level === 'info' ? 'warn' : level), // only what the plugin says
          pluginLog: loggerOf(config),
          stdin: process.stdin,
          out: process.stdout,
        }),
      );
    });

  command(root, 'wit [folder]').action(async (folder: string | undefined) => {
    const { guestWorld, readManifest, worldFile } = await import('../../endpoints/plugins/index.ts');
    const { capabilities } = await readManifest(folder ?? '.');
    process.stdout.write(guestWorld(await readFile(worldFile, 'utf8'), capabilities));
  });

  command(root, 'new <folder>').action(async (folder: string) => {
    const { newPlugin } = await import('../commands/new-plugin.ts');
    await newPlugin(folder);
    process.stdout.write(`created the plugin ${folder}\n\n  cd ${folder}\n  npm install\n  npm run dev\n`);
  });
}

const collected = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];
