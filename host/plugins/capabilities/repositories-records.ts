import type {
  CaptionRow,
  NewCaptionRow,
  NewTranscriptRow,
  NewVideoRow,
  TranscriptInfoRow,
  TranscriptRow,
  VideoRow,
} from '../ports.ts';

/** The records of the interfaces `repositories` and `repositories-write`, as the glue gives and takes them. */
export interface WitVideoRecord {
  readonly mediaId: string;
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

export interface WitCaptionRecord {
  readonly id: number;
  readonly mediaId?: string | undefined;
  readonly model: string;
  readonly frameId: number;
  readonly caption: string;
  readonly timestamp: number;
  readonly captionType: string;
}

export interface WitCaptionPlace {
  readonly timestamp: number;
  readonly id: number;
}

export interface WitTranscriptInfo {
  readonly id: number;
  readonly mediaId?: string | undefined;
  readonly model: string;
  readonly language: string;
  readonly languageConfidence: number;
  readonly transcriptType: string;
}

export interface WitTranscriptRecord {
  readonly info: WitTranscriptInfo;
  readonly transcript: string;
  /** JSON. */
  readonly segments: string;
}

export type WitNewVideo = Partial<WitVideoRecord>;
export type WitNewCaption = Omit<WitCaptionRecord, 'id' | 'captionType'> & {
  readonly captionType?: string | undefined;
};
export type WitNewTranscript = Omit<WitTranscriptInfo, 'id' | 'transcriptType'> & {
  readonly transcript: string;
  readonly segments: string;
  readonly transcriptType?: string | undefined;
};

export function witVideo({ media_id: mediaId, path, url, title, description }: VideoRow): WitVideoRecord {
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
}: CaptionRow): WitCaptionRecord {
  return { id, mediaId: mediaId ?? undefined, model, frameId, caption, timestamp, captionType };
}

export function witTranscriptInfo({
  id,
  media_id: mediaId,
  model,
  language,
  language_confidence: languageConfidence,
  transcript_type: transcriptType,
}: TranscriptInfoRow): WitTranscriptInfo {
  return { id, mediaId: mediaId ?? undefined, model, language, languageConfidence, transcriptType };
}

export function witTranscript(row: TranscriptRow): WitTranscriptRecord {
  return { info: witTranscriptInfo(row), transcript: row.transcript, segments: JSON.stringify(row.segments) };
}

export function videoRow({ mediaId, path, url, title, description }: WitNewVideo): NewVideoRow {
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
}: WitNewCaption): NewCaptionRow {
  return { media_id: mediaId ?? null, model, frame_id: frameId, caption, timestamp, caption_type: captionType };
}

/** @param segments what the text of the record's says. */
export function transcriptRow(transcript: WitNewTranscript, segments: readonly unknown[]): NewTranscriptRow {
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
