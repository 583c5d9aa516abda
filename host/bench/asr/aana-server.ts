// An application with one Whisper deployment, whose endpoint `/transcribe` takes a file and streams each segment's
// text. BENCH_ASR has the settings. Started by subjects.ts.
import { AanaApp, loadConfig, schemas, WhisperDeployment, z } from '../../index.ts';
import { served } from '../plugins/served.ts';
import type { AsrSettings } from './subjects.ts';

interface Settings extends AsrSettings {
  readonly userConfig: Readonly<Record<string, unknown>>;
}
const { model, threads, windows, beams, vad, timestamps, userConfig } = JSON.parse(
  process.env['BENCH_ASR'] ?? '{}',
) as Settings;

const config = loadConfig({
  cwd: '/',
  base: { log: { level: 'error' }, task_queue: { enabled: false }, limits: { invocation_timeout_s: 3600 } },
});
const app = new AanaApp({ name: 'asr', config, progress: { write: () => true } });
app.registerDeployment(
  'asr_deployment',
  WhisperDeployment.options({
    max_queued_requests: 100,
    user_config: { model_size: model, compute_type: 'int8', threads, max_states: windows, ...userConfig },
  }),
);
app.registerEndpoint({
  ...{ name: 'transcribe', path: '/transcribe', summary: 'Transcribes speech' },
  input: z.strictObject({ audio: schemas.VideoInput, language: z.nullable(z.string()) }),
  output: z.object({ text: z.string() }),
  async *run({ audio: source, language }, context) {
    await using audio = await app.openAudio(source, context);
    const params = { language, beam_size: beams, vad_filter: vad, without_timestamps: !timestamps };
    const asr = app.handle(WhisperDeployment, 'asr_deployment');
    for await (const { transcription } of asr.transcribe_stream({ audio, params }, context))
      yield { text: transcription.text };
  },
});
await app.connect({ port: 0, show_logs: false });
await app.deploy();
served({ port: Number(new URL(app.url ?? '').port), close: () => app.shutdown({ graceMs: 0 }) });
