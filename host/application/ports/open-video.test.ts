// Videos that host code opens: facts, audio and frames of one file.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AanaApp, Endpoint, type HostEndpointContext, z } from 'aana-host';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { makeApp, makeFolder, postJson, started } from '../fixtures/test-app.ts';

const OpenVideo = suite('videos that host code opens');
const ffmpeg = await testFfmpeg();
if (ffmpeg === undefined) {
  skip('videos that host code opens', 'no ffmpeg');
} else {
  const folder = makeFolder();
  const [temp, path] = [join(folder, 'temp'), join(folder, 'video.mkv')];
  let app: AanaApp;

  const Input = z.strictObject({ path: z.string().optional(), url: z.string().optional() });
  const Output = z.array(z.number());
  /** An endpoint class that reads frames of what the request names. */
  class Times extends Endpoint<typeof Input, typeof Output> {
    readonly input = Input;
    readonly output = Output;
    async run(source: z.output<typeof Input>, context: HostEndpointContext): Promise<number[]> {
      await using video = await this.openVideo(source, context);
      const times: number[] = [];
      for await (const { time } of video.frames({ every: 0.5 }, context)) times.push(time);
      return times;
    }
  }

  OpenVideo.before(async () => {
    mkdirSync(temp);
    const picture = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=2'];
    await makeMedia(ffmpeg, path, ...picture, ...sine(440, 2), '-c:v', 'mpeg4', '-c:a', 'flac');
    app = makeApp(
      folder,
      {},
      { media: { ffmpeg_path: ffmpeg, temp_dir: temp, allow_paths: [folder], allow_private_urls: true } },
    );
    app.registerEndpoint({ name: 'times', path: '/times', endpoint_cls: Times });
    await started(app);
  });
  OpenVideo.after(async () => {
    await app?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const left = (): string[] =>
    readdirSync(temp, { recursive: true, encoding: 'utf8' }).filter((name) => /[/\\]\w+[/\\]\w+/.test(name));

  OpenVideo('have facts, audio and frames, whose files are there until they are disposed', async () => {
    {
      await using video = await app.openVideo({ path });
      assert.equal([video.facts.width, video.facts.height, video.facts.frame_rate], [64, 48, 10]);
      assert.equal(
        video.facts.tracks.map(({ kind, codec }) => `${kind} ${codec}`),
        ['video mpeg4', 'audio flac'],
      );
      await using audio = await video.extractAudio();
      assert.is(audio.duration, 2);
      const times: number[] = [];
      for await (const { time, image } of video.frames({ every: 1 })) {
        const file = join(temp, image.pixels.id);
        assert.is(readFileSync(file).length, 3 * 64 * 48);
        assert.equal(JSON.parse(JSON.stringify(image)), { pixels: image.pixels, width: 64, height: 48 });
        await image[Symbol.asyncDispose]();
        assert.throws(() => readFileSync(file), /ENOENT/);
        times.push(time);
      }
      assert.equal(times, [0, 1]);
    }
    assert.equal(left(), []);
  });

  OpenVideo('are fetched from a URL once for a caller, who is known', async () => {
    let requests = 0;
    const site = createServer((_, response) => {
      requests += 1;
      const file = readFileSync(path);
      response.writeHead(200, { 'cache-control': 'max-age=600', 'content-length': file.length }).end(file);
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/video.mkv`;
    const ask = async (): Promise<unknown> => (await postJson(`${app.url}/times`, { url })).json();
    for (const answer of [...(await Promise.all([ask(), ask()])), await ask()]) assert.equal(answer, [0, 0.5, 1, 1.5]);
    assert.is(requests, 1);
    for (const _ of [1, 2]) await (await app.openVideo({ url }))[Symbol.asyncDispose]();
    assert.is(requests, 3);
    for (const _ of [1, 2]) await (await app.openVideo({ url }, { userId: 'jobs' }))[Symbol.asyncDispose]();
    assert.is(requests, 4);
    site.close();
  });

  OpenVideo('are opened by endpoint classes under the rules for clients', async () => {
    const ask = (named: string): Promise<Response> => postJson(`${app.url}/times`, { path: named });
    assert.equal(await (await ask(path)).json(), [0, 0.5, 1, 1.5]);
    assert.is((await ask('/etc/hostname')).status, 403);
    assert.equal(left(), []);
  });
}

OpenVideo.run();
