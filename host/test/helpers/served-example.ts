import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { concatenatedJson } from '../../base/core/json/concatenated-json.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { blocksOf } from './guide.ts';
import { copyProject } from './plugin-project.ts';
import { type RunningServer, serve } from './server.ts';

interface ExampleConfig {
  readonly deployments: Readonly<Record<string, { readonly type: string; user_config?: object }>>;
}

/**
 * An example with a plugin of the package, without code: copied out of the repository, with one thread for each model,
 * and served by the command of its `package.json`.
 */
export class ServedExample implements AsyncDisposable {
  readonly #project: string;
  readonly #server: RunningServer;
  /** The commands of the README by their names. */
  readonly #commands: ReadonlyMap<string, string>;

  private constructor(project: string, server: RunningServer) {
    this.#project = project;
    this.#server = server;
    const readme = readFileSync(join(project, 'README.md'), 'utf8');
    this.#commands = new Map(blocksOf(readme).map(({ about, text }) => [about, text]));
  }

  /** Copies the folder of `examples/` with this name to `project`. */
  static async start(name: string, project: string): Promise<ServedExample> {
    copyProject(join(packageRoot, 'examples', name), project);
    const read = (file: string): unknown => JSON.parse(readFileSync(join(project, file), 'utf8'));
    const config = read('aana.config.json') as ExampleConfig;
    for (const one of Object.values(config.deployments)) {
      const threads = one.type.startsWith('Llama') ? { model_kwargs: { n_threads: 1 } } : { threads: 1 };
      one.user_config = { ...one.user_config, ...threads };
    }
    const { scripts } = read('package.json') as { scripts: { start: string } };
    const plugin = scripts.start.split(' ').at(-1)!;
    return new ServedExample(project, await serve({ plugins: [join(project, plugin)], config: { ...config } }));
  }

  /** Runs a command of the README. Returns the values that it prints. */
  async run(name: string, change: (command: string) => string = (command) => command): Promise<unknown[]> {
    const command = change(this.#commands.get(name) ?? '').replaceAll('http://127.0.0.1:8000', this.#server.url);
    const { status, stdout, stderr } = spawnSync('bash', ['-c', command], { cwd: this.#project, encoding: 'utf8' });
    if (status !== 0) throw new Error(`the command ${name} exited with ${status}: ${stderr}`);
    const values: unknown[] = [];
    for await (const value of concatenatedJson(new Blob([stdout]).stream())) values.push(value);
    return values;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}
