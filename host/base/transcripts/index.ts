export { DiarizedSegment, DiarizedTranscription, toDiarizedJson } from './diarized-json.ts';
export {
  SubtitleOptions,
  TRANSCRIPT_FORMATS,
  TRANSCRIPT_MEDIA_TYPES,
  type TranscriptFormat,
  type TranscriptTextFormat,
} from './formats.ts';
export { fromSubtitles, subtitlesTranscript } from './from-subtitles.ts';
export { toSrt } from './srt.ts';
export { toText } from './text.ts';
export {
  needsWordTimes,
  TRANSCRIPT_ANSWERS,
  transcriptAnswer,
  TranscriptForm,
  transcriptFormProblems,
} from './transcript-answers.ts';
export { transcriptFile } from './transcript-file.ts';
export { toTsv } from './tsv.ts';
export { type AudioFacts, toVerboseJson, VerboseTranscription } from './verbose-json.ts';
export { toVtt } from './vtt.ts';
export { withSpeakers, type WithSpeakersOptions } from './with-speakers.ts';
export { whisperLanguage } from './whisper-language.ts';
