import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { packageRoot } from '../core/package-root.ts';
import { DeploymentOptions } from '../deployments/class/deployment-options.ts';
import { SETTINGS, renderConfigurationDocs } from './index.ts';

const Docs = suite('the configuration page');

Docs('matches the schema; `aana-host docs config` regenerates it', () => {
  assert.is(
    readFileSync(join(packageRoot, 'docs/configuration.md'), 'utf8'),
    renderConfigurationDocs(z.toJSONSchema(DeploymentOptions, { io: 'input' })),
  );
});

Docs('describes every key', () => {
  assert.equal(
    SETTINGS.filter(({ description }) => description === '').map(({ key }) => key),
    [],
  );
});

Docs('uses each variable and each flag once', () => {
  const names = SETTINGS.flatMap(({ env, flag }) => [env, ...(flag ? [flag.split(' ')[0]] : [])]);
  assert.is(new Set(names).size, names.length);
});

Docs.run();
