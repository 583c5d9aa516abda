/**
 * Where the processor time of a transcription goes: the stages of the engine with our kernels and with ggml's
 * operations, and of faster-whisper. The same model and audio, 8-bit weights, one thread, one beam, timestamps, no
 * previous text; one window, and several together. Prints JSON.
 *
 *   npm run build && npx aana-host build-native && npx aana-host models pull whisper-base ffmpeg
 *   python3 -m venv faster && faster/bin/pip install faster-whisper
 *   node native/bench/whisper-profile/main.mjs --faster-whisper faster/bin/python lecture.webm > result.json
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ctranslate2Model } from '../../../dist/host/bench/asr/ctranslate2-model.js';
import { machineLoad, reportHead } from '../../../dist/host/bench/report.js';
import { findFfmpeg } from '../../../dist/host/io/media/index.js';
import { silentLogger } from '../../../dist/host/base/core/log/logger.js';
import { ModelStore } from '../../../dist/host/setup/models/index.js';
import { buildProgram, cannotBuild } from '../../../dist/native/lib/fixtures/test-program.js';

const packageRoot = fileURLToPath(new URL('../../..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'faster-whisper': { type: 'string' },
    model: { type: 'string' },
    ffmpeg: { type: 'string' },
    size: { type: 'string', default: 'base' },
    'cache-dir': { type: 'string', default: join(homedir(), '.cache', 'aana-host') },
    windows: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '60' },
  },
});
const [recording] = positionals;
if (recording === undefined) throw new Error('missing recording; usage: main.mjs [--faster-whisper python] recording');
const reason = cannotBuild(packageRoot);
if (reason !== undefined) throw new Error(`aana-whisper-profile cannot be built: ${reason}`);

const { size, windows, rounds, tokens } = values;
const model = values.model ?? join(values['cache-dir'], 'models', `whisper-${size}`, `ggml-${size}-q8_0.bin`);
const store = new ModelStore({ cacheDir: values['cache-dir'], log: silentLogger });
const cached = (await store.resolve('ffmpeg'))?.path;
const ffmpeg = await findFfmpeg({ configured: values.ffmpeg, cached, log: silentLogger });
if (!ffmpeg) throw new Error('ffmpeg is missing: install it, or pass --ffmpeg path/to/ffmpeg');
const loadBefore = machineLoad();
const folder = mkdtempSync(join(tmpdir(), 'aana-whisper-profile-'));

/** Windows of 30 s, whose beginnings have the same distance, one after another. */
function cutWindows(path) {
  const args = ['-v', 'error', '-i', path, '-ac', '1', '-ar', '16000', '-f', 'f32le', '-'];
  const all = execFileSync(ffmpeg.path, args, { maxBuffer: 2 ** 30 });
  const bytes = 30 * 16_000 * 4;
  if (all.length < bytes) throw new Error(`${path} is shorter than 30 s`);
  const distance = (all.length - bytes) / 4 / Math.max(1, Number(windows) - 1);
  const starts = Array.from({ length: Number(windows) }, (_, i) => 4 * Math.floor(i * distance));
  return Buffer.concat(starts.map((start) => all.subarray(start, start + bytes)));
}

const run = (program, args) =>
  JSON.parse(execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
try {
  const samples = join(folder, 'samples');
  writeFileSync(samples, cutWindows(recording));
  const program = buildProgram(packageRoot, 'aana-whisper-profile');
  const engine = (kernels) =>
    run(program, [join(packageRoot, 'build', 'Release'), model, samples, windows, rounds, tokens, kernels]);
  const python = values['faster-whisper'];
  const script = fileURLToPath(new URL('ctranslate2_side.py', import.meta.url));
  // In milliseconds; of prompts and tokens, for each window.
  const results = {
    ours: engine('ours'),
    ggml: engine('ggml'),
    ctranslate2:
      python === undefined
        ? null
        : run(python, [script, await ctranslate2Model(size, values['cache-dir']), samples, windows, rounds, tokens]),
  };
  const settings = { size, windows: Number(windows), rounds: Number(rounds), tokens: Number(tokens) };
  process.stdout.write(
    `${JSON.stringify({ ...reportHead('whisper-profile', loadBefore), settings, results }, null, 2)}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
