import { centroid, clusterVectors, cosine, similaritiesOf } from './clusters.ts';
import { matchKnown, type Voice } from './known-voices.ts';
import { type MonoAudio, SAMPLE_RATE } from '../speech/mono-audio.ts';
import { FRAME_SAMPLES, type Networks, WINDOW_FRAMES, WINDOW_SAMPLES } from './networks.ts';
import { joinTurns, type Turn, type TurnLimits } from './speaker-turns.ts';
import { type Run, VoiceTracks } from './voice-tracks.ts';

export interface DiarizeOptions extends TurnLimits {
  /** Least cosine of voices that count as one speaker. */
  readonly threshold: number;
  readonly minSpeakers: number;
  readonly maxSpeakers: number;
  /** Voices of known speakers, as `voiceOf` returns them. */
  readonly known: readonly Voice[];
  readonly signal: AbortSignal;
  /** Called after each step with the part that is done, 0 to 1. */
  readonly onStep: (done: number) => void;
}

/** Frames from one window to the next one, about 2.5 s. */
const WINDOW_STEP = 148;
/**
 * Most frames of a piece whose voice is embedded, about 4 s. Shorter pieces find changes of voices that the
 * segmentation missed.
 */
const PIECE_FRAMES = 237;
/** Features, of 10 ms each, of a piece that takes part in the clustering. */
const STRONG_FEATURES = 60;
/** Features of a piece that is given to the nearest speaker. The voice of a shorter one cannot be told. */
const WEAK_FEATURES = 20;
/** Pieces that are clustered, the longest ones. It bounds the memory to 36 MB. */
const MAX_CLUSTERED = 3000;
/** The part of the time that the segmentation takes. */
const SEGMENTATION_SHARE = 0.6;

/** A part of a run, with the vector of its voice. */
interface Piece extends Run {
  /** Undefined: too short to tell. */
  readonly vector: Float32Array | undefined;
  readonly isStrong: boolean;
}

type Steps = Pick<DiarizeOptions, 'signal' | 'onStep'>;

/** Returns the voice of an audio in which one person speaks. It has no vectors if hardly any speech is heard. */
export async function voiceOf(audio: MonoAudio, networks: Networks, signal: AbortSignal): Promise<Voice> {
  const steps = { signal, onStep: () => {} };
  const tracks = await trackVoices(audio, networks, steps);
  const pieces = await embedPieces(audio, networks, tracks, steps);
  return pieces.flatMap(({ vector, isStrong }) => (vector && isStrong ? [vector] : []));
}

/**
 * Returns who speaks when. Speakers have the numbers of the known voices, and others follow. The same audio has the
 * same answer. Of the audio only a few bytes for each frame of 17 ms are kept, and one vector for each piece of speech.
 */
export async function diarize(audio: MonoAudio, networks: Networks, options: DiarizeOptions): Promise<Turn[]> {
  const tracks = await trackVoices(audio, networks, options);
  const pieces = await embedPieces(audio, networks, tracks, options);
  const speakers = await speakersOf(pieces, options);
  const lastSecond = audio.length / SAMPLE_RATE;
  const turns = pieces.flatMap((piece, at): Turn[] => {
    const speaker = speakers[at];
    if (speaker === undefined) return [];
    return [
      { speaker, start: Math.min(secondOf(piece.start), lastSecond), end: Math.min(secondOf(piece.end), lastSecond) },
    ];
  });
  options.onStep(1);
  return joinTurns(turns, options);
}

/** The middle of the first frame lies 495 samples after the start, so frame 0 reaches from sample 360 to 630. */
const FIRST_FRAME_SAMPLE = 360;

/** Returns the second at which a frame begins. The first one begins with the audio. */
function secondOf(frame: number): number {
  return frame === 0 ? 0 : (frame * FRAME_SAMPLES + FIRST_FRAME_SAMPLE) / SAMPLE_RATE;
}

/** Lets the event loop answer health checks, and ends a cancelled call. */
async function pause(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

/** The segmentation hears voices in noise that nobody can hear, because it scales each window to one loudness. */
const AUDIBLE = 0.002;

const isAudible = (samples: Float32Array): boolean => samples.some((value) => Math.abs(value) > AUDIBLE);

async function trackVoices(audio: MonoAudio, networks: Networks, { signal, onStep }: Steps): Promise<VoiceTracks> {
  const tracks = new VoiceTracks(Math.ceil(audio.length / FRAME_SAMPLES));
  const last = Math.max(0, tracks.frames - WINDOW_FRAMES);
  for (let next = 0; tracks.frames > 0;) {
    await pause(signal);
    const start = Math.min(next, last);
    const window = await audio.read(start * FRAME_SAMPLES, WINDOW_SAMPLES);
    if (isAudible(window)) tracks.add(start, await networks.segment(window));
    onStep(SEGMENTATION_SHARE * (last === 0 ? 1 : start / last));
    if (start === last) break;
    next = start + WINDOW_STEP;
  }
  return tracks;
}

async function embedPieces(
  audio: MonoAudio,
  networks: Networks,
  tracks: VoiceTracks,
  { signal, onStep }: Steps,
): Promise<Piece[]> {
  const parts = tracks.runs().flatMap(inPieces);
  const pieces: Piece[] = [];
  for (const part of parts) {
    await pause(signal);
    pieces.push(await embedPiece(part, audio, networks, tracks));
    onStep(SEGMENTATION_SHARE + ((1 - SEGMENTATION_SHARE) * pieces.length) / parts.length);
  }
  return pieces;
}

/** Divides a run into equal parts that are short enough. */
function inPieces({ track, start, end }: Run): Run[] {
  const count = Math.ceil((end - start) / PIECE_FRAMES);
  const at = (part: number): number => start + Math.round(((end - start) * part) / count);
  return Array.from({ length: count }, (_, part) => ({ track, start: at(part), end: at(part + 1) }));
}

/** Embeds the voice of a piece where it speaks alone, else where others speak too. */
async function embedPiece(piece: Run, audio: MonoAudio, networks: Networks, tracks: VoiceTracks): Promise<Piece> {
  const from = piece.start * FRAME_SAMPLES + FIRST_FRAME_SAMPLE;
  const samples = await audio.read(from, (piece.end - piece.start) * FRAME_SAMPLES);
  const isAlone = (middle: number): boolean =>
    tracks.othersActive(piece.start + Math.floor(middle / FRAME_SAMPLES), piece.track) === 0;
  const alone = await networks.embed(samples, STRONG_FEATURES, isAlone);
  if (alone) return { ...piece, vector: alone, isStrong: true };
  return { ...piece, vector: await networks.embed(samples, WEAK_FEATURES, () => true), isStrong: false };
}

/** Returns the speaker of each piece. Undefined for a piece that is too short to tell. */
async function speakersOf(pieces: readonly Piece[], options: DiarizeOptions): Promise<(number | undefined)[]> {
  const vectorOf = (at: number): Float32Array => pieces[at]?.vector ?? new Float32Array(0);
  const indexes = pieces.map((_, at) => at).filter((at) => pieces[at]?.vector);
  const strong = indexes.filter((at) => pieces[at]?.isStrong);
  const lengthOf = (at: number): number => (pieces[at]?.end ?? 0) - (pieces[at]?.start ?? 0);
  const clustered = (strong.length > 0 ? strong : indexes)
    .toSorted((a, b) => lengthOf(b) - lengthOf(a) || a - b)
    .slice(0, MAX_CLUSTERED)
    .sort((a, b) => a - b);
  const similarities = await similaritiesOf(clustered.map(vectorOf), () => pause(options.signal));
  const clusters = clusterVectors(similarities, {
    threshold: options.threshold,
    least: options.minSpeakers,
    most: options.maxSpeakers,
  });
  const speakers: (number | undefined)[] = pieces.map(() => undefined);
  for (const [at, cluster] of clusters.entries()) speakers[clustered[at] ?? 0] = cluster;
  const voices = Array.from({ length: Math.max(0, ...clusters.map((cluster) => cluster + 1)) }, (_, cluster) =>
    clustered.filter((_piece, at) => clusters[at] === cluster).map(vectorOf),
  );
  const centroids = voices.map(centroid);
  for (const at of indexes) {
    if (speakers[at] !== undefined) continue;
    speakers[at] = nearest(vectorOf(at), centroids, speakersBeside(at, pieces, speakers));
  }
  const { known, threshold } = options;
  const matches = matchKnown(voices, known, threshold);
  return speakers.map((cluster) => (cluster === undefined ? undefined : (matches[cluster] ?? known.length + cluster)));
}

/** Returns the speakers of the pieces that are at the same time on other tracks. */
function speakersBeside(at: number, pieces: readonly Piece[], speakers: readonly (number | undefined)[]): Set<number> {
  const beside = new Set<number>();
  const piece = pieces[at];
  for (const [index, other] of pieces.entries()) {
    const speaker = speakers[index];
    if (!piece || speaker === undefined || other.track === piece.track) continue;
    if (other.start < piece.end && other.end > piece.start) beside.add(speaker);
  }
  return beside;
}

/** Returns the nearest centroid that is not excluded, or the nearest one if all are. */
function nearest(vector: Float32Array, centroids: readonly Float32Array[], excluded: ReadonlySet<number>): number {
  const order = centroids
    .map((_, at) => at)
    .sort((a, b) => cosine(vector, centroids[b] ?? vector) - cosine(vector, centroids[a] ?? vector) || a - b);
  return order.find((at) => !excluded.has(at)) ?? order[0] ?? 0;
}
