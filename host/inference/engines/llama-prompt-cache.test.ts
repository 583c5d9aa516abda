// Prompts of a deployment on disk, over a real model: replicas that are started later find them.
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { GenerationDetails } from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

const Prompts = suite('prompts of a deployment on disk');
const root = mkdtempSync(join(tmpdir(), 'aana-prompts-'));
Prompts.after(() => rmSync(root, { recursive: true }));

const SYSTEM =
  `You answer questions about a shop. ` +
  `${Array.from({ length: 30 }, (_, n) => `Article ${n} costs ${3 * n + 2} coins and is in room ${n % 7}.`).join(' ')}`;

/**
 * Asks a deployment that is started for it. Returns the answer to the last question, and the tokens of it that needed
 * no computing.
 */
async function ask(
  questions: readonly string[],
  kwargs: object,
  user = 'one',
): Promise<{ readonly text: string; readonly cached: number }> {
  const manager = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: 'smollm2-135m-instruct', model_kwargs: { n_ctx: 2048, n_threads: 1, ...kwargs } },
  });
  try {
    await manager.start();
    const answer = { text: '', cached: 0 };
    for (const content of questions) {
      const messages = [
        { role: 'system', content: SYSTEM },
        { role: 'user', content },
      ];
      const args = { dialog: { messages }, sampling_params: { max_tokens: 8 }, details: true };
      const output = await manager.handle('model').call('chat', args, { userId: user, priority: 0 });
      const { message, details } = output as { message: { content: string }; details: GenerationDetails };
      Object.assign(answer, { text: message.content, cached: details.usage.cached_tokens });
    }
    return answer;
  } finally {
    await manager.shutdown({ graceMs: 5000 });
  }
}

Prompts('a system prompt needs no computing after a restart, and the answer is the same', async () => {
  const path = join(root, 'shop');
  // Without files the beginning of the second question comes from the memory of the same replica, with the same
  // numbers.
  const expected = await ask(['Hello!', 'What does article 3 cost?'], {});
  assert.is((await ask(['Hello!'], { prompt_cache: { path } })).cached, 0);
  assert.ok(readdirSync(path).length > 4); // a file for each 64 tokens
  assert.is(statSync(path).mode & 0o777, 0o700);
  const actual = await ask(['What does article 3 cost?'], { prompt_cache: { path } });
  assert.ok(actual.cached > expected.cached - 64, `${actual.cached} of ${expected.cached} tokens`);
  assert.is(actual.text, expected.text);
});

Prompts('users share no prompts where the cache is limited to one', async () => {
  const kwargs = { prompt_cache: { path: join(root, 'users') }, cache_scope: 'tenant' };
  assert.is((await ask(['Hello!'], kwargs, 'one')).cached, 0);
  assert.is((await ask(['Good morning!'], kwargs, 'two')).cached, 0);
  assert.ok((await ask(['Good evening!'], kwargs, 'one')).cached > 300);
});

Prompts('a folder that cannot be written is refused with its name', async () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  const { message } = await errorOf(ask(['Hello!'], { prompt_cache: { path: file } }));
  assert.match(message, `prompts cannot be kept in the folder ${file}`);
});

if (cannotRun === undefined) Prompts.run();
else skip('prompts of a deployment on disk', cannotRun);
