import type { Reader } from '../core-modules/wasm-binary.ts';
import { checkName } from './names.ts';
import { repeat, unknownForm } from './reading.ts';

const form = {
  primitives: { first: 0x73, last: 0x7f },
  record: 0x72,
  variant: 0x71,
  list: 0x70,
  tuple: 0x6f,
  flags: 0x6e,
  enum: 0x6d,
  option: 0x6b,
  result: 0x6a,
  own: 0x69,
  borrow: 0x68,
  function: 0x40,
  component: 0x41,
  instance: 0x42,
  resource: 0x3f,
} as const;
const declaration = { type: 0x01, alias: 0x02, import: 0x03, export: 0x04 } as const;
const extern = { function: 0x01, type: 0x03, instance: 0x05 } as const;

/** Reads a type of a component and checks the names in it. Throws a RangeError, also for types of asynchronous code. */
export function checkType(reader: Reader, where: string): void {
  const what = reader.byte();
  const type = (): void => reader.skipNumber(); // the index of a type, or a primitive type
  const maybeType = (): void => {
    if (readFlag(reader)) type();
  };
  const label = (): void => checkName(reader.name(), 'wit', `in a type of ${where}`);
  switch (what) {
    case form.record:
      return repeat(reader, () => {
        label();
        type();
      });
    case form.variant:
      return repeat(reader, () => {
        label();
        maybeType();
        reader.byte(); // the case that it refines, which no version has
      });
    case form.flags:
    case form.enum:
      return repeat(reader, label);
    case form.tuple:
      return repeat(reader, type);
    case form.list:
    case form.option:
    case form.own:
    case form.borrow:
      return type();
    case form.result:
      maybeType();
      return maybeType();
    case form.function:
      repeat(reader, () => {
        label();
        type();
      });
      return readFlag(reader) ? void reader.byte() : type(); // a result, or an empty list of them
    case form.component:
    case form.instance:
      return repeat(reader, () => checkDeclaration(reader, where));
    case form.resource:
      type(); // its representation, i32
      return maybeType(); // its destructor
    default:
      if (what < form.primitives.first || what > form.primitives.last) throw unknownForm(`a type of ${where}`, what);
  }
}

function checkDeclaration(reader: Reader, where: string): void {
  const what = reader.byte();
  switch (what) {
    case declaration.type:
      return checkType(reader, where);
    case declaration.alias:
      return checkAlias(reader, where);
    case declaration.import:
    case declaration.export:
      readExternName(reader, `in a type of ${where}`);
      return skipExtern(reader, where);
    default:
      throw unknownForm(`a type of ${where}`, what);
  }
}

/** Reads and checks the name of an import or export of a component. */
export function readExternName(reader: Reader, where: string): string {
  const what = reader.byte();
  if (what > 1) throw unknownForm(where, what);
  const name = reader.name();
  checkName(name, 'wit', where);
  return name;
}

/** Skips what a component says about an import or export after its name. */
export function skipExtern(reader: Reader, where: string): void {
  const what = reader.byte();
  switch (what) {
    case extern.function:
    case extern.instance:
      return reader.skipNumber();
    case extern.type: // equal to another type, or a new resource
      if (!readFlag(reader)) reader.skipNumber();
      return;
    default:
      throw unknownForm(`an import or export of ${where}`, what);
  }
}

const sort = { core: 0x00, component: 0x04, last: 0x05 } as const;
const lastCoreSort = 0x12;
const alias = { export: 0x00, coreExport: 0x01, outer: 0x02 } as const;

export function checkAlias(reader: Reader, where: string): void {
  skipSort(reader, where);
  const target = reader.byte();
  reader.skipNumber(); // the index of an instance, or the number of components outwards
  if (target === alias.outer) return reader.skipNumber();
  if (target > alias.outer) throw unknownForm(`an alias of ${where}`, target);
  checkName(reader.name(), target === alias.coreExport ? 'core' : 'wit', `an alias of ${where}`);
}

/** Skips the kind of a thing, and throws for components, which could then be instantiated uncounted. */
export function skipSort(reader: Reader, where: string): void {
  const what = reader.byte();
  if (what === sort.core) return skipCoreSort(reader, where);
  if (what === sort.component) throw new RangeError(`${where} passes a component on, which this host does not offer`);
  if (what > sort.last) throw unknownForm(`something of ${where}`, what);
}

export function skipCoreSort(reader: Reader, where: string): void {
  const what = reader.byte();
  if (what > lastCoreSort) throw unknownForm(`something of ${where}`, what);
}

/** Reads a byte that is 0 or 1. */
function readFlag(reader: Reader): boolean {
  const flag = reader.byte();
  if (flag > 1) throw unknownForm('a type', flag);
  return flag === 1;
}
