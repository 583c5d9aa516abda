import * as concurrency from 'aana:host/concurrency@0.1.0';
import * as deployments from 'aana:host/deployments@0.1.0';
import * as invocation from 'aana:host/invocation@0.1.0';
import * as log from 'aana:host/log@0.1.0';
import * as media from 'aana:host/media@0.1.0';
import * as output from 'aana:host/output@0.1.0';
import * as progress from 'aana:host/progress@0.1.0';
import * as random from 'aana:host/random@0.1.0';
import * as remote from 'aana:host/remote@0.1.0';
import * as repositoriesWrite from 'aana:host/repositories-write@0.1.0';
import * as repositories from 'aana:host/repositories@0.1.0';
import * as settings from 'aana:host/settings@0.1.0';
import * as storage from 'aana:host/storage@0.1.0';
import * as uploads from 'aana:host/uploads@0.1.0';
import * as vectors from 'aana:host/vectors@0.1.0';
import type { Host } from '../host.ts';
import { wellFormed } from './well-formed.ts';

declare const performance: { now(): number };

/** Returns an interface, or undefined when the plugin does not request it and the build has replaced its functions. */
const asked = <T extends object>(imported: T): T | undefined => ('isDenied' in imported ? undefined : imported);

/** The imports of the component. They are resolved when it is built, so this file can be loaded only there. */
export const host: Host = {
  log: wellFormed(log),
  random,
  invocation,
  concurrency,
  settings,
  progress: wellFormed(progress),
  output: output as Host['output'],
  uploads,
  media,
  deployments: deployments as Host['deployments'],
  storage: asked(wellFormed(storage)),
  vectors: asked(wellFormed(vectors)),
  repositories: asked(wellFormed(repositories)),
  'repositories-write': asked(wellFormed(repositoriesWrite)),
  remote: asked(remote),
  now: () => Date.now(),
  monotonicNow: () => performance.now(),
};
