import type { NativeAudioFile, NativeGrowingAudio } from '../../../native/lib/index.ts';
import { AanaError, fail } from '../../base/core/errors.ts';
import type { StartContext } from '../replicas/process/implementation.ts';
import type { AudioReference } from '../../base/schemas/index.ts';
import type { GrowingAudioReference } from '../../base/schemas/growing-audio.ts';

/**
 * Returns the files of the channels for the engine. Rejects with `ArtifactNotFound`. A channel without samples needs no
 * file.
 */
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

/** Audio for the engine whose files still grow. */
export interface GrowingTrack {
  readonly audio: NativeGrowingAudio;
  /** Returns why the engine could not read the audio, if this process knows. */
  readonly failure: () => unknown;
}

/**
 * Returns the files of each channel, which still grow, for the engine. Rejects with `DecodedAudioError` when they are
 * not there, because their decoder has failed.
 */
export async function growingChannels(
  { channels, growing }: GrowingAudioReference,
  growingPaths: StartContext['growingPaths'],
): Promise<GrowingTrack> {
  const ids = channels.map(({ artifact }) => artifact.id);
  const { files, end, failure } = await growingPaths(ids, growing.end).catch((error: unknown) => {
    throw decoderFailure(error);
  });
  return {
    audio: {
      files: files.map((path, index) => ({ path, samples: 0, name: ids[index] ?? '' })),
      endPath: end,
      expectedSamples: growing.expected_samples,
    },
    failure: () => decoderFailure(failure()),
  };
}

/** A decoder that fails removes its files. The host knows why. */
function decoderFailure(error: unknown): unknown {
  if (!(error instanceof AanaError && error.name === 'ArtifactNotFound')) return error;
  return fail('DecodedAudioError', error.message, { cause: error });
}
