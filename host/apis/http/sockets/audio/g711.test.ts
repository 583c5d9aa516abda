// The tables of G.711 beside the decoder of ffmpeg.
import { execFileSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ffmpegPath } from '../../../../test/helpers/media/media.ts';
import { G711 } from './g711.ts';

const Tables = suite('G.711');
const BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);

for (const [law, format] of [
  ['ulaw', 'mulaw'],
  ['alaw', 'alaw'],
] as const)
  Tables(`has the samples of ${law} that ffmpeg decodes`, () => {
    const args = ['-v', 'error', '-f', format, '-ar', '8000', '-ac', '1', '-i', 'pipe:0', '-f', 's16le', 'pipe:1'];
    const pcm = execFileSync(ffmpegPath(), args, { input: BYTES });
    const expected = Array.from(BYTES, (byte) => pcm.readInt16LE(2 * byte));
    assert.equal(
      Array.from(G711[law], (sample) => sample * 32_768),
      expected,
    );
  });

Tables.run();
