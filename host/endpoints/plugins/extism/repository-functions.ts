import { withoutNull } from '../../../base/core/json/without-null.ts';
import type { CallContext } from 'extism';
import * as z from 'zod/mini';
import { type Awaitable, map } from '../../../../wit/generated/world/imports.ts';
import type { CaptionRecord, TranscriptInfo, VideoRecord } from '../../../../wit/generated/world/repositories.ts';
import type { HostCalls, HostOperation } from '../invocation/protocol.ts';
import type { Blocks } from './blocks.ts';
import type { HostFunction } from './host-functions.ts';
import type { UserFunction } from './interface.ts';
import { parsed } from './json-arguments.ts';

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
  /** Calls the host for the running invocation. */
  call<O extends HostOperation>(operation: O, ...args: HostCalls[O]['args']): Awaitable<HostCalls[O]['value']>;
  /** Returns a function that reports its failures to the guest. */
  attempt(work: (context: CallContext, ...args: bigint[]) => Awaitable<bigint>): HostFunction;
  readonly blocks: Blocks;
}

/**
 * Returns the functions of the capabilities `repositories` and `repositories-write`. Records are JSON with the names of
 * the application's own records.
 */
export function repositoryFunctions({
  call,
  attempt,
  blocks,
}: RepositoryFunctionOptions): Partial<Record<UserFunction, HostFunction>> {
  const read = (context: CallContext, address: bigint): string => blocks.text(context, address);
  const json = (context: CallContext, value: unknown): bigint => blocks.store(context, JSON.stringify(value));
  const entries = (limit: bigint): number => Math.max(0, Number(limit));
  const done = (): bigint => 1n;
  return {
    repository_media_exists: attempt((context, id) =>
      map(call('repositories.media-exists', read(context, id)), BigInt),
    ),
    repository_video: attempt((context, id) =>
      map(call('repositories.read-video', read(context, id)), (video) => json(context, videoOf(video))),
    ),
    repository_videos: attempt((context, after, limit) =>
      map(call('repositories.list-videos', after === 0n ? undefined : read(context, after), entries(limit)), (page) =>
        json(context, page.map(videoOf)),
      ),
    ),
    repository_caption: attempt((context, id) =>
      map(call('repositories.read-caption', Number(id)), (caption) => json(context, captionOf(caption))),
    ),
    repository_captions: attempt((context, media, after, limit) => {
      const place = after === 0n ? undefined : parsed(Place, read(context, after), 'the place');
      return map(call('repositories.list-captions', read(context, media), place, entries(limit)), (page) =>
        json(context, page.map(captionOf)),
      );
    }),
    repository_transcript: attempt((context, id) =>
      map(call('repositories.read-transcript', Number(id)), ({ info, transcript, segments }) =>
        blocks.store(
          context,
          `${JSON.stringify({ ...infoOf(info), transcript }).slice(0, -1)},"segments":${segments}}`,
        ),
      ),
    ),
    repository_transcripts: attempt((context, media, after, limit) =>
      map(
        call(
          'repositories.list-transcripts',
          read(context, media),
          after === 0n ? undefined : Number(after),
          entries(limit),
        ),
        (page) => json(context, page.map(infoOf)),
      ),
    ),
    repository_create_media: attempt((context, id, kind) =>
      map(call('repositories-write.create-media', read(context, id), read(context, kind)), done),
    ),
    repository_save_video: attempt((context, video) => {
      const { media_id: mediaId, path, url, title, description } = parsed(NewVideo, read(context, video), 'the video');
      return map(call('repositories-write.save-video', withoutNull({ mediaId, path, url, title, description })), (id) =>
        blocks.store(context, id),
      );
    }),
    repository_save_captions: attempt((context, captions) => {
      const rows = parsed(NewCaptions, read(context, captions), 'the captions').map(
        ({ media_id: mediaId, frame_id: frameId, caption_type: captionType, ...caption }) => ({
          ...{ ...caption, frameId },
          ...withoutNull({ mediaId, captionType }),
        }),
      );
      return map(call('repositories-write.save-captions', rows), (ids) => json(context, Array.from(ids)));
    }),
    repository_save_transcript: attempt((context, transcript) => {
      const {
        media_id: mediaId,
        language_confidence: languageConfidence,
        transcript_type: transcriptType,
        segments,
        ...row
      } = parsed(NewTranscript, read(context, transcript), 'the transcript');
      return map(
        call('repositories-write.save-transcript', {
          ...row,
          languageConfidence,
          segments: JSON.stringify(segments),
          ...withoutNull({ mediaId, transcriptType }),
        }),
        BigInt,
      );
    }),
    repository_delete_media: attempt((context, id) =>
      map(call('repositories-write.delete-media', read(context, id)), done),
    ),
    repository_delete_caption: attempt((_, id) => map(call('repositories-write.delete-caption', Number(id)), done)),
    repository_delete_transcript: attempt((_, id) =>
      map(call('repositories-write.delete-transcript', Number(id)), done),
    ),
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
