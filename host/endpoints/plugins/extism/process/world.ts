import type { OfferedTypes } from '../../sandbox/component-types.ts';
import { capabilityOf } from '../interface.ts';

/** The functions of the world that Extism plugins can call, by interface. */
const functionsByInterface = {
  log: ['log'],
  invocation: ['request-id', 'remaining-ms', 'user', 'priority', 'traceparent'],
  settings: ['get'],
  progress: ['report'],
  output: ['write', 'forward', 'begin', 'send'],
  uploads: ['info', 'read', 'read-text'],
  media: [
    ...['[static]video.open', '[method]video.info', '[method]video.metadata', '[method]video.extract-audio'],
    ...['[method]video.facts', '[method]video.frames', '[method]frames.next', '[method]frames.image'],
    ...['[method]video.subtitles', '[method]image.encode'],
    ...['[method]audio.duration', '[static]image.open', '[method]image.info', '[method]image.pixels'],
  ],
  deployments: ['call', 'open', 'call-with-images', 'open-with-images', '[method]chunks.next'],
  storage: ['get', 'set', 'delete', 'list', 'set-expiring', 'increment', 'compare-and-set', 'list-entries'],
  repositories: [
    ...['media-exists', 'read-video', 'list-videos', 'read-caption', 'list-captions'],
    ...['read-transcript', 'list-transcripts'],
  ],
  'repositories-write': [
    ...['create-media', 'save-video', 'save-captions', 'save-transcript'],
    ...['delete-media', 'delete-caption', 'delete-transcript'],
  ],
  http: ['fetch'],
  remote: ['[static]task.start', '[method]task.wait'],
} as const;
type Interface = keyof typeof functionsByInterface;

/** The name of a function, such as `storage#get`. */
export type WorldFunction = { [I in Interface]: `${I}#${(typeof functionsByInterface)[I][number]}` }[Interface];

/** The resources that a plugin holds, by the numbers in frames less one. */
export const resourceTypes = [
  'media.video',
  'media.frames',
  'media.audio',
  'media.image',
  'deployments.chunks',
  'remote.task',
] as const;
export type ResourceType = (typeof resourceTypes)[number];

const version = '0.1.0';
export const fullName = (name: WorldFunction): string => `aana:host/${name.replace('#', `@${version}#`)}`;
export const fullResource = (type: ResourceType): string => `aana:host/${type}`;

/** Returns the functions that a module with these imports calls, by the numbers in frames. */
export function calledFunctions(imports: readonly WebAssembly.ModuleImportDescriptor[]): readonly WorldFunction[] {
  const uses = new Set<string | undefined>([...commonInterfaces, ...imports.map(capabilityOf)]);
  return Object.entries(functionsByInterface)
    .filter(([name]) => uses.has(name))
    .flatMap(([name, functions]) => functions.map((each) => `${name}#${each}` as WorldFunction));
}

/** The interfaces that no capability is needed for. */
const commonInterfaces: readonly Interface[] = ['log', 'invocation', 'settings', 'progress', 'output', 'uploads'];

/** Returns the text of a function's type by its full name. */
export function typeOf(types: OfferedTypes['imports'], name: string): string {
  const at = name.indexOf('#');
  const type = types[name.slice(0, at)]?.[name.slice(at + 1)];
  if (type === undefined) throw new Error(`the world has no ${name}`);
  return type;
}

/** The functions of the endpoint, by the numbers in frames. */
export const exportedFunctions = ['describe', 'run'] as const;
