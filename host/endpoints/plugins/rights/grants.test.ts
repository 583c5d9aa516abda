import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../../base/core/errors.ts';
import { checkGrants, checkUses, grantTo } from './grants.ts';
import { defaultLimits } from './limits.ts';
import type { PluginManifest } from '../set/manifest.ts';

const manifest: PluginManifest = {
  dir: '/p',
  name: 'sample',
  version: '1.0.0',
  description: undefined,
  runtime: 'component',
  component: '/p/dist/sample.wasm',
  entry: '/p/src/index.ts',
  capabilities: ['deployments'],
  deployments: ['asr', 'llm'],
  hosts: ['a.example', 'api.b.example', '*.c.example'],
  limits: { memory_bytes: 1_000_000, host_calls: 500, concurrency: 4 },
  endpoints: {},
  settings: {},
};

const Grants = suite('grants');

Grants('without a word of the operator a plugin gets what it asks for, and nothing else', () => {
  const granted = grantTo(manifest, {}, defaultLimits);
  assert.equal([...granted.capabilities], ['deployments']);
  assert.equal(granted.deployments, ['asr', 'llm']);
  assert.is(granted.refusalOf('llm'), undefined);
  assert.match(granted.refusalOf('other') ?? '', /^the plugin\.json of sample does not name it/);
});

Grants('what changes the data of the application is granted by its name, or with all', () => {
  const writer: PluginManifest = { ...manifest, capabilities: ['repositories', 'repositories-write'], deployments: [] };
  const of = (grants: Parameters<typeof grantTo>[1]): string[] => [
    ...grantTo(writer, grants, defaultLimits).capabilities,
  ];
  assert.equal(of({}), ['repositories']);
  assert.equal(of({ sample: { limits: {} } }), ['repositories']);
  assert.equal(of({ sample: { capabilities: ['repositories-write'] } }), ['repositories-write']);
  assert.equal(of({ '*': { capabilities: ['*'] } }), ['repositories', 'repositories-write']);
  assert.throws(
    () => checkUses(writer, ['repositories-write'], grantTo(writer, {}, defaultLimits)),
    ({ data }: AanaError) => (data as { capability: string }).capability === 'repositories-write',
  );
  assert.throws(
    () => checkUses(writer, ['repositories-write'], grantTo(writer, {}, defaultLimits)),
    /the configuration: "plugin_grants": \{"sample":\{"capabilities":\["repositories","repositories-write"\]\}\}$/,
  );
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
  const { limits } = grantTo(
    manifest,
    {
      '*': { limits: { handles: 8 } },
      sample: { limits: { host_calls: 200, memory_bytes: 2_000_000, concurrency: 6 } },
    },
    defaultLimits,
  );
  assert.equal(
    [limits.hostCalls, limits.memoryBytes, limits.handles, limits.maxConcurrent, limits.maxThreads, limits.maxQueued],
    [200, 1_000_000, 8, 4, 4, defaultLimits.maxQueued],
  );
  assert.is(grantTo(manifest, { sample: { limits: { concurrency: 1000 } } }, defaultLimits).limits.maxThreads, 4);
});

Grants('a component that uses what was not asked for or is not granted is refused by the name of it', () => {
  assert.throws(
    () => checkUses(manifest, ['media'], grantTo(manifest, {}, defaultLimits)),
    /plugin sample imports aana:host\/media, which its plugin\.json does not ask for/,
  );
  const none = grantTo(manifest, { sample: { capabilities: [] } }, defaultLimits);
  assert.throws(
    () => checkUses(manifest, ['deployments'], none),
    /imports aana:host\/deployments, which plugin_grants does not grant to it/,
  );
  checkUses(manifest, [], none);
});

Grants('requests go to no host without a word of the operator, and to none that the manifest does not name', () => {
  const asking: PluginManifest = { ...manifest, capabilities: ['http'], deployments: [] };
  const of = (grants: Parameters<typeof grantTo>[1]) => grantTo(asking, grants, defaultLimits);
  assert.equal(of({}).hosts, []);
  assert.is(
    of({}).refusalOfUrl(new URL('https://a.example/x')),
    'plugin_grants does not grant the host a.example to plugin sample',
  );
  const some = of({ '*': { hosts: ['a.example'] }, sample: { hosts: ['*.b.example', '*.c.example'] } });
  assert.equal(some.hosts, ['api.b.example', '*.c.example']);
  assert.is(some.refusalOfUrl(new URL('https://api.b.example/')), undefined);
  assert.match(some.refusalOfUrl(new URL('https://a.example/')) ?? '', /does not grant/);
  assert.match(
    of({ '*': { hosts: ['*'] } }).refusalOfUrl(new URL('https://other.example/')) ?? '',
    /^the plugin\.json of sample does not name other\.example/,
  );
});

Grants('a port in a grant may be the default one, and names a host whose private address is meant', () => {
  const asking: PluginManifest = { ...manifest, capabilities: ['http'], hosts: ['a.example', '*.c.example'] };
  const of = (...hosts: string[]) => grantTo(asking, { sample: { hosts } }, defaultLimits);
  const tls = of('a.example:443');
  assert.equal(tls.hosts, ['a.example']);
  assert.is(tls.refusalOfUrl(new URL('https://a.example/')), undefined);
  assert.match(tls.refusalOfUrl(new URL('http://a.example/')) ?? '', /does not grant/);
  assert.match(of('a.example').refusalOfUrl(new URL('https://a.example:444/')) ?? '', /does not name/);
  const named = (granted: string, url: string): boolean => of(granted).isNamedHost(new URL(url));
  for (const [granted, url] of [
    ['a.example:443', 'https://a.example/'],
    ['127.0.0.1', 'http://127.0.0.1/'],
    ['localhost', 'http://localhost/'],
  ] as const)
    assert.ok(named(granted, url), granted);
  for (const [granted, url] of [
    ['a.example', 'https://a.example/'],
    ['*', 'https://127.0.0.1/'],
    ['*.c.example:443', 'https://b.c.example/'],
    ['127.0.0.1:80', 'http://127.0.0.1:8080/'],
    ['127.0.0.2', 'http://127.0.0.1/'],
  ] as const)
    assert.not.ok(named(granted, url), granted);
});

Grants('a host in the grants that is none is an error of the configuration', () => {
  assert.throws(
    () => checkGrants({ sample: { hosts: ['https://a.example'] } }),
    /"sample\.hosts": "https:\/\/a\.example" is not a host/,
  );
  checkGrants({ sample: { hosts: ['*', '*.a.example:8080'], capabilities: ['http', '*'] } });
});

Grants.run();
