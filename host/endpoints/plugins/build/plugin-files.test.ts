// What a plugin's sources may name, by the real build: files of the operator beside the plugin, in every way that a
// source can name one.
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger as log } from '../../../base/core/log/logger.ts';
import { buildPlugin } from './build-plugin.ts';

const SECRET = 's3cret-of-the-operator';
const endpoint = 'export const endpoint = { describe: () => [], run: () => JSON.stringify(key) };';

const Files = suite<{ root: string; dir: string }>('files of a plugin');

/** `root/home/key.json` belongs to the operator, `root/app/plugins/sample` is the plugin. */
Files.before.each(async (context) => {
  context.root = await mkdtemp(join(tmpdir(), 'aana-files-'));
  context.dir = join(context.root, 'app/plugins/sample');
  for (const folder of ['home/.docker', 'app/plugins/sample/src', 'app/node_modules', 'elsewhere'])
    await mkdir(join(context.root, folder), { recursive: true });
  await writeFile(join(context.root, 'home/.docker/config.json'), JSON.stringify({ key: SECRET }));
  await writeFile(join(context.root, 'home/key.mjs'), `export const key = ${JSON.stringify(SECRET)};\n`);
  await writeFile(join(context.dir, 'plugin.json'), '{"name":"sample","version":"1.0.0"}');
});
Files.after.each(({ root }) => rm(root, { recursive: true }));

/** The component as text, or the error. */
async function build(dir: string, sources: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(sources)) {
    await mkdir(join(dir, path, '..'), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  const { component } = await buildPlugin(dir, { log, force: true });
  return (await readFile(component)).toString('latin1');
}
async function failure(building: Promise<unknown>): Promise<Error> {
  const error = await building.then(
    () => new Error('it was built'),
    (thrown: unknown) => thrown,
  );
  assert.instance(error, Error);
  return error as Error;
}

/** Each imports something of the operator's; OPERATOR is the folder that holds it. */
const ways: Readonly<Record<string, string>> = {
  'its absolute path': "import { key } from 'OPERATOR/.docker/config.json';",
  'its absolute path, of a module': "import { key } from 'OPERATOR/key.mjs';",
  'a path upwards': "import { key } from '../../../../home/.docker/config.json';",
  'require()': "const { key } = require('OPERATOR/.docker/config.json');",
  'an export of it': "import { key } from './again.ts';",
  'a link in the folder': "import { key } from './link.json';",
  'a link of a folder': "import { key } from './linked/config.json';",
  'a package in the folder that is a link': "import { key } from 'docker/config.json';",
  'an alias of its package.json': "import { key } from '#key';",
  'an alias of its tsconfig.json': "import { key } from '@home/.docker/config.json';",
  'a query': "import { key } from 'OPERATOR/key.mjs?x';",
};
for (const [way, code] of Object.entries(ways)) {
  Files(`are its own: by ${way} no other one gets in`, async ({ root, dir }) => {
    const operator = join(root, 'home');
    await symlink(join(operator, '.docker/config.json'), join(dir, 'src/link.json'));
    await symlink(join(operator, '.docker'), join(dir, 'src/linked'));
    await mkdir(join(dir, 'node_modules'));
    await symlink(join(operator, '.docker'), join(dir, 'node_modules/docker'));
    const error = await failure(
      build(dir, {
        'src/index.ts': `${code.replace('OPERATOR', operator)}\n${endpoint}`,
        'src/again.ts': `export { key } from '${operator}/key.mjs';`,
        'package.json': JSON.stringify({ imports: { '#key': '../../../home/.docker/config.json' } }),
        'tsconfig.json': JSON.stringify({ compilerOptions: { paths: { '@home/*': [`${operator}/*`] } } }),
      }),
    );
    assert.is(error.name, 'PluginLoadError');
    assert.match(
      error.message,
      /^plugin sample cannot be bundled: src\/\w+\.ts:1:\d+: ('.*' lies outside of .*|Could not resolve)/,
    );
    assert.not.match(error.message, SECRET);
  });
}

Files('are its own: an entry that is a link is refused', async ({ root, dir }) => {
  await writeFile(join(root, 'home/index.ts'), `const key = '${SECRET}';\n${endpoint}`);
  await symlink(join(root, 'home/index.ts'), join(dir, 'src/index.ts'));
  const error = await failure(buildPlugin(dir, { log }));
  assert.match(
    error.message,
    /^plugin sample cannot be bundled: src\/index\.ts: '.*index\.ts' lies outside of the plugin's folder/,
  );
});

Files(
  'are those of its folder, of packages in it and above it, and of packages that are linked above it',
  async ({ root, dir }) => {
    const packages: Readonly<Record<string, string>> = {
      'own-package': join(dir, 'node_modules/own-package'),
      'above-package': join(root, 'app/node_modules/above-package'),
      '@scope/linked-package': join(root, 'elsewhere/linked-package'),
    };
    for (const [name, folder] of Object.entries(packages)) {
      await mkdir(join(folder, 'lib'), { recursive: true });
      await writeFile(
        join(folder, 'package.json'),
        JSON.stringify({ name, version: '1.0.0', type: 'module', main: 'lib/main.js' }),
      );
      await writeFile(join(folder, 'lib/main.js'), "export { word } from './word.js';\n");
      await writeFile(join(folder, 'lib/word.js'), `export const word = 'word of ${name}';\n`);
    }
    await mkdir(join(root, 'app/node_modules/@scope'));
    await symlink(packages['@scope/linked-package']!, join(root, 'app/node_modules/@scope/linked-package'));
    await mkdir(join(dir, 'data'));
    await symlink(join(dir, 'data'), join(dir, 'src/data'));
    const component = await build(dir, {
      'data/own.json': '{"own":"word of data"}',
      'src/index.ts': `import { word as a } from 'own-package';
import { word as b } from 'above-package';
import { word as c } from '@scope/linked-package';
import { own } from './data/own.json';
import { z } from 'zod';
import 'aana-host/plugin';
const key = [a, b, c, own, new URL('http://a/').href, z.string().parse('a')];
${endpoint}`,
    });
    for (const word of ['own-package', 'above-package', '@scope/linked-package', 'data'])
      assert.ok(component.includes(`word of ${word}`), word);
  },
);

Files(
  'of a build are its own: a folder for the component that leads elsewhere by a link is not written to',
  async ({ root, dir }) => {
    await writeFile(join(root, 'home/sample.wasm'), 'mine');
    await symlink(join(root, 'home'), join(dir, 'dist'));
    const error = await failure(build(dir, { 'src/index.ts': `const key = 1;\n${endpoint}` }));
    assert.is(error.message, 'plugin sample cannot be built: dist leads out of its folder by a link');
    assert.is(await readFile(join(root, 'home/sample.wasm'), 'utf8'), 'mine');
  },
);

Files('are those of the folder that is built, and not those from which it was copied', async ({ root, dir }) => {
  await build(dir, {
    'src/index.ts': `import { key } from './key.ts';\n${endpoint}`,
    'src/key.ts': 'export const key = 1;',
  });
  const copy = join(root, 'app/plugins/copy');
  await cp(dir, copy, { recursive: true });
  assert.is((await buildPlugin(copy, { log })).rebuilt, false);
  await writeFile(join(copy, 'src/key.ts'), 'export const key = 2;');
  assert.is((await buildPlugin(copy, { log })).rebuilt, true);
  assert.is((await buildPlugin(dir, { log })).rebuilt, false);
});

Files('that a stamp names are not read where they are no regular files', async ({ dir }) => {
  await build(dir, { 'src/index.ts': `const key = 1;\n${endpoint}` });
  assert.is((await buildPlugin(dir, { log })).rebuilt, false);
  const stampFile = join(dir, 'dist/sample.wasm.stamp.json');
  const stamp = JSON.parse(await readFile(stampFile, 'utf8')) as { inputs: Record<string, string> };
  stamp.inputs['/dev/zero'] = ''; // it has no end
  await writeFile(stampFile, JSON.stringify(stamp));
  assert.is((await buildPlugin(dir, { log })).rebuilt, true);
});

Files.run();
