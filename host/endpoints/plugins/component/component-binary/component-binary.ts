import type { Reader } from '../core-modules/wasm-binary.ts';
import { checkCoreNames } from './core-names.ts';
import { checkName } from './names.ts';
import { readSections, repeat, unknownForm } from './reading.ts';
import { checkAlias, readExternName, checkType, skipCoreSort, skipExtern, skipSort } from './type-names.ts';

/** Numbers of sections of a component. */
const section = {
  custom: 0,
  coreModule: 1,
  coreInstance: 2,
  component: 4,
  instance: 5,
  alias: 6,
  type: 7,
  canonical: 8,
  import: 10,
  export: 11,
} as const;
const instance = { made: 0x00, given: 0x01 } as const;
const canonical = { lift: 0x00, lower: 0x01, resourceNew: 0x02, resourceRep: 0x04 } as const;
const option = { memory: 0x03, lastPlain: 0x02, postReturn: 0x05 } as const;

/**
 * Maximum number of instances of modules and components that one component makes, also in the components in it. A
 * component of TypeScript has about 20. Components that each make two instances of the next one would make more than a
 * machine can hold.
 */
const maxInstances = 1000;

/** What a component takes from its host and offers to it. */
export interface ComponentWorld {
  /** Interfaces with their version, functions by their name. */
  readonly imports: readonly string[];
  readonly exports: readonly string[];
}

/**
 * Checks a component before it is translated: each name in it, at any depth; that it uses nothing but what the
 * toolchains in use make; and how many instances it makes. Returns its imports and exports. Throws a RangeError with
 * the reason.
 */
export function checkComponent(component: Uint8Array): ComponentWorld {
  const { instances, ...world } = checkInside(component, 'the component');
  if (instances > maxInstances)
    throw new RangeError(
      `it makes ${instances} instances of modules and components, a plugin has at most ${maxInstances}`,
    );
  return world;
}

function checkInside(component: Uint8Array, where: string): ComponentWorld & { readonly instances: number } {
  let instances = 0;
  let modules = 0;
  /** The number of instances in each inner component. */
  const inner: number[] = [];
  const imports: string[] = [];
  const exports: string[] = [];
  readSections(component, (id, body) => {
    switch (id) {
      case section.custom:
        return body.skip(body.left);
      case section.coreModule:
        return checkCoreNames(body.bytes(body.left), `core module ${modules++} of ${where}`);
      case section.component:
        return void inner.push(checkInside(body.bytes(body.left), `component ${inner.length} of ${where}`).instances);
      case section.coreInstance:
        return repeat(body, () => {
          instances += 1;
          checkCoreInstance(body, where);
        });
      case section.instance:
        return repeat(body, () => {
          instances += 1 + checkInstance(body, inner, where);
        });
      case section.alias:
        return repeat(body, () => checkAlias(body, where));
      case section.type:
        return repeat(body, () => checkType(body, where));
      case section.canonical:
        return repeat(body, () => checkCanonical(body, where));
      case section.import:
        return repeat(body, () => {
          imports.push(readExternName(body, `an import of ${where}`));
          skipExtern(body, where);
        });
      case section.export:
        return repeat(body, () => {
          exports.push(readExternName(body, `an export of ${where}`));
          skipSort(body, where);
          body.skipNumber();
          if (body.byte() !== 0) skipExtern(body, where);
        });
      default:
        throw unknownForm(`a section of ${where}`, id);
    }
  });
  return { imports, exports, instances };
}

function checkCoreInstance(reader: Reader, where: string): void {
  const what = reader.byte();
  if (what > instance.given) throw unknownForm(`a core instance of ${where}`, what);
  if (what === instance.made) reader.skipNumber();
  repeat(reader, () => {
    checkName(reader.name(), 'core', `a name that ${where} gives to a core module`);
    skipCoreSort(reader, where);
    reader.skipNumber();
  });
}

/** Returns the number of instances in the component that is instantiated. */
function checkInstance(reader: Reader, inner: readonly number[], where: string): number {
  const what = reader.byte();
  if (what > instance.given) throw unknownForm(`an instance of ${where}`, what);
  const made = what === instance.made ? (inner[reader.unsigned()] ?? 0) : 0;
  repeat(reader, () => {
    if (what === instance.made) checkName(reader.name(), 'wit', `a name that ${where} gives to a component`);
    else readExternName(reader, `a name that ${where} gives to a component`);
    skipSort(reader, where);
    reader.skipNumber();
  });
  return made;
}

function checkCanonical(reader: Reader, where: string): void {
  const what = reader.byte();
  if (what <= canonical.lower) {
    const second = reader.byte();
    if (second !== 0) throw unknownForm(`a function of ${where}`, second);
    reader.skipNumber();
    repeat(reader, () => checkOption(reader, where));
    if (what === canonical.lift) reader.skipNumber();
  } else if (what <= canonical.resourceRep) reader.skipNumber();
  else throw unknownForm(`a function of ${where}`, what);
}

function checkOption(reader: Reader, where: string): void {
  const what = reader.byte();
  if (what > option.postReturn) throw unknownForm(`a function of ${where}`, what);
  if (what > option.lastPlain) reader.skipNumber();
}
