// docs/migrating.md: this package has every name that the tables list in the column of aana-host.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { isKnownName } from '../helpers/known-names.ts';

const page = readFileSync(join(packageRoot, 'docs/migrating.md'), 'utf8');

/** The second cell of each row with three cells. */
const ours = [...page.matchAll(/^\|(?:[^|\n]*)\|([^|\n]*)\|(?:[^|\n]*)\|$/gm)]
  .map(([, cell = '']) => cell.trim())
  .filter((cell) => cell !== 'aana-host' && cell !== '---');

const Migrating = suite('docs/migrating.md');

Migrating('has a name of this package or a dash in each row', () => {
  assert.ok(ours.length > 150, `${ours.length} rows`);
  assert.equal(
    ours.filter((cell) => cell !== '–' && cell.replaceAll(/`[^`]+`/g, '').trim() !== ''),
    [],
  );
});

Migrating('lists only names that this package has', () => {
  const names = [...new Set(ours.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)))];
  assert.ok(names.length > 150, `${names.length} names`);
  assert.equal(
    names.filter((name) => !isKnownName(name)),
    [],
  );
});

Migrating('the check finds names that this package does not have', () => {
  for (const name of [
    'AanaSDK',
    'app.registerDeploy()',
    'ctx.frames',
    'schemas.WhisperParams.beams',
    'WhisperConfig.size',
    'WhisperDeployment.transcribe_all',
    'Endpoint.start',
    'repositories.videos.remove',
    'num_replica',
    'ray_actor_options.num_tpus',
    'TASK_QUEUE__WORKERS',
    'aana-host deploy --ray-address',
    'GET /task',
  ])
    assert.not(isKnownName(name), name);
});

Migrating.run();
