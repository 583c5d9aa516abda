export { codeStamp } from './code-stamp.ts';
export { defineHelper, type Helper, type HelperAnswer } from './helper.ts';
export { importModule } from './import-module.ts';
export { parseExportPath, resolveModule } from './resolve-module.ts';
