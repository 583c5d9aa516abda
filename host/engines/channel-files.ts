import type { NativeAudioFile } from '../../native/lib/index.ts';
import type { StartContext } from '../replicas/process/implementation.ts';
import type { AudioReference } from '../schemas/index.ts';

/** Returns the files of the channels for the engine. Rejects with `ArtifactNotFound`. A channel without samples needs no file. */
export async function channelFiles(
  channels: AudioReference['channels'],
  artifactPath: StartContext['artifactPath'],
): Promise<readonly NativeAudioFile[]> {
  return await Promise.all(
    channels.map(async ({ artifact, samples }) => ({
      path: samples === 0 ? '' : await artifactPath(artifact),
      samples,
      name: artifact.id,
    })),
  );
}
