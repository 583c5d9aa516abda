import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { type Choice, OperatorClient } from '../../apis/control/index.ts';
import { fail } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';

export interface ProfileOptions {
  readonly runtimeDir: string;
  readonly choice: Choice;
  readonly kind: 'cpu' | 'heap';
  /** Seconds of a CPU profile. */
  readonly seconds: number;
  /** The file to write. It must not exist. */
  readonly output: string;
  readonly signal: AbortSignal;
}

/** Writes a profile of the running application to a file that only this user can read, and returns its path. */
export async function writeProfile({
  runtimeDir,
  choice,
  kind,
  seconds,
  output,
  signal,
}: ProfileOptions): Promise<string> {
  const target = resolve(output);
  if (existsSync(target)) throw fail('InvalidInput', `${target} exists; name another file with --output`);
  const operator = await OperatorClient.open({ runtimeDir, ...choice });
  const partial = `${target}.${randomSuffix()}.partial`;
  const file = createWriteStream(partial, { flags: 'wx', mode: 0o600 });
  try {
    await once(file, 'open');
    const parts =
      kind === 'cpu'
        ? operator.parts('post /api/profiles/cpu', { query: { seconds } }, { signal })
        : operator.parts('post /api/profiles/heap', {}, { signal });
    for await (const part of parts) if (!file.write(part)) await once(file, 'drain');
    await finished(file.end());
    await rename(partial, target);
    return target;
  } finally {
    file.destroy();
    await rm(partial, { force: true });
  }
}
