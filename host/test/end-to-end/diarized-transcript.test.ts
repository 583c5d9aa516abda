// Tests /video/diarize with a real server, the real component, and real models for speech and for speakers.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AsrOutput } from '../../base/schemas/index.ts';
import { DiarizedTranscription } from '../../base/transcripts/index.ts';
import { talkOfThree } from '../helpers/media/conversations.ts';
import { silentVideo } from '../helpers/media/media.ts';
import { post, type RunningServer, serve, TEST_DEPLOYMENTS } from '../helpers/server.ts';
import { skip } from '../skip.ts';

const Diarized = suite('transcripts with speakers');

const folder = await mkdtemp(join(tmpdir(), 'aana-diarized-'));
let server: RunningServer;
let talk: Uint8Array;

const ask = (input: object, { query = '', data = talk } = {}): Promise<Response> =>
  post(
    `${server.url}/video/diarize${query}`,
    { video: { content: 'video' }, whisper_params: { beam_size: 1, temperature: 0 }, ...input },
    { video: { data } },
  );

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  assert.is(response.status, 200, text);
  return JSON.parse(text);
}

/** Asserts that each of three people has their own words. */
function checkSpeakers(
  turns: readonly { readonly speaker?: string | null | undefined; readonly text: string }[],
): void {
  const of = (pattern: RegExp): string[] => [
    ...new Set(turns.filter(({ text }) => pattern.test(text)).map(({ speaker }) => speaker ?? '')),
  ];
  const people = [/fellow Americans/i, /size of the drops/i, /blue cheese/i].map((pattern) => of(pattern));
  assert.ok(
    people.every(({ length }) => length === 1),
    JSON.stringify(people),
  );
  assert.is(new Set(people.flat()).size, 3);
  assert.equal(of(/for your country/i), people[0]);
}

Diarized.before(async () => {
  const { asr_deployment } = TEST_DEPLOYMENTS;
  const diarization_deployment = { type: 'SpeakerDiarizationDeployment', user_config: { threads: 1 } };
  server = await serve({ config: { deployments: { asr_deployment, diarization_deployment } } });
});
Diarized.after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

Diarized('name who says what', async () => {
  const output = AsrOutput.parse(await jsonOf(await ask({})));
  checkSpeakers(output.segments);
  for (const { speaker, words } of output.segments) assert.ok(words.every((word) => word.speaker === speaker));
});

Diarized('are subtitles and shapes of other APIs, too', async () => {
  const vtt = await ask({ format: 'vtt', merge: true });
  assert.is(vtt.headers.get('content-type'), 'text/vtt; charset=utf-8');
  const turns = [...(await vtt.text()).matchAll(/^<v ([^>]+)>(.*)$/gm)];
  checkSpeakers(turns.map(([, speaker = '', text = '']) => ({ speaker, text })));
  assert.is(turns[0]?.[1], 'SPEAKER_00');
  checkSpeakers(DiarizedTranscription.parse(await jsonOf(await ask({ format: 'diarized_json' }))).segments);
});

Diarized('have at most as many speakers as asked for', async () => {
  const output = AsrOutput.parse(await jsonOf(await ask({ diarization_params: { max_speakers: 1 } })));
  assert.is(new Set(output.segments.map(({ speaker }) => speaker)).size, 1);
});

Diarized('of a deferred request report their progress through both steps', async () => {
  const { task_id: id } = (await jsonOf(await ask({}, { query: '?defer=true' }))) as { task_id: string };
  const events = await (await fetch(`${server.url}/tasks/${id}/events`)).text();
  const progress = [...events.matchAll(/^event: progress\ndata: (.*)$/gm)].map(
    ([, data = '']) => (JSON.parse(data) as { progress: number }).progress,
  );
  assert.ok(progress.length > 0 && progress.every((at, n) => at > (progress[n - 1] ?? -1)), events.slice(0, 2000));
  const task = (await jsonOf(await fetch(`${server.url}/tasks/${id}`))) as { status: string; result: unknown };
  assert.is(task.status, 'completed');
  checkSpeakers(AsrOutput.parse(task.result).segments);
});

Diarized('of a video without speech are empty', async () => {
  const output = AsrOutput.parse(await jsonOf(await ask({}, { data: await silentVideo() })));
  assert.equal([output.segments, output.transcription_info.language], [[], 'silence']);
});

const made = await talkOfThree(folder);
if (typeof made === 'string') {
  skip('transcripts with speakers', made);
  await rm(folder, { recursive: true });
} else {
  talk = made;
  Diarized.run();
}
