// The real engine hears quiet speech from its first word, with and without a search for speech.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { DeploymentManager } from '../../deployments/index.ts';
import { AsrOutput } from '../../../base/schemas/index.ts';
import { speechPath } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import { cannotRun, readWav } from '../fixtures/cannot-run.ts';
import { deployed, SampleFiles } from '../fixtures/real-models.ts';

const Quiet = suite('quiet speech');

const files = new SampleFiles();
let manager: DeploymentManager;

Quiet.before(async () => {
  manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1, max_states: 1 } });
  await manager.start();
});
Quiet.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  await files.remove();
});

for (const decibels of [-35, -45])
  Quiet(`has its beginning and its end at ${decibels} dB`, async () => {
    const [samples = new Float32Array()] = await readWav(speechPath());
    const gain = 10 ** (decibels / 20);
    const audio = await files.write(samples.map((sample) => sample * gain));
    for (const vad_filter of [true, false]) {
      const { text } = AsrOutput.parse(
        await manager.handle('model').call('transcribe', { audio, params: { vad_filter } }),
      ).transcription;
      assert.match(text, /^\W*and so,? my,? fellow americ.*your country\W*$/i, `vad_filter ${vad_filter}`);
    }
  });

if (cannotRun === undefined) Quiet.run();
else skip('quiet speech', cannotRun);
