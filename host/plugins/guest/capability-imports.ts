import type { WitTranscription, WitTranscriptionParams } from '../capabilities/asr-records.ts';
import type { WitChatOptions, WitMessage } from '../capabilities/llm-records.ts';
import type {
  WitCaptionPlace,
  WitNewCaption,
  WitNewTranscript,
  WitNewVideo,
} from '../capabilities/repositories-records.ts';
import type { HttpRequest, ImageInfo } from '../ports.ts';
import type { WitSource } from '../invocation/protocol.ts';
import { type Awaitable, type Bridge, type Invocation, map } from './bridge.ts';

const maxReports = 1_000;
const maxTextChars = 1_024;

type Held = new (handle: number) => { readonly handle: number };

export interface CapabilityImports {
  readonly Image: unknown;
  readonly interfaces: Record<string, Record<string, unknown>>;
}

/**
 * The interfaces of `capabilities/` for one instance, and the resource `image` of `media`. `Resource` is what a guest
 * holds by a number.
 */
export function capabilityImports(bridge: Bridge, current: () => Invocation, Resource: Held): CapabilityImports {
  class Image extends Resource {
    readonly #info: ImageInfo;

    constructor(handle: number, info: ImageInfo) {
      super(handle);
      this.#info = info;
    }

    static open(source: WitSource): Awaitable<Image> {
      return map(bridge.call(current(), 'media.open-image', source), ({ image, info }) => new Image(image, info));
    }

    info(): ImageInfo {
      return this.#info;
    }

    pixels(width: number, height: number): Awaitable<Uint8Array> {
      return bridge.call(current(), 'media.image-pixels', this.handle, width, height);
    }
  }

  class Transcriptions extends Resource {
    next(): Awaitable<readonly WitTranscription[]> {
      return bridge.call(current(), 'asr.next', this.handle);
    }
  }

  class TextStream extends Resource {
    next(): Awaitable<readonly string[]> {
      return bridge.call(current(), 'llm.next', this.handle);
    }

    forward(): Awaitable<undefined> {
      return bridge.forward(current(), 'llm.forward', this.handle);
    }
  }

  class Task extends Resource {
    static start(name: string, input: string): Awaitable<Task> {
      return map(bridge.call(current(), 'remote.start', name, input), (task) => new Task(task));
    }

    wait(): Awaitable<string> {
      return bridge.call(current(), 'remote.wait', this.handle);
    }
  }

  const interfaces = {
    'aana:host/progress': { report: (fraction: number, text: string) => report(bridge, current(), fraction, text) },
    'aana:host/asr': {
      Transcriptions,
      transcribe: (deployment: string, audio: { handle: number }, params: WitTranscriptionParams) =>
        bridge.call(current(), 'asr.transcribe', deployment, audio.handle, params),
      transcribeStream: (deployment: string, audio: { handle: number }, params: WitTranscriptionParams) =>
        map(
          bridge.call(current(), 'asr.transcribe-stream', deployment, audio.handle, params),
          (stream) => new Transcriptions(stream),
        ),
    },
    'aana:host/llm': {
      TextStream,
      chat: (deployment: string, dialog: readonly WitMessage[], options: WitChatOptions) =>
        bridge.call(current(), 'llm.chat', deployment, dialog, options),
      chatStream: (deployment: string, dialog: readonly WitMessage[], options: WitChatOptions) =>
        map(bridge.call(current(), 'llm.chat-stream', deployment, dialog, options), (stream) => new TextStream(stream)),
      countDialogTokens: (deployment: string, dialog: readonly WitMessage[]) =>
        bridge.call(current(), 'llm.count-dialog-tokens', deployment, dialog),
      countTokens: (deployment: string, text: string) => bridge.call(current(), 'llm.count-tokens', deployment, text),
    },
    'aana:host/storage': {
      get: (key: string) => bridge.call(current(), 'storage.get', key),
      set: (key: string, value: Uint8Array) => bridge.call(current(), 'storage.set', key, value),
      delete: (key: string) => bridge.call(current(), 'storage.delete', key),
      list: (prefix: string, after: string | undefined, limit: number) =>
        bridge.call(current(), 'storage.list', prefix, after, limit),
    },
    'aana:host/repositories': {
      mediaExists: (mediaId: string) => bridge.call(current(), 'repositories.media-exists', mediaId),
      readVideo: (mediaId: string) => bridge.call(current(), 'repositories.read-video', mediaId),
      listVideos: (after: string | undefined, limit: number) =>
        bridge.call(current(), 'repositories.list-videos', after, limit),
      readCaption: (id: number) => bridge.call(current(), 'repositories.read-caption', id),
      listCaptions: (mediaId: string, after: WitCaptionPlace | undefined, limit: number) =>
        bridge.call(current(), 'repositories.list-captions', mediaId, after, limit),
      readTranscript: (id: number) => bridge.call(current(), 'repositories.read-transcript', id),
      listTranscripts: (mediaId: string, after: number | undefined, limit: number) =>
        bridge.call(current(), 'repositories.list-transcripts', mediaId, after, limit),
    },
    'aana:host/repositories-write': {
      createMedia: (mediaId: string, mediaType: string) =>
        bridge.call(current(), 'repositories-write.create-media', mediaId, mediaType),
      saveVideo: (video: WitNewVideo) => bridge.call(current(), 'repositories-write.save-video', video),
      saveCaptions: (captions: readonly WitNewCaption[]) =>
        bridge.call(current(), 'repositories-write.save-captions', captions),
      saveTranscript: (transcript: WitNewTranscript) =>
        bridge.call(current(), 'repositories-write.save-transcript', transcript),
      deleteMedia: (mediaId: string) => bridge.call(current(), 'repositories-write.delete-media', mediaId),
      deleteCaption: (id: number) => bridge.call(current(), 'repositories-write.delete-caption', id),
      deleteTranscript: (id: number) => bridge.call(current(), 'repositories-write.delete-transcript', id),
    },
    'aana:host/http': { fetch: (request: HttpRequest) => bridge.call(current(), 'http.fetch', request) },
    'aana:host/remote': { Task },
  };
  return { Image, interfaces };
}

/** Tells how far an invocation has come, unless that says nothing new. */
export function report(bridge: Bridge, invocation: Invocation, fraction: number, text: string): void {
  const share = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
  const percent = Math.floor(share * 100);
  const last = invocation.progress;
  if ((percent === last.percent && text === last.text) || last.count >= maxReports) return;
  invocation.progress = { percent, text, count: last.count + 1 };
  bridge.post({ type: 'progress', id: invocation.id, fraction: share, text: text.slice(0, maxTextChars) });
}
