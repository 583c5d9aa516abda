import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { configKeys } from './config-keys.ts';
import { SETTINGS } from './index.ts';

const Settings = suite('the table of settings');

Settings('has exactly the keys of the configuration', () => {
  assert.equal(
    SETTINGS.map(({ key }) => key).sort(),
    configKeys()
      .map(([key]) => key)
      .sort(),
  );
});

Settings('has keys that are described', () => {
  assert.equal(
    configKeys()
      .filter(([, schema]) => !schema.description)
      .map(([key]) => key),
    [],
  );
});

Settings('uses each variable and each flag once', () => {
  const names = SETTINGS.flatMap(({ env, flag }) => [env, ...(flag ? [flag.split(' ')[0]] : [])]);
  assert.is(new Set(names).size, names.length);
});

Settings.run();
