// The kernels for each kind of processor, and ggml's own where a processor has none of ours: all give the same answers.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addonPath, isBuilt, rejection } from './fixtures/test-engine.ts';
import { cached, missing as missingSpeech, said } from './fixtures/test-whisper.ts';

const Sets = suite('sets of kernels');
const model = cached('smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf');
const missing = !isBuilt
  ? 'the native addon is not built'
  : model === undefined
    ? 'the model smollm2-135m-instruct is missing'
    : process.platform === 'linux' && process.arch === 'x64'
      ? undefined
      : 'there are kernels for x64 only';

if (missing !== undefined || model === undefined) process.stdout.write(`SKIP sets of kernels: ${missing}\n`);
else {
  interface Answers {
    readonly text: string;
    readonly heard: string;
    readonly log: readonly string[];
  }
  const folder = mkdtempSync(join(tmpdir(), 'aana-kernels-'));
  const answers = async (kernels: string, backends = '', asksWhisper = ''): Promise<Answers> => {
    const program = fileURLToPath(new URL('fixtures/kernel-answers.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program, model, backends, asksWhisper], {
      env: { ...process.env, AANA_KERNELS: kernels },
    });
    return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Answers;
  };
  Sets.after(() => rmSync(folder, { recursive: true }));

  Sets('give the same answers as ggml’s kernels, and a wrong name is refused with the right ones', async () => {
    const { message } = await rejection(answers('fast'));
    const [, list = ''] = /AANA_KERNELS is "fast"; on this processor it can be ([\w, ]+)/.exec(message) ?? [];
    const names = list.split(', ');
    assert.is(names.at(-1), 'none', message);
    const asksWhisper = missingSpeech === undefined ? 'yes' : '';
    const expected = await answers('none', '', asksWhisper);
    assert.is(expected.text, ' Thursday, Friday, Saturday, Sunday,');
    assert.is(expected.heard, asksWhisper && said);
    assert.equal(expected.log, []);
    for (const name of names.slice(0, -1)) {
      const { text, heard, log } = await answers(name, '', asksWhisper);
      assert.equal([text, heard], [expected.text, expected.heard], name);
      // Of this model, all matrices have kernels.
      const [, packed, all, used] =
        /^(\d+) of (\d+) bytes of weights are packed for the kernels (\w+)$/.exec(log.at(-1) ?? '') ?? [];
      assert.is(used, name);
      assert.ok(Number(packed) > 0.9 * Number(all), log.at(-1));
    }
  });

  Sets('a processor without AVX computes with ggml’s plainest kernels', async () => {
    const library = 'libggml-cpu-x64.so';
    symlinkSync(join(dirname(addonPath), library), join(folder, library));
    assert.is((await answers('none', folder)).text, (await answers('none')).text);
  });
}

Sets.run();
