// Measures live transcription: one stream at the speed of speech over a WebSocket, and prints one JSON object: the
// seconds from the end of each word to the arrival of the final that has it, CPU time of all processes per second of
// audio, and word errors. `npm run bench:live -- <media file>… [--text FILE]… [--model SIZE] [--threads N] [--rounds
// N]`. Each `--text` is the spoken text of the media file with the same position. `--simulated` measures the engine in
// this process on a simulated clock, where computations take their CPU time, so other programs on the machine do not
// count. `--slowness N` lets them take N times as long there, as on a slower processor.
import { parseArgs } from 'node:util';
import { readClip, type Clip } from './asr/clips.ts';
import { wordsHeard } from './asr/measure.ts';
import { startAana } from './asr/subjects.ts';
import { SimulatedLive } from './live/simulated.ts';
import { type LiveRun, transcribeLive } from './live/stream.ts';
import { machineLoad, quantile, reportHead, round } from './report.ts';
import { loadConfig } from '../base/config/index.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { findFfmpeg } from '../io/media/index.ts';
import { ModelStore } from '../setup/models/index.ts';

const { values: flags, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    text: { type: 'string', multiple: true, default: [] },
    model: { type: 'string', default: 'tiny.en' },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    simulated: { type: 'boolean', default: false },
    slowness: { type: 'string', default: '1' },
  },
});
if (paths.length === 0) throw new Error('missing media file; usage: npm run bench:live -- path/to/speech.wav …');

/** What is measured: a server, or the engine in this process. */
interface Subject extends AsyncDisposable {
  transcribe(clip: Clip): Promise<LiveRun>;
  /** CPU time so far, in milliseconds. */
  cpuMs(): Promise<number>;
}

async function measure(subject: Subject, clip: Clip): Promise<object> {
  if (!flags.simulated) await subject.transcribe(clip); // warms up
  const delays: number[] = [];
  const texts: string[] = [];
  const cpuBefore = await subject.cpuMs();
  for (let number = 0; number < Number(flags.rounds); number += 1) {
    const heard = await subject.transcribe(clip);
    delays.push(...heard.delays);
    texts.push(heard.text);
  }
  const cpuSeconds = ((await subject.cpuMs()) - cpuBefore) / 1000;
  return {
    clip: clip.name,
    seconds: round(clip.seconds, 1),
    finalDelayS: {
      p50: round(quantile(delays, 0.5)),
      p95: round(quantile(delays, 0.95)),
      max: round(Math.max(...delays)),
    },
    cpuPerAudioSecond: round(cpuSeconds / clip.seconds / Number(flags.rounds)),
    ...wordsHeard(texts, undefined, clip.text),
  };
}

async function startServer(): Promise<Subject> {
  const settings = {
    model: flags.model,
    threads: Number(flags.threads),
    windows: 1,
    beams: 1,
    vad: true,
    timestamps: true,
  };
  const server = await startAana({})(settings);
  return {
    transcribe: (clip) => transcribeLive(server.port, clip),
    cpuMs: () => server.cpuMs(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function loadEngine(models: ModelStore): Promise<Subject> {
  const engine = await SimulatedLive.load(models, flags.model, Number(flags.threads), Number(flags.slowness));
  return {
    transcribe: (clip) => engine.transcribe(clip),
    cpuMs: async () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

const loadBefore = machineLoad();
const { cache_dir: cacheDir, media } = loadConfig();
const models = new ModelStore({ cacheDir, log: silentLogger });
const cached = (await models.resolve('ffmpeg'))?.path;
const ffmpeg = await findFfmpeg({ configured: media.ffmpeg_path, cached, log: silentLogger });
if (!ffmpeg) throw new Error('ffmpeg is missing: install it, or run npx aana-host models pull ffmpeg');
const clips: object[] = [];
{
  await using subject = flags.simulated ? await loadEngine(models) : await startServer();
  for (const [index, path] of paths.entries())
    clips.push(await measure(subject, await readClip(path, flags.text[index], ffmpeg.path)));
}
const report = {
  ...reportHead('live', loadBefore),
  model: flags.model,
  threads: Number(flags.threads),
  rounds: Number(flags.rounds),
  ...(flags.simulated && { simulated: true, slowness: Number(flags.slowness) }),
  clips,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
