// The file of packed weights that replicas share.
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isBuilt } from './fixtures/test-engine.ts';
import { cached } from './fixtures/test-whisper.ts';

const Packed = suite('a file of packed weights');
const real = cached('smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf');
const missing = !isBuilt
  ? 'the native addon is not built'
  : real === undefined
    ? 'the model smollm2-135m-instruct is missing'
    : process.platform === 'linux' && process.arch === 'x64'
      ? undefined
      : 'weights are packed into files on Linux only';

if (missing !== undefined || real === undefined) process.stdout.write(`SKIP a file of packed weights: ${missing}\n`);
else {
  const folder = mkdtempSync(join(tmpdir(), 'aana-packed-'));
  const model = join(folder, 'model.gguf');
  const file = `${model}.packed`;
  const modelMegabytes = statSync(real).size / 1e6;
  let expected = '';

  const load = async (packedPath = file): Promise<{ text: string; loaded: number }> => {
    const program = fileURLToPath(new URL('fixtures/load-packed.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program, model, packedPath]);
    return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as { text: string; loaded: number };
  };

  Packed.before(async () => {
    copyFileSync(real, model);
    const { text, loaded } = await load('');
    expected = text;
    assert.ok(loaded > modelMegabytes / 2, `packed weights are ${loaded} MB of the process`);
  });
  Packed.after(() => rmSync(folder, { recursive: true }));

  Packed('is written by the first process, and mapped by later ones, which write the same text', async () => {
    assert.is((await load()).text, expected);
    assert.equal((await readdir(folder)).sort(), ['model.gguf', 'model.gguf.packed']);
    const written = statSync(file);
    for (const { text, loaded } of await Promise.all([load(), load()])) {
      assert.is(text, expected);
      assert.ok(loaded < modelMegabytes / 2, `${loaded} MB of its own`);
    }
    assert.is(statSync(file).ino, written.ino);
  });

  Packed('is written once by processes that start together', async () => {
    await rm(file);
    const texts = await Promise.all([load(), load(), load()]);
    assert.equal(
      texts.map(({ text }) => text),
      [expected, expected, expected],
    );
    assert.is(texts.filter(({ loaded }) => loaded > modelMegabytes / 2).length, 0);
    assert.equal((await readdir(folder)).sort(), ['model.gguf', 'model.gguf.packed']);
  });

  const damages: readonly (readonly [title: string, damage: () => Promise<void> | void])[] = [
    ['was cut', () => truncateSync(file, statSync(file).size - 100)],
    ['is empty', () => truncateSync(file, 0)],
    ['is something else', () => writeFileSync(file, Buffer.alloc(statSync(file).size, 7))],
    ['is of the model before it changed', () => utimesSync(model, 1e9, 1e9)],
    [
      'was not on the disk when the machine stopped',
      async () => {
        // The trailer ends with the name of the machine's run, 40 bytes, and says before whether the disk has it.
        const handle = await open(file, 'r+');
        const trailer = statSync(file).size - 80;
        await handle.write(Buffer.alloc(4), 0, 4, trailer + 12);
        await handle.write('another run', trailer + 40);
        await handle.close();
      },
    ],
  ];
  for (const [title, damage] of damages)
    Packed(`is written again if it ${title}`, async () => {
      await load();
      await damage();
      const { ino } = statSync(file);
      assert.is((await load()).text, expected);
      assert.is.not(statSync(file).ino, ino);
      assert.is((await load()).text, expected);
    });

  Packed('is left out where it cannot be written', async () => {
    for (const path of [join(folder, 'none', 'x.packed'), folder, '/proc/x.packed'])
      assert.is((await load(path)).text, expected);
  });

  Packed('is written where a killed process left a part of it', async () => {
    await rm(file);
    writeFileSync(`${file}.making`, readFileSync(model).subarray(0, 1000));
    assert.is((await load()).text, expected);
    assert.equal((await readdir(folder)).sort(), ['model.gguf', 'model.gguf.packed']);
  });
}

Packed.run();
