import { type AanaError, fail } from '../../base/core/errors.ts';
import { downloadError, withoutCredentials } from '../outgoing/index.ts';
import type { MediaSource } from './types.ts';

export function urlTooLargeError(url: URL, maxBytes: number): AanaError {
  const shown = withoutCredentials(url);
  return fail(
    'MediaTooLargeException',
    `${shown} has more than ${maxBytes} bytes, which is the limit for fetched files`,
    {
      data: { url: shown, max_bytes: maxBytes },
    },
  );
}

export function pageError(url: string, canBeVideo: boolean): AanaError {
  const way = canBeVideo ? ', or have the server set up to download videos from pages (media.yt_dlp_path)' : '';
  return downloadError(url, `it is a web page; give the address of the file itself${way}`);
}

export function mediaTooLongError(source: MediaSource, maxDurationS: number, durationS?: number): AanaError {
  const length = durationS === undefined ? `longer than ${maxDurationS} s` : `${Math.round(durationS)} s long`;
  return fail('MediaTooLongException', `the media is ${length}; the limit is ${maxDurationS} s`, {
    data: { video: shownSource(source), max_duration: maxDurationS },
  });
}

export function pathDeniedError(path: string): AanaError {
  const message =
    `the path ${path} is not in a directory that this server may read; start it with --allow-path DIR ` +
    `to allow one`;
  return fail('PathNotAllowedException', message, { data: { path } });
}

export function pathUnusableError(path: string, why: string): AanaError {
  return fail('FileNotFoundError', `the path ${path} ${why}`, { data: { path } });
}

export function uploadMissingError(name: string): AanaError {
  const message = `no uploaded file part is named ${JSON.stringify(name)}; send the file as a part with this name`;
  return fail('UploadedFileNotFound', message, { data: { content: name } });
}

export function videoReadingError(source: MediaSource, message: string, cause?: unknown): AanaError {
  return fail('VideoReadingException', message, {
    data: { video: shownSource(source), message },
    cause,
  });
}

export function audioReadingError(source: MediaSource, message: string, cause?: unknown): AanaError {
  return fail('AudioReadingException', message, {
    data: { audio: shownSource(source), message },
    cause,
  });
}

export function imageReadingError(source: MediaSource, message: string, cause?: unknown): AanaError {
  return fail('ImageReadingException', message, {
    data: { image: shownSource(source), message },
    cause,
  });
}

export function imageTooLargeError(source: MediaSource, what: string, maxPixels: number): AanaError {
  return fail('ImageTooLargeException', `${what}; the limit is ${maxPixels}`, {
    data: { image: shownSource(source), max_pixels: maxPixels },
  });
}

export function imagesTooLargeError(maxBytes: number): AanaError {
  const message = `the files of the decoded images have more than ${maxBytes} bytes together`;
  return fail('ImagesTooLargeException', message, { data: { max_bytes: maxBytes } });
}

export function tooManyFrameStreamsError(limit: number): AanaError {
  const message = `at most ${limit} videos can be read frame by frame at a time; end the loop over the frames of one`;
  return fail('TooManyFrameReaders', message, { data: { limit } });
}

export function diskFullError(directory: string, cause?: unknown, setting: string = 'media.temp_dir'): AanaError {
  const message =
    `there is no space left in the temporary directory ${directory}; free some space, or set ` +
    `${setting} to another directory`;
  return fail('DiskFullException', message, { data: { directory }, cause });
}

/** Returns the source as the client gave it, in the four fields of a video input, without credentials. */
function shownSource(source: MediaSource): Record<string, string | null> {
  return {
    path: source.path ?? null,
    url: source.url == null ? null : withoutCredentials(source.url),
    content: source.content ?? null,
    media_id: source.media_id ?? null,
  };
}
