import type { HttpRequest, HttpResponse, ImageInfo, VideoInfo } from '../ports.ts';
import type { WitSource } from '../invocation/protocol.ts';
import type { WitChatOptions, WitMessage, WitTokenCount } from './llm-records.ts';
import type { WitTranscription, WitTranscriptionParams } from './asr-records.ts';
import type {
  WitCaptionPlace,
  WitCaptionRecord,
  WitNewCaption,
  WitNewTranscript,
  WitNewVideo,
  WitTranscriptInfo,
  WitTranscriptRecord,
  WitVideoRecord,
} from './repositories-records.ts';

/** What a guest asks of the host, as it crosses between the threads. Handles are numbers of one invocation. */
export interface HostCalls {
  'media.open': { args: readonly [source: WitSource]; value: { readonly video: number; readonly info: VideoInfo } };
  'media.extract-audio': {
    args: readonly [video: number, channels: 'mix' | 'separate'];
    value: { readonly audio: number; readonly duration: number };
  };
  'deployments.call': {
    args: readonly [deployment: string, method: string, args: string, audio: readonly number[]];
    value: string;
  };
  'deployments.open': {
    args: readonly [deployment: string, method: string, args: string, audio: readonly number[]];
    value: number;
  };
  'deployments.next': { args: readonly [stream: number]; value: readonly string[] };
  'output.write': { args: readonly [chunk: string]; value: undefined };
  'output.forward': { args: readonly [stream: number]; value: undefined };
  'media.open-image': {
    args: readonly [source: WitSource];
    value: { readonly image: number; readonly info: ImageInfo };
  };
  'media.image-pixels': { args: readonly [image: number, width: number, height: number]; value: Uint8Array };
  'asr.transcribe': {
    args: readonly [deployment: string, audio: number, params: WitTranscriptionParams];
    value: WitTranscription;
  };
  'asr.transcribe-stream': {
    args: readonly [deployment: string, audio: number, params: WitTranscriptionParams];
    value: number;
  };
  'asr.next': { args: readonly [stream: number]; value: readonly WitTranscription[] };
  'llm.chat': {
    args: readonly [deployment: string, dialog: readonly WitMessage[], options: WitChatOptions];
    value: WitMessage;
  };
  'llm.chat-stream': {
    args: readonly [deployment: string, dialog: readonly WitMessage[], options: WitChatOptions];
    value: number;
  };
  'llm.next': { args: readonly [stream: number]; value: readonly string[] };
  'llm.forward': { args: readonly [stream: number]; value: undefined };
  'llm.count-dialog-tokens': {
    args: readonly [deployment: string, dialog: readonly WitMessage[]];
    value: WitTokenCount;
  };
  'llm.count-tokens': { args: readonly [deployment: string, text: string]; value: WitTokenCount };
  'storage.get': { args: readonly [key: string]; value: Uint8Array | undefined };
  'storage.set': { args: readonly [key: string, value: Uint8Array]; value: undefined };
  'storage.delete': { args: readonly [key: string]; value: boolean };
  'storage.list': {
    args: readonly [prefix: string, after: string | undefined, limit: number];
    value: readonly string[];
  };
  'repositories.media-exists': { args: readonly [mediaId: string]; value: boolean };
  'repositories.read-video': { args: readonly [mediaId: string]; value: WitVideoRecord };
  'repositories.list-videos': {
    args: readonly [after: string | undefined, limit: number];
    value: readonly WitVideoRecord[];
  };
  'repositories.read-caption': { args: readonly [id: number]; value: WitCaptionRecord };
  'repositories.list-captions': {
    args: readonly [mediaId: string, after: WitCaptionPlace | undefined, limit: number];
    value: readonly WitCaptionRecord[];
  };
  'repositories.read-transcript': { args: readonly [id: number]; value: WitTranscriptRecord };
  'repositories.list-transcripts': {
    args: readonly [mediaId: string, after: number | undefined, limit: number];
    value: readonly WitTranscriptInfo[];
  };
  'repositories-write.create-media': { args: readonly [mediaId: string, mediaType: string]; value: undefined };
  'repositories-write.save-video': { args: readonly [video: WitNewVideo]; value: string };
  'repositories-write.save-captions': { args: readonly [captions: readonly WitNewCaption[]]; value: readonly number[] };
  'repositories-write.save-transcript': { args: readonly [transcript: WitNewTranscript]; value: number };
  'repositories-write.delete-media': { args: readonly [mediaId: string]; value: undefined };
  'repositories-write.delete-caption': { args: readonly [id: number]; value: undefined };
  'repositories-write.delete-transcript': { args: readonly [id: number]; value: undefined };
  'http.fetch': { args: readonly [request: HttpRequest]; value: HttpResponse };
  'remote.start': { args: readonly [name: string, input: string]; value: number };
  'remote.wait': { args: readonly [task: number]; value: string };
}
export type HostOperation = keyof HostCalls;
export type HostCall = {
  readonly [O in HostOperation]: { readonly operation: O; readonly args: HostCalls[O]['args'] };
}[HostOperation];
