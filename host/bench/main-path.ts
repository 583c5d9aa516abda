// Measures the main path on this machine and prints one JSON object: start time, ASR time per second of audio, time to
// the first token, memory, and the answer times of the server beside this work. Run `npm start` or `npm test` once
// before. `npm run bench:main-path -- [--test-models] [--rounds N]`
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { loadConfig } from '../base/config/index.ts';
import { concatenatedJson } from '../base/core/json/concatenated-json.ts';
import { testEnvironment } from '../test/environment.ts';
import { longSpeech, speakingVideo } from '../test/helpers/media/media.ts';
import { descendants, post, type RunningServer, serve, TEST_DEPLOYMENTS } from '../test/helpers/server.ts';
import { machineLoad, reportHead } from './report.ts';

const { values: flags } = parseArgs({
  options: { 'test-models': { type: 'boolean', default: false }, rounds: { type: 'string', default: '5' } },
});
const rounds = Number(flags.rounds);
const LONG_TIMES = 12;
const SPEECH_SECONDS = 11;

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Number((sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(3));
  return { median: at(0.5), min: at(0), max: at(1) };
}

/** Returns the CPU seconds and resident megabytes of a process (Linux). */
async function usage(pid: number): Promise<{ cpu: number; rssMb: number }> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return {
    cpu: (Number(fields[11]) + Number(fields[12])) / 100,
    rssMb: Math.round((Number(fields[21]) * 4096) / 2 ** 20),
  };
}

async function children(server: RunningServer): Promise<Record<string, { cpu: number; rssMb: number }>> {
  const status = server.output().matchAll(/replica ready replica="?(\w+)#\d+"? pid=(\d+)/g);
  const replicas = [...status].map(([, name, pid]) => [name ?? '', Number(pid)] as const);
  const alive = new Set((await descendants(server.process.pid ?? 0)).map(({ pid }) => pid));
  const entries = replicas
    .filter(([, pid]) => alive.has(pid))
    .map(async ([name, pid]) => [name, await usage(pid)] as const);
  return Object.fromEntries([['host', await usage(server.process.pid ?? 0)], ...(await Promise.all(entries))]);
}

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
};

const video = (data: Uint8Array): { video: { data: Uint8Array } } => ({ video: { data } });
const body = { video: { content: 'video' } };

async function checked(response: Promise<Response>): Promise<Response> {
  const got = await response;
  if (got.status !== 200) throw new Error(`${got.status}: ${await got.text()}`);
  return got;
}

async function measure(): Promise<unknown> {
  const loadBefore = machineLoad();
  Object.assign(process.env, await testEnvironment(process.env));
  const config = flags['test-models']
    ? { deployments: TEST_DEPLOYMENTS }
    : { deployments: loadConfig({ cwd: '/', env: {} }).deployments };
  const starts: number[] = [];
  for (let round = 0; round < rounds; round++) {
    starts.push(
      await seconds(async () => {
        await using server = await serve({ config });
        void server;
      }),
    );
  }

  await using server = await serve({ config });
  const idle = await children(server);
  const short = await speakingVideo();
  const long = await longSpeech(LONG_TIMES);
  const transcribe = (data: Uint8Array): Promise<unknown> =>
    checked(post(`${server.url}/video/transcribe`, body, video(data))).then((response) => response.json());
  await transcribe(short);

  const asrWall: number[] = [];
  const asrCpu: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = (await children(server))['asr_deployment']?.cpu ?? 0;
    asrWall.push((await seconds(() => transcribe(long))) / (LONG_TIMES * SPEECH_SECONDS));
    asrCpu.push((((await children(server))['asr_deployment']?.cpu ?? 0) - before) / (LONG_TIMES * SPEECH_SECONDS));
  }

  const firstToken: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const afterTranscript = await seconds(() => transcribe(short));
    const startedAt = performance.now();
    const response = await checked(post(`${server.url}/video/summarize_stream`, body, video(short)));
    let first: number | undefined;
    for await (const _ of concatenatedJson(response.body ?? new Blob([]).stream()))
      first ??= (performance.now() - startedAt) / 1000;
    firstToken.push((first ?? Number.NaN) - afterTranscript);
  }

  const ready: number[] = [];
  let busy = true;
  const polling = (async () => {
    while (busy) {
      ready.push(1000 * (await seconds(() => checked(fetch(`${server.url}/api/ready`)))));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const four = [0, 1, 2, 3];
  const eight = await seconds(() =>
    Promise.all([
      ...four.map(() => transcribe(short)),
      ...four.map(async () => (await checked(post(`${server.url}/video/summarize_stream`, body, video(short)))).text()),
    ]),
  );
  busy = false;
  await polling;

  return {
    ...reportHead('main-path', loadBefore),
    models: flags['test-models'] ? 'test' : 'default',
    rounds,
    startToReadyAndStopSeconds: spread(starts),
    asrWallSecondsPerAudioSecond: spread(asrWall),
    asrCpuSecondsPerAudioSecond: spread(asrCpu),
    firstTokenAfterTranscriptSeconds: spread(firstToken),
    eightRequestsAtOnceSeconds: Number(eight.toFixed(2)),
    readyMillisecondsBesideEightRequests: spread(ready),
    residentMb: {
      idle: Object.fromEntries(Object.entries(idle).map(([name, { rssMb }]) => [name, rssMb])),
      after: Object.fromEntries(Object.entries(await children(server)).map(([name, { rssMb }]) => [name, rssMb])),
    },
  };
}

process.stdout.write(`${JSON.stringify(await measure(), null, 2)}\n`);
