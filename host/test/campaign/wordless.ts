// Transcribes minutes of sounds without words, and prints the words that models invent: `node wordless.js [seconds]
// [model,…]`. Ends with status 1 if there are any.
import { deployed, SampleFiles } from '../../inference/engines/fixtures/real-models.ts';
import { AsrOutput } from '../../base/schemas/index.ts';
import { testEnvironment } from '../environment.ts';
import { WORDLESS_SOUNDS } from '../helpers/media/wordless-sounds.ts';

const seconds = Number(process.argv[2] ?? 600);
const models = (process.argv[3] ?? 'tiny.en,base').split(',');
if (!(seconds > 0 && seconds <= 7200)) throw new RangeError('the seconds are 1 to 7200');

Object.assign(process.env, await testEnvironment(process.env));
const files = new SampleFiles();
try {
  for (const model of models) await transcribeAll(model);
} finally {
  await files.remove();
}

async function transcribeAll(model: string): Promise<void> {
  const manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: model } });
  try {
    await manager.start();
    for (const [name, make] of Object.entries(WORDLESS_SOUNDS)) {
      const audio = await files.write(make(seconds));
      for (const vad_filter of [true, false]) {
        const startedAt = performance.now();
        const params = { vad_filter };
        const { segments } = AsrOutput.parse(await manager.handle('model').call('transcribe', { audio, params }));
        const tookS = Math.round((performance.now() - startedAt) / 1000);
        const how = `${model}, ${name}, ${seconds} s, vad_filter ${vad_filter}`;
        process.stdout.write(`${how}: ${segments.length === 0 ? 'no words' : 'INVENTED'} (${tookS} s)\n`);
        for (const { text, confidence, no_speech_confidence: silent, time_interval: at } of segments)
          process.stdout.write(`  ${at.start} to ${at.end}: ${text} (${confidence}, no speech ${silent})\n`);
        if (segments.length > 0) process.exitCode = 1;
      }
    }
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}
