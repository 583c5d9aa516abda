// The import table of ARCHITECTURE.md, read from the sources: a folder imports what its row names, nothing else.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../core/package-root.ts';

const COMPOSITION = ['application', 'index.ts'];
/** Test support may build anything up. */
const FREE = new Set(['bench', 'test', 'cli', ...COMPOSITION]);

/** `| folder/ | sentence | may import |` rows of the document. */
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

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s*['"]([^'"]+)['"]/g;

interface Import {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The folder of `host/` that a path lies in; `native` for the addon's border; the file itself for files at the top. */
function folderOf(path: string): string {
  const parts = path.split('/');
  return parts[0] === 'host' ? (parts[1] ?? '') : (parts[0] ?? '');
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

/** A stranger reads a folder's list at one glance. */
const MAX_SOURCES = 18;

interface Folder {
  readonly path: string;
  /** Sources directly in it, without tests. */
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

const Architecture = suite('the import table');

Architecture('has a row for every folder of host/, and no other', () => {
  const folders = readdirSync(join(packageRoot, 'host'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !FREE.has(entry.name) && entry.name !== 'bootstrap')
    .map((entry) => entry.name);
  assert.equal([...readTable().keys()].sort(), folders.sort());
});

Architecture('is kept by every import', () => {
  const table = readTable();
  const found = imports();
  assert.ok(found.length > 50, 'the imports were not found');
  const wrong = found
    .filter(({ from, to }) => !FREE.has(from) && from !== to && !table.get(from)?.has(to))
    .map(({ file, from, to }) => `${file}: ${from}/ may not import ${to}/`);
  assert.equal(wrong, []);
});

Architecture('names nothing that a folder does not import', () => {
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
  const named = [...text.matchAll(/`((?:host|native|wit|plugins|docs|examples)\/[\w./-]+)`/g)].map(
    ([, path = '']) => path,
  );
  assert.ok(named.length > 30, 'the files were not found');
  assert.equal(
    named.filter((path) => !existsSync(join(packageRoot, path))),
    [],
  );
});

Architecture('keeps folders small enough to be read', () => {
  const large = folders(join(packageRoot, 'host')).filter(({ count }) => count > MAX_SOURCES);
  assert.equal(large, []);
});

Architecture('keeps process.env to config/ and the programs', () => {
  // The registries' clients and the compilers get the environment of the user who started us.
  const allowed = /^host\/(bench|config|cli|test|packages|native-build)\//;
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
