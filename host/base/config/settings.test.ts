import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SETTINGS } from './index.ts';

const Settings = suite('the settings');

Settings('describe every key', () => {
  assert.equal(
    SETTINGS.filter(({ description }) => description === '').map(({ key }) => key),
    [],
  );
});

Settings('use each variable and each flag once', () => {
  const names = SETTINGS.flatMap(({ env, flag }) => [env, ...(flag ? [flag.split(' ')[0]] : [])]);
  assert.is(new Set(names).size, names.length);
});

Settings.run();
