/**
 * What the sandbox imports, as plain functions; `imports.ts` binds them to the component's imports, `testing.ts` to
 * fakes.
 */
export interface Host {
  log(level: LogLevel, message: string, fields: string): void;
  randomBytes(length: number): Uint8Array;
  requestId(): string;
  remainingMs(): number;
  isCancelled(): boolean;
  user(): string | undefined;
  priority(): number;
  traceparent(): string | undefined;
  openVideo(source: HostVideoSource): HostVideo;
  call(deployment: string, method: string, args: string, audio: HostAudio[]): string;
  open(deployment: string, method: string, args: string, audio: HostAudio[]): HostChunks;
  write(chunk: string): void;
  forward(source: HostChunks): void;
  progress(fraction: number, text: string): void;
  openImage(source: HostVideoSource): HostImage;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment; never goes back. */
  monotonicNow(): number;
  /** Absent ones are not granted. */
  readonly storage?: HostStorage | undefined;
  readonly repositories?: HostRepositories | undefined;
  readonly 'repositories-write'?: HostRepositoriesWrite | undefined;
  readonly http?: HostHttp | undefined;
  readonly remote?: HostRemote | undefined;
}

export interface HostImage extends Disposable {
  info(): { width: number; height: number; format: string };
  pixels(width: number, height: number): Uint8Array;
}

export interface HostStorage {
  get(key: string): Uint8Array | undefined;
  set(key: string, value: Uint8Array): void;
  delete(key: string): boolean;
  list(prefix: string, after: string | undefined, limit: number): string[];
}

export interface HostVideoRow {
  mediaId: string;
  path?: string;
  url?: string;
  title?: string;
  description?: string;
}

export interface HostCaption {
  id: number;
  mediaId?: string;
  model: string;
  frameId: number;
  caption: string;
  timestamp: number;
  captionType: string;
}

export interface HostTranscriptInfo {
  id: number;
  mediaId?: string;
  model: string;
  language: string;
  languageConfidence: number;
  transcriptType: string;
}

export interface HostRepositories {
  mediaExists(mediaId: string): boolean;
  readVideo(mediaId: string): HostVideoRow;
  listVideos(after: string | undefined, limit: number): HostVideoRow[];
  readCaption(id: number): HostCaption;
  listCaptions(mediaId: string, after: { timestamp: number; id: number } | undefined, limit: number): HostCaption[];
  readTranscript(id: number): { info: HostTranscriptInfo; transcript: string; segments: string };
  listTranscripts(mediaId: string, after: number | undefined, limit: number): HostTranscriptInfo[];
}

export interface HostRepositoriesWrite {
  createMedia(mediaId: string, mediaType: string): void;
  saveVideo(video: Partial<HostVideoRow>): string;
  saveCaptions(captions: Omit<HostCaption, 'id'>[]): ArrayLike<number>;
  saveTranscript(transcript: Omit<HostTranscriptInfo, 'id'> & { transcript: string; segments: string }): number;
  deleteMedia(mediaId: string): void;
  deleteCaption(id: number): void;
  deleteTranscript(id: number): void;
}

export interface HostRequest {
  method: 'get' | 'post';
  url: string;
  headers: [string, string][];
  body?: Uint8Array;
}

export interface HostResponse {
  status: number;
  url: string;
  headers: [string, string][];
  body: Uint8Array;
}

export interface HostHttp {
  fetch(request: HostRequest): HostResponse;
}

export interface HostTask extends Disposable {
  wait(): string;
}

export interface HostRemote {
  start(name: string, input: string): HostTask;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface HostVideoSource {
  path?: string;
  url?: string;
  content?: string;
  mediaId?: string;
}

export interface HostVideoInfo {
  duration?: number | undefined;
  hasAudio: boolean;
  hasVideo: boolean;
}

export interface HostVideoMetadata {
  title?: string | undefined;
  description?: string | undefined;
}

export interface HostVideo extends Disposable {
  info(): HostVideoInfo;
  metadata(): HostVideoMetadata;
  extractAudio(channels: 'mix' | 'separate'): HostAudio;
}

export interface HostAudio extends Disposable {
  duration(): number;
}

export interface HostChunks extends Disposable {
  /** The values made since the last call; empty at the end. */
  next(): string[];
}
