import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readManifest } from '../set/manifest.ts';
import { bundlePlugin } from './bundle.ts';

const Bundle = suite('bundles of plugins');

/** Files of packages, by their paths below `node_modules`. */
type Packages = Readonly<Record<string, string>>;

interface Sample {
  readonly packages?: Packages;
  readonly capabilities?: readonly string[];
}

async function bundled(
  imports: string,
  output: string,
  { packages = {}, capabilities = [] }: Sample = {},
): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'aana-bundle-'));
  try {
    await mkdir(join(dir, 'src'));
    await writeFile(join(dir, 'plugin.json'), JSON.stringify({ name: 'sample', version: '1.0.0', capabilities }));
    for (const [path, text] of Object.entries(packages)) {
      await mkdir(join(dir, 'node_modules', path, '..'), { recursive: true });
      await writeFile(join(dir, 'node_modules', path), text);
    }
    const others = [...new Set(Object.keys(packages).map((path) => path.split('/')[0]!))];
    await writeFile(
      join(dir, 'src/index.ts'),
      `import { defineEndpoint, definePlugin, z, ${imports} } from 'aana-host/plugin';
       ${others.map((name) => `import * as ${name} from '${name}';`).join('\n')}
       const run = () => (${output}) as never;
       const act = defineEndpoint({ name: 'act', path: '/act', summary: '', input: z.strictObject({}),
         output: z.unknown(), run });
       export const endpoint = definePlugin([act]);`,
    );
    return (await bundlePlugin(await readManifest(dir))).code;
  } finally {
    await rm(dir, { recursive: true });
  }
}

Bundle('have the schemas and the writers of transcripts that the plugin uses, and no others', async () => {
  const plain = await bundled('TextChunk', 'TextChunk');
  assert.not.match(plain, 'transcript.text.segment');
  assert.not.match(plain, 'WEBVTT');
  const writing = await bundled('toVtt', 'toVtt(undefined as never)');
  assert.match(writing, 'WEBVTT');
  assert.not.match(writing, 'transcript.text.segment');
});

Bundle('of plugins that use no schema of the host have none, and no comments', async () => {
  const code = await bundled('', '1');
  assert.not.match(code, /ChatOutput = |AsrOutput = |SamplingParams|clip_timestamps|logit_bias/);
  assert.not.match(code, /\/\*\*/);
  assert.ok(code.length < 150_000, `${code.length} characters, and each is in the memory of every invocation`);
});

Bundle('have of crypto what the sources name', async () => {
  const [alone, subtle, whole] = [
    await bundled('', 'crypto.getRandomValues(new Uint8Array(1)), crypto.randomUUID()'),
    await bundled('', 'globalThis.crypto.subtle.digest'),
    await bundled('', 'globalThis.crypto'),
  ];
  assert.match(alone, 'aana:host/random@0.1.0');
  assert.not.match(alone, 'aana:host/crypto@0.1.0');
  assert.match(subtle, 'aana:host/crypto@0.1.0');
  assert.not.match(subtle, 'getRandomValues');
  for (const part of ['aana:host/crypto@0.1.0', 'getRandomValues', 'randomUUID']) assert.match(whole, part);
});

const files = (...names: readonly string[]): Packages =>
  Object.fromEntries(names.map((name) => [name, `module.exports = 'is ${name}';`]));

Bundle('have the files of a package that are for workers and browsers', async () => {
  const packages = {
    'conditions/package.json': JSON.stringify({
      exports: { node: './node.cjs', require: './require.cjs', worker: './worker.cjs', default: './default.cjs' },
    }),
    ...files('conditions/node.cjs', 'conditions/require.cjs', 'conditions/worker.cjs', 'conditions/default.cjs'),
    'fields/package.json': JSON.stringify({ main: 'main.js', module: 'module.js', browser: 'browser.js' }),
    ...files('fields/main.js', 'fields/module.js', 'fields/browser.js'),
    'replaced/package.json': JSON.stringify({ main: 'main.js', browser: { './node.js': './web.js', fs: false } }),
    'replaced/main.js': "require('fs'); module.exports = require('./node.js');",
    ...files('replaced/node.js', 'replaced/web.js'),
    'inner/package.json': JSON.stringify({ exports: { import: './import.js', require: './require.js' } }),
    'inner/import.js': "export { default } from './required.cjs';",
    'inner/required.cjs': "module.exports = require('inner');",
    ...files('inner/require.js'),
  };
  const code = await bundled('', 'conditions, fields, replaced, inner', { packages });
  const found = [...code.matchAll(/"is ([^"]+)"/g)].map(([, name]) => name).sort();
  assert.equal(found, ['conditions/worker.cjs', 'fields/browser.js', 'inner/require.js', 'replaced/web.js']);
});

Bundle('fail where a package uses a global that there is not, and not for it', async () => {
  const packages = {
    'asks/index.js': "export const asks = () => typeof Buffer === 'undefined' ? 1 : Buffer.from('');",
    'uses/index.js': "export const uses = () => new Worker('a');",
  };
  const code = await bundled('', 'asks, uses', { packages });
  assert.match(code, /ReferenceError\("Worker is not defined: a plugin has no Worker; a plugin has one thread/);
  assert.not.match(code, 'Buffer is not defined');
});

Bundle('have code for the capabilities that the plugin requests, and for no others', async () => {
  const members = { storage: 'compareAndSetBytes', repositories: 'listInfos:' };
  const none = await bundled('', '1');
  for (const [capability, code] of Object.entries(members)) {
    assert.not.match(none, code);
    assert.match(await bundled('', '1', { capabilities: [capability] }), code);
  }
  assert.match(await bundled('Storage', 'Storage'), members.storage, 'what the plugin imports itself');
});

Bundle.run();
