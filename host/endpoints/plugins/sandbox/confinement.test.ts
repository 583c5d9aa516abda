import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { confinementHere, missingConfinement, requireConfinement } from './confinement.ts';
import { sandbox, serveWat, waiting } from './fixtures/serve-component.ts';

const Confined = suite('the confinement of plugins');

const whole = { noNewPrivileges: true, seccomp: true, landlock: 1, memoryLimit: true };

Confined('the report has what a process that runs a plugin says', async () => {
  await using process = await serveWat(waiting);
  assert.equal(await confinementHere(sandbox.program), process.facts.confinement);
});

Confined('the report says why the sandbox cannot run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-confinement-'));
  try {
    // The library reserves more addresses than this shell may.
    const limited = join(folder, 'limited');
    await writeFile(limited, `#!/bin/sh\nulimit -v 4000000\nexec ${sandbox.program} "$@"\n`);
    await chmod(limited, 0o755);
    const report = await confinementHere(limited);
    assert.match('problem' in report ? report.problem : '', /SIGABRT.*mmap failed to reserve/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

Confined('a plugin is refused only if the whole confinement is required and a part of it is missing', () => {
  requireConfinement('mine', whole, 'require');
  const partial = { ...whole, landlock: 0, memoryLimit: false };
  requireConfinement('mine', partial, 'prefer');
  assert.throws(
    () => requireConfinement('mine', partial, 'require'),
    (error: Error) =>
      error.name === 'PluginLoadError' &&
      /^plugin mine cannot be confined .*Landlock.*RLIMIT_DATA.*plugin_confinement to prefer$/.test(error.message) &&
      !/seccomp|new privileges/.test(error.message),
  );
  assert.is(missingConfinement({ noNewPrivileges: false, seccomp: false, landlock: 0, memoryLimit: false }).length, 4);
});

Confined.run();
