import { fail } from '../../../../base/core/errors.ts';
import type { ImageReference } from '../../../../base/schemas/media-references.ts';
import type { ImagePort } from '../../ports.ts';
import { computingCost } from './computing-cost.ts';
import type { CapabilityScope } from './scope.ts';

/**
 * Images of one call. The schema of dialogs has the same limit, and the host decodes images before it checks a dialog.
 */
const MAX_IMAGES = 64;

/** The pixels of images that were decoded for a model, so that a dialog of many turns decodes each image once. */
const decoded = new WeakMap<ImagePort, Promise<ImageReference>>();

/** Returns the images with these handles as arguments of a deployment, one decoded after the other. */
export async function heldImages(scope: CapabilityScope, handles: readonly number[]): Promise<ImageReference[]> {
  if (handles.length > MAX_IMAGES) throw fail('InvalidArguments', `a call has at most ${MAX_IMAGES} images`);
  const images = handles.map((handle) => scope.get(handle, 'image').image);
  const references: ImageReference[] = [];
  for (const image of images) references.push(await decodedImage(scope, image));
  return references;
}

function decodedImage(scope: CapabilityScope, image: ImagePort): Promise<ImageReference> {
  const known = decoded.get(image);
  if (known) return known;
  scope.charge(computingCost.conversion(image.info));
  const reference = image.forModel({ signal: scope.signal, traceparent: scope.context.traceparent });
  decoded.set(image, reference);
  reference.catch(() => decoded.delete(image)); // the next attempt may succeed
  return reference;
}
