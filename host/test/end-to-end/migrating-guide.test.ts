// docs/migrating.md: its application in TypeScript is compiled strictly, deployed, and answers as the page says.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { blocksOf } from '../helpers/guide.ts';
import { linkDependencies, runNode } from '../helpers/plugin-project.ts';
import { freePort, until } from '../helpers/server.ts';

const blocks = blocksOf(readFileSync(join(packageRoot, 'docs/migrating.md'), 'utf8'));
const Guide = suite('docs/migrating.md');
let folder = '';

Guide.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-migrating-'));
  linkDependencies(folder);
  writeFileSync(join(folder, 'package.json'), '{"name":"reader","private":true,"type":"module"}');
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        exactOptionalPropertyTypes: true,
        erasableSyntaxOnly: true,
        verbatimModuleSyntax: true,
        allowImportingTsExtensions: true,
        module: 'nodenext',
        target: 'es2023',
        lib: ['es2023', 'esnext.disposable'],
        types: ['node'],
        skipLibCheck: true,
      },
    }),
  );
  for (const { language, about, text } of blocks)
    if (language === 'ts') writeFileSync(join(folder, about), `${text}\n`);
});
Guide.after(() => rmSync(folder, { recursive: true, force: true }));

const block = (language: string, about: string): string => {
  const [found, ...more] = blocks.filter((one) => one.language === language && one.about === about);
  assert.ok(found && more.length === 0, `the page has one block of ${language} ${about}`);
  return found.text;
};

Guide('its TypeScript is strictly typed', () => {
  runNode(folder, join(packageRoot, 'node_modules/typescript/bin/tsc'));
});

Guide('its application answers as the page says', async () => {
  const port = await freePort();
  const env = {
    ...process.env,
    AANA_DATA_DIR: join(folder, 'data'),
    AANA_PORT: String(port),
    XDG_RUNTIME_DIR: join(folder, 'run'),
    PATH: [join(folder, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
  };
  const command = block('sh', 'serve').replace('npx ', 'exec ');
  const server = spawn('bash', ['-ec', command], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (data) => (output += data));
  const ended = once(server, 'exit');
  try {
    await until(async () => {
      assert.is(server.exitCode, null, output);
      return (await fetch(`http://127.0.0.1:${port}/api/ready`).catch(() => undefined))?.status === 200;
    }, 120_000);
    const request = block('sh', '').replace(':8000/', `:${port}/`);
    const { stdout } = spawnSync('bash', ['-ec', request], { encoding: 'utf8' });
    assert.is(stdout, block('json', 'answer'), output);
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
  assert.is(server.exitCode, 0, output);
});

Guide.run();
