// Audio that host code opens, with values from requests and its own values.
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type AanaApp,
  type ConfigInput,
  Endpoint,
  type MediaSource,
  type OpenAudioOptions,
  schemas,
  z,
} from 'aana-host';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { makeApp, makeFolder, postJson, started } from '../fixtures/test-app.ts';

const OpenAudio = suite('audio that host code opens');
const ffmpeg = await testFfmpeg();
if (ffmpeg === undefined) {
  skip('audio that host code opens', 'no ffmpeg');
} else {
  const Input = z.strictObject({ video: schemas.VideoInput });
  const Output = z.strictObject({ seconds: z.number() });

  class Length extends Endpoint<typeof Input, typeof Output> {
    readonly input = Input;
    readonly output = Output;

    async run({ video }: z.output<typeof Input>, context: OpenAudioOptions): Promise<z.output<typeof Output>> {
      await using audio = await this.openAudio(video, context);
      return { seconds: Math.round(audio.duration) };
    }
  }

  let folder = '';
  let app: AanaApp;
  const secret = (): string => join(folder, 'private/secret.wav');

  OpenAudio.before(async () => {
    folder = makeFolder();
    for (const name of ['private', 'public', 'temp']) mkdirSync(join(folder, name));
    await makeMedia(ffmpeg, secret(), ...sine(440, 2));
    await makeMedia(ffmpeg, join(folder, 'public/clip.wav'), ...sine(440, 1));
    symlinkSync(secret(), join(folder, 'public/link.wav'));
    const base: ConfigInput = {
      media: { ffmpeg_path: ffmpeg, allow_paths: [join(folder, 'public')], temp_dir: join(folder, 'temp') },
    };
    app = makeApp(folder, {}, base)
      .registerEndpoint({ name: 'length', path: '/length', endpoint_cls: Length })
      .registerEndpoint({
        ...{ name: 'function', path: '/function', input: Input, output: Output },
        run: async ({ video }, context) => {
          await using audio = await app.openAudio(video, context);
          return { seconds: Math.round(audio.duration) };
        },
      });
    await started(app);
  });
  OpenAudio.after(async () => {
    await app.shutdown({ graceMs: 0 });
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = async (path: string, video: MediaSource): Promise<unknown> => {
    const { seconds, error } = (await (await postJson(`${app.url}${path}`, { video })).json()) as {
      seconds?: number;
      error?: string;
    };
    return seconds ?? error;
  };

  for (const path of ['/length', '/function']) {
    OpenAudio(`${path}: a path from a request is opened where the operator allows it, and nowhere else`, async () => {
      assert.is(await ask(path, { path: join(folder, 'public/clip.wav') }), 1);
      for (const outside of [
        secret(),
        join(folder, 'public/link.wav'),
        join(folder, 'public/../private/secret.wav'),
        '/etc/passwd',
        join(folder, 'private/none.wav'),
      ]) {
        assert.is(await ask(path, { path: outside }), 'PathNotAllowedException', outside);
      }
      assert.is(await ask(path, { path: join(folder, 'public/none.wav') }), 'FileNotFoundError');
      assert.is(await ask(path, { url: 'http://127.0.0.1:8099/a.wav' }), 'PrivateAddressException');
    });

    OpenAudio(`${path}: an uploaded part is opened by its name`, async () => {
      const form = new FormData();
      form.append('body', JSON.stringify({ video: { content: 'clip' } }));
      form.append('clip', new Blob([await readFile(secret())]), 'clip.wav');
      assert.equal(await (await fetch(`${app.url}${path}`, { method: 'POST', body: form })).json(), { seconds: 2 });
    });
  }

  OpenAudio('a file that the program itself chose needs the folder that it names', async () => {
    const opened = async (path: string, allowPaths?: string[]): Promise<unknown> => {
      try {
        await using audio = await app.openAudio({ path }, { ...(allowPaths && { allowPaths }) });
        return Math.round(audio.duration);
      } catch (error) {
        return (error as Error).name;
      }
    };
    assert.equal(
      [await opened(secret()), await opened(secret(), [join(folder, 'private')]), await opened(secret(), ['/'])],
      ['PathNotAllowedException', 2, 2],
    );
    assert.is(
      await opened(join(folder, 'public/clip.wav'), [join(folder, 'private')]),
      'PathNotAllowedException',
      'instead of what the operator allows',
    );
  });

  OpenAudio('leaves no files behind', () => {
    const left = readdirSync(join(folder, 'temp'), { recursive: true }).filter((name) =>
      /[^/]+\/[^/]+\/[^/]+/.test(String(name)),
    );
    assert.equal(left, []);
  });
}

OpenAudio.run();
