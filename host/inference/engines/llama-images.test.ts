// Dialogs with images through deployments, with a tiny model in a replica process of its own.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testImage } from '../../../native/lib/fixtures/test-images.ts';
import { IMAGE_TOKENS, writeTinyProjector } from '../../../native/lib/fixtures/tiny-projector.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { artifactOf } from '../../io/artifacts/index.ts';
import type { DeploymentHandle, DeploymentManager } from '../deployments/index.ts';
import type { ChatOutputWithDetails, ImageReference } from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

const Images = suite('images in dialogs of deployments');
const folder = mkdtempSync(join(tmpdir(), 'aana-images-'));
const model = join(folder, 'model.gguf');
const mmproj = join(folder, 'mmproj.gguf');
let manager: DeploymentManager;
let llm: DeploymentHandle;

const deployment = (kwargs: object): DeploymentManager =>
  deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: model, model_kwargs: { n_ctx: 512, n_threads: 1, ...kwargs } },
  });

Images.before(async () => {
  writeTinyLlama(model);
  writeTinyProjector(mmproj);
  manager = deployment({ mmproj: 'auto' });
  await manager.start();
  llm = manager.handle('model');
});
Images.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

async function reference(seed: number, width?: number, height?: number): Promise<ImageReference> {
  const image = testImage(seed, width, height);
  const file = join(folder, `${seed}-${image.width}-${image.height}.rgb`);
  writeFileSync(file, image.pixels);
  const pixels = await artifactOf(tmpdir(), file, createHash('sha256').update(image.pixels).digest('hex'));
  return { pixels, width: image.width, height: image.height };
}

const seen = (image: unknown, text = 'Once upon a time') => ({
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', image },
        { type: 'text', text },
      ],
    },
  ],
});

const chat = (dialog: unknown, more: object = {}): Promise<ChatOutputWithDetails> =>
  llm.call('chat', { dialog, details: true, ...more } as never) as Promise<ChatOutputWithDetails>;

Images('an answer depends on the image, whose tokens are counted', async () => {
  const [lions, boats] = await Promise.all([reference(1), reference(2)]);
  const first = await chat(seen(lions));
  const blind = await chat({ messages: [{ role: 'user', content: [{ type: 'text', text: 'Once upon a time' }] }] });
  assert.is.not((await chat(seen(boats))).message.content, first.message.content);
  assert.is((await chat(seen(lions))).message.content, first.message.content);
  assert.ok(first.details!.usage.prompt_tokens >= blind.details!.usage.prompt_tokens + IMAGE_TOKENS);
  const { tokens } = (await llm.call('count_tokens', { dialog: seen(lions) } as never)) as { tokens: number };
  assert.is(tokens, first.details!.usage.prompt_tokens);
  const prefixed = await chat(seen(lions), { assistant_prefix: 'The cat', sampling_params: { n: 2, temperature: 1 } });
  assert.ok(prefixed.choices!.every(({ message }) => message.content.startsWith('The cat')));
});

Images('a reference that does not fit its file, or is none, is refused by name', async () => {
  const lions = await reference(1);
  const refused = async (image: unknown): Promise<{ name: string; message: string }> => {
    const { name, message } = await errorOf(chat(seen(image)));
    return { name, message };
  };
  assert.match((await refused({ ...lions, width: 63 })).message, /three bytes for each pixel/);
  assert.is((await refused({ ...lions, width: 0 })).name, 'ValidationError');
  assert.is((await refused({ ...lions, width: 1e6 })).name, 'ValidationError');
  assert.is((await refused(undefined)).name, 'ValidationError');
  const elsewhere = { ...lions, pixels: { ...lions.pixels, id: '../etc/passwd' } };
  assert.is((await refused(elsewhere)).name, 'ValidationError');
  const changed = { ...lions, pixels: { ...lions.pixels, sha256: '0'.repeat(64) } };
  assert.match((await refused(changed)).message, /another SHA-256/);
  const absent = { ...lions, pixels: { ...lions.pixels, id: 'aana-absent/1.rgb' } };
  assert.is((await refused(absent)).name, 'ArtifactNotFound');
  const many = {
    messages: [{ role: 'user', content: Array.from({ length: 65 }, () => ({ type: 'image', image: lions })) }],
  };
  assert.match((await errorOf(chat(many))).message, /more than 64 images and audio/);
  for (const content of [[null], [1], [{}], [[]], [{ type: 'image' }], 5, {}])
    assert.is((await errorOf(chat({ messages: [{ role: 'user', content }] }))).name, 'ValidationError');
  const sound = { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] };
  assert.match((await errorOf(chat(sound))).message, /must be "text", "image", "audio" or "video": .*"input_audio"/);
  const tokens = await errorOf(llm.call('tokenize', { dialog: seen(lions) } as never));
  assert.match(tokens.message, /the tokens of images and audio have no numbers/);
  assert.ok((await chat(seen(lions))).message.content.length > 0);
});

Images('a deployment without a projector says what to set, and a wrong one fails at the start', async () => {
  const blind = deployment({});
  try {
    await blind.start();
    const args = { dialog: seen(await reference(1)) };
    const { name, message } = await errorOf(blind.handle('model').call('chat', args as never));
    assert.is(name, 'ImagesNotSupported');
    assert.match(message, /set model_kwargs\.mmproj/);
  } finally {
    await blind.shutdown({ graceMs: 0 });
  }
  const wrong = deployment({ mmproj: model });
  try {
    assert.match((await errorOf(wrong.start())).message, /projector .*model\.gguf is not an encoder of images/);
  } finally {
    await wrong.shutdown({ graceMs: 0 });
  }
});

if (cannotRun !== undefined) skip('images in dialogs of deployments', cannotRun);
else Images.run();
