import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { linkDependencies, testProject } from '../../test/helpers/plugin-project.ts';
import { newPlugin } from './new-plugin.ts';

const NewPlugin = suite('aana-host new');
let folder = '';

NewPlugin.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-new-'));
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

NewPlugin('makes a plugin that its own TypeScript configuration accepts and whose tests pass', async () => {
  const made = await newPlugin(join(folder, 'say-hello'));
  linkDependencies(made);
  assert.is(testProject(made), 2);
});

NewPlugin('its tests pass below a folder that has the package, whatever other types are there', async () => {
  linkDependencies(folder);
  for (const name of ['undici-types', '@types/node']) rmSync(join(folder, 'node_modules', name));
  cpSync(join(packageRoot, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'), { recursive: true }); // a link would lead to the right ones
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
  'its tests say what is missing where nothing was installed, in place of what the compiler makes of that',
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

NewPlugin('takes the package from where the project around it does', async () => {
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

NewPlugin('refuses a folder that holds something, and leaves it as it is', async () => {
  mkdirSync(join(folder, 'used'));
  writeFileSync(join(folder, 'used', 'README.md'), 'mine');
  const { message } = await refusal(join(folder, 'used'));
  assert.match(message, /used is not empty: name a folder that is new or empty$/);
  assert.is(readFileSync(join(folder, 'used', 'README.md'), 'utf8'), 'mine');
  mkdirSync(join(folder, 'empty'));
  await newPlugin(join(folder, 'empty'));
});

NewPlugin('refuses a folder whose name no plugin can have, and says which could be', async () => {
  assert.match(
    (await refusal(join(folder, 'My Plugin'))).message,
    /^"My Plugin" cannot be the name of a plugin: call the folder "my-plugin"/,
  );
  assert.match((await refusal(join(folder, '42'))).message, /call the folder "my-plugin"/);
});

NewPlugin.run();
