import { audioReadingError } from '../errors.ts';
import type { AudioTrack, Probe } from '../probe.ts';
import type { MediaSource } from '../types.ts';

/**
 * Returns the audio track that `source` asks for, or the default track, or the first one. Returns undefined without an
 * audio track. Throws `AudioReadingException`, which names the tracks, for one that does not exist.
 */
export function audioTrackOf({ audioTracks }: Probe, source: MediaSource): AudioTrack | undefined {
  const wanted = source.audio_track;
  if (wanted == null) return audioTracks.find(({ isDefault }) => isDefault) ?? audioTracks[0];
  const track = audioTracks[wanted];
  if (track) return track;
  const found = audioTracks.length === 0 ? 'it has none' : `its audio tracks are ${audioTracks.map(shown).join(', ')}`;
  throw audioReadingError(source, `the file has no audio track ${wanted}; ${found}`);
}

function shown({ language, isDefault }: AudioTrack, number: number): string {
  const facts = [language, isDefault ? 'default' : undefined].filter((fact) => fact !== undefined);
  return facts.length === 0 ? String(number) : `${number} (${facts.join(', ')})`;
}
