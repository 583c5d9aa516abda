import { runCommand } from '../../../cli/run-command.ts';

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a command of `aana-host` in this process, because a process for each command would take most of the time of its
 * test. Until it ends, this process has its folder and environment, and what anything here prints counts as its output.
 */
export async function command(
  args: readonly string[],
  { cwd = process.cwd(), env = process.env }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<CommandResult> {
  const [previousFolder, previousEnv] = [process.cwd(), { ...process.env }];
  const streams = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write, text: '' }));
  for (const captured of streams)
    captured.stream.write = (chunk: Uint8Array | string, encoding?: unknown, done?: unknown): boolean => {
      captured.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      const written = [encoding, done].find((value) => typeof value === 'function') as (() => void) | undefined;
      if (written) queueMicrotask(written);
      return true;
    };
  try {
    process.chdir(cwd);
    setEnvironment({ ...env });
    const code = await runCommand(args);
    const [out = '', err = ''] = streams.map(({ text }) => text);
    return { code, out, err };
  } finally {
    for (const { stream, write } of streams) stream.write = write;
    process.chdir(previousFolder);
    setEnvironment(previousEnv);
  }
}

/** Changes the environment in place, because `os.homedir` does not read the object. */
function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}
