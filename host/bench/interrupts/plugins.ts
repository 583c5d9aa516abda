import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { buildPlugin } from '../../endpoints/plugins/build/build-plugin.ts';
import { FakePorts } from '../../endpoints/plugins/fixtures/fake-ports.ts';
import { type LoadedPlugin, PluginHost } from '../../endpoints/plugins/set/plugin-host.ts';
import type { PluginPorts } from '../../endpoints/plugins/ports.ts';
import type { RuntimeMode } from '../../endpoints/plugins/invocation/protocol.ts';

/** A request to an endpoint of a plugin. */
export interface PluginWork {
  readonly name: string;
  readonly folder: string;
  readonly endpoint: string;
  readonly input: object;
  /** Number of requests in one measurement. */
  readonly times: number;
}

const words = {
  text: 'a sentence of ordinary length for the benchmark',
  count: 11,
  options: { language: 'en', temperature: 0.5 },
};
const video = { video: { path: '/v.mp4', media_id: 'benchmark' } };

export const pluginWork: readonly PluginWork[] = [
  {
    name: 'TypeScript: JSON',
    folder: 'host/bench/fixtures/json-plugin',
    endpoint: 'json',
    input: { count: 20 },
    times: 2,
  },
  {
    name: 'TypeScript: computing',
    folder: 'host/bench/fixtures/json-plugin',
    endpoint: 'compute',
    input: { count: 100_000 },
    times: 2,
  },
  {
    name: 'TypeScript: 11 host calls',
    folder: 'host/bench/fixtures/bench-plugin',
    endpoint: 'calls',
    input: words,
    times: 60,
  },
  {
    name: 'video-transcribe, an hour of words',
    folder: 'plugins/video-transcribe',
    endpoint: 'transcribe_video',
    input: video,
    times: 1,
  },
  {
    name: 'video-summarize, an hour',
    folder: 'plugins/video-summarize',
    endpoint: 'summarize_video',
    input: video,
    times: 1,
  },
];

const segments = Array.from({ length: 900 }, (_, n) => ({
  text: ' something that somebody said in a meeting of an hour,',
  time_interval: { start: 4 * n, end: 4 * n + 4 },
  confidence: 0.9,
  no_speech_confidence: 0.01,
  words: Array.from({ length: 10 }, (_, word) => ({
    word: ` word${word}`,
    time_interval: { start: 4 * n + word / 3, end: 4 * n + word / 3 + 0.3 },
    alignment_confidence: 0.8,
    speaker: null,
  })),
  speaker: null,
}));
const transcript = {
  segments,
  transcription_info: { language: 'en', language_confidence: 0.99 },
  transcription: { text: segments.map(({ text }) => text).join('') },
};

/** Returns deployments that answer at once, with fixed answers to the methods that the plugins call. */
function portsOf(fake: FakePorts): PluginPorts {
  const answers: Record<string, unknown> = {
    transcribe: transcript,
    chat: { message: { role: 'assistant', content: 'a summary' } },
    count_tokens: { tokens: 100, max_tokens: 32_768 },
  };
  const handle: PluginPorts['deployments']['handle'] = () => ({
    call: async (method, args) => answers[method] ?? args,
    stream: async function* () {},
  });
  return {
    deployments: { handle, reserve: () => fake.deployments.reserve('model', {}) },
    openMediaScope: () => fake.openMediaScope(),
    as: (caller) => fake.as(caller),
    http: fake.http,
    log: silentLogger,
  };
}

/** Hosts that live as long as they are measured. */
export class MeasuredHosts implements AsyncDisposable {
  readonly #fake = new FakePorts();
  readonly #hosts: PluginHost[] = [];
  #dir = '';

  /** Loads the plugin in two ways: as it is on this Node, and with modules that cannot be interrupted. */
  async both(folder: string): Promise<{ plain: LoadedPlugin; interruptible: LoadedPlugin }> {
    this.#dir = await mkdtemp(join(tmpdir(), 'aana-interrupts-'));
    const built = join(packageRoot, folder);
    await buildPlugin(built, { log: silentLogger });
    const cacheOf = (name: string): string => join(this.#dir, name);
    const interruptible = await this.#load(built, cacheOf('interruptible'), 'suspending');
    // The same translation, with the modules of the mode in which each guest has a thread.
    await this.#load(built, cacheOf('blocking'), 'blocking');
    const plain = this.#host(cacheOf('plain'), 'suspending');
    await plain.inspect(built);
    const only = async (name: string): Promise<string> =>
      join(cacheOf(name), 'plugins', (await readdir(join(cacheOf(name), 'plugins')))[0]!);
    const [from, to] = [await only('blocking'), await only('plain')];
    for (const file of await readdir(from))
      if (file.endsWith('.wasm')) await copyFile(join(from, file), join(to, file));
    return { plain: await plain.load(built), interruptible };
  }

  async #load(folder: string, cacheDir: string, mode: RuntimeMode): Promise<LoadedPlugin> {
    return this.#host(cacheDir, mode).load(folder);
  }

  #host(cacheDir: string, mode: RuntimeMode): PluginHost {
    const host = new PluginHost({
      ports: portsOf(this.#fake),
      cacheDir,
      log: silentLogger,
      mode,
      limits: { cpuMs: 600_000, cpuSliceMs: 600_000 },
    });
    this.#hosts.push(host);
    return host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts) await host.close();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** Returns the CPU time of the plugin's thread for `times` requests, in milliseconds. */
export async function cpuOf(plugin: LoadedPlugin, { endpoint, input, times }: PluginWork): Promise<number> {
  const before = plugin.counters().cpuMs;
  for (let n = 0; n < times; n++) {
    await plugin.run({
      endpoint,
      input: JSON.stringify(input),
      requestId: 'benchmark',
      deadlineMs: 600_000,
      signal: new AbortController().signal,
      files: new Map(),
    });
  }
  return plugin.counters().cpuMs - before;
}
