import { withoutNull } from '../../../../base/core/json/without-null.ts';
import type { CallContext } from 'extism';
import * as z from 'zod/mini';
import type {
  CaptionRecord,
  TranscriptInfo,
  TranscriptRecord,
  VideoRecord,
} from '../../../../../wit/generated/world/repositories.ts';
import type { Blocks } from '../blocks.ts';
import type { UserFunction } from '../interface.ts';
import { parsed } from '../json-arguments.ts';
import type { FailingFunction } from './host-functions.ts';
import type { HostLink } from './host-link.ts';

const text = z.optional(z.nullable(z.string()));
const count = z.int().check(z.minimum(0), z.maximum(2 ** 32 - 1));
const NewVideo = z.strictObject({ media_id: text, path: text, url: text, title: text, description: text });
const NewCaptions = z.array(
  z.strictObject({
    media_id: text,
    model: z.string(),
    frame_id: count,
    caption: z.string(),
    timestamp: z.number(),
    caption_type: text,
  }),
);
const NewTranscript = z.strictObject({
  ...{ media_id: text, model: z.string(), transcript: z.string(), segments: z.array(z.unknown()) },
  ...{ language: z.string(), language_confidence: z.number(), transcript_type: text },
});
const Place = z.object({ timestamp: z.number(), id: z.int().check(z.minimum(0)) });

export interface RepositoryFunctionOptions {
  readonly link: HostLink;
  /** Returns a function that reports its failures to the guest. */
  attempt(work: FailingFunction): FailingFunction;
  readonly blocks: Blocks;
}

type RepositoryFunction = Extract<UserFunction, `repository_${string}`>;

/**
 * Returns the functions of the capabilities `repositories` and `repositories-write`. Records are JSON with the names of
 * the application's own records.
 */
export function repositoryFunctions({
  link,
  attempt,
  blocks,
}: RepositoryFunctionOptions): Readonly<Record<RepositoryFunction, FailingFunction>> {
  const read = (context: CallContext, address: bigint): string => blocks.text(context, address);
  const json = (context: CallContext, value: unknown): bigint => blocks.store(context, JSON.stringify(value));
  const entries = (limit: bigint): number => Math.max(0, Number(limit));
  const done = 1n;
  return {
    repository_media_exists: attempt((context, id) =>
      BigInt(link.call<boolean>('repositories#media-exists', read(context, id))),
    ),
    repository_video: attempt((context, id) =>
      json(context, videoOf(link.call('repositories#read-video', read(context, id)))),
    ),
    repository_videos: attempt((context, after, limit) => {
      const from = after === 0n ? undefined : read(context, after);
      return json(context, link.call<VideoRecord[]>('repositories#list-videos', from, entries(limit)).map(videoOf));
    }),
    repository_caption: attempt((context, id) =>
      json(context, captionOf(link.call('repositories#read-caption', Number(id)))),
    ),
    repository_captions: attempt((context, media, after, limit) => {
      const place = after === 0n ? undefined : parsed(Place, read(context, after), 'the place');
      const page = link.call<CaptionRecord[]>(
        'repositories#list-captions',
        read(context, media),
        place,
        entries(limit),
      );
      return json(context, page.map(captionOf));
    }),
    repository_transcript: attempt((context, id) => {
      const { info, transcript, segments } = link.call<TranscriptRecord>('repositories#read-transcript', Number(id));
      const rest = JSON.stringify({ ...infoOf(info), transcript });
      return blocks.store(context, `${rest.slice(0, -1)},"segments":${segments}}`);
    }),
    repository_transcripts: attempt((context, media, after, limit) => {
      const page = link.call<TranscriptInfo[]>(
        'repositories#list-transcripts',
        read(context, media),
        after === 0n ? undefined : Number(after),
        entries(limit),
      );
      return json(context, page.map(infoOf));
    }),
    repository_create_media: attempt((context, id, kind) => {
      link.call('repositories-write#create-media', read(context, id), read(context, kind));
      return done;
    }),
    repository_save_video: attempt((context, video) => {
      const { media_id: mediaId, path, url, title, description } = parsed(NewVideo, read(context, video), 'the video');
      const row = withoutNull({ mediaId, path, url, title, description });
      return blocks.store(context, link.call<string>('repositories-write#save-video', row));
    }),
    repository_save_captions: attempt((context, captions) => {
      const rows = parsed(NewCaptions, read(context, captions), 'the captions').map(
        ({ media_id: mediaId, frame_id: frameId, caption_type: captionType, ...caption }) => ({
          ...{ ...caption, frameId },
          ...withoutNull({ mediaId, captionType }),
        }),
      );
      return json(context, link.call('repositories-write#save-captions', rows));
    }),
    repository_save_transcript: attempt((context, transcript) => {
      const {
        media_id: mediaId,
        language_confidence: languageConfidence,
        transcript_type: transcriptType,
        segments,
        ...row
      } = parsed(NewTranscript, read(context, transcript), 'the transcript');
      const id = link.call<number>('repositories-write#save-transcript', {
        ...row,
        languageConfidence,
        segments: JSON.stringify(segments),
        ...withoutNull({ mediaId, transcriptType }),
      });
      return BigInt(id);
    }),
    repository_delete_media: attempt((context, id) => {
      link.call('repositories-write#delete-media', read(context, id));
      return done;
    }),
    repository_delete_caption: attempt((_, id) => {
      link.call('repositories-write#delete-caption', Number(id));
      return done;
    }),
    repository_delete_transcript: attempt((_, id) => {
      link.call('repositories-write#delete-transcript', Number(id));
      return done;
    }),
  };
}

function videoOf({ mediaId, path, url, title, description }: VideoRecord): object {
  return {
    media_id: mediaId,
    path: path ?? null,
    url: url ?? null,
    title: title ?? null,
    description: description ?? null,
  };
}

function captionOf({ id, mediaId, model, frameId, caption, timestamp, captionType }: CaptionRecord): object {
  return { id, media_id: mediaId ?? null, model, frame_id: frameId, caption, timestamp, caption_type: captionType };
}

function infoOf({ id, mediaId, model, language, languageConfidence, transcriptType }: TranscriptInfo): object {
  return {
    id,
    media_id: mediaId ?? null,
    model,
    language,
    language_confidence: languageConfidence,
    transcript_type: transcriptType,
  };
}
