import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../fixtures/test-server.ts';
import { onlyBody } from './small-form.ts';

const TYPE = 'multipart/form-data; boundary=b-1';
const HEAD = 'content-disposition: form-data; name="body"';
const part = (value: string, head = HEAD): string => `--b-1\r\n${head}\r\n\r\n${value}\r\n`;
const read = (form: string, type = TYPE): string | undefined => onlyBody(Buffer.from(form), type);

const SmallForm = suite('a form of the field body alone');

SmallForm('is read with either end, quoted boundary and content type', () => {
  assert.is(read(`${part('{"text":"für"}')}--b-1--\r\n`), '{"text":"für"}');
  assert.is(read(`${part('{}')}--b-1--`), '{}');
  assert.is(read(`${part('{}')}--b-1--`, 'multipart/form-data; Boundary="b-1"'), '{}');
  assert.is(read(`${part('{}', `${HEAD}\r\nContent-Type: application/json`)}--b-1--`), '{}');
  assert.is(read(`${part('')}--b-1--`), '');
});

SmallForm('keeps line ends and dashes that are not the boundary', () => {
  assert.is(read(`${part('\r\n--b-\r\n\r\n--')}--b-1--`), '\r\n--b-\r\n\r\n--');
});

SmallForm('leaves every other form to the parser', () => {
  const file = 'content-disposition: form-data; name="body"; filename="a.json"';
  const others = {
    'a file': `${part('{}', file)}--b-1--`,
    'a name in another case': `${part('{}', 'content-disposition: form-data; name="BODY"')}--b-1--`,
    'another name': `${part('{}', 'content-disposition: form-data; name="video"')}--b-1--`,
    'two parts': `${part('{}')}${part('{}')}--b-1--`,
    'a transfer encoding': `${part('e30=', `${HEAD}\r\ncontent-transfer-encoding: base64`)}--b-1--`,
    'a text before it': `preamble\r\n${part('{}')}--b-1--`,
    'a text after it': `${part('{}')}--b-1--\r\nepilogue`,
    'no end': part('{}'),
    'a boundary that goes on': `${part('{}')}--b-12--`,
    'no head': '--b-1\r\n',
    nothing: '',
  };
  for (const [what, form] of Object.entries(others)) assert.is(read(form), undefined, what);
  for (const type of [
    '',
    '; boundary=b-1; boundary=b-2',
    '; boundary=b-2; boundary=b-1',
    '; x-boundary=b-2; boundary=b-1',
    '; boundary="b-1',
    '; boundary=',
  ]) {
    assert.is(read(`${part('{}')}--b-1--`, `multipart/form-data${type}`), undefined, type);
  }
  const cut = Buffer.concat([
    Buffer.from(`--b-1\r\n${HEAD}\r\n\r\n{}`),
    Buffer.from([0xe2, 0x82]),
    Buffer.from('\r\n--b-1--'),
  ]);
  assert.is(onlyBody(cut, TYPE), undefined, 'text that is not UTF-8');
});

/** Numbers that are the same in every run, so that a failure is found again. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A form, mostly what clients send, with none to three things about it that are not. */
function generated(below: (limit: number) => number): { type: string; form: Buffer } {
  const strange = new Set(Array.from({ length: below(4) }, () => below(9)));
  const pick = <T>(place: number, usual: readonly T[], odd: readonly T[]): T =>
    strange.has(place) ? odd[below(odd.length)]! : usual[below(usual.length)]!;
  const boundary = pick(
    0,
    ['b', '----WebKitFormBoundary7MA4YWxkTrZu0gW', 'a=b', "x'()+_,-./:=?y"],
    ['', 'ä', 'a b', 'a;b', '-', '\t', '"'],
  );
  const given = pick(
    1,
    [boundary, `"${boundary}"`],
    [
      `${boundary} `,
      `${boundary}; boundary=z`,
      `z; boundary=${boundary}`,
      `"${boundary}`,
      `${boundary}x`,
      `${boundary}; charset=utf-8`,
    ],
  );
  const name = pick(
    2,
    ['name="body"'],
    [
      'name="BODY"',
      'name=body',
      'NAME="body"',
      'name="body"; filename="a"',
      'name="body"; name="text"',
      'name="b\\"ody"',
      "name*=utf-8''body",
      'xname="body"',
      'filename="body"',
      '',
    ],
  );
  const head = pick(
    3,
    ['content-disposition: form-data; ', 'Content-Disposition: form-data; '],
    [
      'content-disposition:form-data;',
      'content-disposition:  form-data; ',
      'content-disposition: attachment; ',
      'content-disposition : form-data; ',
      'content_disposition: form-data; ',
      '',
    ],
  );
  const more = pick(
    4,
    ['', '\r\ncontent-type: application/json; charset=utf-8'],
    [
      '\r\ncontent-transfer-encoding: base64',
      '\r\ncontent-transfer-encoding: binary',
      '\r\ncontent-type: a/b\r\ncontent-type: c/d',
      '\r\n : x',
      '\n',
      '\r\ncontent-type:\0',
      '\r\ncontent-disposition: form-data; name="other"',
    ],
  );
  const values = [
    '{"text":"für 語 😀"}',
    '{"text":"\\r\\n--b"}',
    '{"text":"a\r\n--"}',
    `{"text":"a"}\r\n\r\n`,
    '{"text":1}',
    '{"text":"a","__proto__":1}',
    '\ufeff{"text":"a"}',
    '',
    ' ',
    '[]',
    'null',
    '{',
    `${'['.repeat(40)}`,
    `{"text":"${'y'.repeat(20_000)}"}`,
  ];
  const odd = [
    `{"text":"\r\n--${boundary}"}`,
    `{"text":"\r\n--${boundary}\r"}`,
    `{"text":"\r\n--${boundary}-"}`,
    `\r\n--${boundary}--\r\n{"text":"a"}`,
    `{"text":"a"}\r\n--${boundary}\rX`,
    '{"text":"a"}\r',
    '{"text":"a"}\r\n',
    '\r\n\r\n{"text":"a"}',
  ];
  const value = Buffer.concat([
    Buffer.from(pick(5, values, odd)),
    Buffer.from(pick(6, [[]], [[0xe2], [0xff], [0xe2, 0x82], [0x80], [0]])),
  ]);
  const start = pick(
    7,
    [`--${boundary}\r\n`],
    [
      `\r\n--${boundary}\r\n`,
      `text\r\n--${boundary}\r\n`,
      `--${boundary}\n`,
      `--${boundary} \r\n`,
      `-${boundary}\r\n`,
      '',
    ],
  );
  const end = pick(
    8,
    [`\r\n--${boundary}--\r\n`, `\r\n--${boundary}--`],
    [
      `\r\n--${boundary}`,
      `\r\n--${boundary}-`,
      `\n--${boundary}--`,
      `\r\n--${boundary}--\r\nmore`,
      `\r\n--${boundary} --`,
      '',
      `\r\n--${boundary}\r\ncontent-disposition: form-data; name="body"\r\n\r\n{"text":"b"}\r\n--${boundary}--`,
      `\r\n--${boundary}\r\n`,
    ],
  );
  return {
    type: `multipart/form-data; boundary=${given}`,
    form: Buffer.concat([Buffer.from(`${start}${head}${name}${more}\r\n\r\n`), value, Buffer.from(end)]),
  };
}

function post(url: string, type: string, form: Buffer, isSized: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': Buffer.from(type).toString('latin1'),
      ...(isSized ? { 'content-length': form.length } : { 'transfer-encoding': 'chunked' }),
    };
    const req = request(url, { method: 'POST', headers }, async (res) => {
      let text = '';
      for await (const part of res.setEncoding('utf8')) text += String(part);
      resolve(`${res.statusCode} ${text}`);
    });
    req.on('error', reject);
    req.end(form);
  });
}

SmallForm('gets the same answer as from the parser, for every form', async () => {
  await using at = await startServer();
  const below = numbers(20_250_101);
  let inPlace = 0;
  for (let n = 0; n < 600; n++) {
    const { type, form } = generated(below);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(Buffer.from(type).toString('latin1'))) continue; // not a header
    if (onlyBody(form, Buffer.from(type).toString('latin1')) !== undefined) inPlace++;
    // Without a length the form goes to the parser.
    const [here, parser] = await Promise.all([
      post(`${at.url}/echo`, type, form, true),
      post(`${at.url}/echo`, type, form, false),
    ]);
    assert.is(here, parser, `form ${n}: ${type} ${JSON.stringify(form.toString('latin1').slice(0, 500))}`);
  }
  assert.ok(inPlace > 60, `${inPlace} forms were read in place`);
});

SmallForm.run();
