import { KnownSpeaker } from '../../../base/schemas/index.ts';
import type { Blame } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import { audioBytes } from './audio-input.ts';
import type { TranscriptionRequest } from './audio-fields.ts';

const NAMES = 'known_speaker_names';
const REFERENCES = 'known_speaker_references';
/** Seconds of a reference, as in OpenAI's API. */
const SHORTEST_S = 2;
const LONGEST_S = 10;
/** Encoders such as those of MP3 add silence at both ends. */
const ADDED_S = 0.1;

/** A speaker of a request whose voice is known by a file. */
export interface SpeakerReference {
  readonly name: string;
  /** The parameter with the file: `known_speaker_references[0]`. */
  readonly param: string;
  readonly bytes: Buffer;
}

/** Returns the known speakers of a request. Throws `InvalidParameter`, which names the parameter. */
export function speakerReferences(request: TranscriptionRequest): SpeakerReference[] {
  const names = request[NAMES] ?? [];
  const references = request[REFERENCES] ?? [];
  if (names.length === 0 && references.length === 0) return [];
  if (request.response_format !== 'diarized_json')
    throw invalidValue(names.length > 0 ? NAMES : REFERENCES, 'it needs response_format to be diarized_json');
  if (references.length !== names.length)
    throw invalidValue(
      REFERENCES,
      `each speaker has one name and one reference; there are ${names.length} names and ` +
        `${references.length} references`,
    );
  return names.map((name, n) => {
    const problem = KnownSpeaker.shape.name.safeParse(name).error?.issues[0];
    if (problem) throw invalidValue(`${NAMES}[${n}]`, problem.message);
    if (names.indexOf(name) !== n) throw invalidValue(`${NAMES}[${n}]`, 'another speaker has this name');
    const url = references[n] ?? '';
    const param = `${REFERENCES}[${n}]`;
    if (references.indexOf(url) !== n) throw invalidValue(param, 'another speaker has this reference');
    return { name, param, bytes: audioBytes({ param, data: base64Of(url, param) }) };
  });
}

/** Checks the length of a reference. Throws `InvalidParameter`. */
export function checkReferenceLength({ param }: SpeakerReference, seconds: number): void {
  if (seconds >= SHORTEST_S - ADDED_S && seconds <= LONGEST_S + ADDED_S) return;
  throw invalidValue(param, `it has ${seconds.toFixed(1)} s of audio; a reference has ${SHORTEST_S} to ${LONGEST_S} s`);
}

/** Returns the parameters that cause errors of `diarize` with these speakers. */
export function referencesBlame(references: readonly SpeakerReference[]): Blame {
  return Object.fromEntries(references.map(({ param }, n) => [`known_speakers[${n}].audio`, param]));
}

/** Containers of audio may have the type of a video, such as `video/webm`. */
const DATA_URL = /^data:(?:audio|video)\/[\w.+-]{1,100}(?:;[\w.+-]{1,100}=[\w.+-]{1,100}){0,8};base64,/i;

function base64Of(url: string, param: string): string {
  const [head] = DATA_URL.exec(url.slice(0, 2000)) ?? [];
  if (head === undefined)
    throw invalidValue(param, 'it is not a data URL of audio, such as data:audio/wav;base64,UklGR…');
  return url.slice(head.length);
}
