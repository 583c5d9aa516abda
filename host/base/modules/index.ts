export { codeStamp } from './code-stamp.ts';
export { importModule } from './import-module.ts';
export { parseExportPath, resolveModule } from './resolve-module.ts';
