import { existsSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { describeConfig } from '../../base/config/index.ts';
import { fail } from '../../base/core/errors.ts';
import { configJson, configText } from '../commands/config-text.ts';
import type { Purpose } from '../commands/setup.ts';
import { addConfigOptions, configForApps, configOf, loggerOf, unreadConfigs } from '../config-options.ts';
import type { MakeCommand } from '../program.ts';
import { untilSignal } from '../until-signal.ts';

type Options = Readonly<Record<string, unknown>>;

/** Adds the commands that serve and prepare applications. */
export function addServingCommands(root: Command, command: MakeCommand, state: { exitCode: number }): void {
  addConfigOptions(command(root, 'serve [folders...]'), 'all').action(async (folders: string[], options: Options) => {
    const config = configForApps(options);
    const unread = options['config'] === undefined ? unreadConfigs(folders) : [];
    for (const file of unread)
      loggerOf(config).warn(`${file} is ignored: start in its folder, or name it with --config`);
    const { serve } = await import('../commands/serve.ts');
    state.exitCode = await serve(config, folders);
  });

  addConfigOptions(command(root, 'config'), 'all')
    .option('--all', 'print defaults, too')
    .option('--json', 'print JSON')
    .action((options: Options) => {
      const values = describeConfig(configOf(options));
      process.stdout.write(options['json'] === true ? configJson(values) : configText(values, options['all'] === true));
    });

  addConfigOptions(command(root, 'deploy <module:app>'), 'all')
    .option('--hide-logs', 'show only errors')
    .option('--skip-migrations', 'do not update tables')
    .option('--sequential-deploy', 'start one deployment after the other')
    .action(async (path: string, options: Options) => {
      const { port } = configForApps(options);
      const [hideLogs, skipMigrations, sequential] = ['hideLogs', 'skipMigrations', 'sequentialDeploy'].map(
        (name) => options[name] === true,
      ) as [boolean, boolean, boolean];
      const { deploy } = await import('../commands/deploy.ts');
      state.exitCode = await deploy(path, {
        host: options['host'] as string | undefined,
        port: options['port'] === undefined ? undefined : port,
        hideLogs,
        skipMigrations,
        sequential,
      });
    });

  addConfigOptions(command(root, 'migrate [module:app]'), 'common').action(
    async (path: string | undefined, options: Options) => {
      const config = configForApps(options);
      const { migrate } = await import('../commands/deploy.ts');
      await migrate(path, { config, log: loggerOf(config, 'warn'), out: process.stdout });
    },
  );

  addConfigOptions(command(root, 'setup [folders...]'), 'common')
    .addOption(
      new Option('--for <purpose>', 'purpose of the set-up').choices(['serve', 'test', 'demo']).default('serve'),
    )
    .action(async (folders: string[], options: Options) => {
      const config = configOf(options);
      const { setup } = await import('../commands/setup.ts');
      await untilSignal((signal) =>
        setup({ config, folders, purpose: options['for'] as Purpose, log: loggerOf(config), signal }),
      );
    });

  addConfigOptions(command(root, 'build <folders-or-app...>'), 'common')
    .option('--force', 'build a plugin even if nothing has changed')
    .option('--host <address>', 'for an application: address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'for an application: port to listen on (default: 8000)')
    .option(
      '--config-name <file>',
      'for an application: name of the file beside the module (default: aana.config.json)',
    )
    .action(async ([path = '', ...more]: string[], options: Options) => {
      const config = configForApps(options);
      const log = loggerOf(config);
      const { parseExportPath } = await import('../../base/modules/index.ts');
      if (more.length === 0 && parseExportPath(path) && !existsSync(path)) {
        const [host, configName] = [options['host'], options['configName']] as [string | undefined, string | undefined];
        const { buildApp } = await import('../commands/deploy.ts');
        return buildApp(
          path,
          { host, port: options['port'] === undefined ? undefined : config.port, config_name: configName },
          process.stdout,
        );
      }
      const [{ buildPlugin, findPluginFolders }, { withProgress }] = await Promise.all([
        import('../../endpoints/plugins/index.ts'),
        import('../../setup/packages/index.ts'),
      ]);
      for (const folder of [path, ...more].flatMap(findPluginFolders)) {
        const build = (signal: AbortSignal) =>
          withProgress(`building ${folder}`, undefined, () =>
            buildPlugin(folder, {
              ...{ log, cacheDir: config.cache_dir, limits: config.plugin_builds, signal },
              force: options['force'] === true,
            }),
          );
        const { component, rebuilt } = await untilSignal(build);
        process.stdout.write(`${component}${rebuilt ? '' : ' (unchanged)'}\n`);
      }
    });

  addConfigOptions(command(root, 'dev <plugin>'), 'all').action(async (plugin: string, options: Options) => {
    const config = configOf(options);
    const [{ findPluginFolders, readManifest }, { serve }] = await Promise.all([
      import('../../endpoints/plugins/index.ts'),
      import('../commands/serve.ts'),
    ]);
    const [source, ...others] = findPluginFolders(plugin);
    if (source === undefined || others.length > 0)
      throw fail('PluginNotFound', `${plugin} contains several plugins; name the folder of one`);
    const { deployments: used } = await readManifest(source);
    const deployments = Object.fromEntries(
      Object.entries(config.deployments).filter(([name]) => used.includes('*') || used.includes(name)),
    );
    state.exitCode = await serve(
      { ...config, watch: true, strict: false, plugins: [], deployments, log: { ...config.log, content: true } },
      [source],
    );
  });
}
