// The program of examples/embed is copied out of the repository, compiled and run as its README says.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { type RunningExample, startExample } from '../helpers/embed-example.ts';
import { copyProject, devDependenciesOf } from '../helpers/plugin-project.ts';
import { descendants, post, until } from '../helpers/server.ts';
import { runsTypeScript } from '../helpers/node-version.ts';
import { skip } from '../skip.ts';

const Embed = suite('examples/embed');
let folder = '';
let shop: RunningExample;
let readme = '';

Embed.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-embed-'));
  copyProject(join(packageRoot, 'examples/embed'), folder);
  readme = await readFile(join(folder, 'README.md'), 'utf8');
  shop = await startExample(folder);
});
Embed.after(async () => {
  await shop?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const replicas = async (): Promise<number[]> =>
  (await descendants(shop.process.pid ?? 0))
    .filter(({ command }) => command.includes('replicas/child'))
    .map(({ pid }) => pid);

Embed('requires the same versions of the compiler and of the types as this package', () => {
  const own = devDependenciesOf(packageRoot);
  assert.equal(devDependenciesOf(folder), { '@types/node': own['@types/node'], typescript: own['typescript'] });
});

Embed("its own routes and the host's routes answer as its README says", async () => {
  const answers = [...readme.matchAll(/```json\n(.*?)\n```/gs)].map((match) => match[1]);
  assert.is(await (await fetch(`${shop.url}/reviews`)).text(), answers[0]);
  const [, path, text] = [...readme.matchAll(/-F 'body=(.*?)' http:\/\/[^/]+(\/\S+)/g)].map((match) => [
    match[0],
    match[2],
    match[1],
  ])[0]!;
  const streamed = await post(`${shop.url}${path}`, JSON.parse(text!));
  assert.is(streamed.headers.get('content-type'), 'application/json-seq');
  assert.is(await streamed.text(), answers[1]);
  assert.equal(await (await post(`${shop.url}/text/sentiment`, { text: 'great, but late' })).json(), {
    label: 'neutral',
    score: 0,
  });
  assert.is((await fetch(`${shop.url}/docs`)).status, 200);
});

Embed('refuses invalid input', async () => {
  const response = await post(`${shop.url}/text/sentiment`, { text: '' });
  assert.is(response.status, 422);
  assert.is(((await response.json()) as { error: string }).error, 'ValidationError');
});

Embed('continues to serve when a replica is killed', async () => {
  const [first, second] = await replicas();
  assert.ok(second);
  process.kill(first!, 'SIGKILL');
  for (let times = 0; times < 20; times += 1)
    assert.is((await post(`${shop.url}/text/sentiment`, { text: 'great' })).status, 200);
  await until(async () => (await replicas()).filter((pid) => pid !== first).length === 2);
});

Embed('exits on request and leaves no process behind', async () => {
  const pids = await replicas();
  assert.is(await shop.stop(), 0, shop.output());
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), /ESRCH/);
});

if (!runsTypeScript)
  skip('examples/embed runs from its sources', `Node ${process.versions.node} does not run TypeScript`);
else {
  Embed('runs from its sources on a Node that runs TypeScript', async () => {
    await using again = await startExample(folder, 'src/server.ts');
    assert.is((await fetch(`${again.url}/reviews`)).status, 200);
  });
}

Embed.run();
