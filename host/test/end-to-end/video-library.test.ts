// Tests video-library with a real server, the real component and real models, also for speakers, in a task.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { talkOfThree } from '../helpers/media/conversations.ts';
import { speakingVideo } from '../helpers/media/media.ts';
import { post, type RunningServer, serve, TEST_DEPLOYMENTS } from '../helpers/server.ts';
import { skip } from '../skip.ts';

const Library = suite('the video library with speakers');
const folder = await mkdtemp(join(tmpdir(), 'aana-library-'));
let server: RunningServer;
let talk: Uint8Array;

interface Passage {
  readonly video: string;
  readonly speakers: readonly string[];
  readonly text: string;
}

Library.before(async () => {
  const deployments = {
    asr_deployment: TEST_DEPLOYMENTS.asr_deployment,
    diarization_deployment: { type: 'SpeakerDiarizationDeployment', user_config: { threads: 1 } },
    embedding_deployment: { type: 'LlamaEmbeddingDeployment', user_config: { model_kwargs: { n_threads: 1 } } },
  };
  server = await serve({ plugins: [join(packageRoot, 'plugins/video-library')], config: { deployments } });
});
Library.after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the best passage of the videos with these ids. */
async function search(question: string, isMeant: (video: string) => boolean = () => true): Promise<Passage> {
  const response = await post(`${server.url}/library/search`, { question });
  const { passages } = (await response.json()) as { passages: Passage[] };
  return passages.find(({ video }) => isMeant(video))!;
}

Library('is filled by a task, which tells its progress through all videos', async () => {
  const body = {
    videos: [{ content: 'talk', media_id: 'talk' }, { content: 'sample' }],
    speakers: true,
    whisper_params: { beam_size: 1, temperature: 0 },
  };
  const files = { talk: { data: talk, name: 'talk.wav' }, sample: { data: await speakingVideo(), name: 'sample.mp4' } };
  const accepted = await post(`${server.url}/library/add?defer=true`, body, files);
  const { task_id: id } = (await accepted.json()) as { task_id: string };
  const events = await (await fetch(`${server.url}/tasks/${id}/events`)).text();
  const progress = [...events.matchAll(/^event: progress\ndata: (.*)$/gm)].map(
    ([, data = '']) => (JSON.parse(data) as { progress: number }).progress,
  );
  assert.ok(progress.length > 1 && progress.every((at, n) => at > (progress[n - 1] ?? -1)), events.slice(0, 2000));
  const task = (await (await fetch(`${server.url}/tasks/${id}`)).json()) as { status: string; result: unknown };
  assert.is(task.status, 'completed', JSON.stringify(task));
  const { videos } = task.result as { videos: { id: string; title: string }[] };
  assert.equal(
    videos.map(({ title }) => title),
    ['talk.wav', 'sample.mp4'],
  );
  const listed = await (await post(`${server.url}/library/list`, {})).json();
  assert.equal(new Set((listed as { videos: object[] }).videos), new Set(videos));
});

Library('says who speaks in a passage', async () => {
  const several = await search('What makes the colours of a rainbow wide?');
  assert.is(several.video, 'talk');
  assert.match(several.text, /size of the drops/i);
  assert.ok(several.speakers.length > 1, JSON.stringify(several));
  const one = await search('What can you do for your country?', (video) => video !== 'talk');
  assert.equal(one.speakers, ['SPEAKER_00'], JSON.stringify(one));
});

const made = await talkOfThree(folder);
if (typeof made === 'string') {
  skip('the video library with speakers', made);
  await rm(folder, { recursive: true });
} else {
  talk = made;
  Library.run();
}
