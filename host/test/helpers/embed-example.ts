import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';
import { runNode } from './plugin-project.ts';

export interface RunningExample extends AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;
  output(): string;
  /** Ends the example with the signal. Returns its exit code, or the signal's name. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

/**
 * Compiles the example in `project` and runs it as its README says. `package.test.ts` checks the declarations of the
 * package, which takes seconds.
 */
export async function startExample(project: string, script = 'build/server.js'): Promise<RunningExample> {
  runNode(project, join(packageRoot, 'node_modules/typescript/bin/tsc'), '--skipLibCheck');
  const child = spawn(process.execPath, [script], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, AANA_PORT: '0', AANA_DATA_DIR: join(project, 'data') },
  });
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  let output = '';
  const url = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output += data;
        const [found] = /(?<=the shop is open at )http:\S+/.exec(output) ?? [];
        if (found !== undefined) resolve(found);
      });
    }
    void exited.then((how) => reject(new Error(`the example exited with ${how}:\n${output}`)));
  });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
    child.kill(signal);
    return exited;
  };
  return {
    url: await url,
    process: child,
    output: () => output,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')),
  };
}
