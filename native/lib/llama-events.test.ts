// A short run of `npm run fuzz:llm:events`: the decode loop over a fake of llama.cpp.
import { spawnSync } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildProgram, cannotBuild } from './fixtures/test-program.ts';

const Events = suite('random events to the decode loop');
const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const reason = cannotBuild(packageRoot);

if (reason === undefined)
  Events('lose and double no request, and change no text', () => {
    const { status, stdout, stderr } = spawnSync(buildProgram(packageRoot, 'aana-event-fuzz'), ['2000', '1'], {
      encoding: 'utf8',
    });
    assert.is(status, 0, stderr);
    const [, interruptions, pauses, reused, guesses, idle] =
      /(\d+) interruptions, (\d+) pauses, (\d+) prompt tokens reused, (\d+) guesses came true, (\d+) idle/.exec(
        stdout,
      ) ?? [];
    const [, images, reusedImages, takenBack, failed] =
      /(\d+) images, (\d+) reused, (\d+) taken back in their middle, (\d+) requests with/.exec(stdout) ?? [];
    const [, kept, limits] = /from (\d+) kept states, whose room changed (\d+) times/.exec(stdout) ?? [];
    for (const count of [
      kept,
      limits,
      interruptions,
      pauses,
      reused,
      guesses,
      idle,
      images,
      reusedImages,
      takenBack,
      failed,
    ])
      assert.ok(Number(count) > 0, stdout);
  });
else process.stdout.write(`SKIP random events to the decode loop: ${reason}\n`);

Events.run();
