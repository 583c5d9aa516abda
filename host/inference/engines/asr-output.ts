import type { WhisperNativeResult, WhisperNativeSegment } from '../../../native/lib/index.ts';
import type { AsrOutput, AsrSegment, AsrTranscriptionInfo } from '../../base/schemas/index.ts';
import { scored } from './logprobs.ts';

const SILENCE: AsrTranscriptionInfo = { language: 'silence', language_confidence: 1 };

/** Returns the answer for audio without speech. */
export function silence(): AsrOutput {
  return { segments: [], transcription_info: { ...SILENCE }, transcription: { text: '' } };
}

export function toSegment(segment: WhisperNativeSegment, speaker: string | null): AsrSegment {
  return {
    text: segment.text,
    time_interval: { start: segment.start, end: segment.end },
    confidence: fraction(Math.exp(segment.averageLogProbability)),
    no_speech_confidence: fraction(segment.noSpeechProbability),
    words: segment.words.map(({ word, start, end, probability }) => ({
      word,
      speaker,
      time_interval: { start, end },
      alignment_confidence: fraction(probability),
    })),
    speaker,
    ...(segment.language !== undefined && { language: segment.language }),
    ...(segment.tokens && { tokens: segment.tokens.map(scored) }),
  };
}

/** Joins the texts of the segments into the text of the whole transcription. */
export function toOutput(segments: readonly AsrSegment[], info: AsrTranscriptionInfo): AsrOutput {
  return {
    segments: [...segments],
    transcription_info: info,
    transcription: { text: segments.map(({ text }) => text).join('') },
  };
}

export function infoOf({
  language,
  languageProbability,
  allLanguageProbs: all,
}: Omit<WhisperNativeResult, 'segments'>): AsrTranscriptionInfo {
  return {
    language,
    language_confidence: fraction(languageProbability),
    ...(all && {
      all_language_probs: all.map((one) => ({ language: one.language, probability: fraction(one.probability) })),
    }),
  };
}

/** Adds up the languages of segments. */
export class SpokenLanguages {
  readonly #found = new Map<string, { seconds: number; confidence: number; count: number }>();

  add({ language, languageProbability = 0, start, end }: WhisperNativeSegment): void {
    if (language === undefined) return;
    const { seconds, confidence, count } = this.#found.get(language) ?? { seconds: 0, confidence: 0, count: 0 };
    this.#found.set(language, {
      seconds: seconds + end - start,
      confidence: confidence + languageProbability,
      count: count + 1,
    });
  }

  /**
   * Returns the language in which most of the time is spoken, with its mean confidence. Undefined if the segments have
   * no languages of their own.
   */
  main(): AsrTranscriptionInfo | undefined {
    const [first] = [...this.#found].sort(([, a], [, b]) => b.seconds - a.seconds);
    return first && { language: first[0], language_confidence: fraction(first[1].confidence / first[1].count) };
  }
}

/** See {@link SpokenLanguages.main}. */
export function mainLanguage(segments: readonly WhisperNativeSegment[]): AsrTranscriptionInfo | undefined {
  const spoken = new SpokenLanguages();
  for (const segment of segments) spoken.add(segment);
  return spoken.main();
}

/**
 * Combines the languages of all channels: those of the channel with the highest confidence. If the channels agree on
 * the language, it has the mean of their confidences.
 */
export function combineInfo(infos: readonly AsrTranscriptionInfo[]): AsrTranscriptionInfo {
  const [first, ...others] = infos;
  if (!first) return { ...SILENCE };
  const surest = others.reduce(
    (best, info) => (info.language_confidence > best.language_confidence ? info : best),
    first,
  );
  if (others.some(({ language }) => language !== first.language)) return surest;
  const sum = infos.reduce((total, { language_confidence: confidence }) => total + confidence, 0);
  return { ...surest, language_confidence: fraction(sum / infos.length) };
}

/** Limits the value to 0 to 1, because rounding or a missing value can give numbers outside of it. */
function fraction(value: number): number {
  return Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 0;
}
