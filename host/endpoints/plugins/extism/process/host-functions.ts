import { randomBytes } from 'node:crypto';
import type { CallContext } from 'extism';
import * as z from 'zod/mini';
import type {
  ImageInfo,
  Source as MediaSource,
  VideoInfo,
  VideoMetadata,
} from '../../../../../wit/generated/world/media.ts';
import type { Request, Response } from '../../../../../wit/generated/world/http.ts';
import type { AnswerHead } from '../../../../../wit/generated/world/output.ts';
import type { FileInfo, TextPiece } from '../../../../../wit/generated/world/uploads.ts';
import type { Error as WitError } from '../../../../../wit/generated/world/types.ts';
import { maxFrameBytes } from '../../sandbox/frames.ts';
import type { Blocks } from '../blocks.ts';
import type { UserFunction } from '../interface.ts';
import { parsed } from '../json-arguments.ts';
import type { HostLink } from './host-link.ts';
import { repositoryFunctions } from './repository-functions.ts';
import { storageFunctions } from './storage-functions.ts';
import type { ResourceType } from './world.ts';

/** A host function in the guest's form: arguments and result are addresses of blocks, handles or numbers. */
export type HostFunction = (context: CallContext, ...args: bigint[]) => bigint | number | void;
/** A function whose failures the guest can ask for. */
export type FailingFunction = (context: CallContext, ...args: bigint[]) => bigint;

const Source = z.strictObject({
  path: z.optional(z.string()),
  url: z.optional(z.string()),
  content: z.optional(z.string()),
  media_id: z.optional(z.string()),
});
const Handles = z.array(z.number());
/** The media of a call: a list of audio, or audio and images by name. */
const Media = z.union([Handles, z.strictObject({ audio: z._default(Handles, []), images: z._default(Handles, []) })]);
const HttpRequest = z.strictObject({
  method: z._default(z.enum(['get', 'post']), 'get'),
  url: z.string(),
  headers: z._default(z.array(z.tuple([z.string(), z.string()])), []),
});
const Head = z.strictObject({
  media_type: z.string(),
  status: z._default(z.int().check(z.minimum(0), z.maximum(65_535)), 200),
  headers: z._default(z.record(z.string(), z.string()), {}),
});
const maxRandomBytes = 64 * 1024;

/** The number of a track that no file has. */
const MAX_TRACK = 2 ** 32 - 1;
/** More than the host gives at once. */
const maxPieceBytes = 2 ** 30;
const pieceLength = (given: bigint): number => Math.max(0, Math.min(Number(given), maxPieceBytes));

const done = 1n;
const failed = 0n;

/**
 * Returns the functions of `extism:host/user` for one run. A function that fails returns 0, and `host_error` returns
 * the reason. `memory` returns the guest's memory from `pointer` on.
 */
export function hostFunctions(
  link: HostLink,
  blocks: Blocks,
  memory: (pointer: bigint, length: number) => Uint8Array,
): Readonly<Record<UserFunction, HostFunction>> {
  let lastError: WitError | undefined;
  let body: Uint8Array = new Uint8Array();
  /** Handles that the guest has not released. */
  const held = new Map<number, ResourceType>();

  /** Returns a function that reports its failures to the guest. */
  const attempt =
    (work: FailingFunction): FailingFunction =>
    (context, ...args) => {
      lastError = undefined;
      try {
        return work(context, ...args);
      } catch (thrown) {
        const { payload } = thrown as { payload?: WitError };
        if (payload === undefined) throw thrown; // a trap
        lastError = payload;
        return failed;
      }
    };
  const text = (context: CallContext, address: bigint): string => blocks.text(context, address);
  const hold = (type: ResourceType, handle: number): bigint => {
    held.set(handle, type);
    link.requireHandles(held.size);
    return BigInt(handle);
  };
  const optional = (context: CallContext, value: string | undefined): bigint =>
    value === undefined ? failed : blocks.store(context, value);
  const json = (context: CallContext, value: unknown): bigint => blocks.store(context, JSON.stringify(value));
  const source = (context: CallContext, address: bigint): MediaSource => {
    const { media_id: mediaId, ...rest } = parsed(Source, text(context, address), 'the source');
    return { ...rest, mediaId };
  };
  /** Calls `deployments#call` or `deployments#open`, or the same function with images. */
  const ask = <T>(what: 'call' | 'open', context: CallContext, args: readonly bigint[]): T => {
    const [deployment, method, json, media] = args as [bigint, bigint, bigint, bigint];
    const given = media === 0n ? [] : parsed(Media, text(context, media), 'the media');
    const { audio, images } = Array.isArray(given) ? { audio: given, images: [] } : given;
    const asked = [text(context, deployment), text(context, method), text(context, json), audio];
    return images.length === 0
      ? link.call<T>(`deployments#${what}`, ...asked)
      : link.call<T>(`deployments#${what}-with-images`, ...asked, images);
  };
  const info = (handle: number): object | undefined => {
    switch (held.get(handle)) {
      case 'media.video': {
        const { duration, hasAudio, hasVideo } = link.call<VideoInfo>('media#[method]video.info', handle);
        const { title, description } = link.call<VideoMetadata>('media#[method]video.metadata', handle);
        return { duration, has_audio: hasAudio, has_video: hasVideo, title, description };
      }
      case 'media.audio':
        return { duration: link.call<number>('media#[method]audio.duration', handle) };
      case 'media.image':
        return link.call<ImageInfo>('media#[method]image.info', handle);
      default:
        return undefined;
    }
  };

  return {
    output_write: attempt((context, chunk) => {
      link.write(blocks.text(context, chunk!, maxFrameBytes));
      return done;
    }),
    output_forward: attempt((_, stream) => {
      link.call('output#forward', Number(stream));
      return done;
    }),
    output_begin: attempt((context, head) => {
      const { media_type: mediaType, status, headers } = parsed(Head, text(context, head!), 'the head');
      link.call('output#begin', { mediaType, status, headers: Object.entries(headers) } satisfies AnswerHead);
      return done;
    }),
    output_send: attempt((context, bytes) => {
      link.call('output#send', Buffer.from(blocks.bytes(context, bytes!)).toString('base64'));
      return done;
    }),
    upload_info: attempt((context, field) => {
      const { name, mediaType, size } = link.call<FileInfo>('uploads#info', text(context, field!));
      return json(context, { name, media_type: mediaType, size });
    }),
    upload_read: attempt((context, field, offset, length) => {
      const piece = link.call<string>('uploads#read', text(context, field!), Number(offset), pieceLength(length!));
      return blocks.store(context, Buffer.from(piece, 'base64'));
    }),
    upload_read_text: attempt((context, field, offset, length) => {
      const of = text(context, field!);
      return json(context, link.call<TextPiece>('uploads#read-text', of, Number(offset), pieceLength(length!)));
    }),
    media_open: attempt((context, from) =>
      hold('media.video', link.call('media#[static]video.open', source(context, from))),
    ),
    media_open_image: attempt((context, from) =>
      hold('media.image', link.call('media#[static]image.open', source(context, from))),
    ),
    media_extract_audio: attempt((_, video, separate) =>
      hold(
        'media.audio',
        link.call('media#[method]video.extract-audio', Number(video), separate === 0n ? 'mix' : 'separate'),
      ),
    ),
    media_facts: attempt((context, video) =>
      blocks.store(context, link.call<string>('media#[method]video.facts', Number(video))),
    ),
    media_frames: attempt((context, video, options) =>
      hold('media.frames', link.call('media#[method]video.frames', Number(video), text(context, options!))),
    ),
    media_subtitles: attempt((context, video, track) => {
      const number = Number(BigInt.asIntN(64, track!));
      const of = number < 0 ? undefined : Math.min(number, MAX_TRACK);
      return blocks.store(context, link.call<string>('media#[method]video.subtitles', Number(video), of));
    }),
    image_encode: attempt((context, image, options) => {
      const file = link.call<string>('media#[method]image.encode', Number(image), text(context, options!));
      return blocks.store(context, Buffer.from(file, 'base64'));
    }),
    frames_next: attempt((context, frames) =>
      json(context, link.call<number | undefined>('media#[method]frames.next', Number(frames)) ?? null),
    ),
    frames_image: attempt((_, frames) => hold('media.image', link.call('media#[method]frames.image', Number(frames)))),
    media_info: (context, number) => {
      const known = info(Number(number));
      return known ? json(context, known) : failed;
    },
    image_pixels: attempt((context, image, width, height) =>
      blocks.store(context, link.call('media#[method]image.pixels', Number(image), Number(width), Number(height))),
    ),
    deployments_call: attempt((context, ...args) => blocks.store(context, ask<string>('call', context, args))),
    deployments_open: attempt((context, ...args) => hold('deployments.chunks', ask<number>('open', context, args))),
    deployments_next: attempt((context, stream) => {
      const values = link.call<readonly string[]>('deployments#[method]chunks.next', Number(stream));
      return blocks.store(context, `[${values.join(',')}]`);
    }),
    settings_get: attempt((context, name) => optional(context, link.call('settings#get', text(context, name)))),
    ...storageFunctions({ link, attempt, blocks }),
    ...repositoryFunctions({ link, attempt, blocks }),
    http_fetch: attempt((context, request, content) => {
      const { body: received, ...head } = link.call<Response>('http#fetch', {
        ...parsed(HttpRequest, text(context, request), 'the request'),
        body: content === 0n ? undefined : blocks.bytes(context, content),
      } satisfies Request);
      body = received;
      return json(context, head);
    }),
    http_body: (context) => blocks.store(context, body),
    remote_start: attempt((context, name, input) =>
      hold('remote.task', link.call('remote#[static]task.start', text(context, name), text(context, input))),
    ),
    remote_wait: attempt((context, task) =>
      blocks.store(context, link.call<string>('remote#[method]task.wait', Number(task))),
    ),
    // Extism's own functions need one call for each eight bytes.
    block_of: (context, pointer, length) => blocks.store(context, memory(pointer!, Number(length)).slice()),
    copy_block: (context, block, pointer) => {
      const bytes = blocks.bytes(context, block!);
      memory(pointer!, bytes.length).set(bytes);
    },
    host_error: (context) => (lastError ? json(context, { ...lastError, data: JSON.parse(lastError.data) }) : failed),
    request_id: (context) => blocks.store(context, link.call<string>('invocation#request-id')),
    remaining_ms: () => link.call<bigint>('invocation#remaining-ms'),
    is_cancelled: () => (link.isEnding ? done : failed),
    user: (context) => optional(context, link.call('invocation#user')),
    priority: () => BigInt(link.call<number>('invocation#priority')),
    traceparent: (context) => optional(context, link.call('invocation#traceparent')),
    random: (context, length) =>
      blocks.store(context, new Uint8Array(randomBytes(Math.max(0, Math.min(Number(length), maxRandomBytes))))),
    progress: (context, percent, what) => link.tell('progress#report', Number(percent) / 100, text(context, what!)),
    release: (_, number) => {
      const type = held.get(Number(number));
      if (type === undefined) return;
      held.delete(Number(number));
      link.drop(type, Number(number));
    },
  };
}
