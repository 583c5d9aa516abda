import * as z from 'zod';
import { TableChange } from '../../inference/deployments/routing/table.ts';
import { AudioReference } from '../../base/schemas/media-references.ts';

/** Characters of a path or a URL. */
const MAX_PATH = 4096;

const audioSource = z
  .strictObject({ path: z.string().min(1).max(MAX_PATH).optional(), url: z.string().min(1).max(MAX_PATH).optional() })
  .refine(
    ({ path, url }) => (path === undefined) !== (url === undefined),
    "Exactly one of 'path' and 'url' must be provided.",
  );

/**
 * What other processes do with deployments and audio, by name, with the schema of the arguments and of the answer, or
 * of each value of a stream, and with the argument whose values the caller sends meanwhile, if there is one. Everything
 * else that they do is a route for admins.
 */
export const operations = {
  /**
   * The table of deployments and its changes. The caller is a host of its own from then on: it calls replicas directly,
   * and feeds what it sees of them.
   */
  'deployments.watch': { args: z.strictObject({}), feed: 'reports', value: TableChange, streams: true },
  /**
   * Decodes the audio of a file of this user or of a URL. The audio is kept until `audio.close` or the end of the
   * connection.
   */
  'audio.open': {
    args: z.strictObject({ source: audioSource, channels: z.enum(['mix', 'separate']).default('mix') }),
    value: z.object({ id: z.string(), duration: z.number(), reference: AudioReference }),
    feed: undefined,
    streams: false,
  },
  'audio.close': {
    args: z.strictObject({ id: z.string().max(200) }),
    feed: undefined,
    value: z.null(),
    streams: false,
  },
} as const;

type Operations = typeof operations;
export type StreamOperation = {
  [O in keyof Operations]: Operations[O]['streams'] extends true ? O : never;
}[keyof Operations];
export type CallOperation = Exclude<keyof Operations, StreamOperation>;
export type ControlOperation = keyof Operations;
/** Arguments as a caller passes them. */
export type ControlArgs<O extends ControlOperation> = z.input<Operations[O]['args']>;
export type ControlValue<O extends ControlOperation> = z.infer<Operations[O]['value']>;

/** The protocol that a process asks for, in the header `upgrade`, to send frames. */
export const FRAMES = 'aana-frames';

/** The first frame of a server. */
export const Greeting = z.object({
  version: z.string(),
  url: z.string(),
  pid: z.int().optional(),
  /** Whether the server knows the frames `beat`. */
  beats: z.boolean().optional(),
});
export type Greeting = z.infer<typeof Greeting>;

/** Contents of a server's address file. */
export const Address = z.object({ pid: z.int(), url: z.string(), host: z.string(), port: z.int(), socket: z.string() });
export type Address = z.infer<typeof Address>;
