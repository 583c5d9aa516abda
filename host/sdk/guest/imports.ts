import { call, open } from 'aana:host/deployments@0.1.0';
import type { Chunks } from 'aana:host/deployments@0.1.0';
import { fetch } from 'aana:host/http@0.1.0';
import { isCancelled, priority, remainingMs, requestId, traceparent, user } from 'aana:host/invocation@0.1.0';
import { log } from 'aana:host/log@0.1.0';
import { Image, Video } from 'aana:host/media@0.1.0';
import { forward, write } from 'aana:host/output@0.1.0';
import { report } from 'aana:host/progress@0.1.0';
import { bytes } from 'aana:host/random@0.1.0';
import { Task } from 'aana:host/remote@0.1.0';
import {
  listCaptions,
  listTranscripts,
  listVideos,
  mediaExists,
  readCaption,
  readTranscript,
  readVideo,
} from 'aana:host/repositories@0.1.0';
import {
  createMedia,
  deleteCaption,
  deleteMedia,
  deleteTranscript,
  saveCaptions,
  saveTranscript,
  saveVideo,
} from 'aana:host/repositories-write@0.1.0';
import { delete as remove, get, list, set } from 'aana:host/storage@0.1.0';
import type { Host } from '../host.ts';

declare const performance: { now(): number };

/** Whether the plugin asks for the capability of an imported function. Otherwise the build put one there that fails. */
const isThere = (imported: object): boolean => !('isDenied' in imported);

/** The imports of the component: resolved when it is built, so this file loads nowhere else. */
export const host: Host = {
  log,
  randomBytes: bytes,
  requestId,
  remainingMs: () => Number(remainingMs()),
  isCancelled,
  user,
  priority,
  traceparent,
  openVideo: (source) => Video.open(source),
  call,
  open,
  write,
  forward: (source) => forward(source as Chunks),
  progress: report,
  openImage: (source) => Image.open(source),
  now: () => Date.now(),
  monotonicNow: () => performance.now(),
  storage: isThere(get) ? { get, set, delete: remove, list } : undefined,
  repositories: isThere(readVideo)
    ? { mediaExists, readVideo, listVideos, readCaption, listCaptions, readTranscript, listTranscripts }
    : undefined,
  'repositories-write': isThere(saveVideo)
    ? { createMedia, saveVideo, saveCaptions, saveTranscript, deleteMedia, deleteCaption, deleteTranscript }
    : undefined,
  http: isThere(fetch) ? { fetch } : undefined,
  remote: isThere(Task.start) ? { start: (name, input) => Task.start(name, input) } : undefined,
};
