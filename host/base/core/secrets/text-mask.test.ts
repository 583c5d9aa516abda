import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { partialMask, textMask } from './text-mask.ts';

const Mask = suite('secrets in texts');

const lower = (text: string): string => text.replaceAll(/%[\dA-F]{2}/g, (byte) => byte.toLowerCase());
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const escapeAll = (text: string, chars: RegExp): string =>
  text.replaceAll(chars, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
const forms: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  url: encodeURIComponent,
  'url in lower case': (text) => lower(encodeURIComponent(text)),
  form: (text) => new URLSearchParams([['', text]]).toString().slice(1),
  json,
  'json of python': (text) => escapeAll(json(text), /[^\0-\x7f]/g),
  'json of go': (text) => escapeAll(json(text), /[<>&]/g),
  'json of php': (text) => json(text).replaceAll('/', '\\/'),
  'json in json': (text) => json(json(text)),
  hex: (text) => Buffer.from(text).toString('hex'),
};
const secrets = fc
  .string({ minLength: 8, maxLength: 60, unit: 'grapheme' })
  .filter((text) => !/\p{Surrogate}/u.test(text) && text.length >= 12 && new Set(text).size > 5);
const around = fc.string({ maxLength: 10, unit: 'grapheme-ascii' });

Mask('are hidden in each form, whatever stands around them', () => {
  fc.assert(
    fc.property(secrets, around, around, (secret, before, after) => {
      const [whole, parts] = [textMask([secret]), partialMask([secret])];
      for (const [name, form] of Object.entries(forms)) {
        const text = `${form(before)}${form(secret)}${form(after)}`;
        for (const mask of [whole, parts]) assert.not.ok(mask(text).includes(form(secret)), `${name}: ${mask(text)}`);
      }
    }),
  );
});

Mask('are hidden in base64 after any bytes', () => {
  fc.assert(
    fc.property(secrets, around, around, (secret, before, after) => {
      const [whole, parts] = [textMask([secret]), partialMask([secret])];
      for (const encoding of ['base64', 'base64url'] as const) {
        const text = Buffer.from(before + secret + after).toString(encoding);
        for (const mask of [whole, parts]) {
          const rest = mask(`token=${text}`).replace('…', '').length - 'token='.length;
          const others = Buffer.from(before + after).toString(encoding).length;
          assert.ok(rest <= others + 8, `${encoding}: ${mask(text)} of ${text}`);
        }
      }
    }),
  );
  const basic = `authorization: Basic ${Buffer.from('user:a-secret-of-mine').toString('base64')}`;
  assert.is(textMask(['a-secret-of-mine'])(basic), 'authorization: Basic dXNlcjp…');
});

Mask('of four to seven characters are hidden as words, and shorter ones not at all', () => {
  for (const mask of [
    textMask(['test', 'true', 'pw1', 'a+b/', '-ab-']),
    partialMask(['test', 'true', 'pw1', 'a+b/', '-ab-']),
  ]) {
    assert.is(mask('test of the latest tests: true'), '… of the latest tests: …');
    assert.is(mask('https://u:test@h/?key=test&pw1=a%2bb%2f'), 'https://u:…@h/?key=…&pw1=…');
    assert.is(mask('{"key":"a+b\\/"} x-ab-y'), '{"key":"…"} x…y');
    assert.is(mask('untrue, тестtest, test2, test_2'), 'untrue, тестtest, test2, …_2');
  }
});

Mask.run();
