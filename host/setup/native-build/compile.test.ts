import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { compile } from './compile.ts';

const Compile = suite('compile');

Compile('builds with the given variables, also in a folder with an earlier build', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'aana-compile-'));
  try {
    await writeFile(join(directory, 'package.json'), '{"name":"tiny","binary":{"napi_versions":[8]}}');
    await writeFile(
      join(directory, 'CMakeLists.txt'),
      'cmake_minimum_required(VERSION 3.19)\nproject(tiny NONE)\nset(GREETING "" CACHE STRING "")\nfile(WRITE ' +
        '${CMAKE_BINARY_DIR}/greeting "${GREETING}")\n',
    );
    const out = join(directory, 'build');
    for (const GREETING of ['hello', 'good morning']) {
      await compile({
        ...{ title: 'a tiny project', directory, out, jobs: 1, log: silentLogger, env: process.env },
        definitions: { GREETING },
      });
      assert.is(await readFile(join(out, 'greeting'), 'utf8'), GREETING);
    }
  } finally {
    await rm(directory, { recursive: true });
  }
});

Compile.run();
