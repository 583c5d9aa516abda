import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { LlamaAudio, LlamaImage, LlamaModelInfo } from '../../../../native/lib/index.ts';
import { fail } from '../../../base/core/errors.ts';
import { MonoAudio, SAMPLE_RATE } from '../speech/mono-audio.ts';
import type { StartContext } from '../../replicas/process/implementation.ts';
import type { AudioReference, ContentPart, ImageChatDialog, ImageReference } from '../../../base/schemas/index.ts';

type MediaPart = Exclude<ContentPart, { readonly type: 'text' }>;

/** The pixels of the images of a dialog, and the samples of its audio. */
export type Media = ReadonlyMap<MediaPart, LlamaImage | LlamaAudio>;

/** Which media a model takes, and what to do where it does not take them. */
export interface TakenMedia {
  readonly model: string;
  readonly images: true | string;
  readonly audio: true | string;
}

/** Returns the parts of a dialog that are images or audio, in order. */
export function mediaIn({ messages }: ImageChatDialog): MediaPart[] {
  return messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap((part) => (part.type === 'text' ? [] : [part])),
  );
}

/**
 * Reads the media of a dialog, one after the other. Those that `known` has, which may be of a part of the dialog, are
 * not read again. Rejects with `ArtifactNotFound`, and with `InvalidArguments` for audio without samples.
 */
export async function readMedia(
  dialog: ImageChatDialog,
  artifactPath: StartContext['artifactPath'],
  known: Media = new Map(),
): Promise<Media> {
  const media = new Map<MediaPart, LlamaImage | LlamaAudio>();
  for (const part of mediaIn(dialog))
    media.set(
      part,
      known.get(part) ??
        (part.type === 'image' ? await readImage(part.image, artifactPath) : await readAudio(part.audio, artifactPath)),
    );
  return media;
}

/** Reads the pixels of an image. Rejects with `ArtifactNotFound`. */
export async function readImage(
  { width, height, pixels: artifact }: ImageReference,
  artifactPath: StartContext['artifactPath'],
): Promise<LlamaImage> {
  const pixels = await readFile(await artifactPath(artifact));
  const digest = createHash('sha256').update(pixels).digest();
  // An image is known by its digest, so another one must not have it.
  if (digest.toString('hex') !== artifact.sha256)
    throw fail('ArtifactNotFound', `the bytes of artifact ${artifact.id} have another SHA-256`);
  return { width, height, pixels, digest };
}

async function readAudio(audio: AudioReference, artifactPath: StartContext['artifactPath']): Promise<LlamaAudio> {
  await using mono = await MonoAudio.open(audio, artifactPath);
  if (mono.length === 0) throw fail('InvalidArguments', 'the audio in the dialog has no samples');
  const samples = await mono.read(0, mono.length);
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return { samples, digest: createHash('sha256').update(bytes).digest() };
}

/** Throws `ImagesNotSupported` or `AudioNotSupported` if the dialog has media that the model does not take. */
export function requireTaken(dialog: ImageChatDialog, { model, images, audio }: TakenMedia): void {
  for (const { type } of mediaIn(dialog)) {
    const [name, what, taken] =
      type === 'image'
        ? (['ImagesNotSupported', 'images', images] as const)
        : (['AudioNotSupported', 'audio', audio] as const);
    if (taken !== true) throw fail(name, `${model} takes no ${what}: ${taken}`, { data: { model_name: model } });
  }
}

/** Of the windows in which engines count the tokens of audio. */
const WINDOW_SAMPLES = 30 * SAMPLE_RATE;

/**
 * Throws `PromptTooLongException` if whole windows of the audio of a dialog have more tokens than the context, before
 * its samples take memory: 230 MB for an hour, several times.
 */
export function requireRoom(
  dialog: ImageChatDialog,
  model: string,
  { contextTokens, audioWindowTokens }: Pick<LlamaModelInfo, 'contextTokens' | 'audioWindowTokens'>,
): void {
  const lengths = mediaIn(dialog).map((part) =>
    part.type === 'audio' ? Math.max(0, ...part.audio.channels.map(({ samples }) => samples)) : 0,
  );
  const windows = lengths.reduce((sum, samples) => sum + Math.floor(samples / WINDOW_SAMPLES), 0);
  const least = windows * audioWindowTokens;
  if (least <= contextTokens) return;
  const seconds = lengths.reduce((sum, samples) => sum + samples, 0) / SAMPLE_RATE;
  throw fail(
    'PromptTooLongException',
    `${model} cannot take the prompt: it has ${Math.round(seconds)} s of audio, which is more than ${least} tokens, ` +
      `the context holds ${contextTokens}`,
    { data: { prompt_len: least, max_len: contextTokens } },
  );
}
