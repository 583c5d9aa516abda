export { codeStamp } from './code-stamp.ts';
export { importModule } from './import-module.ts';
export { type ExportPath, parseExportPath, resolveModule } from './resolve-module.ts';
