// Tests /ocr with a real server, the real component and the published networks, with files as users have them.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { OcrOutput } from '../../base/schemas/index.ts';
import { makeMedia, stillPicture } from '../helpers/media/media-files.ts';
import { ffmpegPath } from '../helpers/media/media.ts';
import { post, type RunningServer, serve } from '../helpers/server.ts';

const Texts = suite('the texts of images over HTTP');

const FIXTURES = join(packageRoot, 'host/inference/engines/ocr/fixtures');
const SLIDE = join(FIXTURES, 'slide.png');
const LINES = ['Thewatercycle', '1Evaporationfromthesea', '2Cloudsformat2000m', '3Rainandsnow'];

let folder: string;
let server: RunningServer;

Texts.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-texts-'));
  // A computation counts as hanging after this time, also where other programs have the processors.
  const ocr_deployment = { type: 'OcrDeployment', user_config: { threads: 1 }, health_check_timeout_s: 300 };
  server = await serve({
    plugins: ['image-ocr', 'image-chat'].map((name) => join(packageRoot, 'plugins', name)),
    config: {
      deployments: {
        ocr_deployment,
        vision_deployment: {
          type: 'LlamaTextGenerationDeployment',
          handles: { ocr: 'ocr_deployment' },
          user_config: { model_id: 'smollm2-135m-instruct', model_kwargs: { n_ctx: 1024, n_threads: 1 } },
        },
      },
    },
  });
});
Texts.after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const send = (data: Uint8Array): Promise<Response> =>
  post(`${server.url}/ocr`, { image: { content: 'slide' } }, { slide: { data } });

async function linesOf(data: Uint8Array): Promise<OcrOutput['lines']> {
  const response = await send(data);
  const text = await response.text();
  assert.is(response.status, 200, text);
  return OcrOutput.parse(JSON.parse(text)).lines;
}

/** Letters and digits without spaces, because these networks often lose the spaces between narrow words. */
const letters = (lines: OcrOutput['lines']): string[] =>
  lines.map(({ text }) => text.replaceAll(/[^\p{L}\p{N}]/gu, ''));

/** Returns the file that ffmpeg makes of the slide. */
const made = async (name: string, ...args: readonly string[]): Promise<Uint8Array> =>
  readFile(await makeMedia(ffmpegPath(), join(folder, name), '-i', SLIDE, ...args));

Texts('are read in encodings that few programs write', async () => {
  const files = {
    'PNG of 16 bits': await made('deep.png', '-pix_fmt', 'rgb48be'),
    'animated GIF': await made('slide.gif', '-vf', 'loop=loop=4:size=1'),
  };
  for (const [name, file] of Object.entries(files)) assert.equal(letters(await linesOf(file)), LINES, name);
  const title = letters(await linesOf(await readFile(join(FIXTURES, 'title-cmyk.jpg'))));
  assert.is(title[0], LINES[0], 'JPEG of four inks');
});

Texts('of what is no image, or too large, are refused with the reason, and the server goes on', async () => {
  const large = await readFile(
    await makeMedia(ffmpegPath(), join(folder, 'large.png'), ...stillPicture('color=white:s=9000x9000')),
  );
  const files = {
    'too large': [large, 413, /ImageTooLargeException/],
    'no image': [Buffer.from('no image'), 400, /ImageReadingException/],
    cut: [(await readFile(SLIDE)).subarray(0, 900), 400, /ImageReadingException/],
    SVG: [
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>a</text></svg>'),
      400,
      /ImageReadingException/,
    ],
  } as const;
  for (const [name, [file, status, error]] of Object.entries(files)) {
    const response = await send(file);
    const text = await response.text();
    assert.is(response.status, status, `${name}: ${text}`);
    assert.match(text, error, name);
  }
  assert.equal(letters(await linesOf(await readFile(SLIDE))), LINES);
});

Texts('are what a plugin’s chat about an image gives to a model that sees none', async () => {
  const slide = await readFile(SLIDE);
  const prompt = 'What is the title?';
  const sampling = { temperature: 0, max_tokens: 12 };
  const input = { images: [{ content: 'slide' }], prompt, sampling_params: sampling };
  const response = await post(`${server.url}/image/chat`, input, { slide: { data: slide } });
  const text = await response.text();
  assert.is(response.status, 200, text);
  const lines = (await linesOf(slide)).map((line) => `> ${line.text}`);
  const content = ['[Image 1: its text, read by OCR]', ...lines, prompt].join('\n');
  const written = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'vision_deployment', messages: [{ role: 'user', content }], ...sampling }),
  });
  const { choices } = (await written.json()) as { choices: [{ message: { content: string } }] };
  assert.equal(JSON.parse(text), { completion: choices[0].message.content });
});

Texts.run();
