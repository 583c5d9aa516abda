import type {
  CaptionRecord,
  TranscriptInfo,
  TranscriptRecord,
  VideoRecord,
} from '../../../../wit/generated/world/repositories.ts';
import type { NewCaption, NewTranscript, NewVideo } from '../../../../wit/generated/world/repositories-write.ts';
import type {
  CaptionRow,
  NewCaptionRow,
  NewTranscriptRow,
  NewVideoRow,
  TranscriptInfoRow,
  TranscriptRow,
  VideoRow,
} from '../ports.ts';

export function witVideo({ media_id: mediaId, path, url, title, description }: VideoRow): VideoRecord {
  return {
    mediaId,
    path: path ?? undefined,
    url: url ?? undefined,
    title: title ?? undefined,
    description: description ?? undefined,
  };
}

export function witCaption({
  id,
  media_id: mediaId,
  model,
  frame_id: frameId,
  caption,
  timestamp,
  caption_type: captionType,
}: CaptionRow): CaptionRecord {
  return { id, mediaId: mediaId ?? undefined, model, frameId, caption, timestamp, captionType };
}

export function witTranscriptInfo({
  id,
  media_id: mediaId,
  model,
  language,
  language_confidence: languageConfidence,
  transcript_type: transcriptType,
}: TranscriptInfoRow): TranscriptInfo {
  return { id, mediaId: mediaId ?? undefined, model, language, languageConfidence, transcriptType };
}

export function witTranscript(row: TranscriptRow): TranscriptRecord {
  return { info: witTranscriptInfo(row), transcript: row.transcript, segments: JSON.stringify(row.segments) };
}

export function videoRow({ mediaId, path, url, title, description }: NewVideo): NewVideoRow {
  return {
    media_id: mediaId,
    path: path ?? null,
    url: url ?? null,
    title: title ?? null,
    description: description ?? null,
  };
}

export function captionRow({
  mediaId,
  model,
  frameId,
  caption,
  timestamp,
  captionType = 'caption',
}: NewCaption): NewCaptionRow {
  return { media_id: mediaId ?? null, model, frame_id: frameId, caption, timestamp, caption_type: captionType };
}

/** @param segments the parsed segments of `transcript`. */
export function transcriptRow(transcript: NewTranscript, segments: readonly unknown[]): NewTranscriptRow {
  const { mediaId, model, language, languageConfidence, transcriptType = 'transcript' } = transcript;
  return {
    media_id: mediaId ?? null,
    model,
    transcript: transcript.transcript,
    segments,
    language,
    language_confidence: languageConfidence,
    transcript_type: transcriptType,
  };
}
