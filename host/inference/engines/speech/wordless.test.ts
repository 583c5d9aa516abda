// The real engine invents no words where nobody speaks. `npm run campaign:wordless` does the same for ten minutes.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeploymentManager } from '../../deployments/index.ts';
import { AsrOutput } from '../../../base/schemas/index.ts';
import { WORDLESS_SOUNDS } from '../../../test/helpers/media/wordless-sounds.ts';
import { skip } from '../../../test/skip.ts';
import { cannotRun } from '../fixtures/cannot-run.ts';
import { deployed, SampleFiles } from '../fixtures/real-models.ts';

const Wordless = suite('sounds without words');

const SECONDS = 60;
const files = new SampleFiles();
let manager: DeploymentManager;

Wordless.before(async () => {
  manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1, max_states: 1 } });
  await manager.start();
});
Wordless.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await files.remove();
});

for (const [name, make] of Object.entries(WORDLESS_SOUNDS)) {
  Wordless(`a minute of ${name} has no words, with and without vad_filter`, async () => {
    const audio = await files.write(make(SECONDS));
    for (const vad_filter of [true, false]) {
      const output = AsrOutput.parse(
        await manager.handle('model').call('transcribe', { audio, params: { vad_filter } }),
      );
      assert.equal([output.transcription.text, output.transcription_info.language], ['', 'silence'], `${vad_filter}`);
    }
  });
}

if (cannotRun === undefined) Wordless.run();
else skip('sounds without words', cannotRun);
