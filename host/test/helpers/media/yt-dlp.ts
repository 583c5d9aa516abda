import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runContained } from '../../../processes/index.ts';

/**
 * Returns the yt-dlp that the environment names, else the published one, which is installed once into the cache;
 * `undefined` if the test should be skipped.
 */
export async function testYtDlp(): Promise<string | undefined> {
  const given = process.env['AANA_TEST_YT_DLP'];
  if (given) return given;
  const folder = join(process.env['AANA_CACHE_DIR'] || tmpdir(), 'test-yt-dlp');
  const program = join(folder, 'yt-dlp');
  if (existsSync(program)) return program;
  const fresh = `${folder}-${process.pid}`;
  try {
    await mkdir(fresh, { recursive: true });
    const { code } = await runContained(
      'python3',
      ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', join(fresh, 'lib'), 'yt-dlp'],
      { timeoutMs: 120_000 },
    );
    if (code !== 0) return undefined;
    await writeFile(
      join(fresh, 'yt-dlp'),
      `#!/bin/sh\nPYTHONPATH="${join(folder, 'lib')}" exec python3 -m yt_dlp "$@"\n`,
    );
    await chmod(join(fresh, 'yt-dlp'), 0o755);
    await rename(fresh, folder);
    return program;
  } catch {
    return existsSync(program) ? program : undefined;
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}
