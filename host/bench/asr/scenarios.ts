import type { Clip } from './clips.ts';

/** Recordings of at most this length are short clips, which fit into one window of Whisper. */
const SHORT_S = 30;

/** A kind of load: so many requests with the same recording at once. */
export interface Scenario {
  readonly name: string;
  readonly clip: Clip;
  readonly atOnce: number;
  /** Without it, the server finds the language. */
  readonly language: string | undefined;
}

/** Returns the scenarios of a recording. The language of a short clip is also found by the server. */
export function scenariosOf(clip: Clip, language: string): Scenario[] {
  const one = { name: clip.name, clip, atOnce: 1, language };
  const found = { ...one, name: `${clip.name}, language found`, language: undefined };
  return [one, ...(clip.seconds <= SHORT_S ? [found] : []), { ...one, name: `${clip.name}, 4 at once`, atOnce: 4 }];
}
