// examples/video-chat is copied out of the repository and served as its README says, with real models and a real video.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SAMPLE_TEXT, SLIDES, talkWithSlides } from '../helpers/media/media.ts';
import { wordErrors } from '../helpers/media/word-errors.ts';
import { ServedExample } from '../helpers/served-example.ts';

const Example = suite('examples/video-chat');
let folder: string;
let example: ServedExample | undefined;

Example.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-video-chat-'));
  const project = join(folder, 'chat');
  example = await ServedExample.start('video-chat', project);
  await writeFile(join(project, 'inauguration.mp4'), await talkWithSlides());
});
Example.after(async () => {
  await example?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

Example('indexes a video, answers questions about it, and deletes it', async () => {
  const run = example!.run.bind(example);
  const values = (await run('index')) as {
    media_id?: string;
    metadata?: object;
    transcription?: { text: string };
    captions?: string[];
  }[];
  assert.is(values[0]!.media_id, 'inauguration');
  const said = values.map(({ transcription }) => transcription?.text ?? '').join('');
  assert.ok(wordErrors(SAMPLE_TEXT, said) <= 1, said);
  const lines = (texts: readonly string[]): string => texts.join('\n').replaceAll(' ', '');
  assert.is(lines(values.flatMap(({ captions = [] }) => captions)), lines(SLIDES));
  assert.equal(await run('status'), [{ status: 'completed' }]);
  assert.equal(await run('metadata'), [{ metadata: values[0]!.metadata }]);
  const [whole] = (await run('chat')) as [{ completion: string; left_out: unknown[] }];
  assert.equal(whole.left_out, []);
  const [cited] = (await run('cite')) as [{ claims: { quotes: { text: string }[] }[] }];
  assert.ok(cited.claims.length > 0 && cited.claims.every(({ quotes }) => quotes.length > 0), JSON.stringify(cited));
  const pieces = (await run('chat_stream')) as { completion: string }[];
  assert.is(pieces.map(({ completion }) => completion).join(''), whole.completion);
  assert.ok(whole.completion.trim().length > 0);
  assert.equal(await run('delete'), [{ media_id: 'inauguration' }]);
  assert.is(((await run('status')) as { error?: string }[])[0]?.error, 'NotFoundException');
});

Example.run();
