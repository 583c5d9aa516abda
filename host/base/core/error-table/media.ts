import type { Definitions } from './definition.ts';

/** Errors of media. */
export const MEDIA = {
  DownloadException: { kind: 'bad-request', when: 'A URL of a request cannot be fetched.', data: ['url'] },
  UpstreamFailed: {
    kind: 'unavailable',
    when: 'A request of a plugin to another server has failed.',
    data: ['url'],
  },
  DownloadFailed: {
    kind: 'unavailable',
    when: 'A model, a package or a tool cannot be downloaded.',
    data: ['url?', 'reasons?'],
  },
  PrivateAddressException: {
    kind: 'denied',
    when: 'A URL leads to a private, local or metadata address.',
    data: ['url'],
  },
  PathNotAllowedException: { kind: 'denied', when: 'The path is outside of `media.allow_paths`.', data: ['path'] },
  FileNotFoundError: { kind: 'bad-request', when: 'The path has no file, or no readable file.', data: ['path'] },
  MediaTooLargeException: {
    kind: 'too-large',
    when: 'The media at a URL has more bytes than `media.max_bytes`.',
    data: ['url?', 'max_bytes'],
  },
  MediaTooLongException: {
    kind: 'too-large',
    when: 'The media is longer than `media.max_duration_s`.',
    data: ['video', 'max_duration'],
  },
  VideoReadingException: { kind: 'bad-request', when: 'The file is not a readable video.', data: ['video', 'message'] },
  AudioReadingException: { kind: 'bad-request', when: 'The file has no readable audio.', data: ['audio?', 'message?'] },
  DecodedAudioError: { kind: 'internal', when: 'Decoded audio for a deployment is missing or damaged.' },
  ImageReadingException: { kind: 'bad-request', when: 'The file is not a readable image.', data: ['image', 'message'] },
  ImageTooLargeException: {
    kind: 'too-large',
    when: 'The image has more pixels than the limit.',
    data: ['image', 'max_pixels'],
  },
  ImagesTooLargeException: {
    kind: 'too-large',
    when: 'A plugin decodes images whose files are too large together.',
    data: ['max_bytes'],
  },
  TooManyFrameReaders: {
    kind: 'too-large',
    when: 'A request reads the frames of too many videos at the same time.',
    data: ['limit'],
  },
  UnsupportedDocument: {
    kind: 'bad-request',
    when: 'The type of a document is not known, or no text can be read from such files.',
    data: ['name'],
  },
  UnreadableDocument: {
    kind: 'bad-request',
    when: 'A document is damaged, encrypted, too large, in an unknown encoding, or has no text.',
    data: ['name'],
  },
  DocumentReaderError: {
    kind: 'internal',
    when: 'The process that reads a PDF or a page of HTML ended unexpectedly. The log has its last words.',
  },
} as const satisfies Definitions;
