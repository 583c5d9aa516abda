// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { HostCalls } from './calls.ts';

export interface WorldFunction {
  /** As components name it, such as `[method]chunks.next`. */
  readonly name: string;
  /** The call with which a capability of the host answers it. */
  readonly call?: keyof HostCalls;
  /** The fact that it returns. The call that made its resource has returned it together with the handle. */
  readonly fact?: string;
}

/** The functions of each interface that a plugin may import. */
export const worldFunctions = {
  'types': [],
  'log': [
    { name: 'log' },
  ],
  'random': [
    { name: 'bytes' },
  ],
  'crypto': [
    { name: 'perform', call: 'crypto.perform' },
  ],
  'invocation': [
    { name: 'request-id' },
    { name: 'remaining-ms' },
    { name: 'is-cancelled' },
    { name: 'user' },
    { name: 'priority' },
    { name: 'traceparent' },
  ],
  'concurrency': [
    { name: 'start-next' },
    { name: 'wait', call: 'concurrency.wait' },
    { name: 'take-next' },
    { name: 'cancel' },
  ],
  'settings': [
    { name: 'get', call: 'settings.get' },
  ],
  'progress': [
    { name: 'report' },
    { name: 'report-step' },
  ],
  'uploads': [
    { name: 'info', call: 'uploads.info' },
    { name: 'read', call: 'uploads.read' },
    { name: 'read-text', call: 'uploads.read-text' },
  ],
  'media': [
    { name: '[method]audio.duration', fact: 'duration' },
    { name: '[static]video.open', call: 'media.open' },
    { name: '[method]video.info', fact: 'info' },
    { name: '[method]video.metadata', fact: 'metadata' },
    { name: '[method]video.extract-audio', call: 'media.extract-audio' },
    { name: '[method]video.facts', call: 'media.facts' },
    { name: '[method]video.frames', call: 'media.frames' },
    { name: '[method]video.subtitles', call: 'media.subtitles' },
    { name: '[method]frames.next', call: 'media.next-frame' },
    { name: '[method]frames.image', call: 'media.frame-image' },
    { name: '[static]image.open', call: 'media.open-image' },
    { name: '[static]image.decode', call: 'media.decode' },
    { name: '[method]image.info', fact: 'info' },
    { name: '[method]image.pixels', call: 'media.image-pixels' },
    { name: '[static]image.decode-base64', call: 'media.decode-base64' },
    { name: '[method]image.encode', call: 'media.encode' },
    { name: '[method]image.pixels-base64', call: 'media.pixels-base64' },
  ],
  'deployments': [
    { name: '[method]chunks.next', call: 'deployments.next' },
    { name: '[method]chunks.returned', call: 'deployments.returned' },
    { name: 'call', call: 'deployments.call' },
    { name: 'open', call: 'deployments.open' },
    { name: 'call-with-images', call: 'deployments.call-with-images' },
    { name: 'open-with-images', call: 'deployments.open-with-images' },
  ],
  'asr': [
    { name: '[method]transcriptions.next', call: 'asr.next' },
    { name: 'transcribe', call: 'asr.transcribe' },
    { name: 'transcribe-stream', call: 'asr.transcribe-stream' },
    { name: '[method]detailed-transcriptions.next', call: 'asr.next-detailed' },
    { name: 'transcribe-with', call: 'asr.transcribe-with' },
    { name: 'transcribe-stream-with', call: 'asr.transcribe-stream-with' },
  ],
  'ocr': [
    { name: 'recognize', call: 'ocr.recognize' },
  ],
  'llm': [
    { name: '[method]text-stream.next', call: 'llm.next' },
    { name: '[method]text-stream.forward', call: 'llm.forward' },
    { name: 'chat', call: 'llm.chat' },
    { name: 'chat-stream', call: 'llm.chat-stream' },
    { name: 'count-dialog-tokens', call: 'llm.count-dialog-tokens' },
    { name: 'count-tokens', call: 'llm.count-tokens' },
    { name: '[method]completion-stream.next', call: 'llm.next-pieces' },
    { name: '[method]completion-stream.end', call: 'llm.end' },
    { name: '[method]completion-stream.forward', call: 'llm.forward-pieces' },
    { name: 'complete', call: 'llm.complete' },
    { name: 'complete-stream', call: 'llm.complete-stream' },
  ],
  'storage': [
    { name: 'get', call: 'storage.get' },
    { name: 'set', call: 'storage.set' },
    { name: 'delete', call: 'storage.delete' },
    { name: 'list', call: 'storage.list' },
    { name: 'get-text', call: 'storage.get-text' },
    { name: 'set-text', call: 'storage.set-text' },
    { name: 'set-expiring', call: 'storage.set-expiring' },
    { name: 'increment', call: 'storage.increment' },
    { name: 'compare-and-set', call: 'storage.compare-and-set' },
    { name: 'get-base64', call: 'storage.get-base64' },
    { name: 'set-base64', call: 'storage.set-base64' },
    { name: 'compare-and-set-base64', call: 'storage.compare-and-set-base64' },
    { name: 'list-entries', call: 'storage.list-entries' },
  ],
  'vectors': [
    { name: 'ensure', call: 'vectors.ensure' },
    { name: 'list-collections', call: 'vectors.list-collections' },
    { name: 'delete-collection', call: 'vectors.delete-collection' },
    { name: 'upsert', call: 'vectors.upsert' },
    { name: 'delete-chunks', call: 'vectors.delete-chunks' },
    { name: 'list-chunks', call: 'vectors.list-chunks' },
    { name: 'search', call: 'vectors.search' },
  ],
  'repositories': [
    { name: 'media-exists', call: 'repositories.media-exists' },
    { name: 'read-video', call: 'repositories.read-video' },
    { name: 'list-videos', call: 'repositories.list-videos' },
    { name: 'read-caption', call: 'repositories.read-caption' },
    { name: 'list-captions', call: 'repositories.list-captions' },
    { name: 'read-transcript', call: 'repositories.read-transcript' },
    { name: 'list-transcripts', call: 'repositories.list-transcripts' },
  ],
  'repositories-write': [
    { name: 'create-media', call: 'repositories-write.create-media' },
    { name: 'save-video', call: 'repositories-write.save-video' },
    { name: 'save-captions', call: 'repositories-write.save-captions' },
    { name: 'save-transcript', call: 'repositories-write.save-transcript' },
    { name: 'delete-media', call: 'repositories-write.delete-media' },
    { name: 'delete-caption', call: 'repositories-write.delete-caption' },
    { name: 'delete-transcript', call: 'repositories-write.delete-transcript' },
  ],
  'http': [
    { name: 'fetch', call: 'http.fetch' },
    { name: '[static]exchange.send', call: 'http.send' },
    { name: '[method]exchange.head', fact: 'head' },
    { name: '[method]exchange.read', call: 'http.read' },
    { name: '[method]exchange.read-text', call: 'http.read-text' },
  ],
  'remote': [
    { name: '[static]task.start', call: 'remote.start' },
    { name: '[method]task.wait', call: 'remote.wait' },
  ],
  'output': [
    { name: 'write', call: 'output.write' },
    { name: 'forward', call: 'output.forward' },
    { name: 'begin', call: 'output.begin' },
    { name: 'send', call: 'output.send' },
  ],
} as const satisfies Record<string, readonly WorldFunction[]>;
