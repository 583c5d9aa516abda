// Follows docs/application.md block by block like a reader: writes files where the blocks say, runs the commands and
// compares the answers.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { type Block, blocksOf } from '../helpers/guide.ts';
import { anchorOf } from '../helpers/markdown-links.ts';
import { runNode } from '../helpers/plugin-project.ts';
import { freePort, until } from '../helpers/server.ts';

const page = readFileSync(join(packageRoot, 'docs/application.md'), 'utf8');
const Guide = suite('docs/application.md');

let folder = '';
let port = 0;
let printed = '';
let env: NodeJS.ProcessEnv = {};
let stopServer = async (): Promise<void> => {};

Guide.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aana-guide-'));
  port = await freePort();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const realNpm = spawnSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).stdout.trim();
  // package.test.ts tries `npm install` with the packed package; here it only makes links. `npx` runs the installed
  // program.
  const programs = {
    npx: `exec "${process.execPath}" "${join(packageRoot, 'bundle/host/cli/main.js')}" "\${@:2}"`,
    npm:
      `[ "$1" = install ] && exec "${process.execPath}" "${join(bin, 'link.mjs')}" "\${@:2}"\nexec ` +
      `"${realNpm}" "$@"`,
  };
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(bin, name), `#!/usr/bin/env bash\n${text}\n`, { mode: 0o755 });
  writeFileSync(
    join(bin, 'link.mjs'),
    `import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { linkDependencies } from ${JSON.stringify(join(packageRoot, 'dist/host/test/helpers/plugin-project.js'))};
linkDependencies(process.cwd());
for (const name of process.argv.slice(2).filter((one) => one !== 'aana-host')) {
  mkdirSync(dirname(resolve('node_modules', name)), { recursive: true });
  symlinkSync(${JSON.stringify(join(packageRoot, 'node_modules'))} + '/' + name, resolve('node_modules', name));
}
`,
  );
  env = {
    ...process.env,
    AANA_DATA_DIR: join(folder, 'data'),
    PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
    AANA_PORT: String(port),
    XDG_RUNTIME_DIR: join(folder, 'run'),
  };
});
Guide.after(async () => {
  await stopServer();
  rmSync(folder, { recursive: true, force: true });
});

const here = (text: string): string =>
  text.replaceAll(/(?<=127\.0\.0\.1):8000/g, `:${port}`).replaceAll(/(?<=port: |listen\()8000/g, String(port));

/** Runs the command of the block, and waits until the application under `prefix` is ready. */
async function serve({ text }: Block, prefix: string): Promise<void> {
  await stopServer();
  const child = spawn('bash', ['-ec', text], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const ended = once(child, 'exit');
  stopServer = async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGTERM');
    await ended;
    assert.is(child.exitCode, 0, output);
  };
  await until(async () => {
    assert.is(child.exitCode, null, output);
    return (await fetch(`http://127.0.0.1:${port}${prefix}/api/ready`).catch(() => undefined))?.status === 200;
  }, 120_000);
}

async function execute(block: Block): Promise<void> {
  const { language, about, text } = block;
  if (language === 'js' || language === 'ts') {
    assert.match(about, /^my-app\/[\w-]+\.[jt]s$/, 'a block of code names its file');
    writeFileSync(join(folder, about), here(text));
  } else if (language === 'sh' && about.startsWith('serve')) await serve(block, about.split(' ')[1] ?? '');
  else if (language === 'sh') {
    const { status, stdout, stderr } = spawnSync('bash', ['-ec', here(text)], { cwd: folder, env, encoding: 'utf8' });
    assert.is(status, 0, `${stdout}${stderr}`);
    printed = stdout;
  } else if (language === 'json' && about === 'answer') assert.is(printed.trim(), text);
  else if (language === 'text') assert.is(printed.trim(), text);
  else assert.unreachable(`unknown kind of block: ${language} ${about}`);
}

for (const block of blocksOf(page))
  Guide(`line ${block.line}, ${block.section}: ${block.language} ${block.about}`.trimEnd(), () => execute(block));

Guide('its code in TypeScript is strictly typed', () => {
  const types = [
    '--strict',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--lib',
    'es2023,esnext.disposable',
    '--types',
    'node',
    '--allowJs',
    '--skipLibCheck',
    '--erasableSyntaxOnly',
  ];
  runNode(join(folder, 'my-app'), join(packageRoot, 'node_modules/typescript/bin/tsc'), ...types, 'typed.ts');
});

Guide('its links within the page lead to headings', () => {
  const anchors = [...page.matchAll(/^#{2,3} (.*)$/gm)].map(([, heading = '']) => `#${anchorOf(heading)}`);
  assert.equal(
    [...page.matchAll(/\]\((#[^)]*)\)/g)].map((match) => match[1]!).filter((link) => !anchors.includes(link)),
    [],
  );
});

Guide.run();
