// A host stays ready for its other deployments while one has no replica.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SentimentDeployment } from '../inference/deployments/fixtures/sentiment-deployment.ts';
import { until } from '../test/helpers/server.ts';
import { FragileDeployment } from './fixtures/fragile-deployment.ts';
import { makeApp, makeFolder, started } from './fixtures/test-app.ts';

const Readiness = suite('readiness');
const folder = makeFolder();
Readiness.after(() => rmSync(folder, { recursive: true, force: true }));

Readiness('is lost by the deployment that crashed, and by the host only when no deployment serves', async () => {
  const file = join(folder, 'starts');
  writeFileSync(file, '');
  await using app = makeApp(folder);
  const fragile = FragileDeployment.options({ num_replicas: 1, user_config: { file } });
  app.registerDeployment('fragile', fragile);
  app.registerDeployment('steady', SentimentDeployment.options({ num_replicas: 1 }));
  await started(app);
  const ask = async (query = ''): Promise<[status: number, body: unknown]> => {
    const response = await fetch(`${app.url}/readyz${query}`);
    return [response.status, await response.json()];
  };
  assert.equal(await ask(), [200, { ready: true }]);
  assert.equal(await ask('?deployment=fragile'), [200, { ready: true }]);
  const unknown = await ask('?deployment=none');
  assert.equal([unknown[0], (unknown[1] as { error: string }).error], [404, 'DeploymentNotFound']);

  rmSync(file); // the next replica cannot start
  await app
    .handle(FragileDeployment, 'fragile')
    .crash()
    .catch(() => {});
  const away = ['fragile'];
  await until(async () => (await ask('?deployment=fragile'))[0] === 503);
  assert.equal(await ask(), [200, { ready: true, away }]);
  assert.equal(await ask('?deployment=fragile'), [503, { ready: false, away }]);
  assert.equal(await ask('?deployment=steady'), [200, { ready: true }]);
  assert.is((await app.handle(SentimentDeployment, 'steady').classify({ text: 'good' })).label, 'positive');
  await app.unloadDeployment('steady'); // nobody expects it to serve
  assert.equal(await ask(), [503, { ready: false, away }]);
  assert.equal(await ask('?deployment=steady'), [503, { ready: false }]);

  await app.loadDeployment('steady');
  assert.equal(await ask(), [200, { ready: true, away }]);
});

Readiness.run();
