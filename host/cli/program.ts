import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { childEnvironment, describeConfig } from '../config/index.ts';
import { AanaError } from '../core/errors.ts';
import { packageVersion } from '../core/package-root.ts';
import { addCareCommands } from './commands/care/care-commands.ts';
import { configJson, configText } from './commands/config-text.ts';
import { addApplicationCommands, runningApplication } from './commands/application-commands.ts';
import { addConfigOptions, configForApps, configOf, loggerOf, unreadConfigs } from './config-options.ts';
import { addKeysCommands } from './commands/keys-commands.ts';
import { addModelsCommands } from './commands/models-commands.ts';
import type { Purpose } from './commands/setup.ts';
import { addWorkCommands } from './commands/work/work-commands.ts';
import { untilSignal } from './until-signal.ts';

type Options = Readonly<Record<string, unknown>>;

/**
 * Returns the commands of `aana-host`. Each sets its exit code in `state`. Errors are thrown. A command imports what it
 * runs when it runs, because the modules of a server take a second and more to load.
 */
export function program(state: { exitCode: number }): Command {
  const root = new Command('aana-host')
    .description('Multimodal applications over HTTP: sandboxed endpoints, native speech and language models.')
    .version(packageVersion(), '--version')
    .showSuggestionAfterError()
    .exitOverride();
  const command = (parent: Command, name: string, description: string): Command =>
    parent.command(name).description(description).exitOverride();

  addConfigOptions(
    command(
      root,
      'serve [folders...]',
      'serve the plugins (folders and .wasm files) in these folders; set up missing parts first',
    ),
    'all',
  ).action(async (folders: string[], options: Options) => {
    const config = configForApps(options);
    const unread = options['config'] === undefined ? unreadConfigs(folders) : [];
    for (const file of unread)
      loggerOf(config).warn(`${file} is ignored: start in its folder, or name it with --config`);
    const { serve } = await import('./commands/serve.ts');
    state.exitCode = await serve(config, folders);
  });

  addConfigOptions(command(root, 'config', 'print the configuration, and where each value comes from'), 'all')
    .option('--all', 'print defaults, too')
    .option('--json', 'print JSON')
    .action((options: Options) => {
      const values = describeConfig(configOf(options));
      process.stdout.write(options['json'] === true ? configJson(values) : configText(values, options['all'] === true));
    });

  addConfigOptions(
    command(root, 'deploy <module:app>', 'deploy the AanaApp that a module exports, and serve it'),
    'all',
  )
    .option('--hide-logs', 'show only errors')
    .option('--skip-migrations', 'do not update tables')
    .option('--sequential-deploy', 'start one deployment after the other')
    .action(async (path: string, options: Options) => {
      const { port } = configForApps(options);
      const [hideLogs, skipMigrations, sequential] = ['hideLogs', 'skipMigrations', 'sequentialDeploy'].map(
        (name) => options[name] === true,
      ) as [boolean, boolean, boolean];
      const { deploy } = await import('./commands/deploy.ts');
      state.exitCode = await deploy(path, {
        host: options['host'] as string | undefined,
        port: options['port'] === undefined ? undefined : port,
        hideLogs,
        skipMigrations,
        sequential,
      });
    });

  addConfigOptions(
    command(
      root,
      'migrate [module:app]',
      'create or update the tables of the host, and of the AanaApp that a module exports',
    ),
    'common',
  ).action(async (path: string | undefined, options: Options) => {
    const config = configForApps(options);
    const { migrate } = await import('./commands/deploy.ts');
    await migrate(path, { config, log: loggerOf(config, 'warn'), out: process.stdout });
  });

  addConfigOptions(
    command(root, 'setup [folders...]', 'build and download everything that these plugins need'),
    'common',
  )
    .addOption(
      new Option('--for <purpose>', 'purpose of the set-up').choices(['serve', 'test', 'demo']).default('serve'),
    )
    .action(async (folders: string[], options: Options) => {
      const config = configOf(options);
      const { setup } = await import('./commands/setup.ts');
      await untilSignal((signal) =>
        setup({ config, folders, purpose: options['for'] as Purpose, log: loggerOf(config), signal }),
      );
    });

  addConfigOptions(
    command(
      root,
      'build <folders-or-app...>',
      'build the components of plugins, or a configuration file that serves <module>:<app>',
    ),
    'common',
  )
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
      const { parseExportPath } = await import('../modules/index.ts');
      if (more.length === 0 && parseExportPath(path) && !existsSync(path)) {
        const [host, configName] = [options['host'], options['configName']] as [string | undefined, string | undefined];
        const { buildApp } = await import('./commands/deploy.ts');
        return buildApp(
          path,
          { host, port: options['port'] === undefined ? undefined : config.port, config_name: configName },
          process.stdout,
        );
      }
      const [{ buildPlugin, findPluginFolders }, { withProgress }] = await Promise.all([
        import('../plugins/index.ts'),
        import('../packages/index.ts'),
      ]);
      for (const folder of [path, ...more].flatMap(findPluginFolders)) {
        const build = (signal: AbortSignal) =>
          withProgress(`building ${folder}`, undefined, () =>
            buildPlugin(folder, { log, force: options['force'] === true, limits: config.plugin_builds, signal }),
          );
        const { component, rebuilt } = await untilSignal(build);
        process.stdout.write(`${component}${rebuilt ? '' : ' (unchanged)'}\n`);
      }
    });

  addConfigOptions(
    command(root, 'dev <plugin>', 'serve one plugin, and rebuild and reload it when its files change'),
    'all',
  ).action(async (plugin: string, options: Options) => {
    const config = configOf(options);
    const [{ findPluginFolders, readManifest }, { serve }] = await Promise.all([
      import('../plugins/index.ts'),
      import('./commands/serve.ts'),
    ]);
    const [source, ...others] = findPluginFolders(plugin);
    if (source === undefined || others.length > 0)
      throw new AanaError('PluginNotFound', 'not-found', `${plugin} contains several plugins; name the folder of one`);
    const { deployments: used } = await readManifest(source);
    const deployments = Object.fromEntries(
      Object.entries(config.deployments).filter(([name]) => used.includes('*') || used.includes(name)),
    );
    state.exitCode = await serve(
      { ...config, watch: true, strict: false, plugins: [], deployments, log: { ...config.log, content: true } },
      [source],
    );
  });

  addApplicationCommands(root, command, state);
  addWorkCommands(root, command, state);
  addKeysCommands(root, command);
  addCareCommands(root, command, state);

  const plugins = addConfigOptions(
    command(root, 'plugins', 'show the plugins of the running server: state, version, limits, counters'),
    'common',
  )
    .option('--port <number>', 'port of the server, if several run', wholeNumber)
    .option('--listen <address>', 'socket of the server, if several run')
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      const { pluginsList } = await import('./commands/plugins.ts');
      state.exitCode = await pluginsList(runningApplication(options), options['json'] === true);
    });
  command(
    plugins,
    'reload [name]',
    'load the newest version of one plugin, or of all, without dropping requests',
  ).action(async (name: string | undefined, _own: Options, self: Command) => {
    const { pluginsReload } = await import('./commands/plugins.ts');
    state.exitCode = await pluginsReload(runningApplication(self.optsWithGlobals()), name);
  });

  addConfigOptions(
    command(root, 'check <plugins...>', 'show what plugins import, ask for and would get, without serving them'),
    'common',
  ).action(async (plugins: string[], options: Options) => {
    const config = configOf(options);
    const [{ findPluginFolders }, { check }] = await Promise.all([
      import('../plugins/index.ts'),
      import('./commands/check.ts'),
    ]);
    state.exitCode = await untilSignal((signal) =>
      check(config, plugins.flatMap(findPluginFolders), loggerOf(config, 'error'), process.stdout, signal),
    );
  });

  command(
    root,
    'wit [folder]',
    'print the WIT world with the capabilities that the plugin in this folder asks for',
  ).action(async (folder: string | undefined) => {
    const { guestWorld, readManifest, worldFile } = await import('../plugins/index.ts');
    const { capabilities } = await readManifest(folder ?? '.');
    process.stdout.write(guestWorld(await readFile(worldFile, 'utf8'), capabilities));
  });

  command(root, 'new <folder>', 'create a plugin in TypeScript, with tests, that works at once').action(
    async (folder: string) => {
      const { newPlugin } = await import('./commands/new-plugin.ts');
      await newPlugin(folder);
      process.stdout.write(`created the plugin ${folder}\n\n  cd ${folder}\n  npm install\n  npm run dev\n`);
    },
  );

  addConfigOptions(command(root, 'build-native', 'build the native addon and SQLite'), 'common')
    .option('--force', 'build even if nothing has changed')
    .option('--jobs <number>', 'number of parallel compilers', wholeNumber)
    .action(async (options: Options) => {
      const config = configOf(options);
      const settings = {
        cacheDir: config.cache_dir,
        mode: config.native_build,
        cuda: config.cuda_backend,
        log: loggerOf(config),
        force: options['force'] === true,
        env: childEnvironment(config),
      };
      const jobs = options['jobs'] as number | undefined;
      const [{ buildNative, buildSqlite }, { withProgress }] = await Promise.all([
        import('../native-build/index.ts'),
        import('../packages/index.ts'),
      ]);
      const { addon, rebuilt } = await untilSignal((signal) =>
        withProgress('building the native addon', undefined, () => buildNative({ ...settings, jobs, signal })),
      );
      process.stdout.write(`${addon}${rebuilt ? '' : ' (unchanged)'}\n`);
      if (config.db_config.datastore_type !== 'sqlite') return;
      process.stdout.write(`${await untilSignal((signal) => buildSqlite({ ...settings, signal }))}\n`);
    });

  addModelsCommands(root, command, state);

  addConfigOptions(
    command(root, 'demo', 'start a server, make a short video, and transcribe and summarize it'),
    'common',
  ).action(async (options: Options) => {
    const config = configOf(options);
    const log = loggerOf(config);
    const [{ AanaApp }, { demo }, { setup }] = await Promise.all([
      import('../application/app.ts'),
      import('./commands/demo.ts'),
      import('./commands/setup.ts'),
    ]);
    await untilSignal(async (signal) => {
      await setup({ config, folders: [], purpose: 'demo', log, signal });
      const app = new AanaApp({ config, log });
      const samplePath = await app.models.pullTool('speech-sample', { signal });
      const serveArguments = [
        '--cache-dir',
        config.cache_dir,
        ...(options['config'] === undefined ? [] : ['--config', String(options['config'])]),
      ];
      await demo({
        ffmpegPath: await app.ffmpeg({ signal }),
        samplePath,
        serveArguments,
        env: childEnvironment(config),
        out: process.stdout,
      });
    });
  });

  command(root, 'client', 'generate a client for a server: one TypeScript file without dependencies')
    .option('--url <address>', 'address of the server, and default address in the client', 'http://127.0.0.1:8000')
    .option('--openapi <file>', 'OpenAPI document to read instead of /openapi.json of the server')
    .option('--out <file>', 'file to write (default: the standard output)')
    .action(async (options: { url: string; openapi?: string; out?: string }) => {
      const { client } = await import('./commands/client.ts');
      await client(options, process.stdout);
    });

  const docs = command(root, 'docs', 'print generated documentation pages');
  command(docs, 'config', 'print the page of all configuration keys, variables and flags').action(async () => {
    const [z, { renderConfigurationDocs }, { DeploymentOptions }] = await Promise.all([
      import('zod'),
      import('../config/render-docs.ts'),
      import('../deployments/index.ts'),
    ]);
    process.stdout.write(renderConfigurationDocs(z.toJSONSchema(DeploymentOptions, { io: 'input' })));
  });
  command(docs, 'openai', 'print the page of the parameters of OpenAI’s API').action(async () => {
    const { renderOpenAiDocs } = await import('../openai/render-docs.ts');
    process.stdout.write(renderOpenAiDocs());
  });
  command(docs, 'anthropic', 'print the page of the parameters of Anthropic’s API').action(async () => {
    const { renderAnthropicDocs } = await import('../anthropic/render-docs.ts');
    process.stdout.write(renderAnthropicDocs());
  });
  command(docs, 'errors', 'print the page of all errors').action(async () => {
    const { renderErrorDocs } = await import('../http/index.ts');
    process.stdout.write(renderErrorDocs());
  });
  command(docs, 'metrics', 'print the page of all metrics').action(async () => {
    const { renderMetricsDocs } = await import('../application/metrics/render-docs.ts');
    process.stdout.write(renderMetricsDocs());
  });
  command(root, 'version', 'print the version of this package').action(() => {
    process.stdout.write(`${packageVersion()}\n`);
  });
  return root;
}

/** Parses the value of a flag that is a positive number. */
function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('Expected a number of at least 1.');
  return Number(text);
}
