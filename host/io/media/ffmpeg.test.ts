import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import { type Logger, silentLogger } from '../../base/core/log/logger.ts';
import { runContained } from '../../base/processes/index.ts';
import { findFfmpeg } from './ffmpeg.ts';

const Find = suite('findFfmpeg');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
Find.after(() => rmSync(folder, { recursive: true }));

function program(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const working = program('working', 'echo "ffmpeg version 9.8.7-test Copyright"');
const broken = program('broken', 'exit 1');

Find('uses only the configured program', async () => {
  assert.equal(await findFfmpeg({ configured: working, cached: broken, log: silentLogger }), {
    path: working,
    source: 'configured',
    version: '9.8.7-test',
  });
});

Find('fails when the configured program is missing or does not run, and names it', async () => {
  for (const configured of [broken, join(folder, 'missing')]) {
    const error = await findFfmpeg({ configured, cached: working, log: silentLogger }).catch(
      (thrown: unknown) => thrown,
    );
    assert.ok(
      error instanceof AanaError && error.name === 'FfmpegNotFound' && error.message.includes(configured),
      String(error),
    );
  }
});

Find('tries the cached program after ffmpeg-static and the system', async () => {
  const found = await findFfmpeg({ cached: working, log: silentLogger });
  assert.ok(found);
  if (found.source === 'cached') assert.is(found.path, working);
  else assert.ok(['ffmpeg-static', 'system'].includes(found.source));
});

Find('prefers ffmpeg-static to the PATH, and skips the package if its script fetched no file', async () => {
  // The package gives FFMPEG_BIN instead of the file that its install script fetches.
  const module = JSON.stringify(new URL('./ffmpeg.js', import.meta.url).href);
  const bin = join(folder, 'system-bin');
  await runContained('sh', ['-c', `mkdir -p ${bin} && cp ${working} ${bin}/ffmpeg`]);
  const find = async (fetched: string): Promise<unknown> => {
    const code = `import(${module}).then(async ({ findFfmpeg }) => {
      const log = { warn() {}, info(...line) { console.error(JSON.stringify(line)) }, debug() {}, error() {} };
      console.log(JSON.stringify(await findFfmpeg({ log })));
    })`;
    const { stdout, stderr } = await runContained(process.execPath, ['-e', code], {
      env: { PATH: `${bin}:${process.env['PATH']}`, FFMPEG_BIN: fetched },
    });
    const found = JSON.parse(stdout.toString()) as unknown;
    assert.equal(JSON.parse(stderr), ['ffmpeg found', found]);
    return found;
  };
  const fetched = program('fetched', 'echo "ffmpeg version 6.1-static"');
  const hasPackage = await import('ffmpeg-static' as string).then(
    () => true,
    () => false,
  );
  if (hasPackage) assert.equal(await find(fetched), { path: fetched, source: 'ffmpeg-static', version: '6.1-static' });
  assert.equal(await find(join(folder, 'absent')), {
    path: join(bin, 'ffmpeg'),
    source: 'system',
    version: '9.8.7-test',
  });
});

Find('prefers the PATH to the cached program, and returns undefined without any', async () => {
  const onPath = join(folder, 'bin');
  const module = JSON.stringify(new URL('./ffmpeg.js', import.meta.url).href);
  const find = async (path: string, cached: string | null): Promise<unknown> => {
    const code = `import(${module}).then(async ({ findFfmpeg }) => {
      const log = { warn() {}, info() {}, debug() {}, error() {} };
      console.log(JSON.stringify((await findFfmpeg({ cached: ${JSON.stringify(cached)}, log })) ?? null));
    })`;
    const { stdout } = await runContained(process.execPath, ['-e', code], { env: { PATH: path } });
    return JSON.parse(stdout.toString());
  };
  const shells = join(folder, 'shells'); // a PATH with a shell and no ffmpeg
  await runContained('sh', [
    '-c',
    `mkdir -p ${onPath} ${shells} && cp ${working} ${onPath}/ffmpeg && ln -s "$(command -v sh)" ${shells}/sh`,
  ]);
  const nothing = (await find(shells, null)) as { source: string } | null;
  if (nothing?.source === 'ffmpeg-static') return; // installed on this machine: it comes before any PATH
  assert.is(nothing, null);
  assert.equal(await find(`${onPath}:${shells}`, working), {
    path: join(onPath, 'ffmpeg'),
    source: 'system',
    version: '9.8.7-test',
  });
});

Find('skips a program that does not run, and logs it', async () => {
  const lines: unknown[] = [];
  const log: Logger = { ...silentLogger, warn: (message, fields) => lines.push([message, fields?.['path']]) };
  const found = await findFfmpeg({ cached: broken, log });
  if (found) assert.is.not(found.path, broken);
  else assert.equal(lines, [['ffmpeg does not run', broken]]);
});

Find.run();
