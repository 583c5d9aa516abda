import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from 'aana-host';
import { linkDependencies } from '../../test/helpers/plugin-project.ts';
import { writeAppConfig } from './build-config.ts';
import { makeFolder } from '../fixtures/test-app.ts';
import { loadApp } from './load-app.ts';

const Load = suite('loading an application');
let folder = '';

const MODULES: Readonly<Record<string, string>> = {
  'one.js':
    "import { AanaApp } from 'aana-host';\nexport const app = new AanaApp({ name: 'one' });\nexport const version = " +
    '3;\nexport const nothing = null;\nexport class Other {}\nexport const other = new Other();\n',
  'default.js': "export { app as default } from './one.js';\n",
  'typed.mts':
    "import { AanaApp, type AanaAppOptions } from 'aana-host';\nconst options: AanaAppOptions = { name: 'typed' " +
    '};\nexport const app: AanaApp = new AanaApp(options);\n',
  'throws.js': "const get = () => {\n  throw new Error('no key');\n};\nexport const app = get();\n",
  'throws-typed.ts':
    'interface A {\n  b: string;\n}\n\nexport const app = (a: A): void => {\n  throw new Error(`no ' +
    "${a.b}`);\n};\napp({ b: 'key' });\n",
  'wrong.js': 'export const app = ;\n',
  'wrong-typed.ts': 'export const app: = 3;\n',
  'unknown.js':
    "import { AanaApp } from 'aana-host';\nexport const app = new AanaApp().registerDeployment('a', { type: " +
    "'None' });\n",
  'lacks.js': "import 'no-such-package';\n",
  'silent.js': '',
  'older.js': "export const app = { [Symbol.for('aana-host.application')]: 0 };\n",
  'list.json': '[]',
};

Load.before(() => {
  folder = makeFolder();
  linkDependencies(folder);
  writeFileSync(join(folder, 'package.json'), '{"name":"user","private":true,"type":"module"}');
  for (const [name, text] of Object.entries(MODULES)) writeFileSync(join(folder, name), text);
  mkdirSync(join(folder, 'node_modules/installed'));
  writeFileSync(
    join(folder, 'node_modules/installed/package.json'),
    '{"name":"installed","type":"module","main":"main.js"}',
  );
  writeFileSync(join(folder, 'node_modules/installed/main.js'), MODULES['one.js'] ?? '');
});
Load.after(() => rmSync(folder, { recursive: true, force: true }));

for (const [path, file, name, exported = 'app'] of [
  ['one:app', 'one.js', 'one'],
  ['./one.js:app', 'one.js', 'one'],
  ['typed:app', 'typed.mts', 'typed'],
  ['default.js:default', 'default.js', 'one', 'default'],
  ['installed:app', 'node_modules/installed/main.js', 'one'],
] as const) {
  Load(`${path} is what ${file} exports`, async () => {
    const loaded = await loadApp(path, folder);
    assert.equal([loaded.app.name, loaded.file, loaded.name], [name, join(folder, file), exported]);
  });
}

const REFUSED: readonly [path: string, message: RegExp][] = [
  ['one.js', /^"one\.js" does not name an application; expected <module>:<app>, such as app\.js:app$/],
  ['one:', /^"one:" does not name an application/],
  ['none:app', /^Could not import none: there is no such file in .*, and no such package is installed$/],
  ['one:none', /^Could not import none from .*one\.js: the module exports Other, app, nothing, other, version$/],
  ['silent:app', /^Could not import app from .*silent\.js: the module exports nothing$/],
  ['one:version', /^version of .*one\.js is not an AanaApp, but a number$/],
  ['one:nothing', /^nothing of .*one\.js is not an AanaApp, but null$/],
  ['one:other', /^other of .*one\.js is not an AanaApp, but an object of Other$/],
  ['one:Other', /^Other of .*one\.js is not an AanaApp, but a function$/],
  ['older:app', /^app of .*older\.js is an AanaApp of another version of aana-host than this command/],
  ['throws:app', /^Could not import .*throws\.js, line 2: Error: no key$/],
  ['throws-typed:app', /^Could not import .*throws-typed\.ts, line 6: Error: no key$/],
  ['wrong:app', /^Could not import .*wrong\.js.*: SyntaxError: /],
  ['wrong-typed:app', /^Could not import .*wrong-typed\.ts.*: SyntaxError: /],
  ['lacks:app', /^Could not import .*lacks\.js.*: Error: Cannot find package 'no-such-package'/],
  ['unknown:app', /^Could not import .*unknown\.js, line 2: deployment a: type: unknown type None; known types are /],
];
for (const [path, message] of REFUSED) {
  Load(`${path} is refused in one sentence`, async () => {
    const error = (await loadApp(path, folder).catch((thrown: unknown) => thrown)) as AanaError;
    assert.match(error.message, message);
    assert.equal([error.kind, error.message.includes('\n')], ['invalid-input', false]);
  });
}

Load('a configuration file is written only beside the module, and replaces no other kind of file', async () => {
  const app = { name: 'one', deployments: {}, plugins: [join(folder, 'plugins')] };
  const write = (name: string): Promise<string> =>
    writeAppConfig(app, `${join(folder, 'one.js')}:app`, { config_name: name }).catch((error: Error) => error.message);
  for (const name of ['../there.json', 'there.yaml', '.json/x', ''])
    assert.match(await write(name), /is not a valid name of a configuration file, such as aana\.config\.json$/, name);
  assert.match(
    await write('list.json'),
    /list\.json: the file exists but is not a JSON object; remove it, or name another file with --config-name$/,
  );
  assert.is(await write('own.json'), join(folder, 'own.json'));
});

Load.run();
