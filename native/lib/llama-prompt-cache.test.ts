// Prompts that an engine keeps on disk, for engines that are loaded later.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaLoadOptions } from './binding/index.ts';
import { writeAdapter } from './fixtures/tiny-adapter.ts';
import { endOf, isBuilt, rejection, sharedCells, TestEngine, tinyModel } from './fixtures/test-engine.ts';
import { writeTinyLlama } from './fixtures/tiny-llama.ts';

const Cache = suite('prompts of the llama engine on disk');
const root = mkdtempSync(join(tmpdir(), 'aana-prompts-'));
Cache.after(() => rmSync(root, { recursive: true }));
let folders = 0;
const newFolder = (): string => join(root, `cache-${(folders += 1)}`);

/** About 76 tokens, of which a file keeps 64. */
const beginning = 'Once upon a time there was a little girl who had a red ball and a big dog. '.repeat(4);
const TOKENS = 40;
const promptCache = (folder: string, maxBytes = 1e9): Partial<LlamaLoadOptions> => ({
  promptCache: { folder, maxBytes, minTokens: TOKENS },
});
const files = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith('.prompt'));

/** Runs a prompt in an engine of its own. Returns the text and how much of the prompt was restored. */
async function runOnce(
  prompt: string,
  changes: Partial<LlamaLoadOptions>,
  request: { readonly tenant?: string; readonly adapter?: { readonly index: number; readonly scale: number } } = {},
): Promise<{ text: string; cached: number; restored: number }> {
  await using llama = await TestEngine.load(changes);
  const generation = await llama.generate(prompt, { maxTokens: 12, ...request });
  const { restoredTokens } = llama.engine.counts;
  return { text: generation.text, cached: endOf(generation).reusedTokens, restored: restoredTokens };
}

function test(title: string, run: () => Promise<void>): void {
  if (isBuilt) Cache(title, run);
  else process.stdout.write(`SKIP ${title}: the native addon is not built\n`);
}

for (const [layout, changes] of [
  ['cells for each sequence', {}],
  ['shared cells', { totalCells: sharedCells }],
  ['few shared cells', { totalCells: 256 }],
] as const)
  test(`a prompt is there after a restart, and changes no text: ${layout}`, async () => {
    const folder = newFolder();
    const options = { ...changes, ...promptCache(folder) };
    const expected = await runOnce(`${beginning}The dog`, changes);
    const first = await runOnce(`${beginning}The cat`, options);
    assert.equal([first.restored, files(folder).length], [0, 1]);
    const second = await runOnce(`${beginning}The dog`, options);
    assert.ok(second.restored > TOKENS, `${second.restored} tokens`);
    assert.equal([second.text, second.cached, files(folder).length], [expected.text, second.restored, 1]);
  });

test('requests that come together read a file once', async () => {
  const options = { ...promptCache(newFolder()), maxSequences: 4 };
  await runOnce(`${beginning}The cat`, options);
  await using llama = await TestEngine.load(options);
  const ids = ['dog', 'bird', 'house', 'tree'].map((word) => llama.submit(`${beginning}The ${word}`, { maxTokens: 4 }));
  const reused = (await Promise.all(ids.map((id) => llama.finish(id)))).map((one) => endOf(one).reusedTokens);
  assert.ok(
    reused.every((tokens) => tokens > TOKENS),
    `${reused}`,
  );
  const { restoredTokens } = llama.engine.counts;
  assert.ok(restoredTokens > TOKENS && restoredTokens < 2 * TOKENS + 40, `${restoredTokens} tokens`);
});

test('a request can be cancelled while its prompt is read', async () => {
  const folder = newFolder();
  await runOnce(`${beginning}The cat`, promptCache(folder));
  await using llama = await TestEngine.load(promptCache(folder));
  for (let n = 0; n < 10; n++) {
    const id = llama.submit(`${beginning}The dog ${n}`);
    llama.engine.cancel(id);
    assert.is(endOf(await llama.finish(id)).reason, 'cancelled');
  }
  assert.ok(endOf(await llama.generate(`${beginning}The dog`)).completionTokens > 0);
});

const sighted = join(root, 'sighted.gguf');
writeTinyLlama(sighted, { hasImagePositions: true });
for (const [form, changes] of [
  ['cells for each sequence', {}],
  ['shared cells', { totalCells: sharedCells }],
  ['values in another order', { flashAttention: 'off' }],
  ['positions for images', { modelPath: sighted }],
] as const)
  test(`a dialog is written once, is there as a whole, and changes no text: ${form}`, async () => {
    const folder = newFolder();
    const written = new Map<string, number>();
    let dialog = '';
    for (let turn = 0; turn < 6; turn++) {
      dialog += `${turn} ${beginning}`;
      const options = { ...changes, contextTokens: 512, maxSequences: 2 + (turn % 2) };
      const { text, restored } = await runOnce(dialog, { ...options, ...promptCache(folder) });
      assert.ok(turn === 0 || restored > turn * TOKENS, `${restored} tokens in turn ${turn}`);
      if (turn % 2 === 1) assert.is(text, (await runOnce(dialog, options)).text, `turn ${turn}`);
      for (const name of files(folder)) {
        const { ino, birthtimeNs, size } = statSync(join(folder, name), { bigint: true });
        written.set(`${ino} ${birthtimeNs}`, Number(size));
      }
    }
    const there = files(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    const bytes = [...written.values()].reduce((sum, size) => sum + size);
    assert.is(bytes, there);
  });

test('short prompts are not kept', async () => {
  const folder = newFolder();
  await runOnce('Once upon a time', promptCache(folder));
  assert.equal(files(folder), []);
});

test('damaged and foreign files are ignored, and the prompt is computed', async () => {
  const expected = (await runOnce(`${beginning}The dog`, {})).text;
  const damages: ((path: string) => void)[] = [
    (path) => truncateSync(path, 20),
    (path) => truncateSync(path, statSync(path).size - 1),
    (path) => writeFileSync(path, ''),
    (path) => writeFileSync(path, Buffer.alloc(5000, 255)),
    (path) => {
      const bytes = readFileSync(path);
      bytes.writeUInt8(bytes.readUInt8(bytes.length - 9) ^ 64, bytes.length - 9);
      writeFileSync(path, bytes);
    },
  ];
  for (const [n, damage] of damages.entries()) {
    const folder = newFolder();
    await runOnce(`${beginning}The cat`, promptCache(folder));
    for (const name of files(folder)) damage(join(folder, name));
    const { text, restored } = await runOnce(`${beginning}The dog`, promptCache(folder));
    assert.equal([text, restored], [expected, 0], `damage ${n}`);
    assert.is(files(folder).length, 1); // the one of this request
  }
});

test('a file is of no use for another model, type of keys, adapter or tenant', async () => {
  const folder = newFolder();
  const options = promptCache(folder);
  const other = join(root, 'other.gguf');
  writeTinyLlama(other, { seed: 3 });
  const adapter = join(root, 'adapter.gguf');
  writeAdapter(adapter, tinyModel, { seed: 1, spread: 0.4 });
  const restored = async (...args: [Partial<LlamaLoadOptions>, Parameters<typeof runOnce>[2]?]): Promise<boolean> =>
    (await runOnce(`${beginning}The dog`, { ...options, ...args[0] }, args[1])).restored > 0;
  const adapted = { adapters: [adapter] };
  for (const run of [
    () => restored({}),
    () => restored({ modelPath: other }),
    () => restored(adapted, { adapter: { index: 0, scale: 1 } }),
    () => restored(adapted, { adapter: { index: 0, scale: 0.5 } }),
    () => restored({}, { tenant: 'one' }),
    () => restored({}, { tenant: 'other' }),
  ])
    assert.equal([await run(), await run()], [false, true], String(run));
});

test('the files keep to the limit', async () => {
  const folder = newFolder();
  await runOnce(`${beginning}The cat`, promptCache(folder));
  const [name = ''] = files(folder);
  const limit = 2.5 * statSync(join(folder, name)).size;
  for (let n = 0; n < 6; n++) await runOnce(`Story ${n} ${beginning}`, promptCache(folder, limit));
  const bytes = files(folder).reduce((sum, each) => sum + statSync(join(folder, each)).size, 0);
  assert.ok(bytes <= limit && files(folder).length === 2, `${bytes} of ${limit} bytes, ${files(folder).length} files`);
  const tiny = newFolder();
  await runOnce(beginning, promptCache(tiny, 1000));
  assert.equal(files(tiny), []);
});

test('a folder that cannot be used is refused with its name', async () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  for (const folder of [file, join(file, 'below')])
    assert.match(
      (await rejection(TestEngine.load(promptCache(folder)))).message,
      `prompts cannot be kept in the folder ${folder}`,
    );
  mkdirSync(join(root, 'empty'));
  await (await TestEngine.load(promptCache(join(root, 'empty')))).engine.close();
  const wrong = { folder: root, maxBytes: -1 };
  assert.match((await rejection(TestEngine.load({ promptCache: wrong }))).message, 'maxBytes');
});

Cache.run();
