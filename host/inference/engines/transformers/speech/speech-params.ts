import { isDeepStrictEqual } from 'node:util';
import { WhisperParams } from '../../../../base/schemas/index.ts';
import { whisperLanguage } from '../../../../base/transcripts/index.ts';
import type { VoiceRules } from '../../speech/speech-regions.ts';
import { wrongArgument } from '../../wrong-argument.ts';

/** What a call asks for. */
export interface RequestedSpeech {
  /** How speech is found. Undefined: all of the audio is transcribed. */
  readonly voice: VoiceRules | undefined;
  /** Longest part that is transcribed in one piece, in seconds. */
  readonly longest: number;
}

const DEFAULTS: Readonly<Record<string, unknown>> = WhisperParams.parse({});
/** Parameters that are read, and the values of others that are what is done anyway. */
const READ: ReadonlySet<string> = new Set(['language', 'vad_filter', 'vad_parameters', 'chunk_length']);
const SAME: Readonly<Record<string, unknown>> = { beam_size: 1, temperature: 0, without_timestamps: true };

const LONGEST_S = 30;
const ONSET = 0.5;
const BELOW_ONSET = 0.15;
const LEAST_OFFSET = 0.01;
const MIN_DURATION_ON_S = 0.25;
const MIN_DURATION_OFF_S = 0.1;

/**
 * Returns the parameters of a call. Throws `ValidationError`, which names the parameter, for those that the model
 * lacks, and for another language than the one that it hears.
 */
export function requestedSpeech(given: unknown, model: string, language: string): RequestedSpeech {
  const params: WhisperParams = WhisperParams.parse(given ?? {});
  for (const [name, value] of Object.entries(params)) {
    if (READ.has(name) || value == null || isDeepStrictEqual(value, DEFAULTS[name])) continue;
    if (!(name in SAME && isDeepStrictEqual(value, SAME[name])))
      throw wrong(name, `${model} does not have it; a WhisperDeployment has`);
  }
  const wanted = params.language == null || params.language === 'auto' ? language : whisperLanguage(params.language);
  if (wanted !== language) throw wrong('language', `${model} hears "${language}" only`);
  const longest = params.chunk_length ?? LONGEST_S;
  if (!params.vad_filter) {
    if (params.vad_parameters != null) throw wrong('vad_parameters', 'needs `vad_filter`');
    return { voice: undefined, longest };
  }
  const rules = params.vad_parameters ?? {};
  for (const name of ['max_speech_duration_s', 'speech_pad_ms'] as const)
    if (rules[name] != null) throw wrong(`vad_parameters.${name}`, `${model} does not have it; use \`chunk_length\``);
  const onset = rules.threshold ?? ONSET;
  const offset = rules.neg_threshold ?? Math.max(LEAST_OFFSET, onset - BELOW_ONSET);
  if (offset > onset) throw wrong('vad_parameters.neg_threshold', `must be at most \`threshold\`, which is ${onset}`);
  return {
    voice: {
      onset,
      offset,
      minDurationOn: seconds(rules.min_speech_duration_ms) ?? MIN_DURATION_ON_S,
      minDurationOff: seconds(rules.min_silence_duration_ms) ?? MIN_DURATION_OFF_S,
    },
    longest,
  };
}

const seconds = (ms: number | null | undefined): number | undefined => (ms == null ? undefined : ms / 1000);

const wrong = (name: string, message: string) =>
  wrongArgument('ValidationError', ['params', ...name.split('.')], message);
