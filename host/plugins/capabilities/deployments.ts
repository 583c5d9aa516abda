import type { DeploymentsCalls } from '../../../wit/generated/world/deployments.ts';
import { withAudio } from './scope/audio-arguments.ts';
import { openStream } from './scope/open-stream.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';

/** Deployed models in JSON. */
export const deploymentsCalls: CallsOf<keyof DeploymentsCalls> = {
  async 'deployments.call'(scope, deployment, method, args, audio) {
    const value = await scope.deployment(deployment).call(method, argumentsOf(scope, args, audio), scope.callOptions());
    const startedAt = performance.now();
    const json = JSON.stringify(value ?? null);
    scope.charge(performance.now() - startedAt);
    return json;
  },
  async 'deployments.open'(scope, deployment, method, args, audio) {
    return openStream(scope, deployment, method, argumentsOf(scope, args, audio));
  },
  'deployments.next': async (scope, stream) => scope.get(stream, 'stream').stream.next(),
  async 'deployments.returned'(scope, stream) {
    const { returned } = scope.get(stream, 'stream').stream;
    return returned === undefined ? '' : JSON.stringify(returned);
  },
};

function argumentsOf(scope: CapabilityScope, json: string, audio: readonly number[]): Record<string, unknown> {
  return withAudio(
    json,
    audio.map((handle) => scope.get(handle, 'audio').audio.reference),
  );
}
