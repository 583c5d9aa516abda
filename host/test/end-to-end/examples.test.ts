// The plugin of examples/ is copied out of the repository, tested, built and served as its README says.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { speakingVideo } from '../helpers/media/media.ts';
import { copyProject, devDependenciesOf, runNode, testProject } from '../helpers/plugin-project.ts';
import { post, type RunningServer, serve, TEST_DEPLOYMENTS } from '../helpers/server.ts';

const Examples = suite('examples/word-count');
let folder = '';
let project = '';
let server: RunningServer | undefined;

Examples.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-example-'));
  project = join(folder, 'word-count');
  copyProject(join(packageRoot, 'examples/word-count'), project);
});
Examples.after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

Examples('its sources are strictly typed and its tests pass', () => {
  assert.is(testProject(project), 4);
});

Examples('requires the same versions of the compiler and of the types as this package', () => {
  const own = devDependenciesOf(packageRoot);
  assert.equal(devDependenciesOf(project), { '@types/node': own['@types/node'], typescript: own['typescript'] });
});

Examples('builds, and answers as its README says', async () => {
  const built = runNode(project, join(packageRoot, 'bundle/host/cli/main.js'), 'build', '.');
  assert.match(built, join('word-count', 'dist', 'word-count.wasm'));
  const { asr_deployment } = TEST_DEPLOYMENTS;
  server = await serve({ plugins: [project], config: { deployments: { asr_deployment } } });
  const readme = await readFile(join(project, 'README.md'), 'utf8');
  const [, body] = /-F 'body=(\{.*?\})' http:\S+\/text\/word_count/.exec(readme)!;
  const [, answer] = /```json\n(.*?)\n```/s.exec(readme)!;
  const text = await post(`${server.url}/text/word_count`, body);
  assert.equal(await text.json(), JSON.parse(answer!));

  const response = await post(
    `${server.url}/video/word_count`,
    { video: { content: 'file' }, top: 1 },
    { file: { data: await speakingVideo() } },
  );
  const counted = (await response.json()) as { words: number; most_frequent: unknown[] };
  assert.is(response.status, 200, JSON.stringify(counted));
  assert.ok(Math.abs(counted.words - 22) <= 1, `${counted.words} words`);
  assert.equal(counted.most_frequent.length, 1);
});

Examples.run();
