/** What the sandbox imports, as plain functions; `imports.ts` binds them to the component's imports, `testing.ts` to fakes. */
export interface Host {
  log(level: LogLevel, message: string, fields: string): void;
  randomBytes(length: number): Uint8Array;
  requestId(): string;
  remainingMs(): number;
  isCancelled(): boolean;
  openVideo(source: HostVideoSource): HostVideo;
  call(deployment: string, method: string, args: string, audio: HostAudio[]): string;
  open(deployment: string, method: string, args: string, audio: HostAudio[]): HostChunks;
  write(chunk: string): void;
  forward(source: HostChunks): void;
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

export interface HostVideo extends Disposable {
  info(): HostVideoInfo;
  extractAudio(channels: 'mix' | 'separate'): HostAudio;
}

export interface HostAudio extends Disposable {
  duration(): number;
}

export interface HostChunks extends Disposable {
  /** The values made since the last call; empty at the end. */
  next(): string[];
}
