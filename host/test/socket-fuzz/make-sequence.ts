import type { Random } from '../simulation/random.ts';
import type { Answer } from './read-answers.ts';

/** One request, or what is no request, and the answers that it may get. */
export interface Item {
  readonly what: string;
  readonly bytes: string;
  isRight(answer: Answer): boolean;
  /** Whether its answer is the last one of the connection. */
  readonly isLast: boolean;
  /** Whether its answer may end in the middle, because the request breaks after the answer has begun. */
  readonly mayBreak?: boolean;
}

/** How the client ends: it reads all answers, ends its side, or breaks the connection. */
export type Ending = 'read' | 'end' | 'break';

/** What one client sends on one connection. */
export interface Sequence {
  readonly items: readonly Item[];
  /** The bytes of all items in the pieces in which they are sent, with pauses between them. */
  readonly pieces: readonly string[];
  readonly ending: Ending;
}

const WS = ['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'];
const WS_KEY = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==';
const H2C = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAAQCAAAAAAIAAAAA'];

const echoes =
  (n: number) =>
  ({ status, body }: Answer): boolean =>
    status === 200 && body === `n${n}`;
const refuses =
  (status: number, text = '') =>
  (answer: Answer): boolean =>
    answer.status === status && answer.body.includes(text);

const isBroken = refuses(400, 'not valid HTTP');

/** Makes a random sequence whose requests have the numbers from `first`. */
export function makeSequence(random: Random, first: number): Sequence {
  const items = Array.from({ length: random.int(1, 8) }, (_, i) => makeItem(random, first + i));
  const ending = random.pick<Ending>(['read', 'read', 'read', 'end', 'break']);
  const whole = items.map(({ bytes }) => bytes).join('');
  const isCut = ending !== 'read' && random.chance(0.5);
  let text = isCut ? whole.slice(0, random.int(1, whole.length)) : whole;
  const sent = text.length;
  const pieces: string[] = [];
  while (text !== '') {
    const length = random.chance(0.5) ? text.length : random.int(1, Math.min(text.length, 200));
    pieces.push(text.slice(0, length));
    text = text.slice(length);
  }
  return { items: items.map((item, i) => cutAt(item, sent - bytesBefore(items, i))), pieces, ending };
}

const bytesBefore = (items: readonly Item[], i: number): number =>
  items.slice(0, i).reduce((sum, { bytes }) => sum + bytes.length, 0);

/** Returns an item of which the client sends `bytes` bytes before it ends its side. */
function cutAt(item: Item, bytes: number): Item {
  if (bytes >= item.bytes.length) return item;
  const isRight = (answer: Answer): boolean => bytes > 0 && (item.isRight(answer) || isBroken(answer));
  return { ...item, what: `a part of ${item.what}`, isRight, isLast: true };
}

function makeItem(random: Random, n: number): Item {
  const [answering, delay] = [random.pick(['whole', 'chunks']), random.int(0, 3)];
  const path = `/${n}?answer=${answering}&delay=${delay}&read=${random.chance(0.7)}`;
  const host = `host: x`;
  const head = (method: string, ...lines: string[]): string =>
    [`${method} ${path} HTTP/1.1`, host, ...lines, '', ''].join('\r\n');
  const body = 'x'.repeat(random.int(1, 300));
  const sized = [`content-length: ${body.length}`];
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const item = (what: string, bytes: string, isRight: Item['isRight'], isLast = false): Item => ({
    ...{ what: `${what} ${n}`, bytes, isRight, isLast },
  });
  const isOpened = ({ status, n: opened }: Answer): boolean => status === 101 && opened === n;
  const kinds: readonly [number, () => Item][] = [
    [10, () => item('GET', head('GET'), echoes(n))],
    [4, () => item('POST', head('POST', ...sized) + body, echoes(n))],
    [3, () => item('POST in chunks', head('POST', 'transfer-encoding: chunked') + chunked, echoes(n))],
    [2, () => item('POST that expects 100', head('POST', 'expect: 100-continue', ...sized) + body, echoes(n))],
    [
      1,
      () => item('wrong expectation', head('GET', `expect: e${n}`), refuses(417, `"e${n}`.replaceAll('"', '')), true),
    ],
    [1, () => item('HTTP/2', head('GET', ...H2C), echoes(n), true)],
    [1, () => item('POST over HTTP/2', head('POST', ...H2C, ...sized) + body, echoes(n), true)],
    [1, () => item('CONNECT', `CONNECT x:${(n % 60_000) + 1} HTTP/1.1\r\n${host}\r\n\r\n`, refuses(405), true)],
    [
      2,
      () =>
        item(
          'WebSocket',
          head('GET', ...WS, WS_KEY),
          (answer) => isOpened(answer) || refuses(400, 'no earlier request')(answer),
          true,
        ),
    ],
    [1, () => item('wrong WebSocket', head('GET', ...WS), refuses(400), true)],
    [1, () => item('WebSocket with a body', head('POST', ...WS, WS_KEY, ...sized) + body, refuses(400), true)],
    [1, () => item('no Host', `GET ${path} HTTP/1.1\r\n\r\n`, refuses(400, 'no Host'), true)],
    [1, () => item('HTTP/1.0', `GET ${path.replace('chunks', 'whole')} HTTP/1.0\r\n\r\n`, echoes(n), true)],
    [1, () => item('close', head('GET', 'connection: close'), echoes(n), true)],
    [1, () => item('no HTTP', random.pick(NO_HTTP), isBroken, true)],
    [1, () => item('two lengths', head('POST', ...sized, 'transfer-encoding: chunked') + body, isBroken, true)],
    [
      1,
      () => ({
        ...item(
          'broken chunks',
          `${head('POST', 'transfer-encoding: chunked')}1\r\na\r\nno size\r\n`,
          (answer) => isBroken(answer) || echoes(n)(answer),
          true,
        ),
        mayBreak: true,
      }),
    ],
    [0.3, () => item('large head', head('GET', `x: ${'y'.repeat(20_000)}`), refuses(431), true)],
  ];
  let at = random.between(
    0,
    kinds.reduce((sum, [weight]) => sum + weight, 0),
  );
  for (const [weight, make] of kinds) {
    if (at < weight) return make();
    at -= weight;
  }
  return kinds[0]![1]();
}

const NO_HTTP: readonly [string, ...string[]] = [
  'this is not http\r\n\r\n',
  '\u0000\u0001\u0002\u0003\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
  'GET / HTTP/9.9\r\n\r\n',
  'GET / HTTP/1.1\r\nno colon here\r\n\r\n',
  'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: abc\r\n\r\n',
];
