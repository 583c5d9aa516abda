import type { WitFunction, WitInterface, WitType } from './read-world.ts';

/** `media-id` as `mediaId`. */
export const camelCase = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** `video-info` as `VideoInfo`. */
export const pascalCase = (name: string): string => camelCase(`-${name}`);

/** A function as components name it, such as `[method]chunks.next`. */
export function componentName({ name, resource, isStatic }: WitFunction): string {
  return resource === undefined ? name : `[${isStatic ? 'static' : 'method'}]${resource}.${name}`;
}

/** Calls that are not named for their function, because two resources of an interface have a function of that name. */
const callNames: Readonly<Record<string, string>> = {
  'media [static]image.open': 'media.open-image',
  'media [method]image.pixels': 'media.image-pixels',
  'media [method]frames.next': 'media.next-frame',
  'media [method]frames.image': 'media.frame-image',
  'asr [method]detailed-transcriptions.next': 'asr.next-detailed',
  'llm [method]completion-stream.next': 'llm.next-pieces',
  'llm [method]completion-stream.forward': 'llm.forward-pieces',
};

/** The call of a function as it crosses to the host, and as telemetry names it: `deployments.next`. */
export function callName({ name }: WitInterface, fn: WitFunction): string {
  return callNames[`${name} ${componentName(fn)}`] ?? `${name}.${fn.name}`;
}

/** What a TypeScript type is written for. */
export interface TypeNames {
  /** A record, an enum or an alias of the world. */
  defined(name: string): string;
  /** A resource. Undefined when the name is not a resource. */
  resource(name: string): string | undefined;
  /** Whether a name stands for a number. */
  isNumber(name: string): boolean;
}

const numbers: ReadonlySet<string> = new Set(['u8', 'u16', 'u32', 's8', 's16', 's32', 'f32', 'f64']);
const simple: Readonly<Record<string, string>> = {
  bool: 'boolean',
  string: 'string',
  char: 'string',
  u64: 'bigint',
  s64: 'bigint',
};

/** A type of the world in TypeScript, in the host's form of values. */
export function typeScriptType(type: WitType, names: TypeNames): string {
  const [first] = type.of;
  const inner = (): string => typeScriptType(first!, names);
  switch (type.name) {
    case 'option':
      return `${inner()} | undefined`;
    case 'list':
      if (first!.name === 'u8') return 'Uint8Array';
      if (numbers.has(first!.name) || names.isNumber(first!.name)) return 'ArrayLike<number>';
      return `readonly ${/^[\w.]+$/.test(inner()) ? inner() : `(${inner()})`}[]`;
    case 'tuple':
      return `readonly [${type.of.map((each) => typeScriptType(each, names)).join(', ')}]`;
    case 'borrow':
    case 'own':
      return inner();
    default:
      if (numbers.has(type.name)) return 'number';
      return simple[type.name] ?? names.resource(type.name) ?? names.defined(type.name);
  }
}
