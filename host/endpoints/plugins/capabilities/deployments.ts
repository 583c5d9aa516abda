import type { ImageReference } from '../../../base/schemas/media-references.ts';
import type { HostCalls } from '../invocation/protocol.ts';
import type { DeploymentsCalls } from '../../../../wit/generated/world/deployments.ts';
import { heldImages } from './scope/held-images.ts';
import { type HeldMedia, withMedia } from './scope/media-arguments.ts';
import { openStream } from './scope/open-stream.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';

/** Deployed models in JSON. */
export const deploymentsCalls: CallsOf<keyof DeploymentsCalls> = {
  'deployments.call': (scope, ...args) => call(scope, ...args, []),
  'deployments.open': (scope, ...args) => open(scope, ...args, []),
  'deployments.call-with-images': call,
  'deployments.open-with-images': open,
  'deployments.next': async (scope, stream) => scope.get(stream, 'stream').stream.next(),
  async 'deployments.returned'(scope, stream) {
    const { returned } = scope.get(stream, 'stream').stream;
    return returned === undefined ? '' : JSON.stringify(returned);
  },
};

type Arguments = HostCalls['deployments.call-with-images']['args'];

async function call(scope: CapabilityScope, ...[deployment, method, args, audio, images]: Arguments): Promise<string> {
  const port = scope.deployment(deployment); // refuses before an image is decoded
  // Without images and growing audio there is no wait, so that the host reads the arguments in the time of the guest.
  const pictures = images.length > 0 ? await heldImages(scope, images) : [];
  const { values, waits } = argumentsOf(scope, args, audio, pictures);
  if (waits.length > 0) await Promise.all(waits.map((wait) => wait()));
  const value = await port.call(method, values, scope.callOptions());
  const startedAt = performance.now();
  const json = JSON.stringify(value ?? null);
  scope.charge(performance.now() - startedAt);
  return json;
}

async function open(scope: CapabilityScope, ...[deployment, method, args, audio, images]: Arguments): Promise<number> {
  scope.deployment(deployment);
  const pictures = images.length > 0 ? await heldImages(scope, images) : [];
  const { values, waits } = argumentsOf(scope, args, audio, pictures);
  if (waits.length > 0) await Promise.all(waits.map((wait) => wait()));
  return openStream(scope, deployment, method, values);
}

function argumentsOf(
  scope: CapabilityScope,
  json: string,
  audio: readonly number[],
  images: readonly ImageReference[],
): Pick<HeldMedia, 'waits'> & { readonly values: Record<string, unknown> } {
  const waits: HeldMedia['waits'] = [];
  const sounds = audio.map((handle) => scope.get(handle, 'audio').audio.reference);
  return { values: withMedia(json, { audio: sounds, images, waits }), waits };
}
