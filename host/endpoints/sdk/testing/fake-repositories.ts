import { HostError, toErrorRecord } from '../host-error.ts';
import type {
  CaptionRecord as HostCaption,
  Repositories as HostRepositories,
  TranscriptInfo as HostTranscriptInfo,
  VideoRecord as HostVideo,
} from '../../../../wit/generated/world/repositories.ts';
import type { RepositoriesWrite as HostRepositoriesWrite } from '../../../../wit/generated/world/repositories-write.ts';
import {
  type CaptionRecord,
  given,
  type Stored,
  type TranscriptRecord,
  type VideoRecord,
} from '../capabilities/repositories.ts';
import { compareUtf8 } from '../guest/utf8.ts';

/** Stored media of the application. Runs that are given the same object share it. */
export class FakeRepositories {
  /** Kinds of media by id. The kind of {@link videos} is `video`. */
  readonly media = new Map<string, string>();
  readonly videos: VideoRecord[] = [];
  readonly captions: Stored<CaptionRecord>[] = [];
  readonly transcripts: Stored<TranscriptRecord>[] = [];
  /** The number of the latest row. */
  lastId = 0;
}

export function fakeRepositories(all: FakeRepositories): HostRepositories {
  return {
    mediaExists: (mediaId) => all.media.has(mediaId),
    readVideo: (mediaId) =>
      hostVideo(
        found(
          all.videos.find((video) => video.media_id === mediaId),
          'video',
          mediaId,
        ),
      ),
    listVideos: (after = '', limit) =>
      sorted(all.videos, (a, b) => compareUtf8(a.media_id, b.media_id))
        .filter((video) => compareUtf8(video.media_id, after) > 0)
        .slice(0, limit)
        .map(hostVideo),
    readCaption: (id) =>
      hostCaption(
        found(
          all.captions.find((caption) => caption.id === id),
          'caption',
          id,
        ),
      ),
    listCaptions: (mediaId, after, limit) =>
      sorted(all.captions, (a, b) => a.timestamp - b.timestamp || a.id - b.id)
        .filter(
          ({ media_id: of, timestamp, id }) =>
            of === mediaId &&
            (!after || timestamp > after.timestamp || (timestamp === after.timestamp && id > after.id)),
        )
        .slice(0, limit)
        .map(hostCaption),
    readTranscript(id) {
      const row = found(
        all.transcripts.find((transcript) => transcript.id === id),
        'transcript',
        id,
      );
      return { info: hostInfo(row), transcript: row.transcript, segments: JSON.stringify(row.segments) };
    },
    listTranscripts: (mediaId, after = 0, limit) =>
      all.transcripts
        .filter((row) => row.media_id === mediaId && row.id > after)
        .slice(0, limit)
        .map(hostInfo),
  };
}

export function fakeRepositoriesWrite(all: FakeRepositories): HostRepositoriesWrite {
  const createMedia = (mediaId: string, mediaType: string): void => {
    if (mediaId === '') throw invalid('the id of a media is empty');
    if (all.media.has(mediaId))
      throw failure(
        'MediaIdAlreadyExistsException',
        'conflict',
        `there is a media ${JSON.stringify(mediaId)} already`,
        { table: 'media', id: mediaId },
      );
    all.media.set(mediaId, mediaType);
  };
  const requireMedia = (mediaId: string | undefined): void =>
    void (mediaId === undefined || found(all.media.get(mediaId), 'media', mediaId));
  return {
    createMedia,
    saveVideo({ mediaId = `media-${++all.lastId}`, path, url, title, description }) {
      createMedia(mediaId, 'video');
      all.videos.push({
        media_id: mediaId,
        path: path ?? null,
        url: url ?? null,
        title: title ?? null,
        description: description ?? null,
      });
      return mediaId;
    },
    saveCaptions(captions) {
      for (const { mediaId, timestamp } of captions) {
        requireMedia(mediaId);
        if (!(timestamp >= 0 && Number.isFinite(timestamp)))
          throw invalid(`timestamp is a number of seconds from 0 on, not ${timestamp}`);
      }
      return captions.map(({ mediaId, model, frameId, caption, timestamp, captionType }) => {
        all.captions.push({
          id: ++all.lastId,
          media_id: mediaId ?? null,
          model,
          frame_id: frameId,
          caption,
          timestamp,
          caption_type: captionType ?? 'caption',
        });
        return all.lastId;
      });
    },
    saveTranscript({ mediaId, model, language, languageConfidence, transcriptType, transcript, segments }) {
      requireMedia(mediaId);
      if (!(languageConfidence >= 0 && languageConfidence <= 1))
        throw invalid(`language_confidence is a number from 0 to 1, not ${languageConfidence}`);
      const row = {
        media_id: mediaId ?? null,
        model,
        language,
        language_confidence: languageConfidence,
        transcript_type: transcriptType ?? 'transcript',
        transcript,
        segments: JSON.parse(segments) as unknown[],
      };
      all.transcripts.push({ id: ++all.lastId, ...row });
      return all.lastId;
    },
    deleteMedia(mediaId) {
      found(all.media.get(mediaId), 'media', mediaId);
      all.media.delete(mediaId);
      const isOfIt = ({ media_id: of }: { readonly media_id: string | null }): boolean => of === mediaId;
      remove(all.videos, isOfIt);
      remove(all.captions, isOfIt);
      remove(all.transcripts, isOfIt);
    },
    deleteCaption: (id) => void found(remove(all.captions, (row) => row.id === id)[0], 'caption', id),
    deleteTranscript: (id) => void found(remove(all.transcripts, (row) => row.id === id)[0], 'transcript', id),
  };
}

/** Removes the matching rows from a list. Returns them. */
function remove<T>(rows: T[], fits: (row: T) => boolean): T[] {
  const removed = rows.filter(fits);
  for (const row of removed) rows.splice(rows.indexOf(row), 1);
  return removed;
}

const sorted = <T>(rows: readonly T[], order: (a: T, b: T) => number): T[] => [...rows].sort(order);

function found<T>(row: T | undefined, table: string, id: string | number): T {
  if (row === undefined)
    throw failure('NotFoundException', 'not-found', `there is no ${table} ${JSON.stringify(String(id))}`, {
      table,
      id: String(id),
    });
  return row;
}

const invalid = (message: string): unknown => failure('ValidationError', 'invalid-input', message);
/** Returns an error as a record, because errors cross the border as records. */
const failure = (name: string, kind: HostError['kind'], message: string, data?: unknown): unknown =>
  toErrorRecord(new HostError(name, kind, message, { data }));

function hostVideo({ media_id: mediaId, path, url, title, description }: VideoRecord): HostVideo {
  return { mediaId, ...given({ path, url, title, description }) };
}

function hostCaption({
  id,
  media_id: mediaId,
  model,
  frame_id: frameId,
  caption,
  timestamp,
  caption_type: captionType,
}: Stored<CaptionRecord>): HostCaption {
  return { id, ...given({ mediaId }), model, frameId, caption, timestamp, captionType };
}

function hostInfo({
  id,
  media_id: mediaId,
  model,
  language,
  language_confidence: languageConfidence,
  transcript_type: transcriptType,
}: Stored<TranscriptRecord>): HostTranscriptInfo {
  return { id, ...given({ mediaId }), model, language, languageConfidence, transcriptType };
}
