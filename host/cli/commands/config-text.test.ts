import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { configText } from './config-text.ts';

const Text = suite('the output of aana-host config');

Text('has a line for each value that is set, and for defaults where they are asked for', () => {
  const values = [
    { key: 'port', value: 3, origin: '--port' },
    { key: 'app', value: null, origin: 'default' },
  ];
  assert.is(configText(values, false), 'port = 3  (--port)\n');
  assert.is(configText(values, true), 'port = 3  (--port)\napp = null  (default)\n');
  assert.is(configText(values.slice(1), false), 'every value is a default: --all prints them\n');
});

Text.run();
