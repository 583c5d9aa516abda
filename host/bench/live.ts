// Measures live transcription: one stream at the speed of speech over a WebSocket, and prints one JSON object: the
// seconds from the end of each word to the arrival of the final that has it, CPU time of all processes per second of
// audio, and word errors. `npm run bench:live -- <media file>… [--text FILE]… [--model SIZE] [--threads N] [--rounds N]`.
// Each `--text` is the spoken text of the media file with the same position.
import { parseArgs } from 'node:util';
import { readClip, type Clip } from './asr/clips.ts';
import { wordsHeard } from './asr/measure.ts';
import { type AsrSubject, startAana } from './asr/subjects.ts';
import { transcribeLive } from './live/stream.ts';
import { machineLoad, quantile, reportHead, round } from './report.ts';
import { loadConfig } from '../config/index.ts';
import { silentLogger } from '../core/log/logger.ts';
import { findFfmpeg } from '../media/index.ts';
import { ModelStore } from '../models/index.ts';

const { values: flags, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    text: { type: 'string', multiple: true, default: [] },
    model: { type: 'string', default: 'tiny.en' },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
  },
});
if (paths.length === 0) throw new Error('missing media file; usage: npm run bench:live -- path/to/speech.wav …');

async function measure(server: AsrSubject, clip: Clip): Promise<object> {
  await transcribeLive(server.port, clip); // warms up
  const delays: number[] = [];
  const texts: string[] = [];
  const cpuBefore = await server.cpuMs();
  for (let number = 0; number < Number(flags.rounds); number += 1) {
    const heard = await transcribeLive(server.port, clip);
    delays.push(...heard.delays);
    texts.push(heard.text);
  }
  const cpuSeconds = ((await server.cpuMs()) - cpuBefore) / 1000;
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

const loadBefore = machineLoad();
const { cache_dir: cacheDir, media } = loadConfig();
const cached = (await new ModelStore({ cacheDir, log: silentLogger }).resolve('ffmpeg'))?.path;
const ffmpeg = await findFfmpeg({ configured: media.ffmpeg_path, cached, log: silentLogger });
if (!ffmpeg) throw new Error('ffmpeg is missing: install it, or run npx aana-host models pull ffmpeg');
const clips: object[] = [];
{
  const settings = {
    model: flags.model,
    threads: Number(flags.threads),
    windows: 1,
    beams: 1,
    vad: true,
    timestamps: true,
  };
  await using server = await startAana({})(settings);
  for (const [index, path] of paths.entries())
    clips.push(await measure(server, await readClip(path, flags.text[index], ffmpeg.path)));
}
const report = {
  ...reportHead('live', loadBefore),
  model: flags.model,
  threads: Number(flags.threads),
  rounds: Number(flags.rounds),
  clips,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
