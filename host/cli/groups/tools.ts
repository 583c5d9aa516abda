import { InvalidArgumentError, type Command } from 'commander';
import { childEnvironment } from '../../base/config/index.ts';
import { packageVersion } from '../../base/core/package-root.ts';
import { addConfigOptions, configOf, loggerOf } from '../config-options.ts';
import type { MakeCommand } from '../program.ts';
import { untilSignal } from '../until-signal.ts';

type Options = Readonly<Record<string, unknown>>;

/** Adds the commands that build native code, show the product and print generated text. */
export function addToolCommands(root: Command, command: MakeCommand): void {
  addConfigOptions(command(root, 'build-native'), 'common')
    .option('--force', 'build even if nothing has changed')
    .option('--jobs <number>', 'number of parallel compilers', wholeNumber)
    .action(async (options: Options) => {
      const config = configOf(options);
      const settings = {
        cacheDir: config.cache_dir,
        mode: config.native_build,
        cuda: config.cuda_backend,
        vulkan: config.vulkan_backend,
        log: loggerOf(config),
        force: options['force'] === true,
        env: childEnvironment(config),
      };
      const jobs = options['jobs'] as number | undefined;
      const [{ buildNative, buildSandbox, buildSqlite, sandboxProblem }, { withProgress }] = await Promise.all([
        import('../../setup/native-build/index.ts'),
        import('../../setup/packages/index.ts'),
      ]);
      const { addon, rebuilt } = await untilSignal((signal) =>
        withProgress('building the native addon', undefined, (report) =>
          buildNative({ ...settings, jobs, signal, report }),
        ),
      );
      process.stdout.write(`${addon}${rebuilt ? '' : ' (unchanged)'}\n`);
      if (config.db_config.datastore_type === 'sqlite')
        process.stdout.write(`${await untilSignal((signal) => buildSqlite({ ...settings, signal }))}\n`);
      const problem = sandboxProblem();
      if (problem !== undefined) return void settings.log.warn('no sandbox of plugins', { reason: problem });
      const sandbox = await untilSignal((signal) => buildSandbox({ ...settings, signal }));
      process.stdout.write(`${sandbox.program}\n`);
    });

  addConfigOptions(command(root, 'demo'), 'common').action(async (options: Options) => {
    const config = configOf(options);
    const log = loggerOf(config);
    const [{ AanaApp }, { demo }, { setup }] = await Promise.all([
      import('../../application/app.ts'),
      import('../commands/demo.ts'),
      import('../commands/setup.ts'),
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

  command(root, 'client')
    .option('--url <address>', 'address of the server, and default address in the client', 'http://127.0.0.1:8000')
    .option('--openapi <file>', 'OpenAPI document to read instead of /openapi.json of the server')
    .option('--out <file>', 'file to write (default: the standard output)')
    .action(async (options: { url: string; openapi?: string; out?: string }) => {
      const { client } = await import('../commands/client.ts');
      await client(options, process.stdout);
    });

  command(root, 'version').action(() => {
    process.stdout.write(`${packageVersion()}\n`);
  });
}

/** Parses the value of a flag that is a positive number. */
function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('Expected a number of at least 1.');
  return Number(text);
}
