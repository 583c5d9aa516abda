// What makes text of tokens, finds its end, and keeps dialogs apart from templates, for generated inputs.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DialogText, NoMarkLeft } from './dialog-text.ts';
import { StopTexts } from './stop-texts.ts';
import { TextOfTokens } from './text-of-tokens.ts';

const Texts = suite('texts of generated tokens');

/** Cuts a text at random places. */
function* pieces(text: string, random: () => number): Generator<string> {
  for (let at = 0; at < text.length;) {
    const length = 1 + Math.floor(random() * 4);
    yield text.slice(at, at + length);
    at += length;
  }
}

const generator = (seed: number): (() => number) => {
  let state = seed + 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
};

Texts('end before the first stop, whatever the pieces, and lose nothing without one', () => {
  for (let seed = 0; seed < 2000; seed += 1) {
    const random = generator(seed);
    const letters = (length: number): string => Array.from({ length }, () => 'ab c'[Math.floor(random() * 4)]).join('');
    const text = letters(40);
    const stops = Array.from({ length: Math.floor(random() * 4) }, () => letters(Math.floor(random() * 6)));
    const found = stops.filter((stop) => stop !== '' && text.includes(stop));
    const end = Math.min(...found.map((stop) => text.indexOf(stop)), text.length);
    const finder = new StopTexts(stops);
    let released = '';
    let stopped: string | undefined;
    for (const piece of pieces(text, random)) {
      const { text: more, stop } = finder.add(piece);
      released += more;
      stopped = stop;
      if (stop !== undefined) break;
    }
    if (stopped === undefined) released += finder.rest();
    assert.equal(
      [released, stopped !== undefined],
      [text.slice(0, end), found.length > 0],
      JSON.stringify([text, stops]),
    );
    if (stopped !== undefined) assert.ok(text.startsWith(stopped, end));
  }
});

Texts('are those of all tokens together, with no character before it is whole', () => {
  const decode = (tokens: readonly number[]): string =>
    new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(tokens));
  const texts = ['plain', 'naïve €', '日本語 🙂', '👩‍👩‍👧 x', '\u{FEFF}é'];
  for (const text of texts) {
    const stream = new TextOfTokens(decode);
    const parts = [...Buffer.from(text)].map((byte) => stream.add(byte));
    assert.is(parts.join('') + stream.end(), text);
    assert.not(parts.join('').includes('\uFFFD'), text);
  }
  // A text that ends inside of a character, and bytes that are none.
  for (const bytes of [
    [0x61, 0xe2, 0x82],
    [0xff, 0xfe, 0x61],
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x62],
    [0xf0, 0x9f, 0x41],
  ]) {
    const stream = new TextOfTokens(decode);
    const text = bytes.map((byte) => stream.add(byte)).join('') + stream.end();
    assert.is(text, decode(bytes));
  }
});

Texts('of a dialog have no control text in any part, and lose no character', () => {
  const controls = ['<|im_start|>', '<|im_end|>', '<s>', '[INST]', '<|a|><|b|>', '|>'];
  const dialogs = new DialogText(controls);
  const words = [...controls, '<', '|', 'im_end', '|>', 's>', ' ', 'é', '🙂', '<|im_', 'start|>', '\n'];
  for (let seed = 0; seed < 2000; seed += 1) {
    const random = generator(seed);
    const content = Array.from({ length: 8 }, () => words[Math.floor(random() * words.length)]).join('');
    const parts = dialogs.parts({ messages: [{ content }] }, ({ messages }) => messages[0]?.content ?? '');
    assert.is(parts.join(''), content);
    for (const part of parts) for (const control of controls) assert.not(part.includes(control), JSON.stringify(parts));
  }
  const parts = dialogs.parts(['<s>'], ([text]) => `<s>${text}<|im_end|>`);
  assert.equal(parts, ['<s><', 's><|im_end|>']);
  const marks = String.fromCodePoint(...Array.from({ length: 32 }, (_, at) => 0xfdd0 + at));
  assert.equal(
    dialogs.parts([marks.slice(1)], ([text]) => text ?? ''),
    [marks.slice(1)],
  );
  assert.throws(
    () => dialogs.parts([marks], ([text]) => text ?? ''),
    (error: Error) => error instanceof NoMarkLeft,
  );
  assert.equal(
    new DialogText([]).parts(['<s>'], ([text]) => text ?? ''),
    ['<s>'],
  );
});

Texts.run();
