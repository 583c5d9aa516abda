// Measures speech to text over HTTP beside whisper.cpp's server and faster-whisper, with the same Whisper model, and
// prints one JSON object: CPU time of all processes per second of audio, speed, time to the first text, memory, and
// word errors. Each recording is sent alone and four times at once. `npm run bench:asr -- <media file>… [--text FILE]…
// [--language CODE] [--model SIZE] [--whisper-server PATH] [--faster-whisper PYTHON] [--rounds N] [--threads N]
// [--beams N] [--no-vad] [--no-timestamps] [--only NAME]… [--calm SECONDS] [--user-config JSON]`. Each `--text` is the
// spoken text of the media file with the same position. `--only` is a scenario, such as `jfk`, `jfk, language found` or
// `jfk, 4 at once`. `--user-config` has further fields of our deployment.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { readClip } from './asr/clips.ts';
import { ctranslate2Model } from './asr/ctranslate2-model.ts';
import { hear, wordsHeard } from './asr/measure.ts';
import { type Scenario, scenariosOf } from './asr/scenarios.ts';
import { startAana, startFasterWhisper, startWhisperServer, type StartSubject } from './asr/subjects.ts';
import { loadConfig } from '../base/config/index.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { findFfmpeg } from '../io/media/index.ts';
import { ModelStore } from '../setup/models/index.ts';
import { type Competitor, pairedRounds } from './paired-rounds.ts';
import { AsyncDisposableStack } from './plugins/sample.ts';
import { machineLoad, reportHead } from './report.ts';

const { values: flags, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    text: { type: 'string', multiple: true, default: [] },
    language: { type: 'string', default: 'en' },
    model: { type: 'string', default: 'base' },
    'whisper-server': { type: 'string' },
    'faster-whisper': { type: 'string' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '1' },
    beams: { type: 'string', default: '1' },
    'no-vad': { type: 'boolean', default: false },
    'no-timestamps': { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    calm: { type: 'string', default: '0' },
    'user-config': { type: 'string', default: '{}' },
  },
});
if (paths.length === 0) throw new Error('missing media file; usage: npm run bench:asr -- path/to/speech.wav …');

const BATCH_SIZE = 8;
const config = loadConfig();
const store = new ModelStore({ cacheDir: config.cache_dir, log: silentLogger });
const userConfig = JSON.parse(flags['user-config']) as Readonly<Record<string, unknown>>;
const settings = {
  model: flags.model,
  threads: Number(flags.threads),
  beams: Number(flags.beams),
  vad: !flags['no-vad'],
  timestamps: !flags['no-timestamps'],
};

async function allServers(): Promise<[name: string, start: StartSubject][]> {
  const servers: [name: string, start: StartSubject][] = [['aana-host', startAana(userConfig)]];
  const program = flags['whisper-server'];
  if (program !== undefined) {
    const { path: model } = await store.pull(`whisper-${flags.model}:q8_0`);
    servers.push(['whisper-server', startWhisperServer({ program, model })]);
  }
  const python = flags['faster-whisper'];
  if (python !== undefined) {
    const model = await ctranslate2Model(flags.model, config.cache_dir);
    servers.push(['faster-whisper', startFasterWhisper({ python, model, batchSize: 0 })]);
    servers.push(['faster-whisper, batched', startFasterWhisper({ python, model, batchSize: BATCH_SIZE })]);
  }
  return servers;
}

async function measure(scenario: Scenario, servers: readonly [string, StartSubject][]): Promise<object> {
  await using subjects = new AsyncDisposableStack();
  const windows = Math.min(scenario.atOnce, cpus().length);
  const texts = new Map<string, readonly string[]>();
  const competitors: Competitor[] = [];
  for (const [name, start] of servers) {
    const subject = subjects.use(await start({ ...settings, windows }));
    const run = async (number: number) => {
      const heard = await hear(subject, scenario, number);
      if (number > 0) texts.set(name, [...(texts.get(name) ?? []), ...heard.texts]);
      return heard.figures;
    };
    competitors.push({ name, run });
  }
  const rounds = { rounds: Number(flags.rounds), calmMs: Number(flags.calm) * 1000 };
  const figures = await pairedRounds(competitors, rounds);
  const [first = ''] = servers[0] ?? [];
  const described = Object.entries(figures).map(([name, one]) => {
    const ours = name === first ? undefined : texts.get(first);
    return [name, { ...one, ...wordsHeard(texts.get(name) ?? [], ours, scenario.clip.text) }];
  });
  const { name, clip, atOnce, language = 'found' } = scenario;
  return { scenario: name, seconds: clip.seconds, atOnce, windows, language, servers: Object.fromEntries(described) };
}

const loadBefore = machineLoad();
const cached = (await store.resolve('ffmpeg'))?.path;
const ffmpeg = await findFfmpeg({ configured: config.media.ffmpeg_path, cached, log: silentLogger });
if (!ffmpeg) throw new Error('ffmpeg is missing: install it, or run npx aana-host models pull ffmpeg');
const servers = await allServers();
const scenarios: object[] = [];
for (const [index, path] of paths.entries()) {
  const clip = await readClip(path, flags.text[index], ffmpeg.path);
  for (const scenario of scenariosOf(clip, flags.language))
    if (flags.only === undefined || flags.only.includes(scenario.name))
      scenarios.push(await measure(scenario, servers));
}
const report = {
  ...reportHead('asr', loadBefore),
  ...settings,
  batchSize: BATCH_SIZE,
  rounds: Number(flags.rounds),
  userConfig,
  scenarios,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
