import { randomBytes } from 'node:crypto';
import type { LogLevel } from '../../core/log/logger.ts';
import { isDeep } from '../invocation/border.ts';
import type { VideoInfo } from '../ports.ts';
import type { WitSource } from '../invocation/protocol.ts';
import { type Awaitable, type Bridge, type Invocation, map } from './bridge.ts';
import { capabilityImports } from './capability-imports.ts';

/** Most bytes of one call. */
export const maxRandomBytes = 65_536;
const maxLineChars = 16 * 1024;
const maxLines = 1_000;

/**
 * The `aana:host/*` interfaces for one instance, as the glue takes them. `current` is the invocation that the instance
 * runs; it throws when there is none. Resources are objects with a number that the host knows for that invocation
 * alone.
 */
export function hostImports(bridge: Bridge, current: () => Invocation): Record<string, Record<string, unknown>> {
  class Resource {
    readonly handle: number;
    readonly #owner: Invocation;

    constructor(handle: number) {
      this.handle = handle;
      this.#owner = current();
      this.#owner.held.add(this);
    }

    [Symbol.dispose](): void {
      if (this.#owner.held.delete(this)) bridge.post({ type: 'drop', id: this.#owner.id, handle: this.handle });
    }
  }

  class Audio extends Resource {
    readonly #duration: number;

    constructor(handle: number, duration: number) {
      super(handle);
      this.#duration = duration;
    }

    duration(): number {
      return this.#duration;
    }
  }

  class Video extends Resource {
    readonly #info: VideoInfo;

    constructor(handle: number, info: VideoInfo) {
      super(handle);
      this.#info = info;
    }

    static open(source: WitSource): Awaitable<Video> {
      return map(bridge.call(current(), 'media.open', source), ({ video, info }) => new Video(video, info));
    }

    info(): VideoInfo {
      return this.#info;
    }

    metadata(): Pick<VideoInfo, 'title' | 'description'> {
      return this.#info;
    }

    extractAudio(channels: 'mix' | 'separate'): Awaitable<Audio> {
      return map(
        bridge.call(current(), 'media.extract-audio', this.handle, channels),
        ({ audio, duration }) => new Audio(audio, duration),
      );
    }
  }

  class Chunks extends Resource {
    next(): Awaitable<readonly string[]> {
      return bridge.call(current(), 'deployments.next', this.handle);
    }
  }

  const { Image, interfaces } = capabilityImports(bridge, current, Resource);
  const handles = (audio: readonly Audio[]): number[] => audio.map((each) => each.handle);

  return {
    'aana:host/types': {},
    'aana:host/log': {
      log: (level: LogLevel, message: string, fields: string) => writeLog(bridge, current(), level, message, fields),
    },
    'aana:host/random': { bytes: (length: number) => new Uint8Array(randomBytes(Math.min(length, maxRandomBytes))) },
    'aana:host/invocation': {
      requestId: () => current().requestId,
      remainingMs: () => BigInt(Math.max(0, Math.round(current().deadlineAt - Date.now()))),
      isCancelled: () => bridge.isCancelled(current()),
      user: () => current().userId ?? undefined,
      priority: () => current().priority ?? 0,
      traceparent: () => current().traceparent,
    },
    ...interfaces,
    'aana:host/media': { Video, Audio, Image },
    'aana:host/deployments': {
      Chunks,
      call: (deployment: string, method: string, args: string, audio: readonly Audio[]) =>
        bridge.call(current(), 'deployments.call', deployment, method, args, handles(audio)),
      open: (deployment: string, method: string, args: string, audio: readonly Audio[]) =>
        map(
          bridge.call(current(), 'deployments.open', deployment, method, args, handles(audio)),
          (stream) => new Chunks(stream),
        ),
    },
    'aana:host/output': {
      write: (chunk: string) => bridge.write(current(), chunk),
      forward: (source: Chunks) => bridge.forward(current(), 'output.forward', source.handle),
    },
  };
}

/**
 * A line of the guest's log; without an invocation as it describes itself. Too many are dropped, too long ones cut, and
 * fields that are nested too deep left out.
 */
export function writeLog(
  bridge: Bridge,
  invocation: Invocation | undefined,
  level: LogLevel,
  message: string,
  fields: string,
): void {
  const line = ++(invocation ?? bridge).lines;
  if (line > maxLines + 1) return;
  if (line > maxLines)
    bridge.post({
      type: 'log',
      id: invocation?.id,
      level: 'warn',
      message: `further lines are dropped after ${maxLines}`,
      fields: '',
    });
  else
    bridge.post({
      type: 'log',
      id: invocation?.id,
      level,
      message: message.slice(0, maxLineChars),
      fields: fields.length > maxLineChars || isDeep(fields) ? '' : fields,
    });
}
