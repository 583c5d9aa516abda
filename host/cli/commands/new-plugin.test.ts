import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { WebGlobals } from '../../endpoints/plugins/build/web-globals.ts';
import { linkDependencies, testProject } from '../../test/helpers/plugin-project.ts';
import { newPlugin } from './new-plugin.ts';

const NewPlugin = suite('aana-host new');
let folder = '';

NewPlugin.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana new-ü #%20'));
});
NewPlugin.after.each(() => rmSync(folder, { recursive: true, force: true }));

const refusal = (path: string): Promise<Error> =>
  newPlugin(path).then(
    () => {
      throw new Error('it was made');
    },
    (error: Error) => error,
  );
const dependency = (path: string): string =>
  JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).dependencies['aana-host'];

NewPlugin('creates a plugin that compiles with its TypeScript configuration and whose tests pass', async () => {
  const made = await newPlugin(join(folder, 'say-hello'));
  linkDependencies(made);
  assert.is(testProject(made), 2);
});

NewPlugin('its compiler knows the globals of plugins and their types', async () => {
  const made = await newPlugin(join(folder, 'say-hello'));
  linkDependencies(made);
  const globals = Object.entries(new WebGlobals(['http']).inject)
    .filter(([name, [, file]]) => file !== 'absent' && !/^(globalThis|self|process)\./.test(name))
    .map(([name]) => name);
  assert.ok(globals.includes('CryptoKey') && globals.includes('ReadableStreamBYOBReader'));
  const web = `
    import { defineEndpoint, z } from 'aana-host/plugin';
    export const all = [${globals.join()}, console, atob, btoa, queueMicrotask, performance.now, Array.fromAsync];
    const subtle: SubtleCrypto = crypto.subtle;
    const hmac = { name: 'HMAC', hash: 'SHA-256' };
    export async function sign(text: string, jwk: JsonWebKey): Promise<[CryptoKey, ArrayBuffer, CryptoKeyPair]> {
      const key: CryptoKey = await subtle.importKey('jwk', jwk, hmac, false, ['sign']);
      const pair: CryptoKeyPair = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
      return [key, await subtle.sign('HMAC', key, new TextEncoder().encode(text)), pair];
    }
    export const asks = defineEndpoint({
      name: 'asks', path: '/asks', summary: '', input: z.strictObject({}), output: z.any(),
      async run(_, ctx) {
        const headers: HeadersInit = { a: 'b' };
        const body: BodyInit = new Blob(['c']);
        const signal: AbortSignal = AbortSignal.any([ctx.signal, AbortSignal.timeout(1000)]);
        ctx.signal.addEventListener('abort', () => ctx.log.info(String(ctx.signal.reason)));
        const init: RequestInit = { method: 'PUT', headers, body, signal };
        return (await fetch('https://a.example', init)).text();
      },
    });
  `;
  writeFileSync(join(made, 'src/web.ts'), web);
  assert.is(testProject(made), 2);
});

NewPlugin('its tests pass in a workspace that has the package and other types', async () => {
  writeFileSync(join(folder, 'package.json'), '{"name":"around","private":true,"workspaces":["*"]}');
  linkDependencies(folder);
  for (const name of ['undici-types', '@types/node']) rmSync(join(folder, 'node_modules', name));
  // A link would lead to the right ones.
  cpSync(join(packageRoot, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'), { recursive: true });
  mkdirSync(join(folder, 'node_modules/undici-types')); // of another version than @types/node wants
  writeFileSync(
    join(folder, 'node_modules/undici-types/package.json'),
    '{"name":"undici-types","version":"1.0.0","types":"index.d.ts"}',
  );
  writeFileSync(
    join(folder, 'node_modules/undici-types/index.d.ts'),
    'export interface Pool { readonly broken: Absent }\n',
  );
  const made = await newPlugin(join(folder, 'say-hello'));
  const { status, stdout, stderr } = spawnSync('npm', ['test'], { cwd: made, encoding: 'utf8' });
  assert.is(status, 0, stdout + stderr);
  assert.match(stdout, /# pass 2|pass 2/);
});

NewPlugin(
  'its tests name the missing packages when nothing was installed, instead of printing errors of the compiler',
  async () => {
    const made = await newPlugin(join(folder, 'say-hello'));
    const failed = (): string => {
      const { status, stdout, stderr } = spawnSync('npm', ['test'], { cwd: made, encoding: 'utf8' });
      assert.is(status, 1, stdout + stderr);
      return stderr
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('npm '))
        .join('\n');
    };
    assert.is(failed(), 'aana-host is not installed: run npm install');
    linkDependencies(folder);
    rmSync(join(folder, 'node_modules/typescript'));
    assert.is(failed(), 'typescript is not installed: run npm install');
  },
);

NewPlugin('names the plugin, its endpoint and its path after the folder', async () => {
  const made = await newPlugin(join(folder, 'say-hello'));
  assert.is(JSON.parse(readFileSync(join(made, 'plugin.json'), 'utf8')).name, 'say-hello');
  const source = readFileSync(join(made, 'src/index.ts'), 'utf8');
  assert.match(source, /name: 'say_hello_greet',\n {2}path: '\/say-hello\/greet'/);
});

NewPlugin('depends on the same version of the package as the project around it', async () => {
  assert.is(
    resolve(folder, 'a', dependency(await newPlugin(join(folder, 'a'))).slice('file:'.length)),
    resolve(packageRoot),
    'a checkout is linked',
  );
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ dependencies: { 'aana-host': 'file:aana-host-1.0.0.tgz' } }),
  );
  assert.is(dependency(await newPlugin(join(folder, 'b'))), 'file:../aana-host-1.0.0.tgz');
  assert.is(dependency(await newPlugin(join(folder, 'c', 'd'))), 'file:../../aana-host-1.0.0.tgz');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies: { 'aana-host': '^1.2.0' } }));
  assert.is(dependency(await newPlugin(join(folder, 'e'))), '^1.2.0');
});

NewPlugin('refuses a folder that is not empty, and does not change it', async () => {
  mkdirSync(join(folder, 'used'));
  writeFileSync(join(folder, 'used', 'README.md'), 'mine');
  const { message } = await refusal(join(folder, 'used'));
  assert.match(message, /used is not empty; name a new or empty folder$/);
  assert.is(readFileSync(join(folder, 'used', 'README.md'), 'utf8'), 'mine');
  mkdirSync(join(folder, 'empty'));
  await newPlugin(join(folder, 'empty'));
});

NewPlugin('refuses a folder with an invalid plugin name, and suggests a valid one', async () => {
  assert.match(
    (await refusal(join(folder, 'My Plugin'))).message,
    /^"My Plugin" cannot be the name of a plugin; use lower-case words joined by "-", such as "my-plugin"/,
  );
  assert.match((await refusal(join(folder, '42'))).message, /such as "my-plugin"/);
});

NewPlugin.run();
