// Files that make ffmpeg read other files or open addresses, tested with the real ffmpeg. The first test runs without
// our guards, to show that the files do what they should.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { launcherPath, runContained } from '../../base/processes/index.ts';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { descendants, until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { runFfmpeg } from './ffmpeg.ts';
import { MediaService } from './service.ts';

const Confinement = suite('confinement of ffmpeg');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
Confinement.after(() => rmSync(folder, { recursive: true }));

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('confinement of ffmpeg', 'no ffmpeg');
} else {
  const speech = await makeMedia(ffmpegPath, join(folder, 'speech.wav'), ...sine(440, 1));
  const segment = await makeMedia(
    ffmpegPath,
    join(folder, 'segment.ts'),
    ...sine(440, 1),
    '-c:a',
    'mp2',
    '-f',
    'mpegts',
  );
  let asked: string[] = [];
  const server = createServer(({ url }, response) => {
    asked.push(url ?? '');
    response.end(readFileSync(segment));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = new MediaService({
    ...{
      ffmpegPath,
      allowPaths: [],
      allowPrivateUrls: true,
      maxBytes: 1e6,
      maxDurationS: 60,
      fetchTimeoutMs: 60_000,
      maxRedirects: 2,
    },
    ...{ tempDir: join(folder, 'temp'), log: silentLogger },
  });
  Confinement.before.each(() => void (asked = []));
  Confinement.after(async () => {
    await service.close();
    server.closeAllConnections();
    server.close();
  });

  const playlist = (url: string): string =>
    `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n` +
    `#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1.0,\n${url}\n#EXT-X-ENDLIST\n`;
  const manifest = (url: string): string =>
    `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT1S" ` +
    `profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet ` +
    `mimeType="audio/mp4"><Representation id="1" ` +
    `bandwidth="1"><BaseURL>${url}</BaseURL></Representation></AdaptationSet></Period></MPD>`;

  const ATTACKS: Readonly<Record<string, string>> = {
    'a playlist that leads to an address': playlist(`${base}/segment.ts`),
    'a playlist that leads to a file': playlist(`file://${segment}`),
    'a playlist whose segments are put together from a file': playlist(`concat:${speech}|file:///etc/passwd`),
    'a playlist of playlists': `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${base}/inner.m3u8\n`,
    'a playlist with a key elsewhere': playlist(`${base}/segment.ts`).replace(
      '#EXTINF',
      `#EXT-X-KEY:METHOD=AES-128,URI="${base}/key"\n#EXTINF`,
    ),
    'a script that names files': `ffconcat version 1.0\nfile '${speech}'\n`,
    'a script that names an address': `ffconcat version 1.0\nfile '${base}/segment.ts'\n`,
    'a manifest': manifest(`${base}/segment.mp4`),
    'a session description':
      `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio ` +
      `${(server.address() as AddressInfo).port} RTP/AVP 0\n`,
    'a drawing that names a file':
      `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" ` +
      `xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9"><image xlink:href="file:///etc/passwd" ` +
      `width="9" height="9"/></svg>`,
    subtitles:
      `[Script Info]\nScriptType: v4.00+\n[Events]\nFormat: Layer, Start, End, Style, Text\nDialogue: ` +
      `0,0:00:00.00,0:00:01.00,Default,x\n`,
    'a list of addresses': `[playlist]\nFile1=${base}/segment.ts\nNumberOfEntries=1\nVersion=2\n`,
    'a reference': `[Reference]\nRef1=${base}/segment.ts\n`,
    'a graph of filters': `amovie=${speech}`,
    'an executable': '#!/bin/sh\ncat /etc/passwd\n',
  };

  Confinement('without the guards, ffmpeg follows a playlist', async () => {
    const path = join(folder, 'control.m3u8');
    writeFileSync(path, ATTACKS['a playlist that leads to an address'] ?? '');
    await runContained(ffmpegPath, [
      '-nostdin',
      '-v',
      'error',
      '-protocol_whitelist',
      'file,http,tcp',
      '-i',
      path,
      '-f',
      'null',
      '-',
    ]);
    assert.ok(asked.includes('/segment.ts'));
    const script = join(folder, 'control.ffconcat');
    writeFileSync(script, ATTACKS['a script that names files'] ?? '');
    const { code } = await runContained(ffmpegPath, [
      '-nostdin',
      '-v',
      'error',
      '-safe',
      '0',
      '-i',
      script,
      '-f',
      'null',
      '-',
    ]);
    assert.is(code, 0);
  });

  for (const [what, text] of Object.entries(ATTACKS)) {
    Confinement(`refuses ${what} under any file name`, async () => {
      for (const name of ['attack.mp4', 'attack.m3u8', 'attack.svg', '%03d.png']) {
        const path = join(folder, name);
        writeFileSync(path, text);
        await using scope = service.openScope();
        const files = new Map([['file', { path, bytes: text.length }]]);
        const error = (await scope.open({ content: 'file' }, { files }).catch((thrown: unknown) => thrown)) as Error;
        assert.is(error.name, 'VideoReadingException', String(error));
        assert.not.match(JSON.stringify([error.message, (error as { data?: unknown }).data]), /root:|440/);
        const image = (await scope
          .openImage({ content: 'file' }, { files })
          .catch((thrown: unknown) => thrown)) as Error;
        assert.is(image.name, 'ImageReadingException');
        rmSync(path);
      }
      assert.equal(asked, []);
    });
  }

  if (launcherPath()) {
    Confinement(
      'ffmpeg runs in its own process group, niced and limited, and a cancellation ends the whole group',
      async () => {
        const client = new AbortController();
        const endless = join(folder, 'endless.sh');
        writeFileSync(endless, `#!/bin/sh\nsleep 1000 &\nulimit -a > ${folder}/limits\nwait\n`, { mode: 0o755 });
        const running = runFfmpeg(endless, [], speech, [], {
          timeoutMs: 600_000,
          cpuSeconds: 33,
          fileBytes: 4096,
          signal: client.signal,
        }).catch((error: unknown) => error);
        const ours = async (): Promise<{ pid: number; command: string }[]> =>
          (await descendants(process.pid)).filter(
            ({ command }) => command.includes('sleep 1000') || command.includes(endless),
          );
        await until(
          async () =>
            (await ours()).length === 2 && readFileSync(`/proc/${(await ours())[0]?.pid}/stat`, 'utf8').length > 0,
        );
        const [leader, child] = await ours();
        const fields = (pid: number | undefined): string[] =>
          readFileSync(`/proc/${pid}/stat`, 'utf8')
            .replace(/^.*\) /, '')
            .split(' ');
        assert.is(Number(fields(leader?.pid)[2]), leader?.pid, 'it leads its group');
        assert.is(Number(fields(child?.pid)[2]), leader?.pid);
        assert.ok(Number(fields(leader?.pid)[16]) >= 10, 'niceness');
        const limits = readFileSync(`/proc/${leader?.pid}/limits`, 'utf8');
        for (const line of [
          /^Max cpu time +33 /m,
          /^Max file size +4096 /m,
          /^Max address space +2147483648 /m,
          /^Max open files +64 /m,
          /^Max core file size +0 /m,
        ])
          assert.match(limits, line);
        client.abort(new Error('gone'));
        await running;
        await until(async () => (await ours()).length === 0);
      },
    );
  } else {
    skip('limits of ffmpeg', 'the launcher is not built');
  }
}

Confinement.run();
