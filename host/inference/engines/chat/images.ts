import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { LlamaImage } from '../../../../native/lib/index.ts';
import { fail } from '../../../base/core/errors.ts';
import type { StartContext } from '../../replicas/process/implementation.ts';
import type { ImageChatDialog, ImageReference } from '../../../base/schemas/index.ts';

/** The pixels of the images of a dialog. */
export type Images = ReadonlyMap<ImageReference, LlamaImage>;

/** Returns the references to images in a dialog, in order. */
export function imagesIn({ messages }: ImageChatDialog): ImageReference[] {
  return messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap((part) => (part.type === 'image' ? [part.image] : [])),
  );
}

/** Reads the images of a dialog, one after the other. Rejects with `ArtifactNotFound`. */
export async function readImages(dialog: ImageChatDialog, artifactPath: StartContext['artifactPath']): Promise<Images> {
  const images = new Map<ImageReference, LlamaImage>();
  for (const reference of imagesIn(dialog)) {
    const { width, height, pixels: artifact } = reference;
    const pixels = await readFile(await artifactPath(artifact));
    const digest = createHash('sha256').update(pixels).digest();
    // An image is known by its digest, so another one must not have it.
    if (digest.toString('hex') !== artifact.sha256)
      throw fail('ArtifactNotFound', `the bytes of artifact ${artifact.id} have another SHA-256`);
    images.set(reference, { width, height, pixels, digest });
  }
  return images;
}

/** Throws `ImagesNotSupported` if the dialog has an image. `what` says what the model lacks. */
export function requireNoImages(dialog: ImageChatDialog, model: string, what: string): void {
  if (imagesIn(dialog).length === 0) return;
  throw fail('ImagesNotSupported', `${model} takes no images: ${what}`, {
    data: { model_name: model },
  });
}
