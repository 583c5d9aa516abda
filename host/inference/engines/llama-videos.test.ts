// Videos in dialogs through deployments: frames with their times, with a tiny model in a replica process of its own.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testImage } from '../../../native/lib/fixtures/test-images.ts';
import { IMAGE_TOKENS, writeTinyProjector } from '../../../native/lib/fixtures/tiny-projector.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { artifactOf } from '../../io/artifacts/index.ts';
import type { DeploymentHandle, DeploymentManager } from '../deployments/index.ts';
import {
  ChatDialogInput,
  type ChatOutputWithDetails,
  type ImageReference,
  promptDialog,
} from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { CallClient } from '../rpc/index.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';
import { start } from './llama.ts';

const CONTEXT = 512;
const QUESTION = 'Once upon a time';

const Videos = suite('videos in dialogs of deployments');
const folder = mkdtempSync(join(tmpdir(), 'aana-videos-'));
let manager: DeploymentManager;
let llm: DeploymentHandle;
let pictures: ImageReference[];

Videos.before(async () => {
  const model = join(folder, 'model.gguf');
  writeTinyLlama(model);
  writeTinyProjector(join(folder, 'mmproj.gguf'));
  manager = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: model, model_kwargs: { n_ctx: CONTEXT, n_threads: 1, mmproj: 'auto' } },
  });
  await manager.start();
  llm = manager.handle('model');
  pictures = await Promise.all([1, 2, 3, 4].map((seed) => reference(seed)));
});
Videos.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

async function reference(seed: number): Promise<ImageReference> {
  const { width, height, pixels } = testImage(seed);
  const file = join(folder, `${seed}.rgb`);
  writeFileSync(file, pixels);
  const artifact = await artifactOf(tmpdir(), file, createHash('sha256').update(pixels).digest('hex'));
  return { pixels: artifact, width, height };
}

const chat = (dialog: unknown, maxTokens = 12): Promise<ChatOutputWithDetails> =>
  llm.call('chat', {
    ...{ dialog, details: true, sampling_params: { temperature: 0, max_tokens: maxTokens } },
  } as never) as Promise<ChatOutputWithDetails>;
const user = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] });
const text = (words: string) => ({ type: 'text', text: words });
const framesOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ time: n / 2, image: pictures[n % pictures.length]! }));

Videos('a frame is its time as a text and its image; without times a video is its images', async () => {
  const frames = framesOf(3);
  const written = await chat(
    user(...frames.flatMap(({ time, image }) => [text(`<${time.toFixed(1)} seconds>`), { type: 'image', image }])),
  );
  const video = await chat(user({ type: 'video', video: frames }));
  assert.equal(
    [video.message.content, video.details!.usage.prompt_tokens, video.details!.usage.image_tokens],
    [written.message.content, written.details!.usage.prompt_tokens, 3 * IMAGE_TOKENS],
  );
  const images = frames.map(({ image }) => image);
  const untimed = await chat(user({ type: 'video', video: images }, text(QUESTION)));
  assert.is(
    untimed.message.content,
    (await chat(user(...images.map((image) => ({ type: 'image', image })), text(QUESTION)))).message.content,
  );
  assert.is.not(
    untimed.message.content,
    (await chat(user({ type: 'video', video: frames }, text(QUESTION)))).message.content,
  );
});

Videos('a dialog of a prompt has images, then videos, then the text, in every role', async () => {
  const [image, other] = pictures as [ImageReference, ImageReference];
  const dialog = promptDialog(QUESTION, { images: [image], videos: [framesOf(2), [other]] });
  assert.equal(
    dialog.messages[0]!.content.map(({ type }) => type),
    ['image', 'video', 'video', 'text'],
  );
  assert.is((await chat(dialog)).details!.usage.image_tokens, 4 * IMAGE_TOKENS);
  assert.equal(promptDialog(QUESTION).messages, [{ role: 'user', content: [text(QUESTION)] }]);
  for (const role of ['system', 'user', 'assistant', 'tool']) {
    const messages = [
      { role, content: dialog.messages[0]!.content },
      { role: 'user', content: QUESTION },
    ];
    assert.is((await chat({ messages })).details!.usage.image_tokens, 4 * IMAGE_TOKENS, role);
  }
});

Videos('frames for which the context has no room are left out evenly, and the answer tells how many', async () => {
  const frames = framesOf(100);
  const { details, message } = await chat(user({ type: 'video', video: frames }, text(QUESTION)), 100);
  const { usage, dropped } = details!;
  const left = frames.length - dropped!.frames!;
  assert.is(usage.image_tokens, left * IMAGE_TOKENS);
  assert.ok(usage.prompt_tokens + 100 <= CONTEXT, `${usage.prompt_tokens} tokens`);
  assert.ok(dropped!.tokens >= dropped!.frames! * IMAGE_TOKENS);
  const kept = Array.from({ length: left }, (_, n) => frames[Math.round((n * 99) / (left - 1))]!);
  const same = await chat(user({ type: 'video', video: kept }, text(QUESTION)), 100);
  assert.equal([same.message.content, same.details!.dropped], [message.content, undefined]);
  // An answer without a limit has half of the context.
  const long = await chat(user({ type: 'video', video: frames }, text(QUESTION)), 100_000);
  assert.ok(long.details!.usage.prompt_tokens <= CONTEXT / 2);
  const words = 'the cat and the dog ran home '.repeat(80);
  const { name } = await errorOf(chat(user({ type: 'video', video: frames }, text(words))));
  assert.is(name, 'PromptTooLongException', 'texts are not left out');
});

Videos('each image is read once, whatever is counted and however many answers there are', async () => {
  const files = new Map(pictures.map(({ pixels }, n) => [pixels.id, join(folder, `${n + 1}.rgb`)]));
  const reads: string[] = [];
  const engine = await start(
    {
      ...{ model_path: join(folder, 'model.gguf'), model_name: 'tiny', mmproj_path: join(folder, 'mmproj.gguf') },
      ...{ n_ctx: CONTEXT, n_threads: 1, n_gpu_layers: 0, n_seq_max: 4, n_prefill: 256, n_ubatch: 512 },
      ...{ flash_attn: 'auto', use_mmap: true, use_mlock: false, swa_full: true, type_k: 'f16', type_v: 'f16' },
      default_sampling_params: { max_tokens: 4 },
    },
    {
      ...{ log: silentLogger, progress: () => {}, onModels: () => {}, host: new CallClient(() => {}) },
      growingPaths: () => Promise.reject(new Error('nothing grows')),
      artifactPath: async ({ id }) => {
        reads.push(id);
        return files.get(id)!;
      },
    },
  );
  try {
    const [image, ...others] = pictures as [ImageReference, ...ImageReference[]];
    const video = others.map((one, n) => ({ time: n, image: one }));
    const dialog = ChatDialogInput.parse(user({ type: 'image', image }, { type: 'video', video }, text(QUESTION)));
    const args = { dialog, details: true, sampling_params: { n: 5, temperature: 1 } };
    const signal = new AbortController().signal;
    const { choices, details } = (await engine.methods['chat']!(args, { signal })) as ChatOutputWithDetails;
    assert.equal([choices?.length, details?.usage.image_tokens], [5, 4 * IMAGE_TOKENS]);
    assert.equal(reads.toSorted(), pictures.map(({ pixels }) => pixels.id).toSorted());
  } finally {
    await engine.close?.();
  }
});

Videos('a video that is none is refused by name', async () => {
  const image = pictures[0]!;
  for (const [video, message] of [
    [[], /video/],
    [undefined, /video/],
    ['x', /video/],
    [[null], /video/],
    [[{ time: -1, image }], /video/],
    [[{ time: Number.NaN, image }], /video/],
    [[{ time: 1 }], /video/],
    [[{ image }], /video/],
    [Array.from({ length: 257 }, () => ({ time: 0, image })), /video/],
  ] as const) {
    const { name, message: told } = await errorOf(chat(user({ type: 'video', video })));
    assert.is(name, 'ValidationError', told);
    assert.match(told, message);
  }
  const half = { type: 'video', video: Array.from({ length: 129 }, () => ({ time: 0, image })) };
  assert.match((await errorOf(chat(user(half, half)))).message, /more than 256 frames of videos/);
  const untimed = { type: 'video', video: Array.from({ length: 65 }, () => image) };
  assert.match((await errorOf(chat(user(untimed)))).message, /more than 64 images and audio/);
});

if (cannotRun !== undefined) skip('videos in dialogs of deployments', cannotRun);
else Videos.run();
