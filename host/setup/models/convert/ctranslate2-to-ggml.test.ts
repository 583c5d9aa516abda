import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkModelFile } from './check-model-file.ts';
import { convertCtranslate2 } from './ctranslate2-to-ggml.ts';
import { type GgmlTensor, readGgmlHeader, readGgmlTensors } from './formats/ggml-file.ts';
import { writeTinyWhisper } from './make-whisper.test.fixture.ts';
import { PartedFile } from './formats/parted-file.ts';
import { quantizeGgml } from './quantize.ts';
import { messageOf } from '../fixtures/message-of.ts';

async function tensorsOf(file: string): Promise<GgmlTensor[]> {
  await using opened = await PartedFile.open([file]);
  const tensors: GgmlTensor[] = [];
  for await (const tensor of readGgmlTensors(opened, (await readGgmlHeader(opened)).end)) tensors.push(tensor);
  return tensors;
}

const Convert = suite<{ dir: string; out: string }>('convertCtranslate2');

Convert.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-convert-'));
  context.out = path.join(context.dir, 'out', 'model.bin');
});
Convert.after.each(async ({ dir }) => {
  await rm(dir, { recursive: true, force: true });
});

Convert(
  'writes the tensors in the published order, matrices as 16-bit and vectors as 32-bit floats',
  async ({ dir, out }) => {
    const { model, tokenizer } = await writeTinyWhisper(dir);
    const made = await convertCtranslate2({ model: [model], tokenizer }, out);
    assert.is(made.bytes, (await stat(out)).size);
    assert.is(await checkModelFile(out), 'whisper');
    const tensors = await tensorsOf(out);
    assert.is(tensors.length, 3 + 6 + 9 + 9 + 2 + 4 + 6 + 9 + 2);
    assert.equal(
      tensors.slice(0, 12).map(({ name }) => name),
      [
        'decoder.positional_embedding',
        'encoder.positional_embedding',
        'decoder.token_embedding.weight',
        'decoder.blocks.0.mlp_ln.weight',
        'decoder.blocks.0.mlp_ln.bias',
        'decoder.blocks.0.mlp.0.weight',
        'decoder.blocks.0.mlp.0.bias',
        'decoder.blocks.0.mlp.2.weight',
        'decoder.blocks.0.mlp.2.bias',
        'decoder.blocks.0.attn_ln.weight',
        'decoder.blocks.0.attn_ln.bias',
        'decoder.blocks.0.attn.query.weight',
      ],
    );
    const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
    assert.equal(byName.get('encoder.conv1.weight')?.dims, [3, 80, 64]);
    assert.equal(byName.get('encoder.conv1.bias')?.dims, [1, 64]);
    assert.is(byName.get('encoder.positional_embedding')?.type, 0);
    assert.is(byName.get('decoder.token_embedding.weight')?.type, 1);
    assert.not.ok(byName.has('encoder.blocks.0.attn.key.bias'));
  },
);

Convert('splits the fused layers by their rows', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir);
  await convertCtranslate2({ model: [model], tokenizer }, out);
  const source = await readFile(model);
  const at =
    source.indexOf('encoder/layer_0/self_attention/linear_0/weight\0') +
    'encoder/layer_0/self_attention/linear_0/weight\0'.length +
    1 +
    8 +
    1 +
    4;
  const fused = source.subarray(at, at + 3 * 64 * 64 * 2);
  const converted = await readFile(out);
  const tensors = await tensorsOf(out);
  const split = ['query', 'key', 'value'].map((part) => {
    const tensor = tensors.find(({ name }) => name === `encoder.blocks.0.attn.${part}.weight`);
    return converted.subarray(tensor?.offset, (tensor?.offset ?? 0) + (tensor?.bytes ?? 0));
  });
  assert.equal(Buffer.concat(split), fused);
});

Convert('reads a model in parts as it reads it whole', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir);
  const whole = await convertCtranslate2({ model: [model], tokenizer }, out);
  const data = await readFile(model);
  const parts = [path.join(dir, 'p1'), path.join(dir, 'p2'), path.join(dir, 'p3')];
  for (const [index, [from, to]] of [
    [0, 4321],
    [4321, 4_000_001],
    [4_000_001, data.length],
  ].entries())
    await writeFile(parts[index] ?? '', data.subarray(from, to));
  assert.is((await convertCtranslate2({ model: parts, tokenizer }, `${out}2`)).sha256, whole.sha256);
});

Convert('rounds a 32-bit model to 16 bits', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir, 'float32');
  await convertCtranslate2({ model: [model], tokenizer }, out);
  assert.is((await tensorsOf(out)).find(({ name }) => name === 'encoder.conv2.weight')?.type, 1);
});

Convert('refuses an 8-bit model and names its type', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir, 'int8');
  assert.match(
    await messageOf(convertCtranslate2({ model: [model], tokenizer }, out)),
    /^ModelFormatError: model\.bin: its weights are int8/,
  );
  assert.equal(await readdir(path.dirname(out)).catch(() => []), []);
});

for (const share of [0, 0.000001, 0.5, 0.999999]) {
  Convert(`throws for a model cut off after ${share * 100} % and leaves no file`, async ({ dir, out }) => {
    const { model, tokenizer } = await writeTinyWhisper(dir);
    await truncate(model, Math.floor((await stat(model)).size * share));
    assert.match(
      await messageOf(convertCtranslate2({ model: [model], tokenizer }, out)),
      /^ModelFormatError: model\.bin/,
    );
    assert.equal(await readdir(path.dirname(out)).catch(() => []), []);
  });
}

Convert('throws for a file that is not a model', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir);
  await writeFile(model, 'PK this is a different kind of file, of some length');
  assert.match(await messageOf(convertCtranslate2({ model: [model], tokenizer }, out)), /not a CTranslate2 model/);
});

Convert('throws for a missing tokenizer and names it', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir);
  await rm(tokenizer);
  assert.match(
    await messageOf(convertCtranslate2({ model: [model], tokenizer }, out)),
    /^ModelFormatError: tokenizer\.json/,
  );
});

Convert('leaves no file when it is aborted', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir);
  const controller = new AbortController();
  const reason = new Error('client went away');
  const options = {
    signal: controller.signal,
    onProgress: (bytes: number) => void (bytes > 1_000_000 && controller.abort(reason)),
  };
  assert.is(
    await convertCtranslate2({ model: [model], tokenizer }, out, options).catch((error: unknown) => error),
    reason,
  );
  assert.equal(await readdir(path.dirname(out)), []);
});

Convert('quantizing changes only matrices', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir);
  await convertCtranslate2({ model: [model], tokenizer }, out);
  await quantizeGgml(out, `${out}.q8`, 'q8_0');
  const types = new Map((await tensorsOf(`${out}.q8`)).map(({ name, type }) => [name, type]));
  assert.is(types.get('decoder.token_embedding.weight'), 8);
  assert.is(types.get('encoder.blocks.0.attn.key.weight'), 8);
  assert.is(types.get('encoder.conv1.weight'), 1);
  assert.is(types.get('encoder.conv1.bias'), 0);
  assert.is(types.get('decoder.positional_embedding'), 0);
  assert.is(await checkModelFile(`${out}.q8`), 'whisper');
  assert.match(await messageOf(quantizeGgml(`${out}.q8`, `${out}.again`, 'q5_1')), /only a 16-bit file/);
});

Convert('the check finds a truncated ggml file', async ({ dir, out }) => {
  const { model, tokenizer } = await writeTinyWhisper(dir);
  const { bytes } = await convertCtranslate2({ model: [model], tokenizer }, out);
  await truncate(out, bytes - 1);
  assert.match(await messageOf(checkModelFile(out)), /^ModelFormatError: model\.bin: the file is truncated/);
  assert.match(await messageOf(quantizeGgml(out, `${out}.q8`, 'q8_0')), /truncated/);
  assert.equal(await readdir(path.dirname(out)), ['model.bin']);
});

Convert.run();
