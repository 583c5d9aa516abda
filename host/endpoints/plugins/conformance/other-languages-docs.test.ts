// The plugins of docs/plugins-other-languages.md, built by its commands.
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { skip } from '../../../test/skip.ts';
import { assemblyScriptGuest, assemblyScriptTools, installCompiler } from '../fixtures/assemblyscript/guest.ts';
import { testCacheDir } from '../fixtures/build-test-plugin.ts';
import { cGuest } from '../fixtures/c/guest.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { compile, findCommands, type Guest, keptGuest } from '../fixtures/guest.ts';
import { componentizePy, installComponentizePy } from '../fixtures/python/compiler.ts';
import { rustGuest } from '../fixtures/rust/guest.ts';
import { starlingMonkeyGuest } from '../fixtures/starlingmonkey/guest.ts';
import { PluginHost } from '../set/plugin-host.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';

const text = await readFile(join(packageRoot, 'docs', 'plugins-other-languages.md'), 'utf8');
const blocks = new Map(
  [...text.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)].map(([, name, content]) => [name!, content!]),
);

const compiler = await installCompiler();
const python = await installComponentizePy();

/** The installed packages and their tools. */
async function installInto(dir: string): Promise<void> {
  await mkdir(join(dir, 'node_modules'));
  await symlink(packageRoot, join(dir, 'node_modules', 'aana-host'));
  const commands = join(dir, 'node_modules', '.bin');
  await mkdir(commands);
  await symlink(join(packageRoot, 'node_modules', '.bin', 'jco'), join(commands, 'jco'));
  await symlink(join(compiler.dir, 'node_modules', '.bin', 'asc'), join(commands, 'asc'));
  await symlink(join(compiler.dir, 'node_modules', '@extism'), join(dir, 'node_modules', '@extism'));
  await writeFile(
    join(commands, 'aana-host'),
    `#!/bin/sh\nexec '${process.execPath}' '${join(packageRoot, 'dist', 'host', 'cli', 'main.js')}' "$@"\n`,
    { mode: 0o755 },
  );
}

/** A language model's deployment that counts characters. */
const tokens = {
  handle: (name: string) => ({
    call: async (method: string, { text: counted }: Record<string, unknown>): Promise<unknown> => {
      assert.equal([name, method], ['llm_deployment', 'count_tokens']);
      if (counted === '') throw new AanaError('NothingToCount', 'conflict', 'the text is empty');
      return { tokens: String(counted).length };
    },
    stream: (): never => assert.unreachable('nothing is streamed') as never,
  }),
};

/** The languages with the tools in their commands and their other requirements. */
const languages: readonly {
  shell: string;
  source: string;
  tools: readonly string[];
  guest: Pick<Guest, 'language' | 'missing'>;
  manifest?: string;
  env?: NodeJS.ProcessEnv;
}[] = [
  { shell: 'c', source: 'count_tokens.c', tools: ['clang-14', 'wasm-ld-14'], guest: cGuest },
  { shell: 'rust', source: 'count_tokens.rs', tools: ['rustc', 'wasm-ld-14'], guest: rustGuest },
  { shell: 'js', source: 'count_tokens.js', tools: [], guest: starlingMonkeyGuest },
  {
    shell: 'python',
    source: 'count_tokens.py',
    tools: [],
    guest: { language: 'Python', missing: python.missing },
    env: python.env,
  },
  {
    shell: 'assemblyscript',
    source: 'count_tokens.ts',
    tools: [],
    guest: assemblyScriptGuest(compiler),
    manifest: 'extism/plugin.json',
  },
];

const Docs = suite<{ dir: string }>('docs/plugins-other-languages.md');

Docs.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-language-'));
});
Docs.after.each(({ dir }) => rm(dir, { recursive: true, force: true }));

Docs('name the versions of jco and componentize-py that the tests use', async () => {
  assert.ok(text.includes(componentizePy));
  const { devDependencies } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  assert.ok(text.includes(`@bytecodealliance/jco@${devDependencies['@bytecodealliance/jco']}`));
});

for (const { shell, source, tools, guest, manifest = 'plugin.json', env } of languages) {
  const title = `the plugin in ${guest.language} is built by the commands, calls a deployment and hands on its error`;
  const absent = tools.find((tool) => !findCommands([tool])[0]?.startsWith('/usr/bin/'));
  const reason = guest.missing ?? (absent && `the commands are for Debian 12, and /usr/bin has no ${absent}`);
  if (reason !== undefined) {
    skip(title, reason);
    continue;
  }
  Docs(title, async ({ dir }) => {
    await installInto(dir);
    await writeFile(join(dir, 'plugin.json'), blocks.get(manifest)!);
    await writeFile(join(dir, source), blocks.get(source)!);
    // Built once for each state of the page, the world and the tools.
    const versions = tools.map((tool) => spawnSync(tool, ['--version'], { encoding: 'utf8' }).stdout);
    const used = [shell, manifest, source].map((name) => blocks.get(name)!);
    const texts = [...versions, assemblyScriptTools, componentizePy, ...used];
    const component = join(dir, 'dist', 'count-tokens.wasm');
    const made = await keptGuest(texts, [join(packageRoot, 'wit')], async () => {
      await compile('bash', ['-euc', blocks.get(shell)!], { cwd: dir, ...(env && { env }) });
      return readFile(component);
    });
    await mkdir(join(dir, 'dist'), { recursive: true });
    await writeFile(component, made);
    const ports = Object.assign(new FakePorts(), { deployments: tokens });
    const cacheDir = testCacheDir();
    // As for `dev`, because these components are large and run a few times.
    const host = new PluginHost({ sandbox: testSandbox, ports, cacheDir, log: silentLogger, isFast: true });
    try {
      const plugin = await host.load(dir);
      assert.equal(
        [plugin.name, plugin.endpoints.map((endpoint) => endpoint.path)],
        ['count-tokens', ['/text/count_tokens']],
      );
      const run = (input: unknown): Promise<string> =>
        plugin.run({
          endpoint: 'count_tokens',
          input: JSON.stringify(input),
          requestId: 'r',
          deadlineMs: 60_000,
          signal: new AbortController().signal,
          files: new Map(),
        });
      assert.is(await run({ text: 'eleven char' }), '{"tokens":11}');
      assert.is(await run({ text: '' }).catch((error: AanaError) => error.name), 'NothingToCount');
    } finally {
      await host.close();
    }
  });
}

Docs.run();
