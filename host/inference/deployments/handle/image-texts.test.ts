// Where the texts of images stand in dialogs, and which texts are read again.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import {
  ChatDialogInput,
  type ImageChatDialog,
  type ImageReference,
  type OcrOutput,
} from '../../../base/schemas/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { hasImages, withImageTexts } from './image-texts.ts';
import { ReadTexts } from './read-texts.ts';

const Texts = suite('texts in the places of images');

/** An image whose text is `text`. Its lines are divided by `/`. */
function picture(text: string): ImageReference {
  const sha256 = Buffer.from(text).toString('hex').padEnd(64, '0').slice(0, 64);
  return { width: 1, height: 1, pixels: { id: `a/${sha256}`, bytes: 3, sha256 } };
}

const textOf = ({ pixels }: ImageReference): string =>
  Buffer.from(pixels.sha256, 'hex').toString().replaceAll('\0', '');

const lineOf = (text: string): OcrOutput['lines'][number] => ({
  text,
  confidence: 1,
  box: [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 1],
  ],
  angle: 0,
});

class Reader {
  readonly name = 'ocr';
  readonly read: string[] = [];
  atOnce = 0;
  most = 0;

  readonly recognize = async (image: ImageReference): Promise<OcrOutput> => {
    this.most = Math.max(this.most, (this.atOnce += 1));
    await new Promise((resolve) => setImmediate(resolve));
    this.atOnce -= 1;
    const text = textOf(image);
    this.read.push(text);
    return { lines: text === '' ? [] : text.split('/').map(lineOf) };
  };
}

const image = (text: string) => ({ type: 'image' as const, image: picture(text) });
const video = (...frames: readonly (readonly [time: number, text: string])[]) => ({
  type: 'video' as const,
  video: frames.map(([time, text]) => ({ time, image: picture(text) })),
});
const text = (words: string) => ({ type: 'text' as const, text: words });
const dialogOf = (...contents: readonly ChatDialogInput['messages'][number]['content'][]): ImageChatDialog =>
  ChatDialogInput.parse({ messages: contents.map((content) => ({ role: 'user', content })) }) as ImageChatDialog;

const kept = (owner = '', reader: object = {}, all = new ReadTexts()) => all.of(reader as never, owner);

async function contentsOf(dialog: ImageChatDialog, reader = new Reader()): Promise<unknown[]> {
  const { messages } = await withImageTexts(dialog, reader, kept());
  return messages.map(({ content }) => content);
}

Texts('are quoted line by line, with the numbers that images have in the dialog', async () => {
  const contents = await contentsOf(
    dialogOf([text('Look:'), image('one/[Image 9: its'), image('')], 'Well.', [image('two'), text('And?')]),
  );
  assert.equal(contents, [
    'Look:\n[Image 1: its text, read by OCR]\n> one\n> [Image 9: its\n[Image 2: no text was read]',
    'Well.',
    '[Image 3: its text, read by OCR]\n> two\nAnd?',
  ]);
});

Texts('of frames have their times, and stand once while they stay', async () => {
  const frames = video([0, 'a'], [1.5, 'a'], [3, 'a'], [4, ''], [5, ''], [6, 'b'], [7, 'a']);
  const [content] = await contentsOf(dialogOf([frames, image('a'), video([0, 'a']), text('What is new?')]));
  assert.is(
    content,
    [
      '[Video from 0.0 to 3.0 seconds: its text, read by OCR]\n> a',
      '[Video from 4.0 to 5.0 seconds: no text was read]',
      '[Video at 6.0 seconds: its text, read by OCR]\n> b',
      '[Video at 7.0 seconds: its text, read by OCR]\n> a',
      '[Image 1: its text, read by OCR]\n> a',
      '[Video at 0.0 seconds: its text, read by OCR]\n> a',
      'What is new?',
    ].join('\n'),
  );
});

Texts('stand beside audio, which stays', async () => {
  const audio = { type: 'audio' as const, audio: { channels: [], sample_rate: 16_000 as const } };
  const [content] = await contentsOf(dialogOf([image('a'), audio]));
  assert.equal(content, [text('[Image 1: its text, read by OCR]\n> a'), audio]);
});

Texts('are read once for each picture of a tenant, until the reader changes', async () => {
  const reader = new Reader();
  const [all, present, changed] = [new ReadTexts(), {}, {}];
  const dialog = dialogOf([...Array.from({ length: 9 }, (_, n) => image(`${n % 3}`))]);
  const read = async (owner: string, bound: object): Promise<number> => {
    const before = reader.read.length;
    await withImageTexts(dialog, reader, kept(owner, bound, all));
    return reader.read.length - before;
  };
  assert.equal(
    [await read('ann', present), await read('ann', present), await read('bob', present), await read('ann', changed)],
    [3, 0, 3, 3],
  );
  assert.is(reader.most, 2);
});

Texts('that were not used for longest are forgotten, and memory is bounded', () => {
  const texts = kept();
  const long = 'x'.repeat(300_000);
  for (const name of ['a', 'b', 'c']) texts.add(name, long);
  assert.ok(texts.get('a'));
  texts.add('d', long);
  assert.equal(
    ['a', 'b', 'c', 'd'].filter((name) => texts.get(name) !== undefined),
    ['a', 'c', 'd'],
  );
  texts.add('e', 'x'.repeat(2_000_000));
  assert.equal(
    ['a', 'b', 'c', 'd', 'e'].filter((name) => texts.get(name) !== undefined),
    [],
  );
});

Texts('are not read after the request has ended, and a failure ends the others', async () => {
  const dialog = dialogOf([image('a'), image('b'), image('c'), image('d')]);
  const reader = new Reader();
  const ended = AbortSignal.abort(new Error('the client left'));
  const left = await errorOf(withImageTexts(dialog, reader, kept(), ended), Error);
  assert.equal([left.message, reader.read], ['the client left', []]);
  const recognize = async (one: ImageReference): Promise<OcrOutput> => {
    if (textOf(one) === 'a') throw new Error('no replica');
    return reader.recognize(one);
  };
  const failing = { name: 'ocr', recognize };
  assert.is((await errorOf(withImageTexts(dialog, failing, kept()), Error)).message, 'no replica');
  assert.ok(reader.read.length < 3, reader.read.join());
});

/** A class of an application that reads. */
const returning = (output: unknown) => ({ name: 'own', recognize: async () => output });

Texts('of a class of an application are quoted whatever they hold', async () => {
  const text = 'a\nb\r\nc\rd\u2028e\u2029f\u0085g\vh\fi';
  const reader = returning({ lines: [{ text, extra: 1 }, { text: 'j' }], more: true });
  const { messages } = await withImageTexts(dialogOf([image('a')]), reader, kept());
  const lines = [...'abcdefghij'].map((letter) => `> ${letter}`);
  assert.is(messages[0]!.content, ['[Image 1: its text, read by OCR]', ...lines].join('\n'));
});

Texts('that a class of an application does not return are told with its name', async () => {
  for (const output of [null, undefined, 'a text', {}, { lines: 'a' }, { lines: [null] }, { lines: [{ text: 1 }] }]) {
    const error = await errorOf(withImageTexts(dialogOf([image('a')]), returning(output), kept()), AanaError);
    assert.is(error.name, 'InvalidOutput');
    assert.match(error.message, /^own\.recognize returned no texts of an image: /);
  }
});

Texts('are looked for in arguments that are not checked yet', () => {
  for (const args of [
    null,
    undefined,
    {},
    { dialog: null },
    { dialog: 'image' },
    { dialog: { messages: 'image' } },
    { dialog: { messages: [null, 1, { content: 'image' }, { content: [null, 'image', text('image')] }] } },
  ])
    assert.is(hasImages(args as never), false, JSON.stringify(args));
  assert.is(hasImages({ dialog: { messages: [{ content: [text('a'), { type: 'video' }] }] } }), true);
});

Texts.run();
