import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pythonPackages } from '../installed-packages.ts';

/**
 * Returns the yt-dlp that the environment names, else the published one, which is installed once into the cache;
 * `undefined` if the test should be skipped.
 */
export async function testYtDlp(): Promise<string | undefined> {
  const given = process.env['AANA_TEST_YT_DLP'];
  if (given) return given;
  const folder = await pythonPackages('test-yt-dlp', '--no-deps', 'yt-dlp');
  if (folder === undefined) return undefined;
  const program = join(folder, 'yt-dlp');
  if (!existsSync(program)) {
    const fresh = `${program}-${process.pid}`;
    const script = `#!/bin/sh\nPYTHONPATH="${join(folder, 'lib')}" exec python3 -m yt_dlp "$@"\n`;
    await writeFile(fresh, script, { mode: 0o755 });
    await rename(fresh, program);
  }
  return program;
}
