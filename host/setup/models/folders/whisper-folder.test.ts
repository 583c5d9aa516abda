import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { writeTinyTransformers } from '../convert/transformers/make-transformers.test.fixture.ts';
import { writeTinyWhisper } from '../convert/make-whisper.test.fixture.ts';
import { messageOf } from '../fixtures/message-of.ts';
import { ModelStore, type ResolvedModel } from '../store.ts';

const Folders = suite<{ dir: string; store: ModelStore; folder: string }>('folders with Whisper models');

Folders.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-folders-'));
  context.folder = path.join(context.dir, 'mine', 'fine-tuned');
  context.store = new ModelStore({ cacheDir: path.join(context.dir, 'cache'), log: silentLogger, offline: true });
});
Folders.after.each(async ({ dir }) => {
  await rm(dir, { recursive: true, force: true });
});

const facts = ({ kind, bytes, sha256 }: ResolvedModel): object => ({ kind, bytes, sha256 });

Folders('the path of a folder is a model, which is converted once for each type', async ({ store, folder }) => {
  await writeTinyTransformers(folder, { type: 'F16', shards: 2 });
  const small = await store.pull(folder);
  const whole = await store.pull(folder, { whisperType: 'f16' });
  assert.equal([path.basename(small.path), path.basename(whole.path)], ['fine-tuned@q8_0.bin', 'fine-tuned@f16.bin']);
  assert.ok(small.bytes < whole.bytes * 0.7);
  const stages: (string | undefined)[] = [];
  const again = await store.pull(folder, { onProgress: (_bytes, _total, stage) => stages.push(stage) });
  assert.equal([again, [...new Set(stages)]], [small, ['hashing']]);
  const rows = (await store.list()).filter(({ kind, state }) => kind === 'whisper' && state === 'present');
  assert.equal(rows.map(({ id }) => id).toSorted(), [`${folder}@f16`, `${folder}@q8_0`]);
  await store.remove(`${folder}@f16`);
  assert.is(await store.resolve(`${folder}@f16`), undefined);
});

Folders('a folder of CTranslate2 has the same model', async ({ store, folder, dir }) => {
  await writeTinyTransformers(folder, { type: 'F16' });
  await writeTinyWhisper(path.join(dir, 'other'));
  assert.equal(facts(await store.pull(path.join(dir, 'other'))), facts(await store.pull(folder)));
  assert.equal(facts(await store.import(folder)), facts(await store.pull(folder, { whisperType: 'f16' })));
  assert.is((await store.import(folder, { id: 'small', quantize: 'q5_1' })).kind, 'whisper');
});

Folders('a folder that changed is converted again', async ({ store, folder }) => {
  await writeTinyTransformers(folder, { type: 'F16' });
  const before = await store.pull(folder);
  await writeTinyTransformers(folder, { type: 'F32' });
  await utimes(path.join(folder, 'model.safetensors'), 0, 0);
  assert.is.not((await store.pull(folder)).path, before.path);
});

Folders('its files may be links, as in the cache of the hub', async ({ store, folder, dir }) => {
  await writeTinyTransformers(folder, { type: 'F16' });
  const links = path.join(dir, 'snapshot');
  await mkdir(links);
  for (const name of await readdir(folder)) await symlink(path.join(folder, name), path.join(links, name));
  assert.equal(facts(await store.pull(links)), facts(await store.pull(folder)));
});

Folders('calls at the same time convert it once', async ({ store, folder }) => {
  await writeTinyTransformers(folder, { type: 'F16' });
  const all = await Promise.all([1, 2, 3].map(() => store.pull(folder)));
  assert.equal(all, [all[0], all[0], all[0]]);
});

const index = (files: unknown): string => JSON.stringify({ weight_map: files });
const refusals: readonly [what: string, files: Readonly<Record<string, string>>, message: RegExp][] = [
  ['that is empty', {}, /has no model\.bin of CTranslate2 and no model\.safetensors of Transformers$/],
  ['with an adapter', { 'adapter_model.safetensors': '' }, /merge it into its model/],
  ['with weights of PyTorch', { 'pytorch_model.bin': '' }, /save them as safetensors/],
  ['with a file that is no model', { 'model.safetensors': 'no model', 'config.json': '{}' }, /config\.json: /],
  ['whose index is no JSON', { 'model.safetensors.index.json': '{' }, /index\.json: it is not JSON/],
  ['whose index has no files', { 'model.safetensors.index.json': index({}) }, /index\.json: it lists no files/],
  ['whose index is a list', { 'model.safetensors.index.json': '[]' }, /index\.json: it lists no files/],
  [
    'whose index leads out of it',
    { 'model.safetensors.index.json': index({ a: '../secret.safetensors' }) },
    /index\.json: "\.\.\/secret\.safetensors" is not the name of a safetensors file beside it/,
  ],
  [
    'whose index names another kind of file',
    { 'model.safetensors.index.json': index({ a: 'pytorch_model.bin' }) },
    /"pytorch_model\.bin" is not the name/,
  ],
  ['whose index has a number', { 'model.safetensors.index.json': index({ a: 5 }) }, /5 is not the name/],
  [
    'whose index names a file that is missing',
    { 'model.safetensors.index.json': index({ a: 'a.safetensors' }) },
    /a\.safetensors: the file of the model is missing/,
  ],
];
for (const [what, files, message] of refusals)
  Folders(`refuses a folder ${what}`, async ({ store, folder, dir }) => {
    await mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
    for (const error of [await messageOf(store.pull(folder)), await messageOf(store.import(folder))]) {
      assert.match(error, /^ModelFormatError: /);
      assert.match(error, message);
    }
    assert.equal(
      (await readdir(path.join(dir, 'cache'), { recursive: true })).filter((name) =>
        /\.(bin|making|whole)$/.test(name),
      ),
      [],
    );
  });

Folders('refuses a type of weights that it cannot write', async ({ store, folder }) => {
  await writeTinyTransformers(folder, { type: 'F16' });
  assert.match(
    await messageOf(store.pull(folder, { whisperType: 'q5_0' })),
    /^InvalidInput: .* is converted to weights of the types f16, q8_0, q5_1, but not to q5_0/,
  );
});

Folders.run();
