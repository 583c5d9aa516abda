import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { RepositoriesCalls } from '../../../../wit/generated/world/repositories.ts';
import type {
  NewCaption,
  NewTranscript,
  NewVideo,
  RepositoriesWriteCalls,
} from '../../../../wit/generated/world/repositories-write.ts';
import {
  captionRow,
  transcriptRow,
  videoRow,
  witCaption,
  witTranscript,
  witTranscriptInfo,
  witVideo,
} from './repositories-records.ts';
import type { CallsOf } from './scope/scope.ts';

const maxEntries = 200;
const maxCaptions = 1000;
/** Maximum characters of each kind of text. */
const maxChars = { id: 255, name: 255, place: 4096, prose: 16_384 } as const;

/** Reads the stored media of the application. */
export const repositoriesCalls: CallsOf<keyof RepositoriesCalls> = {
  'repositories.media-exists': ({ user }, mediaId) =>
    user.repositories.read(({ media }) => media.exists(idOf(mediaId))),
  'repositories.read-video': async ({ user }, mediaId) =>
    witVideo(await user.repositories.read(({ videos }) => videos.getMetadata(idOf(mediaId)))),
  async 'repositories.list-videos'({ user }, after, limit) {
    const page = { limit: entries(limit), after: after === undefined ? undefined : idOf(after) };
    return (await user.repositories.read(({ videos }) => videos.list(page))).map(witVideo);
  },
  'repositories.read-caption': async ({ user }, id) =>
    witCaption(await user.repositories.read(({ captions }) => captions.read(id))),
  async 'repositories.list-captions'({ user }, mediaId, after, limit) {
    if (after && (Number.isNaN(after.timestamp) || !Number.isSafeInteger(after.id)))
      throw invalid('"after" is not the place of a caption');
    const page = { limit: entries(limit), after };
    return (await user.repositories.read(({ captions }) => captions.list(idOf(mediaId), page))).map(witCaption);
  },
  'repositories.read-transcript': async ({ user }, id) =>
    witTranscript(await user.repositories.read(({ transcripts }) => transcripts.read(id))),
  async 'repositories.list-transcripts'({ user }, mediaId, after, limit) {
    if (after !== undefined && !Number.isSafeInteger(after)) throw invalid('"after" is not the id of a transcript');
    const page = { limit: entries(limit), after };
    return (await user.repositories.read(({ transcripts }) => transcripts.listInfos(idOf(mediaId), page))).map(
      witTranscriptInfo,
    );
  },
};

/** Changes the stored media of the application. Each call is one transaction. */
export const repositoriesWriteCalls: CallsOf<keyof RepositoriesWriteCalls> = {
  async 'repositories-write.create-media'({ user }, mediaId, mediaType) {
    await user.repositories.write(({ media }) =>
      media.create(idOf(mediaId), checked('the media type', mediaType, 'name')),
    );
    return undefined;
  },
  async 'repositories-write.save-video'(scope, video) {
    const row = videoRow(checkedVideo(video));
    return (await scope.user.repositories.write(({ videos }) => videos.save(row))).media_id;
  },
  async 'repositories-write.save-captions'(scope, captions) {
    const rows = checkedCaptions(captions).map(captionRow);
    return (await scope.user.repositories.write((repositories) => repositories.captions.saveAll(rows))).map(
      ({ id }) => id,
    );
  },
  async 'repositories-write.save-transcript'(scope, transcript) {
    const row = transcriptRow(transcript, checkedSegments(transcript));
    return (await scope.user.repositories.write(({ transcripts }) => transcripts.save(row))).id;
  },
  async 'repositories-write.delete-media'({ user }, mediaId) {
    await user.repositories.write(({ media }) => media.delete(idOf(mediaId)));
    return undefined;
  },
  async 'repositories-write.delete-caption'({ user }, id) {
    await user.repositories.write(({ captions }) => captions.delete(id));
    return undefined;
  },
  async 'repositories-write.delete-transcript'({ user }, id) {
    await user.repositories.write(({ transcripts }) => transcripts.delete(id));
    return undefined;
  },
};

function checkedVideo(video: NewVideo): NewVideo {
  const { mediaId, path, url, title, description } = video;
  if (mediaId !== undefined) idOf(mediaId);
  for (const [what, text] of Object.entries({ path, url, title })) checked(what, text, 'place');
  checked('description', description, 'prose');
  return video;
}

function checkedCaptions(captions: readonly NewCaption[]): readonly NewCaption[] {
  if (captions.length > maxCaptions)
    throw fail('ArgumentsTooLarge', `a call takes at most ${maxCaptions} captions, got ${captions.length}`, {
      data: { limit: maxCaptions },
    });
  for (const { mediaId, model, caption, captionType } of captions) {
    if (mediaId !== undefined) idOf(mediaId);
    checked('model', model, 'name');
    checked('caption_type', captionType, 'name');
    checked('caption', caption, 'prose');
  }
  return captions;
}

/** Checks a transcript. Returns its segments. */
function checkedSegments(transcript: NewTranscript): readonly unknown[] {
  const { mediaId, model, language, transcriptType, segments } = transcript;
  if (mediaId !== undefined) idOf(mediaId);
  for (const [what, text] of Object.entries({ model, language, transcript_type: transcriptType }))
    checked(what, text, 'name');
  let parsed: unknown;
  try {
    parsed = JSON.parse(segments);
  } catch (cause) {
    throw invalid(`segments are not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  if (!Array.isArray(parsed)) throw invalid('segments are not a JSON array');
  return parsed;
}

function idOf(mediaId: string): string {
  if (mediaId === '') throw invalid('the id of a media is empty');
  return checked('the id of a media', mediaId, 'id');
}

function checked<T extends string | undefined>(what: string, text: T, kind: keyof typeof maxChars): T {
  if (text !== undefined && text.length > maxChars[kind])
    throw invalid(`${what} has ${text.length} characters, ${maxChars[kind]} are allowed`);
  return text;
}

const entries = (limit: number): number => Math.min(limit, maxEntries);

function invalid(message: string): AanaError {
  return fail('ValidationError', message);
}
