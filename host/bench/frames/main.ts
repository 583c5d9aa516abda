// Measures frames of a video beside ffmpeg alone, which makes the same pictures and throws them away: frames per
// second, CPU time with all child processes, and the growth of the memory. ffmpeg decodes on one thread, as in the
// host. The subjects take turns. Then it opens a video once for its audio and its frames, beside one ffmpeg for both
// and two. Prints JSON (Linux). `npm run bench:frames -- [--video FILE] [--seconds N] [--rounds N] [--calm S]
// [--only TEXT]`
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runContained } from '../../base/processes/index.ts';
import { loadConfig } from '../../base/config/index.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { buildPlugin } from '../../endpoints/plugins/build/build-plugin.ts';
import { testSandbox } from '../../endpoints/plugins/fixtures/test-sandbox.ts';
import { PluginHost } from '../../endpoints/plugins/set/plugin-host.ts';
import { EndpointRegistry, invoke } from '../../endpoints/registry/index.ts';
import { MediaService } from '../../io/media/index.ts';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { type Competitor, type Figures, pairedRounds } from '../paired-rounds.ts';
import { machineLoad, reportHead, round } from '../report.ts';
import { cpuOfTree, peakOfTree } from './tree.ts';

const { values: flags } = parseArgs({
  options: {
    video: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '5' },
    calm: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
  },
});

const RATE = 25;
const [WIDTH, HEIGHT] = [640, 360];
const FOREVER_MS = 3_600_000;
/** The quality of ffmpeg's JPEGs that is ours by default. */
const JPEG = ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj444p', '-q:v', String(2 + (15 * 29) / 99)];
const forms = { pixels: ['-c:v', 'rawvideo', '-pix_fmt', 'rgb24'], jpeg: JPEG } as const;
type Form = keyof typeof forms;

const ffmpegPath =
  (await testFfmpeg()) ?? missing('there is no ffmpeg: put one on the PATH, or name it in AANA_TEST_FFMPEG');

function missing(what: string): never {
  throw new Error(what);
}
const loadBefore = machineLoad();
const folder = await mkdtemp(join(tmpdir(), 'aana-frames-'));
const path = flags.video ?? join(folder, 'video.mp4');
/** Noise makes the pictures as hard to decode as those of a camera. */
const filmed = `testsrc2=size=1280x720:rate=${RATE}:duration=${flags.seconds},noise=alls=8:allf=t,format=yuv420p`;
if (flags.video === undefined)
  await makeMedia(
    ...([ffmpegPath, path, '-f', 'lavfi', '-i', filmed, ...sine(300, Number(flags.seconds))] as const),
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-c:a', 'aac'],
  );

await using media = new MediaService({
  ...{ ffmpegPath, allowPaths: ['/'], allowPrivateUrls: false, maxBytes: 1e12, maxDurationS: 1e6, tempDir: folder },
  ...{ fetchTimeoutMs: 60_000, maxRedirects: 0, log: silentLogger },
});
const plugins = new PluginHost({
  ...{ sandbox: testSandbox, cacheDir: loadConfig().cache_dir, log: silentLogger, limits: { cpuMs: FOREVER_MS } },
  ports: {
    deployments: { handle: unused, reserve: unused },
    openMediaScope: () => media.openScope(),
    ...{ as: unused, http: { fetch: unused, open: unused }, log: silentLogger },
  },
});
const registry = new EndpointRegistry();
const sources = join(packageRoot, 'host/bench/fixtures/frames-plugin');
await buildPlugin(sources, { log: silentLogger });
const plugin = await plugins.load(sources);
registry.addPlugin(plugin);

function unused(): never {
  throw new Error('the benchmark uses only media');
}

async function byClass(form: Form, every: number): Promise<number> {
  await using video = await media.openVideo({ path });
  let count = 0;
  if (form === 'jpeg') for await (const _ of video.frameFiles({ every, max_width: WIDTH, format: 'jpeg' })) count += 1;
  else
    for await (const { image } of video.frames({ every, max_width: WIDTH })) {
      await image[Symbol.asyncDispose]();
      count += 1;
    }
  return count;
}

async function byPlugin(form: Form, every: number): Promise<number> {
  const input = { path, every, width: WIDTH, height: HEIGHT, as: form };
  const options = { requestId: 'bench', timeoutMs: FOREVER_MS, signal: new AbortController().signal };
  return Number(await invoke(registry.get('frames')!, input, options));
}

async function ffmpeg(...output: readonly string[]): Promise<void> {
  const args = ['-nostdin', '-v', 'error', '-threads', '1', '-i', path, ...output];
  const { code, stderr } = await runContained(ffmpegPath, args, { nice: 10 });
  if (code !== 0) throw new Error(stderr);
}

/** ffmpeg's options of an output that is thrown away. */
function thrownAway(form: Form, every: number): string[] {
  const number = (time: string): string => `floor((${time}+1e-6)/${every})`;
  const select = `select='isnan(prev_selected_t)+gt(${number('t')},${number('prev_selected_t')})'`;
  return [
    ...['-map', '0:v', '-vf', `${select},scale=${WIDTH}:${HEIGHT}:flags=area`, '-fps_mode', 'passthrough'],
    ...[...forms[form], '-f', 'image2pipe', '-y', '/dev/null'],
  ];
}

/** Samples of the audio as the host decodes it. */
const audio = ['-map', '0:a', '-ac', '1', '-ar', '16000', '-c:a', 'pcm_f32le', '-f', 'f32le', '-y', '/dev/null'];

async function audioAndFrames(): Promise<void> {
  await using video = await media.openVideo({ path });
  await Promise.all([video.extractAudio(), every(video.frames({ every: 1, max_width: WIDTH }))]);
}

async function every(frames: AsyncIterable<{ readonly image: AsyncDisposable }>): Promise<void> {
  for await (const { image } of frames) await image[Symbol.asyncDispose]();
}

async function measured(work: () => Promise<unknown>): Promise<Figures> {
  const [cpuBefore, startedAt] = [await cpuOfTree(), performance.now()];
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  return { seconds, cpuSeconds: (await cpuOfTree()) - cpuBefore };
}

interface Subject {
  readonly name: string;
  readonly work: () => Promise<unknown>;
}

/** Measures subjects in turns. Returns their figures, with the growth of the memory in one more run. */
async function compared(subjects: readonly Subject[], frames?: number): Promise<Record<string, object>> {
  const competitors = subjects.map(({ name, work }): Competitor => ({
    name,
    run: async () => {
      const figures = await measured(work);
      return frames === undefined ? figures : { framesPerSecond: frames / figures['seconds']!, ...figures };
    },
  }));
  const options = { rounds: Number(flags.rounds), calmMs: 1000 * Number(flags.calm) };
  const results = await pairedRounds(competitors, options);
  for (const { name, work } of subjects)
    results[name] = { ...results[name], memoryGrowthMib: round(await peakOfTree(work), 0) };
  return results;
}

const cases: Record<string, () => Promise<Record<string, object>>> = {};
for (const form of ['pixels', 'jpeg'] as const)
  for (const seconds of [1 / RATE, 1])
    cases[`${form} ${WIDTH} × ${HEIGHT}, ${seconds === 1 ? 'one each second' : 'every frame'}`] = async () => {
      const frames = await byClass(form, seconds);
      const subjects = [
        { name: 'class', work: () => byClass(form, seconds) },
        { name: 'ffmpeg', work: () => ffmpeg(...thrownAway(form, seconds)) },
        { name: 'plugin', work: () => byPlugin(form, seconds) },
      ];
      return { frames: { count: frames }, ...(await compared(subjects, frames)) };
    };
cases['audio and one frame each second'] = () =>
  compared([
    { name: 'opened once', work: audioAndFrames },
    { name: 'one ffmpeg', work: () => ffmpeg(...thrownAway('pixels', 1), ...audio) },
    { name: 'two of ffmpeg', work: () => Promise.all([ffmpeg(...thrownAway('pixels', 1)), ffmpeg(...audio)]) },
  ]);

try {
  const results: Record<string, object> = {};
  for (const [name, run] of Object.entries(cases)) if (name.includes(flags.only)) results[name] = await run();
  const facts = { video: flags.video ?? filmed, rounds: Number(flags.rounds), results };
  process.stdout.write(`${JSON.stringify({ ...reportHead('frames', loadBefore), ...facts }, null, 2)}\n`);
} finally {
  await plugin.close();
  await rm(folder, { recursive: true });
}
