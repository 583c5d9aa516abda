import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../base/core/package-root.ts';

const folder = join(packageRoot, 'host/bench/fixtures/http-component');
const jcoFolder = join(packageRoot, 'node_modules/@bytecodealliance/jco');

export const jcoProgram = join(jcoFolder, 'dist/jco.js');

/**
 * Returns the path of the wasi:http component for `jco serve`, which is kept in the cache. StarlingMonkey makes it,
 * because componentize-qjs cannot link wasi:http. It is made without `fetch-event`, because such a component answers
 * only one request.
 */
export async function httpComponent(cacheDir: string): Promise<string> {
  const sources = await Promise.all(
    [join(folder, 'noop.js'), join(folder, 'world.wit'), join(jcoFolder, 'package.json')].map((file) => readFile(file)),
  );
  const digest = createHash('sha256').update(Buffer.concat(sources)).digest('hex').slice(0, 16);
  const component = join(cacheDir, 'bench', `http-noop-${digest}.wasm`);
  const isThere = await access(component).then(
    () => true,
    () => false,
  );
  if (isThere) return component;
  await mkdir(join(cacheDir, 'bench'), { recursive: true });
  const work = await mkdtemp(join(tmpdir(), 'aana-bench-'));
  try {
    const interfaces = join(jcoFolder, 'lib/wit/builtin/0.2.12');
    for (const name of await readdir(interfaces))
      await cp(join(interfaces, name), join(work, 'wit/deps', name), { recursive: true });
    await cp(join(folder, 'world.wit'), join(work, 'wit/world.wit'));
    const made = `${component}.${process.pid}`;
    await promisify(execFile)(process.execPath, [
      jcoProgram,
      'componentize',
      join(folder, 'noop.js'),
      '--wit',
      join(work, 'wit'),
      '-n',
      'bench',
      '-d',
      'fetch-event',
      'random',
      'stdio',
      '-o',
      made,
    ]);
    await rename(made, component);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return component;
}
