import { hookModule } from './core-modules/hooks.ts';

const instantiate = /^export function instantiate\(getCoreModule, imports, .*\{\n/m;
const tables = /^( *const HANDLE_TABLES ?= )\[\];$/m;
const captures = /^( *const captureTable\d+ ?= )new Map\(\);$/gm;
const create = /^ *function rscTableCreate(?:Own|Borrow)\(/gm;
/** The first half of a new entry. An entry that was free is used again and has no such line. */
const newEntry = /^( *)table\.push\((?:0|scopeId)\);$/gm;
/** Records a resource for a component that passes it to another one. */
const recorded = /^( *)table\._createdReps\.add\(rep\);\n/m;

/**
 * Returns glue that keeps the handles of a guest in the tables of `HandleTables`, which count and restore them. Throws
 * when the shape of the glue has changed, because handles without a limit fill the heap and end the host.
 */
export function boundHandles(glue: string): string {
  const creating = glue.match(create)?.length ?? 0;
  if (creating === 0 && !glue.includes('rscTable')) return glue;
  const isRead = glue.includes('_createdReps.has(');
  const changes: readonly [what: RegExp, expected: number | undefined, change: string][] = [
    [instantiate, 1, `$&  const _handles = imports['${hookModule}'];\n`],
    [tables, 1, '$1_handles.tables;'],
    [captures, undefined, '$1_handles.newCaptures();'],
    [newEntry, creating, '$1_handles.take();\n$&'],
    [recorded, undefined, isRead ? '$1if (!table._createdReps.has(rep)) _handles.take();\n$&' : ''],
  ];
  return changes.reduce((text, [what, expected, change]) => {
    if (expected !== undefined && (text.match(new RegExp(what, 'gm'))?.length ?? 0) !== expected)
      throw new Error(`the shape of the generated glue has changed: ${what.source}`);
    return text.replace(what, change);
  }, glue);
}
