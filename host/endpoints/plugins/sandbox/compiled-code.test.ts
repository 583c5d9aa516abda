// Compiling: what is no component, limits, and the folder with compiled code.
import { spawnSync } from 'node:child_process';
import { chmod, chown, cp, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from '@bytecodealliance/jco-transpile/wasm-tools';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { smallDisk } from '../../../test/helpers/small-disk.ts';
import { skip } from '../../../test/skip.ts';
import { markUsed, tidyFolder } from './code-folder.ts';
import { compileComponent, type CompileLimits, describeComponent } from './compiled-code.ts';
import {
  answerOf,
  endpoint,
  go,
  offered,
  output,
  processLimits,
  sandbox,
  withBytes,
  withWat,
} from './fixtures/serve-component.ts';
import { SandboxProcess } from './sandbox-process.ts';
import { startComponent } from './start-component.ts';

const Compiling = suite('compiled code of components');
const plugin = 'test';
const guest = { go: '(i32.const 7)' };

async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-code-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const refusalOf = (bytes: Uint8Array, limits: Partial<CompileLimits> = {}): Promise<string> =>
  withBytes(bytes, async (component) => {
    const error = await errorOf(describeComponent({ sandbox, plugin, component, isFast: false, limits }));
    assert.is(error.name, 'PluginLoadError');
    return error.message;
  });

Compiling('what is no component is refused with the reason', async () => {
  const core = await parse('(module)');
  assert.is(await refusalOf(Buffer.from('')), 'plugin test has a component that cannot be used: it is not WebAssembly');
  assert.match(await refusalOf(Buffer.from('PK\x03\x04 a zip file')), /it is not WebAssembly$/);
  assert.match(
    await refusalOf(core),
    /it is a core module; a plugin of Extism says "runtime": "extism" in its plugin\.json$/,
  );
  const other = Uint8Array.from(await parse('(component)'));
  other[4] = 0x0e;
  assert.match(await refusalOf(other), /it is a component of another version of the format$/);
});

Compiling('a component that is cut or damaged is refused wherever it is cut', async () => {
  const whole = await withWat(guest, (file) => readFile(file));
  for (let length = 8; length < whole.length - 1; length += Math.ceil(whole.length / 12)) {
    // A cut between two sections leaves a component that lacks something.
    const message = await withBytes(whole.subarray(0, length), async (component) =>
      describeComponent({ sandbox, plugin, component }).then(
        ({ exports }) => (exports.length === 0 ? 'it cannot be compiled: nothing is exported' : 'it was accepted'),
        (error: Error) => error.message,
      ),
    );
    assert.match(message, /it cannot be compiled: ./, `cut after ${length} bytes`);
  }
});

Compiling('a component over the limits of size and of memory is refused', async () => {
  const large = Buffer.alloc(100_000);
  assert.match(
    await refusalOf(large, { componentBytes: 50_000 }),
    /cannot be used: it has more than 50000 bytes, which is the limit$/,
  );
  const body = '(i32.store (local.get 0) (i32.add (i32.load (local.get 0)) (i32.const 1)))'.repeat(20_000);
  const functions = Array.from({ length: 40 }, () => `(func (param i32) ${body})`).join('');
  const heavy = await parse(`(component (core module (memory 1) ${functions}))`);
  assert.match(
    await refusalOf(heavy, { memoryBytes: 8 * 1024 * 1024 }),
    /cannot be compiled: it takes more than 8388608 bytes of memory$/,
  );
  // On a busy machine it may get less than a fifth of a processor.
  const tooLong = /cannot be compiled: it (takes more than 1 s of computing|has not ended within 5 s)$/;
  assert.match(await refusalOf(heavy, { cpuSeconds: 1 }), tooLong);
});

Compiling('a component that is not there is named', async () => {
  const error = await errorOf(describeComponent({ sandbox, plugin, component: '/nowhere/a.wasm' }));
  assert.match(error.message, /has no component at \/nowhere\/a\.wasm; build it first$/);
});

Compiling('a component that is a pipe or a folder is refused', async () => {
  await withFolder(async (folder) => {
    const pipe = join(folder, 'pipe');
    spawnSync('mkfifo', [pipe]);
    for (const component of [pipe, folder])
      for (const compiled of [
        describeComponent({ sandbox, plugin, component }),
        compileComponent({ sandbox, plugin, component }, join(folder, 'code')),
      ]) {
        const error = await errorOf(compiled);
        assert.is(error.message, 'plugin test has a component that cannot be used: it is not a file');
      }
  });
});

/** Runs a script of the shell in place of the compiler. */
async function withScript<T>(script: string, use: (program: string, folder: string) => Promise<T>): Promise<T> {
  return withFolder(async (folder) => {
    const program = join(folder, 'program');
    await writeFile(program, `#!/bin/sh\n${script}\n`);
    await chmod(program, 0o755);
    return use(program, folder);
  });
}

Compiling('a compiler that does not end or says too much is ended', async () => {
  for (const [script, message] of [
    ['exec sleep 600', 'plugin test cannot be compiled: it has not ended within 0.1 s'],
    ['exec cat /dev/zero', 'plugin test has a component that cannot be used: its types have more than 8388608 bytes'],
  ] as const)
    await withScript(script, async (program) => {
      const limits = { cpuSeconds: script.includes('sleep') ? 0.02 : 100 };
      const options = { sandbox: { ...sandbox, program }, plugin, component: program, limits };
      const error = await errorOf(describeComponent(options));
      assert.equal([error.name, error.message], ['PluginLoadError', message]);
    });
});

Compiling('the code of a component that changes meanwhile is that of its name', async () => {
  await withWat(guest, async (component) => {
    const before = await readFile(component);
    // The file is another one before the compiler reads it.
    const script = `printf changed > '${component}'; exec '${sandbox.program}' "$@"`;
    await withScript(script, async (program, folder) => {
      const options = { sandbox: { ...sandbox, program }, plugin, component };
      const { code } = await compileComponent(options, join(folder, 'code'));
      assert.is(await readFile(component, 'utf8'), 'changed');
      await writeFile(component, before);
      assert.is((await compileComponent(options, join(folder, 'code'))).code, code);
      await using process = await SandboxProcess.start({
        command: { file: sandbox.program, args: [] },
        ...{ plugin, code, isFast: false, endpoint, output, types: offered },
        limits: processLimits,
      });
      assert.equal(answerOf(await go(process, '{}')), { ok: '7' });
    });
  });
});

Compiling('code is kept, and compiled again when it or what it is made of has changed', async () => {
  await withFolder((folder) =>
    withWat(guest, async (component) => {
      const options = { sandbox, plugin, component };
      const { code, types } = await compileComponent(options, folder);
      const made = (await readdir(folder)).sort();
      assert.is(made.length, 2);
      const again = await compileComponent(options, folder);
      assert.equal([again.code, again.types], [code, types]);
      assert.equal((await readdir(folder)).sort(), made);

      // Faster code is other code.
      assert.is.not((await compileComponent({ ...options, isFast: true }, folder)).code, code);

      const good = await readFile(code);
      for (const spoil of [() => writeFile(code, 'no code at all'), () => truncate(code, 1000), () => rm(code)]) {
        await spoil();
        assert.is((await compileComponent(options, folder)).code, code);
        assert.equal(await readFile(code), good);
      }
    }),
  );
});

Compiling('code that was made by another library or is damaged ends the start with the reason', async () => {
  await withFolder((folder) =>
    withWat(guest, async (component) => {
      const { code } = await compileComponent({ sandbox, plugin, component }, folder);
      const good = await readFile(code);
      const start = async (bytes: Uint8Array): Promise<string> => {
        const file = join(folder, 'changed.code');
        await writeFile(file, bytes);
        const options = {
          command: { file: sandbox.program, args: [] },
          plugin,
          code: file,
          isFast: false,
          endpoint,
          output,
          types: offered,
          limits: processLimits,
        };
        const error = await errorOf(SandboxProcess.start(options).then((process) => process.close()));
        return error.message;
      };
      const version = Buffer.from(good);
      const at = version.indexOf('\x0250');
      assert.ok(at > 0, 'the code names no version');
      version.write('\x0249', at);
      for (const bad of [version, good.subarray(0, 500), Buffer.from('nothing'), Buffer.alloc(0)])
        assert.match(
          await start(bad),
          /^plugin test cannot be run: its process ended with 5: its code cannot be loaded: /,
        );
    }),
  );
});

Compiling('code that is gone or cannot be loaded any more is compiled again when a process starts', async () => {
  await withFolder((folder) =>
    withWat(guest, async (component) => {
      const options = { sandbox, plugin, component };
      const compiled = await compileComponent(options, folder);
      const good = await readFile(compiled.code);
      const start = { endpoint, output, types: offered, limits: processLimits };
      const spoilers = [() => rm(compiled.code), () => writeFile(compiled.code, good.subarray(0, 500))];
      for (const spoil of spoilers) {
        await spoil();
        await using process = await startComponent(compiled, options, folder, start);
        assert.equal(answerOf(await go(process, '{}')), { ok: '7' });
        assert.equal(await readFile(compiled.code), good);
      }
      // Another component has other code, whose types were not compared.
      await withWat({ go: '(i32.const 8)' }, async (other) => cp(other, component));
      for (const spoil of spoilers) {
        await spoil();
        const error = await errorOf(startComponent(compiled, options, folder, start));
        assert.match(error.message, /has no compiled code that can be read at|its code cannot be loaded/);
      }
    }),
  );
});

Compiling('a folder that others can write to is refused', async () => {
  await withFolder((folder) =>
    withWat(guest, async (component) => {
      await chmod(folder, 0o777);
      const error = await errorOf(compileComponent({ sandbox, plugin, component }, folder));
      assert.match(error.message, /cannot be compiled: others can write to .*: run chmod 700 on it, or remove it$/);
    }),
  );
});

Compiling('code that others can write to is not loaded', async () => {
  await withFolder((folder) =>
    withWat(guest, async (component) => {
      const options = { sandbox, plugin, component };
      const compiled = await compileComponent(options, folder);
      const refuses = async (): Promise<void> => {
        const start = { endpoint, output, types: offered, limits: processLimits };
        const error = await errorOf(startComponent(compiled, options, folder, start));
        assert.match(error.message, /its compiled code is not a file that only this user can write to$/);
      };
      await chmod(compiled.code, 0o620);
      await refuses();
      await chmod(compiled.code, 0o600);
      // Another user has put a file in its place, in a folder that this user cannot protect.
      if (process.getuid?.() !== 0) return skip('code of another user', 'this process may not give files away');
      await chown(compiled.code, 65_534, 65_534);
      await refuses();
    }),
  );
});

Compiling('what an ended host has left is removed, and what another one writes is not', async () => {
  await withFolder((folder) =>
    withWat(guest, async (component) => {
      await writeFile(join(folder, '.old'), 'code');
      await utimes(join(folder, '.old'), 0, 0);
      await writeFile(join(folder, '.new'), 'code');
      await compileComponent({ sandbox, plugin, component }, folder);
      assert.equal(
        (await readdir(folder)).filter((name) => name.startsWith('.')),
        ['.new'],
      );
    }),
  );
});

Compiling('code that was not used for longest is removed when there is much of it', async () => {
  await withFolder(async (folder) => {
    const now = Date.now() / 1000;
    const hour = 60 * 60;
    const make = async (name: string, hours: number): Promise<void> => {
      await writeFile(join(folder, name), 'x'.repeat(100));
      await utimes(join(folder, name), now - hours * hour, now - hours * hour);
    };
    const nameOf = (digit: number, kind: string): string => `${String(digit).repeat(64)}.${kind}`;
    await make(nameOf(1, 'code'), 30);
    await make(nameOf(2, 'json'), 50);
    await make(nameOf(3, 'code'), 40);
    await make(nameOf(4, 'code'), 23);
    await make('of others', 60);
    const left = async (maxBytes: number): Promise<readonly string[]> => {
      await tidyFolder(folder, maxBytes);
      return (await readdir(folder)).sort();
    };
    const all = [nameOf(1, 'code'), nameOf(2, 'json'), nameOf(3, 'code'), nameOf(4, 'code'), 'of others'];
    assert.equal(await left(400), all);
    assert.equal(await left(399), [all[0], all[2], all[3], all[4]]);
    await markUsed(join(folder, nameOf(3, 'code')), join(folder, 'not there'));
    assert.equal(await left(0), [all[2], all[3], all[4]]);
  });
});

Compiling('a component that is loaded again is used', async () => {
  await withFolder((folder) =>
    withWat(guest, async (component) => {
      const options = { sandbox, plugin, component };
      await compileComponent(options, folder);
      for (const name of await readdir(folder)) await utimes(join(folder, name), 0, 0);
      await compileComponent(options, folder);
      for (const name of await readdir(folder)) assert.ok((await stat(join(folder, name))).mtimeMs > 0, name);
    }),
  );
});

Compiling('a full disk is named, and nothing is left on it', async () => {
  using disk = smallDisk(16);
  if (!disk) return skip('code on a full disk', 'this process may not mount a disk');
  await withWat(guest, async (component) => {
    const folder = join(disk.folder, 'code');
    const error = await errorOf(compileComponent({ sandbox, plugin, component }, folder));
    assert.match(error.message, /no space is left/);
    assert.equal(await readdir(folder), []);
  });
});

Compiling('fast code runs, too', async () => {
  await withFolder((folder) =>
    withWat(guest, async (component) => {
      // The program may lie anywhere, with its library.
      const moved = join(folder, 'program');
      await cp(join(sandbox.program, '..'), moved, { recursive: true });
      const program = join(moved, 'aana-sandbox');
      const options = { sandbox: { ...sandbox, program }, plugin, component, isFast: true };
      const { code } = await compileComponent(options, join(folder, 'code'));
      await using process = await SandboxProcess.start({
        command: { file: program, args: [] },
        ...{ plugin, code, isFast: true, endpoint, output, types: offered, limits: processLimits },
      });
      assert.equal(answerOf(await go(process, '{}')), { ok: '7' });
    }),
  );
});

Compiling.run();
