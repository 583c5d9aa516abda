import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger as log } from '../../core/logger.ts';
import { readComponent } from '../component.ts';
import { buildPlugin } from './build-plugin.ts';

const source = `
import * as z from 'zod/mini';
const schema = JSON.stringify(z.toJSONSchema(z.object({ text: z.string() })));
export const endpoint = {
  describe: () => [{ name: 'a', path: '/a', summary: '', description: '', inputSchema: schema, outputSchema: '{}', streaming: false }],
  run: (_name: string, input: string): string => input,
};`;

const BuildPlugin = suite<{ dir: string }>('buildPlugin');

BuildPlugin.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-build-'));
  await mkdir(join(context.dir, 'src'));
  await writeFile(join(context.dir, 'plugin.json'), '{"name":"sample","version":"1.0.0"}');
  await writeFile(join(context.dir, 'src', 'index.ts'), source);
});

BuildPlugin.after.each(async ({ dir }) => rm(dir, { recursive: true }));

BuildPlugin('makes a component, and makes it again only when a source has changed', async ({ dir }) => {
  const first = await buildPlugin(dir, { log });
  assert.equal(first, { component: join(dir, 'dist', 'sample.wasm'), rebuilt: true });
  assert.equal([...(await readFile(first.component)).subarray(0, 8)], [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]);
  assert.is((await buildPlugin(dir, { log })).rebuilt, false);
  await writeFile(join(dir, 'src', 'index.ts'), source.replace('/a', '/b'));
  assert.is((await buildPlugin(dir, { log })).rebuilt, true);
});

BuildPlugin('makes a damaged component again', async ({ dir }) => {
  const { component } = await buildPlugin(dir, { log });
  await writeFile(component, 'damaged');
  assert.is((await buildPlugin(dir, { log })).rebuilt, true);
});

BuildPlugin('makes a component that imports the capabilities that its manifest asks for, and no others', async ({ dir }) => {
  const calling = `import { call } from 'aana:host/deployments@0.1.0';\nimport { Video } from 'aana:host/media@0.1.0';\n${source.replace('input;', "(input === '' ? call('', '', '', []) + Video.open({}) : input);")}`;
  await writeFile(join(dir, 'src', 'index.ts'), calling);
  const uses = async (capabilities: readonly string[]): Promise<readonly string[]> => {
    await writeFile(join(dir, 'plugin.json'), JSON.stringify({ name: 'sample', version: '1.0.0', capabilities }));
    const { component, rebuilt } = await buildPlugin(dir, { log });
    assert.ok(rebuilt, 'a change of capabilities builds anew');
    return (await readComponent(component, { plugin: 'sample', cacheDir: dir, mode: 'blocking' })).uses;
  };
  assert.equal(await uses([]), []);
  assert.equal(await uses(['deployments']), ['deployments']);
  assert.equal(await uses(['media', 'deployments']), ['media', 'deployments']);
});

BuildPlugin('builds once when asked twice at the same time', async ({ dir }) => {
  const results = await Promise.all([buildPlugin(dir, { log }), buildPlugin(dir, { log })]);
  assert.equal(results.map((result) => result.rebuilt).sort(), [false, true]);
});

BuildPlugin('takes a component that is there when the plugin has no TypeScript source', async ({ dir }) => {
  const { component } = await buildPlugin(dir, { log });
  await rm(join(dir, 'src'), { recursive: true });
  assert.equal(await buildPlugin(dir, { log }), { component, rebuilt: false });
});

const failures: readonly { what: string; file: string; text: string; message: RegExp }[] = [
  { what: 'a source that does not parse', file: 'src/index.ts', text: 'export const = ;', message: /^plugin sample cannot be bundled: / },
  { what: 'an import of a Node module', file: 'src/index.ts', text: 'import fs from "node:fs"; export const endpoint = fs;', message: /^plugin sample cannot be bundled: .*node:fs/s },
  { what: 'a source without the export', file: 'src/index.ts', text: 'export const other = 1;', message: /^plugin sample cannot be bundled: it does not export 'endpoint'/ },
  { what: 'a manifest with an unknown key', file: 'plugin.json', text: '{"name":"a","version":"1.0.0","main":"x"}', message: /has an invalid plugin\.json \(.*main/ },
  { what: 'a manifest whose component lies outside', file: 'plugin.json', text: '{"name":"a","version":"1.0.0","component":"../x"}', message: /component: must be a path inside/ },
  { what: 'a capability that there is not', file: 'plugin.json', text: '{"name":"a","version":"1.0.0","capabilities":["files"]}', message: /capabilities\.0: must be one of media, deployments;/ },
  { what: 'deployments without the capability', file: 'plugin.json', text: '{"name":"a","version":"1.0.0","deployments":["x"]}', message: /deployments: are named, but "deployments" is not among the capabilities/ },
  { what: 'hosts, which cannot be had yet', file: 'plugin.json', text: '{"name":"a","version":"1.0.0","hosts":["a.org"]}', message: /hosts: must be empty: plugins cannot make requests of their own yet/ },
  { what: 'a limit that there is not', file: 'plugin.json', text: '{"name":"a","version":"1.0.0","limits":{"cpu":1}}', message: /limits: .*"cpu"/ },
];
for (const { what, file, text, message } of failures) {
  BuildPlugin(`refuses ${what} with the reason`, async ({ dir }) => {
    await writeFile(join(dir, file), text);
    const error = await buildPlugin(dir, { log }).catch((reason: unknown) => reason);
    assert.ok(error instanceof Error);
    assert.is(error.name, 'PluginLoadError');
    assert.match(error.message, message);
  });
}

BuildPlugin.run();
