// Forms and requests as no ordinary client sends them, over bare sockets. Each has its status and the four keys, leaves
// no file, and the server goes on.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../../test/simulation/random.ts';
import { chunk, connected, exchange, head, LAST_CHUNK, type RawAnswer, readAnswers } from '../fixtures/raw-exchange.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startServer, type TestServer } from '../fixtures/test-server.ts';

const Torture = suite('requests over bare sockets');
let at: TestServer;

Torture.before(async () => {
  at = await startServer();
});
Torture.after(async () => at[Symbol.asyncDispose]());
Torture.after.each(async () => {
  await eventually(() => at.leftovers().length === 0, 'uploads are gone with their request');
  const response = await fetch(`${at.url}/echo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"text":"next"}',
  });
  assert.is(await response.text(), '{"text":"next"}', 'the server answers the next request');
});

const FORM = 'content-type: multipart/form-data; boundary=b';
const disposition = (rest: string, content: string | Buffer, more = ''): Buffer =>
  Buffer.concat([
    Buffer.from(`--b\r\ncontent-disposition: form-data; ${rest}\r\n${more}\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
const field = (json: string): Buffer => disposition('name="body"', json);
const file = (name = 'clip', content: string | Buffer = 'abc', rest = '; filename="a.webm"'): Buffer =>
  disposition(`name="${name}"${rest}`, content);
const END = Buffer.from('--b--\r\n');
const VIDEO = '{"video":{"content":"clip"}}';
const form = (...parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat([...parts.map((part) => Buffer.from(part)), END]);
const sized = (path: string, body: Buffer, type = FORM): (string | Buffer)[] => [
  head(path, type, `content-length: ${body.length}`),
  body,
];

function check(answer: RawAnswer | undefined, status: number, error?: string): void {
  assert.ok(answer, 'there is no answer');
  assert.is(answer.status, status, answer.head + answer.body);
  if (status < 400) return;
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  assert.equal(Object.keys(body), ['error', 'message', 'data', 'stacktrace']);
  assert.is(body['error'], error, answer.body);
  assert.is(body['stacktrace'], null);
}

/** Status, then the name of the error, or what the endpoint gives. */
type Case = readonly [
  title: string,
  request: () => readonly (string | Buffer)[],
  status: number,
  expected: string | Record<string, unknown>,
];

const LONG = 'b'.repeat(69);
const boundaryOf = (boundary: string): (string | Buffer)[] => {
  const body = Buffer.from(form(field('{"text":"t"}')).toString().replaceAll('--b', `--${boundary}`));
  return sized('/echo', body, `content-type: multipart/form-data; boundary=${boundary}`);
};
const size = (more: Record<string, unknown>): Record<string, unknown> => ({
  bytes: 3,
  sum: 294,
  filename: 'a.webm',
  mime: 'application/octet-stream',
  ...more,
});
const named = (rest: string): (string | Buffer)[] =>
  sized('/video/size', form(disposition(`name="clip"; ${rest}`, 'abc'), field(VIDEO)));

const CASES: readonly Case[] = [
  ['files before the body', () => sized('/video/size', form(file(), field(VIDEO))), 200, size({})],
  ['the body before the files', () => sized('/video/size', form(field(VIDEO), file())), 200, size({})],
  [
    'a file of 0 bytes',
    () => sized('/video/size', form(file('clip', ''), field(VIDEO))),
    200,
    size({ bytes: 0, sum: 0 }),
  ],
  ['a body of 0 bytes', () => sized('/echo', form(field(''))), 422, 'ValidationError'],
  ['a form of no bytes', () => sized('/echo', Buffer.alloc(0)), 422, 'ValidationError'],
  ['a form of the last boundary alone', () => sized('/echo', form()), 422, 'ValidationError'],

  [
    'no boundary in the content type',
    () => sized('/echo', form(field('{}')), 'content-type: multipart/form-data'),
    400,
    'MalformedRequest',
  ],
  [
    'another boundary than the form has',
    () => sized('/echo', form(field('{}')), 'content-type: multipart/form-data; boundary=c'),
    400,
    'MalformedRequest',
  ],
  [
    'an empty boundary',
    () => sized('/echo', form(field('{}')), 'content-type: multipart/form-data; boundary=""'),
    400,
    'MalformedRequest',
  ],
  ['a boundary of 70 characters', () => boundaryOf(`${LONG}b`), 200, { text: 't' }],
  ['a boundary of 500 characters', () => boundaryOf('b'.repeat(500)), 200, { text: 't' }],
  [
    'two boundaries in the content type',
    () => sized('/echo', form(field('{"text":"t"}')), 'content-type: multipart/form-data; boundary=b; boundary=c'),
    200,
    { text: 't' },
  ],
  ['no last boundary', () => sized('/echo', form(field('{}')).subarray(0, -END.length)), 400, 'MalformedRequest'],
  [
    'a preamble and an epilogue',
    () =>
      sized(
        '/echo',
        Buffer.concat([Buffer.from('preamble\r\n'), form(field('{"text":"t"}')), Buffer.from('epilogue')]),
      ),
    200,
    { text: 't' },
  ],
  [
    'lines that end in LF alone',
    () => sized('/echo', Buffer.from(form(field('{}')).toString().replaceAll('\r\n', '\n'))),
    400,
    'MalformedRequest',
  ],
  [
    'a boundary inside of a file',
    () => sized('/video/size', form(file('clip', '\r\n--bogus'), field(VIDEO))),
    200,
    size({ bytes: 9, sum: 657 }),
  ],

  ['a name in UTF-8', () => named('filename="видео 🎬.webm"'), 200, size({ filename: 'видео 🎬.webm' })],
  ['a name with escapes', () => named('filename="a%22b.webm"'), 200, size({ filename: 'a"b.webm' })],
  ['filename* of RFC 5987', () => named("filename*=UTF-8''%e2%82%ac.webm"), 200, size({ filename: '€.webm' })],
  ['a filename* that cannot be read', () => named("filename*=UTF-8''%ff%zz"), 200, size({ filename: null })],
  ['filename and filename*', () => named('filename="a.webm"; filename*=UTF-8\'\'%e2%82%ac.webm'), 200, size({})],
  ['a name that is a path', () => named('filename="../../etc/passwd"'), 200, size({ filename: 'passwd' })],
  ['a name that is a path of Windows', () => named('filename="C:\\\\temp\\\\a.webm"'), 200, size({})],
  ['an empty file name', () => named('filename=""'), 200, size({ filename: null })],
  [
    'a part without a name',
    () => sized('/echo', form(disposition('filename="a"', 'x'), field('{"text":""}'))),
    422,
    'ValidationError',
  ],
  [
    'a part with a name of 5000 characters',
    () => sized('/echo', form(file('n'.repeat(5000)), field('{"text":""}'))),
    422,
    'ValidationError',
  ],
  [
    'a part whose name a browser has escaped',
    () => sized('/video/size', form(file('a%22b%0D%0Ac'), field('{"video":{"content":"a\\"b\\r\\nc"}}'))),
    200,
    size({}),
  ],
  [
    'a part named by a path',
    () => sized('/video/size', form(file('../x'), field('{"video":{"content":"../x"}}'))),
    200,
    size({}),
  ],

  ['body twice', () => sized('/echo', form(field('{"text":"a"}'), field('{"text":"b"}'))), 422, 'ValidationError'],
  ['a file twice', () => sized('/video/size', form(file(), file(), field(VIDEO))), 422, 'ValidationError'],
  ['a file that nothing names', () => sized('/echo', form(file(), field('{"text":""}'))), 422, 'ValidationError'],
  [
    'a name that no file has',
    () => sized('/video/size', form(file('other'), field(VIDEO))),
    422,
    'UploadedFileNotFound',
  ],
  [
    'a body that comes as a file',
    () =>
      sized(
        '/echo',
        form(disposition('name="body"; filename="body.json"', '{"text":"t"}', 'content-type: application/json\r\n')),
      ),
    200,
    { text: 't' },
  ],

  [
    'a part header without a colon',
    () => sized('/echo', form('--b\r\ncontent-disposition form-data\r\n\r\nx\r\n', field('{}'))),
    400,
    'MalformedRequest',
  ],
  [
    'a part without headers',
    () => sized('/echo', form('--b\r\n\r\nx\r\n', field('{"text":""}'))),
    422,
    'ValidationError',
  ],
  [
    'a part header of 8 KB',
    () => sized('/echo', form(disposition('name="body"', '{"text":"t"}', `x-long: ${'x'.repeat(8000)}\r\n`), file())),
    422,
    'ValidationError',
  ],
  [
    'a part header of 100 KB',
    () => sized('/echo', form(disposition('name="body"', '{"text":"t"}', `x-long: ${'x'.repeat(100_000)}\r\n`))),
    413,
    'RequestTooLarge',
  ],
  [
    'a part with a thousand headers',
    () => sized('/echo', form(disposition('name="body"', '{}', 'x-header: value\r\n'.repeat(1000)))),
    413,
    'RequestTooLarge',
  ],
  [
    'a file name that takes long to search',
    () => sized('/echo', form(disposition(`name="body"; ${'filename=";'.repeat(16_000)}`, '{}'))),
    413,
    'RequestTooLarge',
  ],
  [
    'thousands of fields',
    () => sized('/echo', form(...Array.from({ length: 3000 }, (_, i) => disposition(`name="f${i}"`, '1')))),
    413,
    'RequestTooLarge',
  ],
  [
    'thousands of files',
    () => sized('/echo', form(...Array.from({ length: 3000 }, (_, i) => file(`f${i}`, '1')))),
    413,
    'RequestTooLarge',
  ],
  [
    'a form in a form',
    () =>
      sized(
        '/echo',
        form(
          disposition(
            'name="body"',
            '--c\r\ncontent-disposition: form-data; name="body"\r\n\r\n{}\r\n--c--',
            'content-type: multipart/mixed; boundary=c\r\n',
          ),
        ),
      ),
    422,
    'ValidationError',
  ],
  [
    'a part in base64',
    () =>
      sized(
        '/video/size',
        form(
          disposition(
            'name="clip"; filename="a.webm"',
            Buffer.from('abc').toString('base64'),
            'content-transfer-encoding: base64\r\n',
          ),
          field(VIDEO),
        ),
      ),
    200,
    size({}),
  ],
  [
    'a part in an encoding that there is not',
    () => sized('/echo', form(disposition('name="body"', '{}', 'content-transfer-encoding: rot13\r\n'))),
    400,
    'MalformedRequest',
  ],

  [
    'chunks of one byte',
    () => [
      head('/video/size', FORM, 'transfer-encoding: chunked'),
      ...[...form(file(), field(VIDEO))].map((byte) => chunk(Buffer.from([byte]))),
      LAST_CHUNK,
    ],
    200,
    size({}),
  ],
  [
    'a chunk whose size is no number',
    () => [head('/echo', FORM, 'transfer-encoding: chunked'), 'zz\r\n'],
    400,
    'MalformedRequest',
  ],
  [
    'a chunk longer than it says',
    () => [head('/echo', FORM, 'transfer-encoding: chunked'), '2\r\nabcdef\r\n', LAST_CHUNK],
    400,
    'MalformedRequest',
  ],
  [
    'chunk extensions and trailers',
    () => [
      head('/echo', 'content-type: application/json', 'transfer-encoding: chunked'),
      'c;a=b\r\n{"text":"t"}\r\n',
      '0\r\nx-trailer: 1\r\n\r\n',
    ],
    200,
    { text: 't' },
  ],
  [
    'a length that is too small',
    () => [head('/echo', FORM, 'content-length: 20'), form(field('{}'))],
    400,
    'MalformedRequest',
  ],
  [
    'a length that is no number',
    () => [head('/echo', FORM, 'content-length: ten'), form(field('{}'))],
    400,
    'MalformedRequest',
  ],
  ['a negative length', () => [head('/echo', FORM, 'content-length: -1')], 400, 'MalformedRequest'],
  ['two lengths', () => [head('/echo', FORM, 'content-length: 10', 'content-length: 20')], 400, 'MalformedRequest'],
  [
    'both a length and chunks',
    () => [head('/echo', FORM, 'content-length: 5', 'transfer-encoding: chunked'), LAST_CHUNK],
    400,
    'MalformedRequest',
  ],
  [
    'chunks that are said to be something else too',
    () => [head('/echo', FORM, 'transfer-encoding: chunked, identity'), LAST_CHUNK],
    400,
    'MalformedRequest',
  ],
  [
    'an unknown transfer encoding',
    () => [head('/echo', FORM, 'transfer-encoding: xchunked'), LAST_CHUNK],
    400,
    'MalformedRequest',
  ],
  ['a space before a colon', () => [head('/echo', 'transfer-encoding : chunked'), LAST_CHUNK], 400, 'MalformedRequest'],
  [
    'a folded header',
    () => [head('/echo', 'content-type: multipart/form-data;\r\n boundary=b', 'content-length: 0')],
    400,
    'MalformedRequest',
  ],
  ['a head of 100 KB', () => [head('/echo', `x-long: ${'x'.repeat(100_000)}`)], 431, 'HeadTooLarge'],
  ['a NUL in a header', () => [head('/echo', 'x-nul: a\0b')], 400, 'MalformedRequest'],
];

for (const [title, request, status, expected] of CASES) {
  Torture(`${title}: ${status}`, async () => {
    const [answer] = await exchange(at.port, request());
    check(answer, status, typeof expected === 'string' ? expected : undefined);
    if (typeof expected !== 'string') assert.equal(JSON.parse(answer?.body ?? ''), expected);
  });
}

Torture('a length that is too large, and no more: 400 when the client says that this was all', async () => {
  const body = form(field('{}'));
  const answers = await exchange(at.port, [head('/echo', FORM, `content-length: ${body.length + 10}`), body], {
    end: true,
  });
  if (answers.length > 0) check(answers[0], 400, 'MalformedRequest');
});

Torture('a body that comes too slowly is a 408', async () => {
  const [answer] = await exchange(at.port, [
    head('/video/size', FORM, 'content-length: 100000'),
    file('clip', 'x'.repeat(1000)),
  ]);
  check(answer, 408, 'RequestTimeout');
});

Torture('requests that do not wait for answers are answered in order', async () => {
  const one = (text: string): Buffer =>
    Buffer.concat(sized('/echo', form(field(JSON.stringify({ text })))).map((piece) => Buffer.from(piece)));
  const answers = await exchange(
    at.port,
    [Buffer.concat([one('a'), one('b'), Buffer.from('GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n'), one('c')])],
    { count: 4 },
  );
  assert.equal(
    answers.map(({ status }) => status),
    [200, 200, 404, 200],
  );
  assert.equal(
    [0, 1, 3].map((i) => answers[i]?.body),
    ['{"text":"a"}', '{"text":"b"}', '{"text":"c"}'],
  );
});

Torture('a second request hidden behind a length and chunks is not read', async () => {
  const hidden = 'POST /wait HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';
  const answers = await exchange(
    at.port,
    [
      head('/echo', 'content-type: application/json', 'content-length: 4', 'transfer-encoding: chunked'),
      LAST_CHUNK,
      hidden,
    ],
    { count: 2 },
  );
  assert.is(answers.length, 1);
  check(answers[0], 400, 'MalformedRequest');
  assert.is(at.seen.running, 0);
});

Torture('who asks whether to go on is told so, and answered', async () => {
  const body = form(field('{"text":"t"}'));
  const socket = await connected(at.port);
  socket.write(head('/echo', FORM, `content-length: ${body.length}`, 'expect: 100-continue'));
  assert.is((await readAnswers(socket, 1))[0]?.status, 100);
  socket.write(body);
  assert.is((await readAnswers(socket, 1))[0]?.body, '{"text":"t"}');
  socket.destroy();
});

const REFUSED: readonly (readonly [
  title: string,
  path: string,
  type: string,
  length: number,
  status: number,
  error: string,
])[] = [
  ['is too large', '/echo', FORM, 1_000_000, 413, 'RequestTooLarge'],
  ['has another content type', '/echo', 'content-type: text/plain', 10, 415, 'UnsupportedMediaType'],
  ['goes to nobody', '/nothing', FORM, 10, 404, 'NotFound'],
];
for (const [title, path, type, length, status, error] of REFUSED) {
  Torture(`who asks whether to go on with a request that ${title} is refused before sending it`, async () => {
    const [answer] = await exchange(at.port, [head(path, type, `content-length: ${length}`, 'expect: 100-continue')]);
    check(answer, status, error);
  });
}

for (const [title, pieces] of [
  ['in the head', [head('/echo', FORM).slice(0, 30)]],
  ['in the headers of a part', [head('/video/size', FORM, 'content-length: 9000'), '--b\r\ncontent-dispo']],
  ['in a file', [head('/video/size', FORM, 'content-length: 150000'), file('clip', 'x'.repeat(100_000))]],
  ['in the body', [head('/video/size', FORM, 'content-length: 150000'), file(), field('{"video":').subarray(0, -4)]],
] as const) {
  Torture(`a client that goes ${title} leaves nothing`, async () => {
    const socket = await connected(at.port);
    await new Promise((resolve) => socket.write(Buffer.concat(pieces.map((piece) => Buffer.from(piece))), resolve));
    socket.resetAndDestroy();
  });
}

/**
 * A form with a few bytes that were changed, taken out, put in or moved; most of what it does not say itself comes from
 * its grammar.
 */
function damaged(random: Random): Buffer {
  let bytes = form(file(), field(VIDEO));
  const words = [
    '\r\n',
    '\n',
    '--b',
    '--b--',
    '--',
    '"',
    ';',
    ': ',
    'filename="',
    'name="body"',
    '\0',
    '\xff',
    '%',
    '=',
  ];
  for (let n = random.int(1, 4); n > 0; n--) {
    const at = random.int(0, bytes.length - 1);
    const end = Math.min(bytes.length, at + random.int(0, 12));
    const word = random.chance(0.3)
      ? bytes.subarray(end, end + random.int(1, 40))
      : Buffer.from(words[random.int(0, words.length - 1)] ?? '', 'latin1');
    bytes = Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(random.chance(0.5) ? at : end)]);
  }
  return bytes;
}

const FUZZED = 300;
Torture(`${FUZZED} damaged forms get an answer that says what is wrong with them, none a 5xx`, async () => {
  const statuses = new Map<number, number>();
  for (let seed = 1; seed <= FUZZED; seed++) {
    const body = damaged(new Random(seed));
    const [answer] = await exchange(at.port, sized('/video/size', body));
    const status = answer?.status ?? 0;
    assert.ok(
      [200, 400, 413, 422].includes(status),
      `seed ${seed}: ${status} ${answer?.body} to ${JSON.stringify(body.toString('latin1'))}`,
    );
    if (status !== 200)
      assert.equal(
        Object.keys(JSON.parse(answer?.body ?? '')),
        ['error', 'message', 'data', 'stacktrace'],
        `seed ${seed}`,
      );
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  assert.ok(statuses.size >= 3, `the forms are all alike: ${JSON.stringify([...statuses])}`);
});

Torture.run();
