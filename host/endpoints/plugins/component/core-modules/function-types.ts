import { skipType } from './instructions.ts';
import { section, type Sections } from './sections.ts';
import { Reader } from './wasm-binary.ts';

const form = { recursive: 0x4e, finalSubtype: 0x4f, subtype: 0x50, array: 0x5e, struct: 0x5f, function: 0x60 } as const;

/** Returns the number of parameters of each type that a module defines. Undefined for types that are not functions. */
export function parameterCounts(sections: Sections): (number | undefined)[] {
  const counts: (number | undefined)[] = [];
  const body = sections.body(section.type);
  if (body === undefined) return counts;
  const reader = new Reader(body, 0);
  for (let left = reader.unsigned(); left > 0; left--) {
    const first = reader.byte();
    if (first !== form.recursive) counts.push(readType(reader, first));
    else for (let inside = reader.unsigned(); inside > 0; inside--) counts.push(readType(reader, reader.byte()));
  }
  return counts;
}

/** Returns the types of the functions that a module defines, in order. */
export function functionTypes(sections: Sections): number[] {
  const body = sections.body(section.function);
  if (body === undefined) return [];
  const reader = new Reader(body, 0);
  return Array.from({ length: reader.unsigned() }, () => reader.unsigned());
}

function readType(reader: Reader, first: number): number | undefined {
  let what = first;
  if (what === form.finalSubtype || what === form.subtype) {
    for (let left = reader.unsigned(); left > 0; left--) reader.skipNumber();
    what = reader.byte();
  }
  switch (what) {
    case form.function: {
      const parameters = skipTypes(reader);
      skipTypes(reader);
      return parameters;
    }
    case form.struct:
      for (let left = reader.unsigned(); left > 0; left--) skipField(reader);
      return undefined;
    case form.array:
      skipField(reader);
      return undefined;
    default:
      throw new RangeError(`it has a type of an unknown form (0x${what.toString(16)})`);
  }
}

function skipTypes(reader: Reader): number {
  const count = reader.unsigned();
  for (let left = count; left > 0; left--) skipType(reader);
  return count;
}

function skipField(reader: Reader): void {
  skipType(reader);
  reader.skip(1); // whether it is mutable
}
