// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { HostCalls } from './calls.ts';
import type * as types from './types.ts';
import type * as media from './media.ts';
import type * as asr from './asr.ts';
import type * as llm from './llm.ts';
import type * as repositories from './repositories.ts';
import type * as repositoriesWrite from './repositories-write.ts';
import type * as http from './http.ts';

/** A value now, or later where the guest is suspended. */
export type Awaitable<T> = T | Promise<T>;

/** Asks the host for the invocation that runs. */
export type CallHost = <O extends keyof HostCalls>(operation: O, ...args: HostCalls[O]['args']) => Awaitable<HostCalls[O]['value']>;

/** An object that stands for a resource of the host. */
export interface Held {
  readonly handle: number;
}

/** Applies `fn` to a value that is there or will be. */
export function map<T, R>(value: Awaitable<T>, fn: (value: T) => R): Awaitable<R> {
  return value instanceof Promise ? value.then(fn) : fn(value);
}

/**
 * The functions that ask the host, for one instance, as jco's glue takes them. An instance of `Resource` stands for a
 * resource of the host.
 */
export function worldImports(call: CallHost, Resource: new (handle: number) => Held): Record<string, Record<string, unknown>> {
  class Audio extends Resource {
    readonly #facts: media.AudioHandle;

    constructor(facts: media.AudioHandle) {
      super(facts.handle);
      this.#facts = facts;
    }

    duration(): number {
      return this.#facts.duration;
    }
  }

  class Video extends Resource {
    readonly #facts: media.VideoHandle;

    constructor(facts: media.VideoHandle) {
      super(facts.handle);
      this.#facts = facts;
    }

    static open(source: media.Source): Awaitable<Video> {
      return map(call('media.open', source), (value) => new Video(value));
    }

    info(): media.VideoInfo {
      return this.#facts.info;
    }

    metadata(): media.VideoMetadata {
      return this.#facts.metadata;
    }

    extractAudio(channels: media.Channels): Awaitable<Audio> {
      return map(call('media.extract-audio', this.handle, channels), (value) => new Audio(value));
    }
  }

  class Image extends Resource {
    readonly #facts: media.ImageHandle;

    constructor(facts: media.ImageHandle) {
      super(facts.handle);
      this.#facts = facts;
    }

    static open(source: media.Source): Awaitable<Image> {
      return map(call('media.open-image', source), (value) => new Image(value));
    }

    static decode(file: Uint8Array): Awaitable<Image> {
      return map(call('media.decode', file), (value) => new Image(value));
    }

    info(): media.ImageInfo {
      return this.#facts.info;
    }

    pixels(width: number, height: number): Awaitable<Uint8Array> {
      return call('media.image-pixels', this.handle, width, height);
    }
  }

  class Chunks extends Resource {
    next(): Awaitable<readonly string[]> {
      return call('deployments.next', this.handle);
    }

    returned(): Awaitable<string> {
      return call('deployments.returned', this.handle);
    }
  }

  class Transcriptions extends Resource {
    next(): Awaitable<readonly asr.Transcription[]> {
      return call('asr.next', this.handle);
    }
  }

  class DetailedTranscriptions extends Resource {
    next(): Awaitable<readonly asr.DetailedTranscription[]> {
      return call('asr.next-detailed', this.handle);
    }
  }

  class TextStream extends Resource {
    next(): Awaitable<readonly string[]> {
      return call('llm.next', this.handle);
    }

    forward(): Awaitable<undefined> {
      return call('llm.forward', this.handle);
    }
  }

  class CompletionStream extends Resource {
    next(): Awaitable<readonly llm.Piece[]> {
      return call('llm.next-pieces', this.handle);
    }

    end(): Awaitable<llm.CompletionEnd> {
      return call('llm.end', this.handle);
    }

    forward(): Awaitable<undefined> {
      return call('llm.forward-pieces', this.handle);
    }
  }

  class Task extends Resource {
    static start(name: string, input: string): Awaitable<Task> {
      return map(call('remote.start', name, input), (value) => new Task(value));
    }

    wait(): Awaitable<string> {
      return call('remote.wait', this.handle);
    }
  }

  return {
    'aana:host/media': {
      Audio,
      Video,
      Image,
    },
    'aana:host/deployments': {
      Chunks,
      call: (deployment: string, method: string, args: string, audio: readonly Held[]) => call('deployments.call', deployment, method, args, audio.map((each) => each.handle)),
      open: (deployment: string, method: string, args: string, audio: readonly Held[]) => map(call('deployments.open', deployment, method, args, audio.map((each) => each.handle)), (value) => new Chunks(value)),
      callWithImages: (deployment: string, method: string, args: string, audio: readonly Held[], images: readonly Held[]) => call('deployments.call-with-images', deployment, method, args, audio.map((each) => each.handle), images.map((each) => each.handle)),
      openWithImages: (deployment: string, method: string, args: string, audio: readonly Held[], images: readonly Held[]) => map(call('deployments.open-with-images', deployment, method, args, audio.map((each) => each.handle), images.map((each) => each.handle)), (value) => new Chunks(value)),
    },
    'aana:host/asr': {
      Transcriptions,
      DetailedTranscriptions,
      transcribe: (deployment: string, audio: Held, params: asr.Params) => call('asr.transcribe', deployment, audio.handle, params),
      transcribeStream: (deployment: string, audio: Held, params: asr.Params) => map(call('asr.transcribe-stream', deployment, audio.handle, params), (value) => new Transcriptions(value)),
      transcribeWith: (deployment: string, audio: Held, options: asr.TranscribeOptions) => call('asr.transcribe-with', deployment, audio.handle, options),
      transcribeStreamWith: (deployment: string, audio: Held, options: asr.TranscribeOptions) => map(call('asr.transcribe-stream-with', deployment, audio.handle, options), (value) => new DetailedTranscriptions(value)),
    },
    'aana:host/llm': {
      TextStream,
      CompletionStream,
      chat: (deployment: string, dialog: readonly llm.Message[], options: llm.Options) => call('llm.chat', deployment, dialog, options),
      chatStream: (deployment: string, dialog: readonly llm.Message[], options: llm.Options) => map(call('llm.chat-stream', deployment, dialog, options), (value) => new TextStream(value)),
      countDialogTokens: (deployment: string, dialog: readonly llm.Message[]) => call('llm.count-dialog-tokens', deployment, dialog),
      countTokens: (deployment: string, text: string) => call('llm.count-tokens', deployment, text),
      complete: (deployment: string, request: llm.CompletionRequest, images: readonly Held[]) => call('llm.complete', deployment, request, images.map((each) => each.handle)),
      completeStream: (deployment: string, request: llm.CompletionRequest, images: readonly Held[]) => map(call('llm.complete-stream', deployment, request, images.map((each) => each.handle)), (value) => new CompletionStream(value)),
    },
    'aana:host/storage': {
      get: (key: string) => call('storage.get', key),
      set: (key: string, value: Uint8Array) => call('storage.set', key, value),
      delete: (key: string) => call('storage.delete', key),
      list: (prefix: string, after: string | undefined, limit: number) => call('storage.list', prefix, after, limit),
    },
    'aana:host/repositories': {
      mediaExists: (mediaId: string) => call('repositories.media-exists', mediaId),
      readVideo: (mediaId: string) => call('repositories.read-video', mediaId),
      listVideos: (after: string | undefined, limit: number) => call('repositories.list-videos', after, limit),
      readCaption: (id: types.RowId) => call('repositories.read-caption', id),
      listCaptions: (mediaId: string, after: repositories.CaptionPlace | undefined, limit: number) => call('repositories.list-captions', mediaId, after, limit),
      readTranscript: (id: types.RowId) => call('repositories.read-transcript', id),
      listTranscripts: (mediaId: string, after: types.RowId | undefined, limit: number) => call('repositories.list-transcripts', mediaId, after, limit),
    },
    'aana:host/repositories-write': {
      createMedia: (mediaId: string, mediaType: string) => call('repositories-write.create-media', mediaId, mediaType),
      saveVideo: (video: repositoriesWrite.NewVideo) => call('repositories-write.save-video', video),
      saveCaptions: (captions: readonly repositoriesWrite.NewCaption[]) => call('repositories-write.save-captions', captions),
      saveTranscript: (transcript: repositoriesWrite.NewTranscript) => call('repositories-write.save-transcript', transcript),
      deleteMedia: (mediaId: string) => call('repositories-write.delete-media', mediaId),
      deleteCaption: (id: types.RowId) => call('repositories-write.delete-caption', id),
      deleteTranscript: (id: types.RowId) => call('repositories-write.delete-transcript', id),
    },
    'aana:host/http': {
      fetch: (request: http.Request) => call('http.fetch', request),
    },
    'aana:host/remote': {
      Task,
    },
    'aana:host/output': {
      write: (chunk: string) => call('output.write', chunk),
      forward: (source: Held) => call('output.forward', source.handle),
    },
  };
}
