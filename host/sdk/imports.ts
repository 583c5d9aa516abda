import { call, open } from 'aana:host/deployments@0.1.0';
import type { Chunks } from 'aana:host/deployments@0.1.0';
import { isCancelled, remainingMs, requestId } from 'aana:host/invocation@0.1.0';
import { log } from 'aana:host/log@0.1.0';
import { Video } from 'aana:host/media@0.1.0';
import { forward, write } from 'aana:host/output@0.1.0';
import { bytes } from 'aana:host/random@0.1.0';
import type { Host } from './host.ts';

/** The imports of the component: resolved when it is built, so this file loads nowhere else. */
export const host: Host = {
  log,
  randomBytes: bytes,
  requestId,
  remainingMs: () => Number(remainingMs()),
  isCancelled,
  openVideo: (source) => Video.open(source),
  call,
  open,
  write,
  forward: (source) => forward(source as Chunks),
};
