import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { GivenValue } from '../../../base/core/secrets/given-settings.ts';
import { createLogger } from '../../../base/core/log/logger.ts';
import { compile } from '../fixtures/guest.ts';
import { readManifest } from '../set/manifest.ts';
import { DeclaredSettings } from './declared-settings.ts';
import { PluginSettings } from './plugin-settings.ts';

interface Context {
  dir: string;
  lines: string[];
  env: Record<string, string>;
}

const Settings = suite<Context>('settings of plugins');
Settings.before.each((context) => {
  context.dir = mkdtempSync(join(tmpdir(), 'aana-settings-'));
  context.lines = [];
  context.env = {};
});
Settings.after.each(({ dir }) => rmSync(dir, { recursive: true }));

const DECLARED = {
  key: { type: 'string', description: 'Key of the news.', secret: true, required: true },
  region: { type: 'string', description: 'Region.', default: 'eu' },
  limit: { type: 'integer', description: 'Limit.' },
  ratio: { type: 'number', description: 'Ratio.' },
  on: { type: 'boolean', description: 'Whether.' },
};

function settingsOf(
  { lines, env }: Context,
  given: () => Record<string, GivenValue> | undefined,
  declared: object = DECLARED,
) {
  const log = createLogger({ level: 'debug', format: 'json', write: (line) => lines.push(line) });
  return new PluginSettings({ plugin: 'news', declared: DeclaredSettings.parse(declared), given, env, log });
}

Settings('are read from the configuration, the environment and files, and have their types', (context) => {
  const { dir, env } = context;
  const file = join(dir, 'on');
  writeFileSync(file, 'true\n');
  env['TEST_RATIO'] = ' 0.25 ';
  const given = { key: 'k "1"', limit: 7, ratio_env: 'TEST_RATIO', on_file: file };
  const values = settingsOf(context, () => given).read();
  assert.equal(
    ['key', 'region', 'limit', 'ratio', 'on'].map((name) => values.get(name)),
    ['"k \\"1\\""', '"eu"', '7', '0.25', 'true'],
  );
  assert.is(values.refusal(), undefined);
  assert.equal(
    values.states.map(({ name, state, origin, problem }) => [name, state, origin, problem]),
    [
      ['key', 'set', 'configuration', null],
      ['region', 'default', null, null],
      ['limit', 'set', 'configuration', null],
      ['ratio', 'set', 'environment variable TEST_RATIO', null],
      ['on', 'set', `file ${file}`, null],
    ],
  );
  assert.equal(values.secrets, ['k "1"']);
  assert.equal(context.lines, []);
  for (const name of ['other', '__proto__', 'key_file', 'toString'])
    assert.throws(() => values.get(name), new RegExp(`does not declare the setting ${name}$`));
});

Settings('that are missing or cannot be used are named, with the place and without the value', (context) => {
  const { dir, env } = context;
  mkdirSync(join(dir, 'folder'));
  writeFileSync(join(dir, 'latin'), Buffer.from([0xe9]));
  writeFileSync(join(dir, 'large'), 'x'.repeat(16_385));
  writeFileSync(join(dir, 'empty'), '\n');
  const cases: [Record<string, GivenValue>, name: string, state: string, problem: string | null][] = [
    [{}, 'key', 'missing', null],
    [{ key: '' }, 'key', 'missing', 'it is empty'],
    [{ key_env: 'TEST_ABSENT' }, 'key', 'missing', 'it is not set'],
    [{ key_file: join(dir, 'empty') }, 'key', 'missing', 'it is empty'],
    [{ key_file: join(dir, 'absent') }, 'key', 'invalid', 'it cannot be read (ENOENT)'],
    [{ key_file: join(dir, 'folder') }, 'key', 'invalid', 'it is not a file'],
    [{ key_file: '/dev/zero' }, 'key', 'invalid', 'it is not a file'],
    [{ key_file: join(dir, 'latin') }, 'key', 'invalid', 'it is not UTF-8'],
    [{ key_file: join(dir, 'large') }, 'key', 'invalid', 'it has more than 16384 bytes'],
    [{ key: 4_711 }, 'key', 'invalid', 'the value is not a text'],
    [{ limit: 4711.5 }, 'limit', 'invalid', 'the value is not a whole number'],
    [{ limit: '4711' }, 'limit', 'invalid', 'the value is not a whole number'],
    [{ ratio: '4711' }, 'ratio', 'invalid', 'the value is not a number'],
    [{ ratio_env: 'TEST_WORD' }, 'ratio', 'invalid', 'the value is not a number'],
    [{ on_env: 'TEST_WORD' }, 'on', 'invalid', 'the value is not true or false'],
  ];
  env['TEST_WORD'] = '4711x';
  for (const [given, name, state, problem] of cases) {
    const usual = name === 'key' ? {} : { key: 'abcd' };
    const values = settingsOf(context, () => ({ ...usual, ...given })).read();
    const found = values.states.find((one) => one.name === name);
    assert.equal([found?.state, found?.problem], [state, problem], JSON.stringify(given));
    const error = values.refusal();
    assert.equal([error?.name, error?.data], ['PluginNotConfigured', { plugin: 'news', settings: [name] }]);
    assert.not.match(JSON.stringify([error?.message, values.states, context.lines]), '4711');
    assert.not.match(error?.message ?? '', dir, 'clients do not see where the server looks');
  }
  assert.match(
    settingsOf(context, () => undefined)
      .read()
      .refusal()?.message ?? '',
    'plugin news needs settings: key (Key of the news.) has no value; the operator of the server gives them, such as ' +
      '"plugin_settings": {"news":{"key_file":"/path/key"}}',
  );
});

Settings('that cannot be read without waiting do not stop the host', async (context) => {
  const pipe = join(context.dir, 'pipe');
  await compile('mkfifo', [pipe]);
  const values = settingsOf(context, () => ({ key_file: pipe })).read();
  assert.is(values.states[0]?.problem, 'it is not a file');
});

Settings('change with the file, the variable and the configuration, and are otherwise the same object', (context) => {
  const { dir, env } = context;
  const file = join(dir, 'key');
  writeFileSync(file, 'first');
  let given: Record<string, GivenValue> = { key_file: file, limit_env: 'TEST_LIMIT' };
  const settings = settingsOf(context, () => given);
  const first = settings.read();
  assert.equal([first.get('key'), first.get('limit')], ['"first"', undefined]);
  assert.is(settings.read(), first);
  writeFileSync(file, 'other'); // as many bytes
  utimesSync(file, 0, 0);
  assert.is(settings.read().get('key'), '"other"');
  assert.is(first.get('key'), '"first"', 'a running invocation keeps its values');
  env['TEST_LIMIT'] = '3';
  assert.is(settings.read().get('limit'), '3');
  delete env['TEST_LIMIT'];
  rmSync(file);
  assert.is(settings.read().refusal()?.name, 'PluginNotConfigured');
  assert.is(settings.read(), settings.read());
  assert.equal(context.lines.length, 1, 'a warning for each change only');
  given = { key: 'third', unknown_file: '/nowhere' };
  assert.is(settings.read().get('key'), '"third"');
  assert.equal(settings.read().states.at(-1)?.state, 'undeclared');
  assert.match(context.lines.at(-1) ?? '', 'plugin_settings has settings that the plugin does not declare');
});

Settings('keep their value while their file is written in place, and have that of a new file at once', (context) => {
  const file = join(context.dir, 'key');
  writeFileSync(file, 'first');
  const given = { key_file: file };
  const settings = settingsOf(context, () => given);
  const first = settings.read();
  const reads = (text: string): boolean => {
    writeFileSync(file, text);
    return settings.read() === first;
  };
  assert.equal(['', 'sec', 'second, and more'].map(reads), [true, true, true]);
  utimesSync(file, Date.now() / 1000 - 60, Date.now() / 1000 - 60);
  assert.is(settings.read().get('key'), '"second, and more"');
  writeFileSync(`${file}.new`, 'third');
  renameSync(`${file}.new`, file);
  assert.is(settings.read().get('key'), '"third"');
  writeFileSync(file, 'four');
  const tomorrow = Date.now() / 1000 + 86_400;
  utimesSync(file, tomorrow, tomorrow);
  assert.is(settings.read().get('key'), '"four"', 'the clock was set back');
});

Settings('are masked in each form in which a text has them', (context) => {
  const key = 'a b"c\nsecond line€';
  const { mask } = settingsOf(context, () => ({ key })).read();
  const url = new URL('https://a.example/');
  url.searchParams.set('key', key);
  const texts = [key, JSON.stringify({ key }), String(url), `/${encodeURIComponent(key)}/`, 'at second line€ of it'];
  assert.equal(mask?.([texts, { [key]: key }]), [
    ['…', '{"key":"…"}', 'https://a.example/?key=…', '/…/', 'at … of it'],
    { '…': '…' },
  ]);
  assert.is(settingsOf(context, () => ({ region: 'a secret by nobody' })).read().mask, undefined);
});

Settings('of a manifest are checked', async ({ dir }) => {
  const one = { type: 'string', description: 'One.' };
  const refused: [settings: object, reason: string][] = [
    [{ Key: one }, 'settings.Key: must be lower-case words joined by "_"'],
    [{ key_env: one }, 'settings.key_env: must not end with "_env" or "_file", which say where a value is'],
    [{ key: { ...one, type: 'object' } }, 'settings.key.type: Invalid option'],
    [{ key: { type: 'string' } }, 'settings.key.description: Invalid input'],
    [{ key: { ...one, secrets: true } }, 'settings.key: Unrecognized key: "secrets"'],
    [{ key: { ...one, type: 'integer', secret: true } }, 'settings.key.secret: is for settings of the type "string"'],
    [
      { key: { ...one, secret: true, default: 'x' } },
      'settings.key.default: everybody can read the default of a secret',
    ],
    [{ key: { ...one, required: true, default: 'x' } }, 'settings.key.default: is never used'],
    [{ key: { ...one, type: 'integer', default: 1.5 } }, 'settings.key.default: must be a whole number'],
    [{ key: { ...one, default: null } }, 'settings.key.default: must be a text, a number or a boolean'],
  ];
  for (const [settings, reason] of refused) {
    writeFileSync(join(dir, 'plugin.json'), JSON.stringify({ name: 'news', version: '1.0.0', settings }));
    const message = await readManifest(dir).then(
      () => 'it was accepted',
      (error: Error) => error.message,
    );
    assert.ok(message.includes(reason), `${message}\n  instead of ${reason}`);
  }
});

Settings.run();
