import { randomBytes } from 'node:crypto';
import type { CallContext } from 'extism';
import * as z from 'zod/mini';
import { threadsNow } from '../../../base/core/clock.ts';
import { type Awaitable, map } from '../../../../wit/generated/world/imports.ts';
import type { Source as MediaSource } from '../../../../wit/generated/world/media.ts';
import type { WitError } from '../invocation/protocol.ts';
import type { Bridge, Invocation } from '../guest/bridge.ts';
import { report } from '../guest/progress.ts';
import { maxRandomBytes } from '../guest/imports.ts';
import type { Blocks } from './blocks.ts';
import type { UserFunction } from './interface.ts';
import { parsed } from './json-arguments.ts';
import { repositoryFunctions } from './repository-functions.ts';

/** A host function in the guest's form: arguments and result are addresses of blocks, handles or numbers. */
export type HostFunction = (context: CallContext, ...args: bigint[]) => Awaitable<bigint>;

export interface HostFunctions {
  /** Functions for which the guest waits. */
  readonly waiting: Partial<Record<UserFunction, HostFunction>>;
  readonly others: Partial<Record<UserFunction, (context: CallContext, ...args: bigint[]) => bigint | number | void>>;
}

const Source = z.strictObject({
  path: z.optional(z.string()),
  url: z.optional(z.string()),
  content: z.optional(z.string()),
  media_id: z.optional(z.string()),
});
const AudioHandles = z.array(z.number());
const HttpRequest = z.strictObject({
  method: z._default(z.enum(['get', 'post']), 'get'),
  url: z.string(),
  headers: z._default(z.array(z.tuple([z.string(), z.string()])), []),
});

const done = 1n;
const failed = 0n;

/**
 * Returns the functions of `extism:host/user` for one run. A function that fails returns 0, and `host_error` returns
 * the reason. `current` returns the invocation, and throws when there is none. `memory` returns the guest's memory from
 * `pointer` on.
 */
export function hostFunctions(
  bridge: Bridge,
  current: () => Invocation,
  blocks: Blocks,
  memory: (pointer: bigint, length: number) => Uint8Array,
): HostFunctions {
  let lastError: WitError | undefined;
  let body: Uint8Array = new Uint8Array();
  /** Handles that the guest has not released. */
  const held = new Set<number>();
  /** Facts about the media that the guest holds, by handle. */
  const infos = new Map<number, object>();

  const fail = (thrown: unknown): bigint => {
    const { payload } = thrown as { payload?: WitError };
    if (payload === undefined) throw thrown; // a trap
    lastError = payload;
    return failed;
  };
  /** Returns a function that reports its failures to the guest. */
  const attempt =
    (work: (context: CallContext, ...args: bigint[]) => Awaitable<bigint>): HostFunction =>
    (context, ...args) => {
      lastError = undefined;
      try {
        const result = work(context, ...args);
        return result instanceof Promise ? result.catch(fail) : result;
      } catch (thrown) {
        return fail(thrown);
      }
    };
  const text = (context: CallContext, address: bigint): string => blocks.text(context, address);
  const handle = (number: number, info?: object): bigint => {
    held.add(number);
    if (info) infos.set(number, info);
    return BigInt(number);
  };
  const optional = (context: CallContext, value: string | null | undefined): bigint =>
    typeof value === 'string' ? blocks.store(context, value) : failed;
  const json = (context: CallContext, value: unknown): bigint => blocks.store(context, JSON.stringify(value));
  const open = (context: CallContext, source: bigint): MediaSource => {
    const { media_id: mediaId, ...rest } = parsed(Source, text(context, source), 'the source');
    return { ...rest, mediaId };
  };
  const audio = (context: CallContext, handles: bigint): number[] =>
    handles === 0n ? [] : parsed(AudioHandles, text(context, handles), 'the audio');
  const call = bridge.call.bind(bridge);

  return {
    waiting: {
      output_write: attempt((context, chunk) => map(bridge.write(current(), text(context, chunk)), () => done)),
      output_forward: attempt((_, stream) => map(call(current(), 'output.forward', Number(stream)), () => done)),
      media_open: attempt((context, source) =>
        map(call(current(), 'media.open', open(context, source)), ({ handle: video, info, metadata }) =>
          handle(video, {
            duration: info.duration,
            has_audio: info.hasAudio,
            has_video: info.hasVideo,
            title: metadata.title,
            description: metadata.description,
          }),
        ),
      ),
      media_open_image: attempt((context, source) =>
        map(call(current(), 'media.open-image', open(context, source)), ({ handle: image, info }) =>
          handle(image, info),
        ),
      ),
      media_extract_audio: attempt((_, video, separate) =>
        map(
          call(current(), 'media.extract-audio', Number(video), separate === 0n ? 'mix' : 'separate'),
          ({ handle: number, duration }) => handle(number, { duration }),
        ),
      ),
      image_pixels: attempt((context, image, width, height) =>
        map(call(current(), 'media.image-pixels', Number(image), Number(width), Number(height)), (pixels) =>
          blocks.store(context, pixels),
        ),
      ),
      deployments_call: attempt((context, deployment, method, args, handles) =>
        map(
          call(
            current(),
            'deployments.call',
            text(context, deployment),
            text(context, method),
            text(context, args),
            audio(context, handles),
          ),
          (value) => blocks.store(context, value),
        ),
      ),
      deployments_open: attempt((context, deployment, method, args, handles) =>
        map(
          call(
            current(),
            'deployments.open',
            text(context, deployment),
            text(context, method),
            text(context, args),
            audio(context, handles),
          ),
          (stream) => handle(stream),
        ),
      ),
      deployments_next: attempt((context, stream) =>
        map(call(current(), 'deployments.next', Number(stream)), (values) =>
          blocks.store(context, `[${values.join(',')}]`),
        ),
      ),
      storage_get: attempt((context, key) =>
        map(call(current(), 'storage.get', text(context, key)), (value) =>
          value ? blocks.store(context, value) : failed,
        ),
      ),
      storage_set: attempt((context, key, value) =>
        map(call(current(), 'storage.set', text(context, key), blocks.bytes(context, value)), () => done),
      ),
      storage_delete: attempt((context, key) =>
        map(call(current(), 'storage.delete', text(context, key)), (wasThere) => (wasThere ? done : failed)),
      ),
      storage_list: attempt((context, prefix, after, limit) =>
        map(
          call(
            current(),
            'storage.list',
            text(context, prefix),
            after === 0n ? undefined : text(context, after),
            Math.max(0, Number(limit)),
          ),
          (keys) => json(context, keys),
        ),
      ),
      ...repositoryFunctions({ call: (operation, ...args) => call(current(), operation, ...args), attempt, blocks }),
      http_fetch: attempt((context, request, content) => {
        const asked = {
          ...parsed(HttpRequest, text(context, request), 'the request'),
          ...(content !== 0n && { body: blocks.bytes(context, content) }),
        };
        return map(call(current(), 'http.fetch', asked), ({ body: received, ...head }) => {
          body = received;
          return json(context, head);
        });
      }),
      remote_start: attempt((context, name, input) =>
        map(call(current(), 'remote.start', text(context, name), text(context, input)), (task) => handle(task)),
      ),
      remote_wait: attempt((context, task) =>
        map(call(current(), 'remote.wait', Number(task)), (value) => blocks.store(context, value)),
      ),
    },
    others: {
      // Extism's own functions need one call for each eight bytes.
      block_of: (context, pointer, length) => blocks.store(context, memory(pointer, Number(length)).slice()),
      copy_block: (context, block, pointer) => {
        const bytes = blocks.bytes(context, block);
        memory(pointer, bytes.length).set(bytes);
      },
      host_error: (context) => (lastError ? json(context, { ...lastError, data: JSON.parse(lastError.data) }) : failed),
      request_id: (context) => blocks.store(context, current().requestId),
      remaining_ms: () => BigInt(Math.max(0, Math.round(current().deadlineAt - threadsNow()))),
      is_cancelled: () => (bridge.isCancelled(current()) ? done : failed),
      user: (context) => optional(context, current().userId),
      priority: () => BigInt(current().priority ?? 0),
      traceparent: (context) => optional(context, current().traceparent),
      random: (context, length) =>
        blocks.store(context, new Uint8Array(randomBytes(Math.max(0, Math.min(Number(length), maxRandomBytes))))),
      progress: (context, percent, what) => report(bridge, current(), Number(percent) / 100, text(context, what)),
      release: (_, number) => {
        infos.delete(Number(number));
        if (held.delete(Number(number))) bridge.post({ type: 'drop', id: current().id, handle: Number(number) });
      },
      media_info: (context, number) => (infos.has(Number(number)) ? json(context, infos.get(Number(number))) : failed),
      http_body: (context) => blocks.store(context, body),
    },
  };
}
