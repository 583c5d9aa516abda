import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  AanaError,
  errorLogFields,
  faultOf,
  fromErrorRecord,
  loggedStack,
  fail,
  publicData,
  publicMessage,
  toErrorRecord,
} from './errors.ts';

const Errors = suite('error records');

Errors('keep name, kind, message, data and stack across a border', () => {
  const error = new AanaError('PromptTooLongException', 'bad-request', 'prompt has 9 tokens, context holds 8', {
    data: { prompt_len: 9, max_len: 8 },
  });
  const revived = fromErrorRecord(JSON.parse(JSON.stringify(toErrorRecord(error))));
  assert.instance(revived, AanaError);
  assert.is(revived.name, 'PromptTooLongException');
  assert.is(revived.kind, 'bad-request');
  assert.is(revived.message, error.message);
  assert.equal(revived.data, { prompt_len: 9, max_len: 8 });
  assert.is(revived.stack, error.stack);
});

Errors('make an unknown error internal, an abort cancelled, a time-out exceeded', () => {
  assert.is(toErrorRecord(new RangeError('x')).kind, 'internal');
  assert.is(toErrorRecord(new RangeError('x')).name, 'RangeError');
  assert.is(toErrorRecord(new DOMException('x', 'AbortError')).kind, 'cancelled');
  assert.is(toErrorRecord(new DOMException('x', 'TimeoutError')).kind, 'deadline-exceeded');
});

Errors('say that a disk is full, which may pass, and name its path in the log only', () => {
  for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG']) {
    const error = Object.assign(new Error(`${code}: open '/data/secret'`), { code, path: '/data/secret' });
    const record = toErrorRecord(error);
    assert.equal([record.name, record.kind, record.unexpected], ['DiskFullException', 'unavailable', undefined]);
    assert.not.match(publicMessage(record), /secret/);
    assert.is(errorLogFields(error)['path'], '/data/secret');
    assert.is(faultOf(error), 'overload');
  }
});

Errors('have the same fault on both sides of a border', () => {
  const lost = new AanaError('ReplicaLostError', 'unavailable', 'x', { fault: 'replica-lost' });
  for (const error of [lost, fromErrorRecord(JSON.parse(JSON.stringify(toErrorRecord(lost))))])
    assert.is(faultOf(error), 'replica-lost');
  assert.is(faultOf(new AanaError('PromptTooLongException', 'bad-request', 'x')), 'caller');
  assert.is(faultOf(new AanaError('DeploymentFull', 'unavailable', 'x')), 'overload');
  assert.is(faultOf(new DOMException('x', 'AbortError')), 'cancelled');
  assert.is(faultOf(new RangeError('x')), 'deployment');
  assert.is(
    'fault' in toErrorRecord(new AanaError('PromptTooLongException', 'bad-request', 'x')),
    false,
    'a fault that follows from the kind takes no bytes',
  );
});

Errors('hide the message of an unexpected error, on both sides of a border', () => {
  const local = Object.assign(new RangeError('the prompt is: hush'), { code: 'ERR_RANGE' });
  for (const error of [local, fromErrorRecord(JSON.parse(JSON.stringify(toErrorRecord(local))))]) {
    assert.not.match(publicMessage(toErrorRecord(error)), /hush/);
    const { content, ...fields } = errorLogFields(error);
    assert.equal([content, fields['error']], ['the prompt is: hush', 'RangeError']);
    assert.not.match(JSON.stringify([fields, loggedStack(error)]), /hush/);
    assert.match(loggedStack(error) ?? '', /^ +at .*errors\.test/);
  }
  assert.is(errorLogFields(local)['code'], 'ERR_RANGE');
  const meant = new AanaError('VideoTooLongException', 'bad-request', 'too long');
  assert.equal(
    [publicMessage(toErrorRecord(meant)), errorLogFields(meant)],
    ['too long', { error: 'VideoTooLongException', reason: 'too long' }],
  );
  assert.is(
    publicMessage(toErrorRecord(Object.assign(new Error('no such page'), { expose: true, status: 404 }))),
    'no such page',
  );
});

Errors('tell clients the names of the files of a model, and not where they are', () => {
  for (const [reason, shown] of [
    ['model file /srv/cache/models/a-b/x.gguf is not a GGUF file', 'model file x.gguf is not a GGUF file'],
    ['C:\\models\\x.gguf is truncated', 'x.gguf is truncated'],
    ['https://hub.example/owner/repo: 404', 'https://hub.example/owner/repo: 404'],
    ['owner/repo/x.gguf needs 3 GB and/or a GPU', 'owner/repo/x.gguf needs 3 GB and/or a GPU'],
  ] as const) {
    const error = new AanaError('FailedDeployment', 'unavailable', reason);
    assert.is(publicMessage(toErrorRecord(error)), shown);
    assert.is(errorLogFields(error)['reason'], reason, 'the operator sees all');
  }
});

Errors('tell clients no folders of the host, in messages and in data', () => {
  const folders = /srv|home/;
  for (const name of ['DatabaseFault', 'DatabaseException', 'HelperError', 'ModelFormatError'] as const) {
    const message = 'the database "/srv/data/aana.db": disk I/O error; see /home/ann/app/helper.ts';
    const record = toErrorRecord(fail(name, message, { data: { message, file: '/srv/x.gguf', n: 3 } }));
    assert.match(record.message, folders, 'the operator sees all');
    const shown = 'the database "aana.db": disk I/O error; see helper.ts';
    assert.is(publicMessage(record), shown);
    assert.equal(publicData(record), { message: shown, file: 'x.gguf', n: 3 });
  }
  const other = new AanaError('NotFoundException', 'not-found', 'no', { data: { last_lines: ['a'], id: '/a/b' } });
  assert.equal(publicData(toErrorRecord(other)), { id: '/a/b' });
});

Errors('represent thrown values that are not errors', () => {
  assert.equal(toErrorRecord('plain'), {
    name: 'Error',
    kind: 'internal',
    message: 'plain',
    data: {},
    unexpected: true,
  });
  assert.is(toErrorRecord(undefined).message, 'undefined');
});

Errors.run();
