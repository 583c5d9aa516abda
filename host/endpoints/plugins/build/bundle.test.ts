import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readManifest } from '../set/manifest.ts';
import { bundlePlugin } from './bundle.ts';

const Bundle = suite('bundles of plugins');

async function bundled(imports: string, output: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'aana-bundle-'));
  try {
    await mkdir(join(dir, 'src'));
    await writeFile(join(dir, 'plugin.json'), '{"name":"sample","version":"1.0.0"}');
    await writeFile(
      join(dir, 'src/index.ts'),
      `import { defineEndpoint, definePlugin, z, ${imports} } from 'aana-host/plugin';
       const run = () => (${output}) as never;
       const act = defineEndpoint({ name: 'act', path: '/act', summary: '', input: z.strictObject({}), output: z.unknown(), run });
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

Bundle.run();
