export type { TokenCounter } from './tokens.ts';
export { splitText, type SplitTextOptions, type DocumentChunk } from './split-text.ts';
export { splitTranscript, type SplitTranscriptOptions, type TranscriptChunk } from './split-transcript.ts';
