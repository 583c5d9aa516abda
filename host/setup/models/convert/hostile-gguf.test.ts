// Two readers meet GGUF files: ours, which checks what is imported, and ggml's in the engine. They get the same files.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isBuilt, TestEngine, tinyModel } from '../../../../native/lib/fixtures/test-engine.ts';
import { GgufReader } from '../../../base/core/model-files/gguf.ts';
import { skip } from '../../../test/skip.ts';
import { checkModelFile } from './check-model-file.ts';

const TITLE = 'hostile GGUF files';
const Hostile = suite(TITLE);
const folder = mkdtempSync(join(tmpdir(), 'aana-hostile-gguf-'));
Hostile.after(() => rmSync(folder, { recursive: true }));
const whole = readFileSync(tinyModel);

/** Returns whether our check takes a file of these bytes, and whether the engine loads it. */
async function verdicts(bytes: Buffer): Promise<{ readonly check: boolean; readonly engine: boolean }> {
  const modelPath = join(folder, 'model.gguf');
  writeFileSync(modelPath, bytes);
  const isTaken = (work: Promise<unknown>): Promise<boolean> =>
    work.then(
      () => true,
      () => false,
    );
  const load = async (): Promise<void> => {
    await using engine = await TestEngine.load({ modelPath });
    void engine;
  };
  return { check: await isTaken(checkModelFile(modelPath)), engine: await isTaken(load()) };
}

function withFlipped(at: number, bits: number): Buffer {
  const changed = Buffer.from(whole);
  changed[at]! ^= bits;
  return changed;
}

Hostile('are taken by both when they are whole, and by neither when they end early', async () => {
  assert.equal(await verdicts(whole), { check: true, engine: true });
  for (let part = 0; part < 20; part += 1) {
    const length = Math.floor((whole.length * part) / 20);
    assert.equal(await verdicts(whole.subarray(0, length)), { check: false, engine: false }, `${length} bytes`);
  }
});

// Not in the metadata, because llama.cpp ends the process for a vocabulary with the same token twice.
Hostile(
  'with another byte in the head or in the table of tensors are loaded only if the check takes them',
  async () => {
    const reader = new GgufReader({
      bytes: whole.length,
      read: async (offset, length) => whole.subarray(offset, offset + length),
    });
    const { tensorCount } = await reader.metadata();
    const table = reader.at;
    for (let index = 0; index < tensorCount; index += 1) await reader.tensor();
    const places = [...Array(24).keys()];
    for (let at = table; at < reader.at; at += 23) places.push(at);
    let refused = 0;
    for (const at of places)
      for (const bits of [0x01, 0x80]) {
        const { check, engine } = await verdicts(withFlipped(at, bits));
        assert.ok(check || !engine, `the engine loads what the check refuses: byte ${at}, bits ${bits}`);
        if (!check) refused += 1;
      }
    assert.ok(refused > places.length / 2, 'the check refuses many of them');
  },
);

if (isBuilt) Hostile.run();
else {
  rmSync(folder, { recursive: true });
  skip(TITLE, 'the native addon is not built');
}
