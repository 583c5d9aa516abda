/** A part of an audio, in seconds. */
export interface Region {
  readonly start: number;
  readonly end: number;
}

/** How probabilities become regions. Durations are in seconds. */
export interface SpeechRules {
  /** Speech begins above this probability. */
  readonly onset: number;
  /** Speech ends below this probability, which is at most `onset`. */
  readonly offset: number;
  /** Regions that are shorter are left out. */
  readonly minDurationOn: number;
  /** Pauses that are shorter do not end a region. */
  readonly minDurationOff: number;
  /** Longest region, with its padding. */
  readonly longest: number;
}

/** What counts as speech. */
export type VoiceRules = Omit<SpeechRules, 'longest'>;

/** A region begins this much before its speech and ends as much after it. */
const PADDING_S = 0.1;

/** A region in frames; the end is exclusive. */
interface Frames {
  readonly begin: number;
  readonly end: number;
}

/**
 * Returns the regions of speech, ascending and apart, inside of the audio, with some padding.
 *
 * @param probabilities Of speech, one for each frame.
 * @param frameS Length of a frame.
 * @param durationS Length of the audio. The last frame may end after it.
 */
export function speechRegions(
  probabilities: Float32Array,
  frameS: number,
  durationS: number,
  { longest, ...rules }: SpeechRules,
): Region[] {
  const spoken = spokenFrames(probabilities, frameS, rules);
  const mostFrames = Math.max(2, Math.floor((longest - 2 * PADDING_S) / frameS));
  return padded(
    spoken
      .flatMap((region) => cut(region, mostFrames, probabilities))
      .map(({ begin, end }) => ({ start: begin * frameS, end: Math.min(end * frameS, durationS) })),
    durationS,
  );
}

/** Returns the regions of speech without padding, as {@link speechRegions} finds them. */
export function spokenRegions(probabilities: Float32Array, frameS: number, rules: VoiceRules): Region[] {
  return spokenFrames(probabilities, frameS, rules).map(({ begin, end }) => ({
    start: begin * frameS,
    end: end * frameS,
  }));
}

function spokenFrames(
  probabilities: Float32Array,
  frameS: number,
  { onset, offset, minDurationOn, minDurationOff }: VoiceRules,
): Frames[] {
  return joined(hysteresis(probabilities, onset, offset), minDurationOff / frameS).filter(
    ({ begin, end }) => (end - begin) * frameS >= minDurationOn,
  );
}

function hysteresis(probabilities: Float32Array, onset: number, offset: number): Frames[] {
  const regions: Frames[] = [];
  let begin = -1;
  for (const [at, probability] of probabilities.entries()) {
    if (begin < 0 && probability > onset) begin = at;
    else if (begin >= 0 && probability < offset) {
      regions.push({ begin, end: at });
      begin = -1;
    }
  }
  if (begin >= 0) regions.push({ begin, end: probabilities.length });
  return regions;
}

/** Joins regions with less than `least` frames between them. */
function joined(regions: readonly Frames[], least: number): Frames[] {
  const all: Frames[] = [];
  for (const region of regions) {
    const last = all.at(-1);
    if (last && region.begin - last.end < least) all[all.length - 1] = { begin: last.begin, end: region.end };
    else all.push(region);
  }
  return all;
}

/**
 * Cuts a region that has more than `most` frames. Each cut is at the least likely speech of the second half of a part.
 */
function cut({ begin, end }: Frames, most: number, probabilities: Float32Array): Frames[] {
  const parts: Frames[] = [];
  let from = begin;
  while (end - from > most) {
    let quietest = from + Math.ceil(most / 2);
    for (let at = quietest; at < from + most; at += 1)
      if ((probabilities[at] ?? 0) < (probabilities[quietest] ?? 0)) quietest = at;
    parts.push({ begin: from, end: quietest });
    from = quietest;
  }
  parts.push({ begin: from, end });
  return parts;
}

/** Adds the padding. Regions that would then overlap meet in the middle of the pause between them. */
function padded(regions: readonly Region[], durationS: number): Region[] {
  return regions.map(({ start, end }, index) => {
    const before = regions[index - 1]?.end;
    const after = regions[index + 1]?.start;
    return {
      start: Math.max(start - PADDING_S, before === undefined ? 0 : (before + start) / 2),
      end: Math.min(end + PADDING_S, after === undefined ? durationS : (end + after) / 2),
    };
  });
}

/**
 * Joins successive regions to groups that span at most `longest` seconds. A region that is longer has a group of its
 * own.
 */
export function grouped(regions: readonly Region[], longest: number): Region[][] {
  const groups: Region[][] = [];
  for (const region of regions) {
    const group = groups.at(-1);
    if (group?.[0] && region.end - group[0].start <= longest) group.push(region);
    else groups.push([region]);
  }
  return groups;
}
