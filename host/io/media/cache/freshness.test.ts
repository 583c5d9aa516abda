// RFC 9111 for the cache of one user, and the validators of RFC 9110.
import type { IncomingHttpHeaders } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../../test/simulation/random.ts';
import { conditionsFor, fieldsOf, isFresh, isKeepable, isSameVersion, renewed } from './freshness.ts';

const Freshness = suite('freshness of answers');

const START = Date.UTC(2026, 10, 30, 12);
const TIMES = { requestedAt: START, receivedAt: START };
const date = (seconds: number): string => new Date(START + seconds * 1000).toUTCString();
const keepable = (headers: IncomingHttpHeaders): boolean =>
  isKeepable({ 'content-length': '5', etag: '"a"', ...headers }, TIMES);

/** Returns the seconds after which an answer is not fresh any more, at most 100,000. */
function freshSeconds(headers: IncomingHttpHeaders, times = TIMES): number {
  const answer = { ...times, fields: fieldsOf(headers) };
  const fresh = (seconds: number): boolean => isFresh(answer, times.receivedAt + seconds * 1000);
  let [low, high] = [0, 100_000];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (fresh(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

Freshness('an answer is kept unless its server forbids it, or its end is not known', () => {
  const kept: IncomingHttpHeaders[] = [
    ...[{}, { 'cache-control': 'private' }, { 'cache-control': 'private="set-cookie", max-age=0' }],
    ...[{ 'cache-control': 'no-cache' }, { 'cache-control': 'public, s-maxage=0' }, { vary: 'accept, user-agent' }],
    ...[{ 'content-length': undefined, 'transfer-encoding': 'chunked' }, { 'cache-control': 'x="no-store"' }],
  ];
  const refused: IncomingHttpHeaders[] = [
    ...[{ 'cache-control': 'no-store' }, { 'cache-control': 'max-age=60,No-Store' }, { vary: 'accept, *' }],
    ...[{ 'content-length': undefined }, { 'cache-control': `max-age=60, ${'x'.repeat(2000)}` }],
    ...[{ 'cache-control': 'x="a", no-store' }, { 'cache-control': 'x="a, no-store' }],
  ];
  for (const headers of kept) assert.ok(keepable(headers), JSON.stringify(headers));
  for (const headers of refused) assert.not.ok(keepable(headers), JSON.stringify(headers));
});

Freshness('an answer without validators is kept only while it is fresh', () => {
  for (const headers of [{ 'cache-control': 'max-age=1' }, { expires: date(1), date: date(0) }])
    assert.ok(keepable({ etag: undefined, ...headers }), JSON.stringify(headers));
  for (const headers of [
    {},
    { 'cache-control': 'max-age=0' },
    { 'cache-control': 'no-cache, max-age=9' },
    { age: '5' },
  ])
    assert.not.ok(keepable({ etag: undefined, ...headers }), JSON.stringify(headers));
});

Freshness('the lifetime is that of the server, and what it does not say or says wrongly counts as none', () => {
  const lifetimes: readonly (readonly [seconds: number, headers: IncomingHttpHeaders])[] = [
    [60, { 'cache-control': 'max-age=60' }],
    [60, { 'cache-control': 'Public , MAX-AGE = "60"' }],
    [60, { 'cache-control': 'max-age=60', expires: '0' }],
    [60, { 'cache-control': 'max-age=60, s-maxage=5' }],
    [40, { 'cache-control': 'max-age=60', age: '20' }],
    [40, { 'cache-control': 'max-age=60', date: date(-20) }],
    [30, { 'cache-control': 'max-age=60', date: date(-20), age: '30' }],
    [60, { 'cache-control': 'max-age=60', date: date(20) }],
    [5, { 'cache-control': 'max-age=60, max-age=5' }],
    [60, { expires: date(60), date: date(0) }],
    [60, { expires: date(60) }],
    [60, { expires: 'Monday, 30-Nov-26 12:01:00 GMT' }],
    [60, { expires: 'Mon Nov 30 12:01:00 2026' }],
    [100_000, { 'cache-control': 'max-age=99999999999999999999' }],
    ...[{}, { expires: '0' }, { expires: '-1' }, { expires: '9999' }, { expires: 'tomorrow' }, { etag: '"a"' }].map(
      (headers) => [0, headers] as const,
    ),
    ...['max-age', 'max-age=', 'max-age=-5', 'max-age=1.5', 'max-age=x, max-age=60', 'no-cache, max-age=60'].map(
      (control) => [0, { 'cache-control': control, expires: date(60) }] as const,
    ),
    [0, { 'last-modified': date(-1e6), date: date(0) }],
  ];
  for (const [seconds, headers] of lifetimes) assert.is(freshSeconds(headers), seconds, JSON.stringify(headers));
});

Freshness('the time of the request counts as age, and a clock that was set back makes nothing fresh', () => {
  const headers = { 'cache-control': 'max-age=60' };
  assert.is(freshSeconds(headers, { requestedAt: START, receivedAt: START + 25_000 }), 35);
  assert.not.ok(isFresh({ ...TIMES, fields: headers }, START - 1));
});

Freshness('an answer is never fresh for longer than its server says, whatever it says', () => {
  const random = new Random(7);
  const pick = (): string =>
    random.pick(['max-age=30', 'max-age=5', 'no-cache', 'private', 's-maxage=900', ',', '"', '=', 'x="max-age=900']);
  for (let n = 0; n < 2000; n++) {
    const control = Array.from({ length: random.int(1, 5) }, pick).join(random.pick([', ', ' ', ';', '']));
    assert.ok(freshSeconds({ 'cache-control': control, age: '2' }) <= 28, control);
  }
});

Freshness('only entity tags and dates are sent back', () => {
  const modified = date(-5);
  assert.equal(conditionsFor({ etag: 'W/"x"', 'last-modified': modified }), [
    ['if-none-match', 'W/"x"'],
    ['if-modified-since', modified],
  ]);
  for (const etag of ['*', 'x', '"a" "b"', '"a', '"a"\r\nx: y']) assert.equal(conditionsFor({ etag }), [], etag);
  for (const text of ['yesterday', '1', '']) assert.equal(conditionsFor({ 'last-modified': text }), [], text);
});

Freshness('an answer 304 renews what it says, and dates and ages are its own', () => {
  const kept = { etag: '"a"', 'cache-control': 'max-age=60', date: date(-90), age: '7', expires: date(-30) };
  assert.is(freshSeconds(renewed(kept, { date: date(0) })), 60);
  assert.is(freshSeconds(renewed(kept, { date: date(0), 'cache-control': 'max-age=5' })), 5);
  assert.is(freshSeconds(renewed(kept, { age: '50' })), 10);
  for (const etag of ['"a"', 'W/"a"', undefined]) assert.ok(isSameVersion(kept, { etag }), etag);
  assert.not.ok(isSameVersion(kept, { etag: '"b"' }));
});

Freshness.run();
