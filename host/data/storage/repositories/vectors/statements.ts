import { loadStatements } from '../../statements.ts';

/** The statements of `sql/vectors.sql`. */
export const sql = loadStatements('vectors', [
  'create',
  'find',
  'lock',
  'list',
  'remove',
  'count',
  'usage',
  'replaced',
  'upsert',
  'removeAttributes',
  'addAttributes',
  'removeNamed',
  'removeDocument',
  'page',
  'pageOfDocument',
  'documentChunks',
  'describe',
  'version',
  'read',
]);
