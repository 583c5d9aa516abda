// Plugins that were built when the world had fewer functions run unchanged on this host.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../../base/core/package-root.ts';
import { silentLogger as log } from '../../../base/core/log/logger.ts';
import { worldFile } from '../build/build-plugin.ts';
import { guestWorld } from '../build/guest-world.ts';
import { beginComponent } from '../build/make-component.ts';
import { capabilitiesConformance } from '../fixtures/capabilities-suite.ts';
import { olderCapabilities } from '../fixtures/older/guest.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { readManifest } from '../set/manifest.ts';
import { PluginHost } from '../set/plugin-host.ts';
import { testCacheDir } from '../fixtures/build-test-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';

const SOURCE = `
import { Video } from 'aana:host/media@0.1.0';
import { requestId } from 'aana:host/invocation@0.1.0';
export const endpoint = {
  describe: () => [{ name: 'old', path: '/old', summary: '', description: '',
    inputSchema: '{}', outputSchema: '{}', streaming: false }],
  run: () => {
    const video = Video.open({ path: '/a' });
    return JSON.stringify([video.info(), video.extractAudio('mix').duration(), requestId(), typeof video.metadata]);
  },
};
`;

/** Functions that came after the first version. */
const LATER = [/^ *user: func.*\n/m, /^ *priority: func.*\n/m, /^ *traceparent: func.*\n/m, /^ *metadata: func.*\n/m];

const Older = suite('plugins of an older world');
Older('import fewer functions, and run', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'aana-older-'));
  await mkdir(join(dir, 'src'));
  await mkdir(join(dir, 'dist'));
  await writeFile(join(dir, 'plugin.json'), '{"name":"older","version":"1.0.0","capabilities":["media"]}');
  await writeFile(join(dir, 'src/index.ts'), SOURCE);
  const manifest = await readManifest(dir);
  let world = guestWorld(await readFile(worldFile, 'utf8'), manifest.capabilities);
  for (const later of LATER) {
    assert.match(world, later);
    world = world.replace(later, '');
  }
  const make = await beginComponent({ world, tools: packageRoot, toolchain: '' }, dir, true);
  const { component } = await make(manifest);
  await writeFile(manifest.component, component);
  const ports = new FakePorts();
  const host = new PluginHost({ sandbox: testSandbox, ports, cacheDir: testCacheDir(), isFast: true, log });
  try {
    const plugin = await host.load(dir);
    const answer = await plugin.run({
      endpoint: 'old',
      input: '{}',
      requestId: 'r',
      deadlineMs: 60_000,
      signal: new AbortController().signal,
      files: new Map(),
    });
    assert.equal(JSON.parse(answer), [{ duration: 2.5, hasAudio: true, hasVideo: false }, 2.25, 'r', 'undefined']);
  } finally {
    await host.close();
    await rm(dir, { recursive: true });
  }
});

Older.run();
capabilitiesConformance(olderCapabilities);
