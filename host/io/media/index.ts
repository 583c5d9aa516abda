export { DecodedAudio } from './decoded-audio.ts';
export { findFfmpeg } from './ffmpeg.ts';
export type { HeldImage } from './decoded-image.ts';
export { imageType } from './image.ts';
export { MediaService, type OpenAudioOptions, type OpenImageOptions, type OpenVideoOptions } from './service.ts';
export type { FrameFile, MediaOptions, MediaSource, UploadedFile } from './types.ts';
export type { HeldFrame, HeldVideo } from './video/held-video.ts';
export { requireYtDlp } from './yt-dlp.ts';
