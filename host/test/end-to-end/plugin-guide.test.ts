// Follows docs/plugins.md block by block like a reader: writes files where the blocks say, runs the commands and
// compares the answers.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { loadConfig } from '../../base/config/index.ts';
import { readManifest } from '../../endpoints/plugins/set/manifest.ts';
import { type Block, blocksOf, contentsOf } from '../helpers/guide.ts';
import { linkDependencies, testProject } from '../helpers/plugin-project.ts';
import { freePort, until } from '../helpers/server.ts';
import { buildTestPlugin } from '../../endpoints/plugins/fixtures/build-test-plugin.ts';

const blocks = blocksOf(await readFile(join(packageRoot, 'docs/plugins.md'), 'utf8'));
const Guide = suite('docs/plugins.md');

let folder = '';
let port = 0;
let printed = '';
let stopServer = async (): Promise<void> => {};
let env: NodeJS.ProcessEnv = {};

Guide.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-guide-'));
  port = await freePort();
  linkDependencies(folder);
  await writeFile(join(folder, 'package.json'), '{"name":"reader","private":true}');
  const bin = join(folder, 'bin');
  await mkdir(bin);
  // package.test.ts tries `npm install` with the packed package; here it only makes links. `npx` runs the installed
  // program.
  const programs = {
    npx: `exec "${process.execPath}" "${join(packageRoot, 'bundle/host/cli/main.js')}" "\${@:2}"`,
    npm:
      `[ "$1" = install ] && exec "${process.execPath}" "${join(bin, 'link.mjs')}"\nexport ` +
      `PATH="$(pwd)/node_modules/.bin:$PATH:\${REAL_PATH}"\nexec "$REAL_NPM" "$@"`,
  };
  const realNpm = spawnSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).stdout.trim();
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/usr/bin/env bash\n${text}\n`);
    await chmod(join(bin, name), 0o755);
  }
  await writeFile(
    join(bin, 'link.mjs'),
    `import { linkDependencies } from ` +
      `${JSON.stringify(join(packageRoot, 'dist/host/test/helpers/plugin-project.js'))};\n` +
      'linkDependencies(process.cwd());\n',
  );
  env = {
    ...process.env,
    AANA_DATA_DIR: join(folder, 'data'),
    PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
    REAL_NPM: realNpm,
    AANA_PORT: String(port),
  };
});
Guide.after(async () => {
  await stopServer();
  await rm(folder, { recursive: true, force: true });
});

const here = ({ text }: Block): string => text.replaceAll(':8000/', `:${port}/`);

async function serve(block: Block): Promise<void> {
  await stopServer();
  const child = spawn('bash', ['-ec', here(block)], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const ended = once(child, 'exit');
  stopServer = async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGTERM');
    await ended;
  };
  await until(async () => {
    assert.is(child.exitCode, null, output);
    return (await fetch(`http://127.0.0.1:${port}/api/ready`).catch(() => undefined))?.status === 200;
  }, 120_000);
}

function run(block: Block): void {
  const { status, stdout, stderr } = spawnSync('bash', ['-ec', here(block)], { cwd: folder, env, encoding: 'utf8' });
  assert.is(status, 0, `${stdout}${stderr}`);
  printed = stdout;
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), `${text.replaceAll(/(?<=127\.0\.0\.1):8000/g, `:${port}`)}\n`);
}

/** A slow machine shows the progress of a build before its outcome. */
const withoutProgress = (stderr: string): string => stderr.replaceAll(/^building .*: \d+ s\n/gm, '');

async function execute(block: Block): Promise<void> {
  const { language, about, text } = block;
  const [path = ''] = about.split(' ');
  if (language === 'ts') {
    assert.match(path, /^[\w-]+\/src\/[\w./-]+\.ts$/, 'a block of TypeScript names its file');
    await write(path, text);
  } else if (about === 'answer') assert.is(printed.trim(), text);
  else if (language === 'json') {
    await write(path, text);
    if (path.endsWith('/plugin.json')) assert.is((await readManifest(join(folder, dirname(path)))).name, dirname(path));
    // Throws for a mistake.
    else if (path.endsWith('/aana.config.json')) loadConfig({ env: {}, flags: { config: join(folder, path) } });
    else assert.unreachable(`unknown kind of block: ${path}`);
  } else if (language === 'sh') await (about === 'serve' ? serve(block) : run(block));
  else if (language === 'text' && about !== '') {
    const build = spawnSync(process.execPath, [join(packageRoot, 'bundle/host/cli/main.js'), 'build', about], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    assert.is(build.status, 1);
    assert.is(withoutProgress(build.stderr).trim(), text);
  } else assert.is(language, 'text', 'a block names its kind');
}

for (const block of blocks)
  Guide(`line ${block.line}, ${block.section}: ${block.language} ${block.about}`.trimEnd(), () => execute(block));

/** A test for plugins whose tests the page does not show. */
const NO_TESTS =
  "import { test } from 'node:test';\nimport { endpoint } from './index.ts';\ntest('describes itself', () => void " +
  'endpoint.describe());\n';

Guide('every plugin of the page is strictly typed, and its tests pass', async () => {
  const checked = join(folder, 'checked'); // one project, because the compiler takes seconds to begin
  const names = (await readdir(folder)).filter(
    (name) => name !== 'wrong' && existsSync(join(folder, name, 'src/index.ts')),
  );
  for (const name of names) {
    await cp(join(folder, name, 'src'), join(checked, name), { recursive: true });
    // The tests of the first version have run already.
    if (name === 'say-hello' || !existsSync(join(checked, name, 'index.test.ts')))
      await writeFile(join(checked, name, 'index.test.ts'), NO_TESTS);
    await buildTestPlugin(join(folder, name)); // most are already built
  }
  const read = async (file: string) => JSON.parse(await readFile(join(folder, 'say-hello', file), 'utf8'));
  const { compilerOptions, ...config } = await read('tsconfig.json');
  const options = { ...config, compilerOptions: { ...compilerOptions, rootDir: '.' }, include: names };
  await writeFile(join(checked, 'tsconfig.json'), JSON.stringify(options));
  await writeFile(join(checked, 'package.json'), JSON.stringify(await read('package.json')));
  const tests = testProject(
    checked,
    names.map((name) => `build/${name}/index.test.js`),
  );
  assert.is(tests, 20);
});

Guide('names every section in its list of contents', async () => {
  const page = await readFile(join(packageRoot, 'docs/plugins.md'), 'utf8');
  const { listed, sections } = contentsOf(page);
  assert.equal(listed, sections);
});

Guide.run();
