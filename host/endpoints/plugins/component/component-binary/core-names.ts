import { section, skipImport } from '../core-modules/sections.ts';
import type { Reader } from '../core-modules/wasm-binary.ts';
import { checkName } from './names.ts';
import { readSections, repeat } from './reading.ts';

/** Checks the names of a core module's imports and exports. Throws a RangeError. */
export function checkCoreNames(module: Uint8Array, place: string): void {
  readSections(module, (id, body) => {
    if (id === section.import) repeat(body, () => checkImport(body, place));
    else if (id === section.export) repeat(body, () => checkExport(body, place));
    else body.skip(body.left);
  });
}

function checkImport(reader: Reader, place: string): void {
  checkName(reader.name(), 'core', `the module of an import of ${place}`);
  checkName(reader.name(), 'core', `an import of ${place}`);
  skipImport(reader);
}

function checkExport(reader: Reader, place: string): void {
  checkName(reader.name(), 'core', `an export of ${place}`);
  reader.byte();
  reader.unsigned();
}
