import { section, skipImport } from '../core-modules/sections.ts';
import type { Reader } from '../core-modules/wasm-binary.ts';
import { checkName } from './names.ts';
import { readSections, repeat } from './reading.ts';

/** Checks the names of a core module's imports and exports. Throws a RangeError. */
export function checkCoreNames(module: Uint8Array, where: string): void {
  readSections(module, (id, body) => {
    if (id === section.import) repeat(body, () => checkImport(body, where));
    else if (id === section.export) repeat(body, () => checkExport(body, where));
    else body.skip(body.left);
  });
}

function checkImport(reader: Reader, where: string): void {
  checkName(reader.name(), 'core', `the module of an import of ${where}`);
  checkName(reader.name(), 'core', `an import of ${where}`);
  skipImport(reader);
}

function checkExport(reader: Reader, where: string): void {
  checkName(reader.name(), 'core', `an export of ${where}`);
  reader.byte();
  reader.unsigned();
}
