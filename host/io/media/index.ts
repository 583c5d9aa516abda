export { DecodedAudio } from './decoded-audio.ts';
export { type FfmpegLocation, type FindFfmpegOptions, findFfmpeg } from './ffmpeg.ts';
export type { HeldImage } from './decoded-image.ts';
export { MediaScope, MediaService, type OpenAudioOptions, type OpenImageOptions, type OpenOptions } from './service.ts';
export { prepareTempDir, ProcessFolder, removeStaleFolders } from './temp-folders.ts';
export type {
  AudioChannels,
  AudioMedia,
  ImageInfo,
  ImageMedia,
  MediaOptions,
  MediaSource,
  UploadedFile,
  VideoInfo,
  VideoMedia,
} from './types.ts';
export { requireYtDlp } from './yt-dlp.ts';
