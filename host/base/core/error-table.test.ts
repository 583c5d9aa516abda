import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ERROR_NAMES, findDefinition } from './error-table.ts';
import { AanaError, fail } from './errors.ts';
import { packageRoot } from './package-root.ts';

const Table = suite('the table of errors');
const host = join(packageRoot, 'host');
const NOT_SERVED = /\.test\.ts$|[/\\]fixtures[/\\]|^(test|bench|endpoints[/\\]sdk)[/\\]/;
const sources = readdirSync(host, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !NOT_SERVED.test(file) && !/error-table(\.ts|[/\\].*)$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(host, file), 'utf8') }));

Table('makes all errors of the package: no other place states a kind or a status', () => {
  const written = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/new \w*Error\(\s*'[A-Z]\w+',\s*(?:'[a-z-]+'|\d{3}),/g)].map(([found]) => `${file}: ${found}`),
  );
  assert.equal(written, []);
});

Table('has no unused error, and none twice', () => {
  const all = sources.map(({ text }) => text).join('\n');
  assert.equal(
    ERROR_NAMES.filter((name) => !all.includes(`'${name}'`)),
    [],
  );
  const groups = readdirSync(join(host, 'base', 'core', 'error-table')).map((file) =>
    readFileSync(join(host, 'base', 'core', 'error-table', file), 'utf8'),
  );
  const written = groups.flatMap((text) => [...text.matchAll(/^  ([A-Z]\w+): \{/gm)].map(([, name]) => name!));
  assert.equal(written.toSorted(), ERROR_NAMES.toSorted());
});

Table('describes each error in a sentence', () => {
  for (const name of ERROR_NAMES) assert.match(findDefinition(name)!.when, /^[A-Z].*\.$/);
});

Table('gives an error its kind and its fault', () => {
  const error = fail('DeploymentNotStarted', 'not yet', { data: { deployment: 'asr' }, cause: 'a cause' });
  assert.instance(error, AanaError);
  assert.equal(
    [error.name, error.kind, error.fault, error.message, error.data, error.cause],
    ['DeploymentNotStarted', 'unavailable', 'overload', 'not yet', { deployment: 'asr' }, 'a cause'],
  );
  assert.is(findDefinition('toString'), undefined);
});

Table.run();
