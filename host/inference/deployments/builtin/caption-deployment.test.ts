// Captions through a real deployment of a language model with an encoder of images. The weights are random, so this
// shows what is asked and answered, and says nothing about the captions.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testImage } from '../../../../native/lib/fixtures/test-images.ts';
import { writeTinyLlama } from '../../../../native/lib/fixtures/tiny-llama.ts';
import { writeTinyProjector } from '../../../../native/lib/fixtures/tiny-projector.ts';
import type { ChatOutput, ImageReference } from '../../../base/schemas/index.ts';
import { artifactOf } from '../../../io/artifacts/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { skip } from '../../../test/skip.ts';
import { cannotRun } from '../../engines/fixtures/cannot-run.ts';
import { deployed } from '../../engines/fixtures/real-models.ts';
import type { DeploymentManager } from '../manager/deployment-manager.ts';
import { CaptionDeployment } from './caption-deployment.ts';

const Captions = suite('a deployment that says what images show');
const folder = mkdtempSync(join(tmpdir(), 'aana-captions-'));
const model = join(folder, 'model.gguf');
const PROMPT = 'What is it?';
let manager: DeploymentManager;

/** Returns a manager with the language model as `model`. */
const withModel = (kwargs: object): DeploymentManager =>
  deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: model, model_kwargs: { n_ctx: 512, n_threads: 1, ...kwargs } },
  });

Captions.before(async () => {
  writeTinyLlama(model);
  writeTinyProjector(join(folder, 'mmproj.gguf'));
  manager = withModel({ mmproj: 'auto' });
  const user_config = { prompt: PROMPT, max_new_tokens: 8, batch_size: 2 };
  manager.register('captions', { type: 'CaptionDeployment', handles: { vision: 'model' }, user_config });
  await manager.start();
});
Captions.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

async function image(seed: number): Promise<ImageReference> {
  const { pixels, width, height } = testImage(seed);
  const file = join(folder, `${seed}.rgb`);
  writeFileSync(file, pixels);
  return { pixels: await artifactOf(tmpdir(), file, createHash('sha256').update(pixels).digest('hex')), width, height };
}

/** Returns what the model itself answers. */
async function answered(shown: ImageReference, maxTokens = 8): Promise<string> {
  const content = [
    { type: 'image', image: shown },
    { type: 'text', text: PROMPT },
  ];
  const { message } = (await manager.handle('model').call('chat', {
    dialog: { messages: [{ role: 'user', content }] },
    sampling_params: { temperature: 0, max_tokens: maxTokens },
  })) as ChatOutput;
  return message.content.trim();
}

Captions('gives the answers of the model to the prompt, in the order of the images', async () => {
  const images = await Promise.all([1, 2, 3].map(image));
  const expected = await Promise.all(images.map((each) => answered(each)));
  assert.ok(new Set(expected).size > 1, 'the answers depend on the image');
  const captions = manager.handle('captions');
  assert.equal(await captions.call('generate_captions', { image: images[1] }), { caption: expected[1] });
  const told: number[] = [];
  const batch = captions.call(
    'generate_captions_batch',
    { images },
    { onProgress: ({ fraction }) => void (fraction !== undefined && told.push(fraction)) },
  );
  assert.equal(await batch, { captions: expected });
  assert.is(told.at(-1), 1);
});

Captions('a changed length applies to running replicas', async () => {
  const config = { prompt: PROMPT, max_new_tokens: 2 };
  const report = await manager.update(
    'captions',
    CaptionDeployment.options({ handles: { vision: 'model' }, user_config: config }),
  );
  assert.equal([report.outcome, report.how], ['updated', 'in-place'], report.reason);
  const shown = await image(1);
  assert.equal(await manager.handle('captions').call('generate_captions', { image: shown }), {
    caption: await answered(shown, 2),
  });
});

Captions('refuses no images, too many, and what is none', async () => {
  const captions = manager.handle('captions');
  const shown = await image(1);
  for (const images of [[], Array.from({ length: 257 }, () => shown), [shown, { path: '/a' }]])
    assert.is((await errorOf(captions.call('generate_captions_batch', { images }))).name, 'ValidationError');
});

Captions(
  'passes on what a model says that sees no images, and starts with nothing else than a model for chats',
  async () => {
    const blind = withModel({});
    blind.register('captions', CaptionDeployment.options({ handles: { vision: 'model' } }));
    blind.register('wrong', CaptionDeployment.options({ handles: { vision: 'captions' } }));
    const error = await errorOf(blind.start());
    assert.match(error.message, /handles\.vision: the deployment captions has no method chat/);
    await blind.shutdown({ graceMs: 0 });

    const other = withModel({});
    other.register('captions', CaptionDeployment.options({ handles: { vision: 'model' } }));
    await other.start();
    const call = other.handle('captions').call('generate_captions', { image: await image(1) });
    assert.is((await errorOf(call)).name, 'ImagesNotSupported');
    await other.shutdown({ graceMs: 0 });
  },
);

if (cannotRun !== undefined) skip('a deployment that says what images show', cannotRun);
else Captions.run();
