// Checks the sources against the import table of ARCHITECTURE.md: a folder imports only the folders that its row names.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../base/core/package-root.ts';

const COMPOSITION = ['application', 'index.ts'];
/** Folders that may import every folder. */
const FREE = new Set(['bench', 'test', 'cli', ...COMPOSITION]);

/** Reads the document's rows of the form `| folder/ | sentence | may import |`. */
function readTable(): Map<string, Set<string>> {
  const text = readFileSync(join(packageRoot, 'ARCHITECTURE.md'), 'utf8');
  const rows = text.matchAll(/^\| `([a-z-]+)\/` \|[^|]*\|([^|]*)\|$/gm);
  return new Map(
    [...rows].map(([, folder, imports]) => [
      folder ?? '',
      new Set(
        (imports ?? '')
          .split(',')
          .map((name) => name.trim().replaceAll('`', '').replace(/\/$/, ''))
          .filter((name) => name !== '' && name !== '–'),
      ),
    ]),
  );
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const at = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'fixtures' ? [] : sources(at);
    return /(?<!\.test|\.d)\.ts$/.test(entry.name) ? [at] : [];
  });
}

const IMPORT = new RegExp(
  [
    /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/,
    /\bimport\(\s*['"]([^'"]+)['"]\s*\)/,
    /(?:^|\n)import\s*['"]([^'"]+)['"]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

interface Import {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Returns the folder of a group of `host/` that a path lies in, `native` for the addon's border, or the folder or file
 * at the top.
 */
function folderOf(path: string): string {
  const [top = '', group = '', folder = ''] = path.split('/');
  if (top !== 'host') return top;
  return groups().includes(group) ? folder : group;
}

function imports(): Import[] {
  return sources(join(packageRoot, 'host')).flatMap((path) => {
    const file = path.slice(packageRoot.length);
    return [...readFileSync(path, 'utf8').matchAll(IMPORT)].flatMap((match) => {
      const specifier = match[1] ?? match[2] ?? match[3] ?? '';
      if (!specifier.startsWith('.')) return [];
      return [{ file, from: folderOf(file), to: folderOf(normalize(join(dirname(file), specifier))) }];
    });
  });
}

/** The maximum number of sources in a folder. A list of this length can be read at a glance. */
const MAX_SOURCES = 18;

interface Folder {
  readonly path: string;
  /** Number of sources directly in the folder, without tests. */
  readonly count: number;
}

function folders(path: string): Folder[] {
  const entries = readdirSync(path, { withFileTypes: true });
  const count = entries.filter(({ name }) => /(?<!\.test|\.d)\.ts$/.test(name)).length;
  return [
    { path: path.slice(packageRoot.length), count },
    ...entries.filter((entry) => entry.isDirectory()).flatMap(({ name }) => folders(join(path, name))),
  ];
}

/** Returns the groups of folders in `host/`. */
function groups(): string[] {
  return readdirSync(join(packageRoot, 'host'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !FREE.has(entry.name) && entry.name !== 'bootstrap')
    .map((entry) => entry.name);
}

/** Reads the document's groups, each with the folders below it. */
function readGroups(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const text = readFileSync(join(packageRoot, 'ARCHITECTURE.md'), 'utf8');
  for (const [, group, folder] of text.matchAll(/^\| (?:\*\*`([a-z-]+)\/`\*\*|`([a-z-]+)\/`) \|[^|]*\|[^|]*\|$/gm))
    if (group !== undefined) found.set(group, []);
    else [...found.values()].at(-1)?.push(folder ?? '');
  return found;
}

const Architecture = suite('the import table');

Architecture('has a row for every group and folder of host/, and no other row', () => {
  const found = groups().map((group) => [group, readdirSync(join(packageRoot, 'host', group)).sort()] as const);
  const rows = [...readGroups()].map(([group, folders]) => [group, folders.sort()] as const);
  assert.equal(Object.fromEntries(rows), Object.fromEntries(found));
});

Architecture('allows every import', () => {
  const table = readTable();
  const found = imports();
  assert.ok(found.length > 50, 'the imports were not found');
  const wrong = found
    .filter(({ from, to }) => !FREE.has(from) && from !== to && !table.get(from)?.has(to))
    .map(({ file, from, to }) => `${file}: ${from}/ may not import ${to}/`);
  assert.equal(wrong, []);
});

Architecture('names no folder that is not imported', () => {
  const found = new Set(imports().map(({ from, to }) => `${from} → ${to}`));
  const idle = [...readTable()]
    .flatMap(([from, names]) => [...names].map((to) => `${from} → ${to}`))
    .filter((edge) => !found.has(edge));
  assert.equal(idle, []);
});

Architecture('has no cycle between folders', () => {
  const table = readTable();
  const visit = (folder: string, path: readonly string[]): void => {
    assert.not.ok(path.includes(folder), `cycle: ${[...path, folder].join(' → ')}`);
    for (const next of table.get(folder) ?? []) if (table.has(next)) visit(next, [...path, folder]);
  };
  for (const folder of table.keys()) visit(folder, []);
});

Architecture('names files that exist', () => {
  const text = readFileSync(join(packageRoot, 'ARCHITECTURE.md'), 'utf8');
  const named = [...text.matchAll(/`((?:host|native|wit|plugins|docs|examples|tools)\/[\w./-]+)`/g)].map(
    ([, path = '']) => path,
  );
  assert.ok(named.length > 30, 'the files were not found');
  assert.equal(
    named.filter((path) => !existsSync(join(packageRoot, path))),
    [],
  );
});

Architecture('limits the number of sources in a folder', () => {
  const large = folders(join(packageRoot, 'host')).filter(({ count }) => count > MAX_SOURCES);
  assert.equal(large, []);
});

Architecture('allows no line over 120 columns in TypeScript, JavaScript, C, C++, SQL and WIT', () => {
  const long = ['host', 'native', 'wit', 'plugins', 'examples', 'tools'].flatMap((folder) =>
    readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!node_modules\/.*)\.(ts|tsx|mjs|js|cc|h|c|sql|wit)$/.test(name))
      .flatMap((name) =>
        readFileSync(join(packageRoot, folder, name), 'utf8')
          .split('\n')
          .flatMap((line, at) => (line.length > 120 ? [`${folder}/${name}:${at + 1}`] : [])),
      ),
  );
  assert.equal(long, []);
});

Architecture('allows process.env only in config/ and the programs', () => {
  // The registries' clients and the compilers need the environment of the user who started the program.
  // A process of an Extism plugin learns from its environment how it is confined.
  const allowed =
    /^host\/(bench|cli|test|base\/config|endpoints\/plugins\/extism\/process|setup\/packages|setup\/native-build)\//;
  const wrong = sources(join(packageRoot, 'host'))
    .map((path) => path.slice(packageRoot.length))
    .filter(
      (file) =>
        !allowed.test(file) &&
        /\bprocess\.env\b/.test(readFileSync(join(packageRoot, file), 'utf8').replace(/^\s*(\/\/|\*|\/\*).*$/gm, '')),
    );
  assert.equal(wrong, []);
});

Architecture.run();
