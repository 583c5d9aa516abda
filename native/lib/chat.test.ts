// The unit tests of chat templates and answers in native/test/chat, each as a test of its own.
import { spawnSync } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildProgram, cannotBuild } from './fixtures/test-program.ts';

const Chat = suite('chat templates and answers');
const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const reason = cannotBuild(packageRoot);

if (reason === undefined) {
  const { status, signal, stdout } = spawnSync(buildProgram(packageRoot, 'aana-chat-test'), { encoding: 'utf8' });
  for (const [, result, title = '', problem = ''] of stdout.matchAll(/^(ok {2}|FAIL )([^:\n]*)(?:: (.*))?$/gm))
    Chat(title, () => assert.is(result, 'ok  ', problem));
  Chat('the program of the tests ran to its end', () =>
    assert.equal([status === 0 || status === 1, signal], [true, null]),
  );
} else {
  process.stdout.write(`SKIP chat templates and answers: ${reason}\n`);
}

Chat.run();
