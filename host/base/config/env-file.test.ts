import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describeConfig, loadConfig } from './index.ts';
import { withEnvFile } from './env-file.ts';
import { command } from '../../test/helpers/command-line/command.ts';

const EnvFile = suite('the file of variables');
let cwd = '';

EnvFile.before.each(() => {
  cwd = mkdtempSync(join(tmpdir(), 'aana-env-'));
});
EnvFile.after.each(() => rmSync(cwd, { recursive: true, force: true }));

const write = (text: string, name = '.env'): void => writeFileSync(join(cwd, name), text);
const read = (text: string): Readonly<Record<string, string | undefined>> => {
  write(text);
  return withEnvFile({}, cwd, undefined).variables;
};

EnvFile('has plain and quoted values, comments, and values of several lines', () => {
  const text = [
    '\uFEFF# the service',
    'AANA_PORT=8100',
    "  NAME = it's here # not this",
    '',
    'SINGLE=\'# "kept"\' # a comment',
    'DOUBLE="two\\nlines"',
    'LONG="first',
    '  NOT=this',
    'last"',
    'export EXPORTED=`a b`',
    'EMPTY=',
    'URL=postgres://u:p@h/d?x=1',
  ].join('\r\n');
  assert.equal(read(text), {
    AANA_PORT: '8100',
    NAME: "it's here",
    SINGLE: '# "kept"',
    DOUBLE: 'two\nlines',
    LONG: 'first\n  NOT=this\nlast',
    EXPORTED: 'a b',
    EMPTY: '',
    URL: 'postgres://u:p@h/d?x=1',
  });
});

EnvFile('a malformed line is an error that names the line, and nothing of its content', () => {
  const faults: [text: string, line: number, reason: RegExp][] = [
    ['A=1\n# x\nhunter2', 3, /expected NAME=value/],
    ['=hunter2', 1, /expected NAME=value/],
    ['A-B C=hunter2', 1, /expected NAME=value/],
    ['A="a\nb"\n1A=hunter2', 3, /expected NAME=value/],
    ['A=1\nB="hunter2\nC=3', 2, /begins with ", and no further " ends it/],
    ["A='hunter2' hunter2", 1, /ends with ', and text follows/],
  ];
  for (const [text, line, reason] of faults) {
    write(text);
    assert.throws(
      () => withEnvFile({}, cwd, undefined),
      ({ name, message }: Error) =>
        name === 'ConfigError' &&
        message.startsWith(`${join(cwd, '.env')}, line ${line}: `) &&
        reason.test(message) &&
        !message.includes('hunter2'),
      text,
    );
  }
});

EnvFile('a folder .env is no file, a missing file that was named is an error, and so is one of many megabytes', () => {
  mkdirSync(join(cwd, '.env'));
  assert.equal(withEnvFile({ A: '1' }, cwd, undefined).variables, { A: '1' });
  assert.throws(() => withEnvFile({}, cwd, 'other.env'), /other\.env: cannot be read: ENOENT/);
  assert.throws(() => withEnvFile({}, cwd, '.env'), /\.env: cannot be read: EISDIR/);
  write('#'.repeat(2 ** 20 + 1), 'large.env');
  assert.throws(() => withEnvFile({}, cwd, 'large.env'), /large\.env: is larger than 1048576 bytes/);
});

EnvFile(
  'variables of the environment take precedence, empty ones do not, except the one for which empty means none',
  () => {
    write('A=file\nB=file\nC=file\nCUDA_VISIBLE_DEVICES=0');
    const { variables, sourceOf } = withEnvFile({ A: 'env', B: '', CUDA_VISIBLE_DEVICES: '' }, cwd, undefined);
    assert.equal(variables, { A: 'env', B: 'file', C: 'file', CUDA_VISIBLE_DEVICES: '' });
    assert.is(sourceOf('A'), 'environment variable A');
    assert.is(sourceOf('B'), `variable B of ${join(cwd, '.env')}`);
  },
);

EnvFile('is between the configuration file and the environment, and its values have it as their origin', () => {
  write('AANA_PORT=8100\nAANA_NAME=file\nDB_CONFIG={"pool_size": 7}\nHF_TOKEN=hunter2\nUNKNOWN=1');
  writeFileSync(join(cwd, 'aana.config.json'), JSON.stringify({ port: 1, name: 'json', host: '0.0.0.0' }));
  const config = loadConfig({ cwd, env: { HOME: cwd, AANA_NAME: 'environment' }, envFile: '.env' });
  assert.equal(
    [config.port, config.name, config.host, config.db_config.pool_size, config.models.hf_token],
    [8100, 'environment', '0.0.0.0', 7, 'hunter2'],
  );
  const described = new Map(describeConfig(config).map(({ key, value, origin }) => [key, [value, origin]]));
  const from = (name: string): string => `variable ${name} of ${join(cwd, '.env')}`;
  assert.equal(described.get('port'), [8100, from('AANA_PORT')]);
  assert.equal(described.get('db_config.pool_size'), [7, from('DB_CONFIG')]);
  assert.equal(described.get('models.hf_token'), ['…', from('HF_TOKEN')]);
  assert.equal(described.get('name'), ['environment', 'environment variable AANA_NAME']);
  assert.is(loadConfig({ cwd, env: { HOME: cwd } }).port, 1, 'a given environment is complete');
  write('AANA_PORT=many');
  assert.throws(
    () => loadConfig({ cwd, env: { HOME: cwd }, envFile: '.env' }),
    `${from('AANA_PORT')}: "many" is not a number`,
  );
});

EnvFile('folders of the original SDK have their meaning, and our own variables take precedence', () => {
  const folders = (env: Readonly<Record<string, string>>): unknown[] => {
    const { data_dir, cache_dir, media } = loadConfig({ cwd, env: { HOME: '/home/ann', ...env } });
    return [data_dir, cache_dir, media.temp_dir];
  };
  const [home, cache] = ['/home/ann/.local/share/aana-host', '/home/ann/.cache/aana-host'];
  assert.equal(folders({}), [home, cache, null]);
  assert.equal(folders({ TMP_DATA_DIR: '/big' }), ['/big', '/big/models', '/big/tmp']);
  assert.equal(folders({ TMP_DATA_DIR: '/big', MODEL_DIR: '/m', VIDEO_DIR: 'v', AUDIO_DIR: '/a', IMAGE_DIR: '/i' }), [
    '/big',
    '/m',
    join(cwd, 'v'),
  ]);
  assert.equal(folders({ IMAGE_DIR: '/i', AUDIO_DIR: '/a' }), [home, cache, '/a']);
  assert.equal(folders({ TMP_DATA_DIR: '/big', AANA_DATA_DIR: '/d', AANA_CACHE_DIR: '/c', AANA_TEMP_DIR: '/t' }), [
    '/d',
    '/c',
    '/t',
  ]);
});

EnvFile('a command reads it in its working directory unless it is told not to', async () => {
  write('AANA_PORT=8100\nAANA_DASHBOARD_TOKEN=hunter2-hunter2-hunter2');
  write('AANA_PORT=8200', 'other.env');
  const run = async (...flags: string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], HOME: cwd };
    return (await command(['config', '--json', ...flags], { cwd, env })).out;
  };
  assert.match(await run(), /8100/);
  assert.match(await run(), /variable AANA_DASHBOARD_TOKEN of /);
  assert.not.match(await run(), /hunter2/);
  assert.match(await run('--env-file', 'other.env'), /8200/);
  assert.not.match(await run('--no-env-file'), /8100/);
});

EnvFile.run();
