// Generated from wit/world.wit by `npm run generate`; do not edit.

export interface WorldFunction {
  /** As components name it, such as `[method]chunks.next`. */
  readonly name: string;
  /** Whether the host answers it, and the guest waits. */
  readonly waits: boolean;
}

/** The functions of each interface that a plugin may import. */
export const worldFunctions = {
  'types': [],
  'log': [
    { name: 'log', waits: false },
  ],
  'random': [
    { name: 'bytes', waits: false },
  ],
  'invocation': [
    { name: 'request-id', waits: false },
    { name: 'remaining-ms', waits: false },
    { name: 'is-cancelled', waits: false },
    { name: 'user', waits: false },
    { name: 'priority', waits: false },
    { name: 'traceparent', waits: false },
  ],
  'progress': [
    { name: 'report', waits: false },
    { name: 'report-step', waits: false },
  ],
  'media': [
    { name: '[method]audio.duration', waits: false },
    { name: '[static]video.open', waits: true },
    { name: '[method]video.info', waits: false },
    { name: '[method]video.metadata', waits: false },
    { name: '[method]video.extract-audio', waits: true },
    { name: '[static]image.open', waits: true },
    { name: '[static]image.decode', waits: true },
    { name: '[method]image.info', waits: false },
    { name: '[method]image.pixels', waits: true },
  ],
  'deployments': [
    { name: '[method]chunks.next', waits: true },
    { name: '[method]chunks.returned', waits: true },
    { name: 'call', waits: true },
    { name: 'open', waits: true },
    { name: 'call-with-images', waits: true },
    { name: 'open-with-images', waits: true },
  ],
  'asr': [
    { name: '[method]transcriptions.next', waits: true },
    { name: 'transcribe', waits: true },
    { name: 'transcribe-stream', waits: true },
    { name: '[method]detailed-transcriptions.next', waits: true },
    { name: 'transcribe-with', waits: true },
    { name: 'transcribe-stream-with', waits: true },
  ],
  'llm': [
    { name: '[method]text-stream.next', waits: true },
    { name: '[method]text-stream.forward', waits: true },
    { name: 'chat', waits: true },
    { name: 'chat-stream', waits: true },
    { name: 'count-dialog-tokens', waits: true },
    { name: 'count-tokens', waits: true },
    { name: '[method]completion-stream.next', waits: true },
    { name: '[method]completion-stream.end', waits: true },
    { name: '[method]completion-stream.forward', waits: true },
    { name: 'complete', waits: true },
    { name: 'complete-stream', waits: true },
  ],
  'storage': [
    { name: 'get', waits: true },
    { name: 'set', waits: true },
    { name: 'delete', waits: true },
    { name: 'list', waits: true },
  ],
  'repositories': [
    { name: 'media-exists', waits: true },
    { name: 'read-video', waits: true },
    { name: 'list-videos', waits: true },
    { name: 'read-caption', waits: true },
    { name: 'list-captions', waits: true },
    { name: 'read-transcript', waits: true },
    { name: 'list-transcripts', waits: true },
  ],
  'repositories-write': [
    { name: 'create-media', waits: true },
    { name: 'save-video', waits: true },
    { name: 'save-captions', waits: true },
    { name: 'save-transcript', waits: true },
    { name: 'delete-media', waits: true },
    { name: 'delete-caption', waits: true },
    { name: 'delete-transcript', waits: true },
  ],
  'http': [
    { name: 'fetch', waits: true },
  ],
  'remote': [
    { name: '[static]task.start', waits: true },
    { name: '[method]task.wait', waits: true },
  ],
  'output': [
    { name: 'write', waits: true },
    { name: 'forward', waits: true },
  ],
} as const satisfies Record<string, readonly WorldFunction[]>;
