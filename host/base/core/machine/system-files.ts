import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the text of a file without white space around it; undefined when it cannot be read. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * Returns the folders of the control groups of this process, the innermost first: those of version 2, or those of
 * version 1 that have the controller. A container sees its own group as the root.
 */
export function groupsOf(root: string, controller?: string): string[] {
  const groups = readText(join(root, 'proc/self/cgroup')) ?? '';
  const isOurs = (controllers: string): boolean =>
    controller === undefined ? controllers === '' : controllers.split(',').includes(controller);
  const path = groups
    .split('\n')
    .map((line) => /^\d+:([^:]*):(\/.*)$/.exec(line))
    .find((line) => isOurs(line?.[1] ?? '-'))?.[2];
  const names = (path ?? '/').split('/').filter((name) => name !== '' && name !== '..');
  const mount = join(root, 'sys/fs/cgroup', controller ?? '');
  return Array.from({ length: names.length + 1 }, (_, depth) => join(mount, ...names.slice(0, names.length - depth)));
}
