import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { makeMedia, sine, testFfmpeg } from '../../../test/helpers/media/media-files.ts';
import { skip } from '../../../test/skip.ts';
import { MediaService } from '../service.ts';
import type { HeldVideo } from './held-video.ts';

const Subtitles = suite('embedded subtitles');
const folder = mkdtempSync(join(tmpdir(), 'aana-subtitles-'));
Subtitles.after(() => rmSync(folder, { recursive: true }));

const ffmpegPath = await testFfmpeg();
if (ffmpegPath === undefined) {
  skip('embedded subtitles', 'no ffmpeg');
} else {
  const service = new MediaService({
    ...{ ffmpegPath, allowPaths: [folder], allowPrivateUrls: false, maxBytes: 1e9, maxDurationS: 600 },
    ...{ fetchTimeoutMs: 10_000, maxRedirects: 2, tempDir: join(folder, 'temp'), log: silentLogger },
  });
  Subtitles.after(() => service.close());

  const make = (name: string, ...args: readonly string[]) => makeMedia(ffmpegPath, join(folder, name), ...args);
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const english = write('en.srt', '1\n00:00:01,000 --> 00:00:02,500\n<i>Hello</i> & bye,\n{\\an8}again\n\n');
  const german = write(
    'de.srt',
    '1\n00:00:00,500 --> 00:00:01,250\nGrüße\n\n2\n00:00:02,000 --> 00:00:02,750\nEnde\n\n',
  );
  const both = ['-i', english, '-i', german, '-map', '0', '-map', '1', '-map', '2'];
  const languages = ['-metadata:s:s:0', 'language=eng', '-metadata:s:s:1', 'language=deu'];
  const open = (name: string): Promise<HeldVideo> => service.openVideo({ path: join(folder, name) });
  const read = async (name: string, track?: number): Promise<readonly (readonly [string, number, number])[]> => {
    await using video = await open(name);
    const segments = await video.subtitles(track === undefined ? {} : { track });
    return segments.map(({ text, time_interval: { start, end } }) => [text.trim(), start, end]);
  };

  const kinds = { 'a.mkv': 'srt', 'b.mkv': 'ass', 'c.mp4': 'mov_text', 'd.mkv': 'webvtt' };
  for (const [name, codec] of Object.entries(kinds))
    Subtitles(`of the kind ${codec} become segments with their times`, async () => {
      await make(name, ...sine(440, 4), ...both, ...languages, '-c:a', 'aac', '-c:s', codec);
      assert.equal(await read(name), [['Hello & bye, again', 1, 2.5]]);
      assert.equal(await read(name, 1), [
        ['Grüße', 0.5, 1.25],
        ['Ende', 2, 2.75],
      ]);
      await using video = await open(name);
      assert.equal(
        video.facts.tracks.filter(({ kind }) => kind === 'subtitle').map(({ language }) => language),
        ['eng', 'deu'],
      );
    });

  Subtitles('count from the start of the file', async () => {
    await make('late.mkv', ...sine(440, 4), '-i', german, '-c:a', 'flac', '-c:s', 'srt', '-output_ts_offset', '100');
    assert.equal((await read('late.mkv'))[1], ['Ende', 2, 2.75]);
  });

  Subtitles('that are missing or pictures are refused, and the tracks are named', async () => {
    await make('none.wav', ...sine(440, 1));
    const none = await errorOf(read('none.wav'));
    assert.equal([none.name, none.message], ['VideoReadingException', 'the file has no subtitles']);
    await make('two.mkv', ...sine(440, 4), ...both, ...languages, '-c:a', 'flac', '-c:s', 'srt');
    assert.match((await errorOf(read('two.mkv', 2))).message, /no track 2 .*0 \(eng\), 1 \(deu\)/);
    const picture = ['-f', 'lavfi', '-i', 'color=black:size=720x480:rate=1:duration=4'];
    await make('dvd.mkv', ...picture, '-i', english, '-map', '0', '-map', '1', '-c:v', 'mpeg4', '-c:s', 'dvdsub').then(
      async () => assert.match((await errorOf(read('dvd.mkv'))).message, /pictures \(dvd_subtitle\)/),
      () => skip('subtitles that are pictures', 'this ffmpeg makes none out of texts'),
    );
  });

  Subtitles('of a file with forty tracks are found', async () => {
    const inputs = Array.from({ length: 20 }, () => ['-i', german]).flat();
    const maps = Array.from({ length: 41 }, (_, n) => ['-map', n <= 20 ? '0' : String(n - 20)]).flat();
    await make('forty.mkv', ...sine(440, 4), ...inputs, ...maps, '-c:a', 'pcm_s16le', '-c:s', 'srt');
    await using video = await open('forty.mkv');
    assert.is(video.facts.tracks.length, 41);
    assert.equal(await read('forty.mkv', 19), await read('forty.mkv', 0));
  });
}

Subtitles.run();
