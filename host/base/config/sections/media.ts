import * as z from 'zod';
import { textOrNull, toggle, whole } from '../../core/fields.ts';
import { GIB, positiveBytes, seconds } from './fields.ts';
import { settings } from '../registry.ts';

export const MediaConfig = z.strictObject({
  allow_paths: z
    .array(z.string().min(1))
    .default([])
    .describe('Directories whose files a request may name by path. Default: none, so no path is allowed.')
    .register(settings, { flag: '--allow-path <dir>', isPath: true }),
  allow_private_urls: toggle(false, 'Whether a URL may lead to a private or local address.').register(settings, {
    flag: '--allow-private-urls',
  }),
  ffmpeg_path: textOrNull(
    'Path of the ffmpeg to use. Default: the binary of ffmpeg-static if its install script fetched one, then the ' +
      'one on the PATH, then a downloaded one.',
  ).register(settings, { flag: '--ffmpeg <file>', isPath: true }),
  yt_dlp_path: textOrNull(
    'Path of the yt-dlp that downloads the video of a web page given as URL. Without it, URLs of web pages ' +
      'are refused.',
  ).register(settings, { flag: '--yt-dlp <file>', isPath: true }),
  max_bytes: positiveBytes(2 * GIB, 'Largest media file that is fetched from a URL, in bytes.').register(settings, {
    env: 'AANA_MEDIA_MAX_BYTES',
  }),
  max_duration_s: seconds(4 * 3600, 'Longest media that is decoded, in seconds.').register(settings, {
    env: 'AANA_MEDIA_MAX_DURATION_S',
  }),
  fetch_timeout_s: seconds(300, 'Time for fetching one URL, in seconds.'),
  max_redirects: whole({ min: 0, max: 20, default: 5 }, 'Redirects followed while fetching a URL.'),
  cache: z
    .strictObject({
      max_bytes: z
        .int()
        .min(0)
        .default(10 * GIB)
        .describe('Bytes of all kept files, which lie in `cache_dir`. With 0, no file is kept.'),
      max_user_bytes: positiveBytes(2 * GIB, 'Bytes of the kept files of one user, or of one address without keys.'),
      unused_s: seconds(7 * 86_400, 'Time after which a file that nobody used is removed, in seconds.'),
    })
    .prefault({})
    .describe('Files of URLs that are kept for the next request of the same user.')
    .register(settings, { prefix: 'AANA_MEDIA_CACHE_' }),
  temp_dir: textOrNull(
    'Folder of uploads and decoded audio while a request runs. Default: the temporary directory of the system.',
  ).register(settings, {
    folders: [{ env: 'TMP_DATA_DIR', within: 'tmp' }, { env: 'IMAGE_DIR' }, { env: 'AUDIO_DIR' }, { env: 'VIDEO_DIR' }],
    flag: '--temp-dir <dir>',
    isPath: true,
  }),
});
