import { readFile } from 'node:fs/promises';
import { delay } from '../../../base/core/abort.ts';
import { speechPath, speakingVideo, SAMPLE_TEXT } from '../../helpers/media/media.ts';
import { wordErrors } from '../../helpers/media/word-errors.ts';
import { post, streamed } from '../../helpers/server.ts';
import type { Random } from '../../simulation/random.ts';
import type { SoakHost } from './host.ts';

/** What the clients of a soak share. */
export interface SoakWorld {
  readonly host: SoakHost;
  readonly random: Random;
  readonly speech: Uint8Array;
  readonly video: Uint8Array;
  /** Ids of accepted tasks whose outcome was not received yet. */
  readonly tasks: Set<string>;
}

/** A kind of request. It rejects when the answer is not as it should be. */
export interface SoakWork {
  readonly name: string;
  /** How often it is chosen, relative to the others. */
  readonly weight: number;
  readonly run: (world: SoakWorld) => Promise<unknown>;
}

/** Words of the speech sample that may be wrong. */
const MOST_ERRORS = 4;
const MEAN_STAY_MS = 700;
const options = { language: 'en', temperature: 0.5 };
const chat = { model: 'llm_deployment', messages: [{ role: 'user', content: 'Count to ten.' }], max_tokens: 24 };

export async function soakWorld(host: SoakHost, random: Random): Promise<SoakWorld> {
  const [speech, video] = [await readFile(speechPath()), await speakingVideo()];
  return { host, random, speech, video, tasks: new Set() };
}

export const SOAK_WORKS: readonly SoakWork[] = [
  {
    name: 'transcription',
    weight: 2,
    run: async ({ host, speech }) => {
      const form = new FormData();
      form.set('model', 'asr_deployment');
      form.set('file', new Blob([new Uint8Array(speech)]), 'speech.wav');
      const answer = await fetch(`${host.url}/v1/audio/transcriptions`, { method: 'POST', body: form });
      checkSpeech(((await okay(answer).json()) as { text: string }).text);
    },
  },
  {
    name: 'video',
    weight: 2,
    run: async ({ host, video }) => {
      const url = `${host.url}/video/transcribe`;
      const answer = okay(await post(url, { video: { content: 'video' } }, { video: { data: video } }));
      checkSpeech(((await answer.json()) as { transcription: { text: string } }).transcription.text);
    },
  },
  {
    name: 'chat',
    weight: 3,
    run: async ({ host }) => {
      const answer = okay(await postJson(`${host.url}/v1/chat/completions`, chat));
      const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
      if (!choices[0]?.message.content) throw new Error('the chat has no answer');
    },
  },
  {
    name: 'chat stream',
    weight: 3,
    run: async ({ host }) => {
      const text = await okay(await postJson(`${host.url}/v1/chat/completions`, { ...chat, stream: true })).text();
      if (!text.endsWith('data: [DONE]\n\n')) throw new Error(`the stream ended with ${text.slice(-200)}`);
    },
  },
  leaving('chat stream left', 4, ({ host }, signal) =>
    postJson(`${host.url}/v1/chat/completions`, { ...chat, max_tokens: 400, stream: true }, signal),
  ),
  leaving('summary left', 2, ({ host, video }, signal) =>
    post(`${host.url}/video/summarize_stream`, { video: { content: 'video' } }, { video: { data: video } }, signal),
  ),
  leaving('events of the application left', 2, ({ host }, signal) => host.admin('/api/application/events', { signal })),
  {
    name: 'plugin',
    weight: 12,
    run: async ({ host }) => {
      const url = `${host.url}/bench/calls`;
      const answer = okay(await postJson(url, { text: 'a call', count: 3, options }));
      if (((await answer.json()) as { count: number }).count !== 3) throw new Error('the plugin did not count to 3');
    },
  },
  {
    name: 'plugin stream',
    weight: 6,
    run: async ({ host }) => {
      const url = `${host.url}/bench/stream`;
      const chunks = await streamed(okay(await postJson(url, { text: 'a chunk', count: 100, options })));
      if (chunks.length !== 100) throw new Error(`the stream has ${chunks.length} chunks, not 100`);
    },
  },
  leaving('plugin stream left', 3, ({ host }, signal) =>
    postJson(`${host.url}/bench/stream`, { text: 'x'.repeat(1000), count: 1000, options }, signal),
  ),
  {
    name: 'refused input',
    weight: 3,
    run: async ({ host }) => {
      const { status } = await drained(await postJson(`${host.url}/bench/calls`, { text: '' }));
      if (status !== 422) throw new Error(`a wrong input was answered with ${status}`);
    },
  },
  {
    name: 'unknown path',
    weight: 3,
    run: async ({ host, random }) => {
      const { status } = await drained(await fetch(`${host.url}/unknown/${random.next()}`));
      if (status !== 404) throw new Error(`an unknown path was answered with ${status}`);
    },
  },
  {
    name: 'task',
    weight: 6,
    run: (world) =>
      submit(world, postJson(`${world.host.url}/bench/calls?defer=true`, { text: 'a task', count: 2, options })),
  },
  {
    name: 'task with a file',
    weight: 1,
    run: (world) => {
      const url = `${world.host.url}/video/transcribe?defer=true`;
      return submit(world, post(url, { video: { content: 'video' } }, { video: { data: world.video } }));
    },
  },
  {
    name: 'task that is watched and left',
    weight: 2,
    run: async (world) => {
      const url = `${world.host.url}/bench/calls?defer=true`;
      const id = await submit(world, postJson(url, { text: 'a task', count: 50, options }));
      await leaving('', 0, ({ host }, signal) => fetch(`${host.url}/tasks/${id}/events`, { signal })).run(world);
    },
  },
  { name: 'reload', weight: 1, run: ({ host, random }) => reload(host, random.pick(['bench', 'video-transcribe'])) },
  {
    name: 'scrape',
    weight: 3,
    run: async ({ host }) => {
      const text = await okay(await fetch(`${host.url}/metrics`)).text();
      if (!text.includes('http_server_request_duration_seconds_count')) throw new Error('there are no metrics');
    },
  },
];

/** Loads a new version of a plugin, or of all, and checks that it serves. */
export async function reload(host: SoakHost, name?: string): Promise<void> {
  const path = `/api/plugins/reload${name === undefined ? '' : `?name=${name}`}`;
  const { plugins } = (await okay(await host.admin(path, { method: 'POST' })).json()) as {
    plugins: { name: string; outcome: string; detail: string }[];
  };
  for (const plugin of plugins)
    if (plugin.outcome !== 'reloaded') throw new Error(`${plugin.name} ${plugin.outcome}: ${plugin.detail}`);
}

/** Returns a work whose client leaves at a random moment, or reads to the end if that comes first. */
function leaving(
  name: string,
  weight: number,
  ask: (world: SoakWorld, signal: AbortSignal) => Promise<Response>,
): SoakWork {
  const run = async (world: SoakWorld): Promise<void> => {
    const controller = new AbortController();
    const ended = new AbortController();
    const left = delay(world.random.exponential(MEAN_STAY_MS), ended.signal).then(
      () => controller.abort(),
      () => {}, // the answer ended before the client left
    );
    try {
      await drained(okay(await ask(world, controller.signal)));
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    } finally {
      ended.abort();
      await left;
    }
  };
  return { name, weight, run };
}

async function submit({ tasks }: SoakWorld, answer: Promise<Response>): Promise<string> {
  const { task_id: id } = (await okay(await answer).json()) as { task_id: string };
  tasks.add(id);
  return id;
}

function postJson(url: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', body: JSON.stringify(body), headers, ...(signal && { signal }) });
}

function okay(response: Response): Response {
  if (response.ok) return response;
  void response.body?.cancel();
  throw new Error(`${response.url} was answered with ${response.status}`);
}

async function drained(response: Response): Promise<Response> {
  await response.text();
  return response;
}

function checkSpeech(text: string): void {
  const errors = wordErrors(SAMPLE_TEXT, text);
  if (errors > MOST_ERRORS) throw new Error(`${errors} words are wrong: ${text}`);
}
