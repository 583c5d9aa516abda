import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { type CataloguedError, PROGRAM_ERRORS, REQUEST_ERRORS } from './error-catalogue.ts';
import { renderErrorDocs } from './render-error-docs.ts';

const Catalogue = suite('the catalogue of errors');

interface Thrown {
  readonly name: string;
  /** Its kind or status, where it is written out. */
  readonly as: string | number | undefined;
  readonly file: string;
}

const host = join(packageRoot, 'host');
const ALL: readonly CataloguedError[] = [...REQUEST_ERRORS, ...PROGRAM_ERRORS];
/**
 * `new AanaError('Name', 'kind', …`, the same of its subclasses and of functions that make errors, and what a subclass
 * gives to `super`.
 */
const THROWN = /(?:new \w*Error|super|\w+(?:Error|Refused))\(\s*'([A-Z]\w+)',(?:\s*(?:'([a-z-]+)'|(\d{3})),)?/g;
/** What is answered on the bare socket. */
const REFUSED = /'(\d{3}) [\w ]+', '(\w+)'/g;
const NOT_SERVED = /\.test\.ts$|[/\\]fixtures[/\\]|^(test|bench|sdk)[/\\]/;

function thrownInSources(): Thrown[] {
  const files = readdirSync(host, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !NOT_SERVED.test(file),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join(host, file), 'utf8');
    const thrown = [...text.matchAll(THROWN)].map(([, name = '', kind, status]) => ({
      name,
      as: kind ?? (status === undefined ? undefined : Number(status)),
      file,
    }));
    const refused = [...text.matchAll(REFUSED)].map(([, status, name = '']) => ({ name, as: Number(status), file }));
    return [...thrown, ...refused];
  });
}

Catalogue('has each error in the sources, with all of its kinds', () => {
  const missing = thrownInSources().filter(({ name, as }) => {
    const entry = ALL.find((one) => one.name === name);
    return !entry || (as !== undefined && !(entry.as as readonly unknown[]).includes(as));
  });
  const lines = missing.map(
    ({ name, as, file }) => `${name} (${as ?? 'a kind'}) of ${relative(packageRoot, join(host, file))}`,
  );
  assert.equal(
    lines,
    [],
    'add these to host/http/response/error-catalogue.ts, then: aana-host docs errors > docs/errors.md',
  );
});

Catalogue('has no unused error, and none twice', () => {
  const sources = readdirSync(host, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !NOT_SERVED.test(file) && !file.endsWith('error-catalogue.ts'),
  );
  const text = sources.map((file) => readFileSync(join(host, file), 'utf8')).join('\n');
  assert.equal(
    ALL.map(({ name }) => name).filter((name) => !text.includes(`'${name}'`)),
    [],
  );
  assert.is(new Set(ALL.map(({ name }) => name)).size, ALL.length);
});

Catalogue('describes each error in a sentence', () => {
  for (const { name, when, as } of ALL) assert.ok(/^[A-Z].*\.$/.test(when) && as.length > 0, name);
});

Catalogue('matches docs/errors.md, which `aana-host docs errors` writes', () => {
  assert.is(readFileSync(join(packageRoot, 'docs/errors.md'), 'utf8'), renderErrorDocs());
});

Catalogue.run();
