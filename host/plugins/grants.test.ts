import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkUses, grantTo } from './grants.ts';
import { defaultLimits } from './limits.ts';
import type { PluginManifest } from './manifest.ts';

const manifest: PluginManifest = {
  dir: '/p',
  name: 'sample',
  version: '1.0.0',
  description: undefined,
  component: '/p/dist/sample.wasm',
  entry: '/p/src/index.ts',
  capabilities: ['deployments'],
  deployments: ['asr', 'llm'],
  limits: { memory_bytes: 1_000_000, host_calls: 500, concurrency: 4 },
};

const Grants = suite('grants');

Grants('without a word of the operator a plugin gets what it asks for, and nothing else', () => {
  const granted = grantTo(manifest, {}, defaultLimits);
  assert.equal([...granted.capabilities], ['deployments']);
  assert.equal(granted.deployments, ['asr', 'llm']);
  assert.is(granted.refusalOf('llm'), undefined);
  assert.match(granted.refusalOf('other') ?? '', /^the plugin\.json of sample does not name it/);
});

Grants("the plugin's own entry beats the one for all, key by key", () => {
  const grants = { '*': { capabilities: [], deployments: ['asr'] }, sample: { capabilities: ['*'] } };
  const granted = grantTo(manifest, grants, defaultLimits);
  assert.equal([...granted.capabilities], ['deployments']);
  assert.equal(granted.deployments, ['asr']);
  assert.is(granted.refusalOf('llm'), 'plugin_grants does not grant it to plugin sample');
  assert.is(grantTo({ ...manifest, name: 'constructor' }, grants, defaultLimits).capabilities.size, 0);
});

Grants('a limit is the least of what the operator allows and the manifest asks for', () => {
  const { limits } = grantTo(manifest, { '*': { limits: { handles: 8 } }, sample: { limits: { host_calls: 200, memory_bytes: 2_000_000, concurrency: 6 } } }, defaultLimits);
  assert.equal(
    [limits.hostCalls, limits.memoryBytes, limits.handles, limits.maxSuspended, limits.maxThreads, limits.maxQueued],
    [200, 1_000_000, 8, 4, 4, defaultLimits.maxQueued],
  );
  assert.is(grantTo(manifest, { sample: { limits: { concurrency: 1000 } } }, defaultLimits).limits.maxThreads, 4);
});

Grants('a component that uses what was not asked for or is not granted is refused by the name of it', () => {
  assert.throws(() => checkUses(manifest, ['media'], grantTo(manifest, {}, defaultLimits)), /plugin sample imports aana:host\/media, which its plugin\.json does not ask for/);
  const none = grantTo(manifest, { sample: { capabilities: [] } }, defaultLimits);
  assert.throws(() => checkUses(manifest, ['deployments'], none), /imports aana:host\/deployments, which plugin_grants does not grant to it/);
  checkUses(manifest, [], none);
});

Grants.run();
