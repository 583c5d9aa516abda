import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isSigned } from './fixtures/receiver.ts';
import { messageBody, messageHeaders } from './message.ts';
import { newSecret } from './secrets.ts';

const Message = suite('a message of a webhook');
const DELIVERY = {
  event: 'task.completed',
  task_id: 't',
  endpoint: '/video/transcribe',
  task_status: 'completed',
  num_retries: 1,
  result: '{"z":1,"a":"Grüße ☃ 😀 \\u007f\\n"}',
} as const;
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

Message('has the keys of the Python SDK in their order, in ASCII', () => {
  assert.is(
    text(messageBody(DELIVERY, false)),
    String.raw`{"event":"task.completed","payload":{"task_id":"t","task_type":"/video/transcribe",` +
      String.raw`"status":"completed","result":{"z":1,"a":"Gr\u00fc\u00dfe \u2603 \ud83d\ude00 \u007f\n"},` +
      String.raw`"num_retries":1}}`,
  );
});

Message('contains a stack trace only if the configuration allows it', () => {
  const failed = {
    ...DELIVERY,
    event: 'task.failed',
    task_status: 'failed',
    result: '{"error":"E","message":"m","data":{},"stacktrace":"at secret.ts"}',
  } as const;
  assert.equal(
    [text(messageBody(failed, false)).includes('secret.ts'), text(messageBody(failed, true)).includes('secret.ts')],
    [false, true],
  );
  const own = { ...DELIVERY, result: '{"stacktrace":"the endpoint’s own"}' };
  assert.ok(text(messageBody(own, false)).includes('own'));
});

Message('reports a result that was left out, and no missing result', () => {
  assert.match(
    text(messageBody({ ...DELIVERY, result: null }, false)),
    '"result":null,"num_retries":1,"result_omitted":true}',
  );
  assert.not.match(
    text(messageBody({ ...DELIVERY, event: 'task.started', task_status: 'running', result: null }, false)),
    'omitted',
  );
});

Message('is signed over id, time and body with each kind of secret', async () => {
  const body = messageBody(DELIVERY, false);
  for (const secret of [newSecret(), 'a plain secret of the original']) {
    const headers = Object.fromEntries(messageHeaders({ id: 'i', body, secret, sentAt: 1_700_000_000_999 }));
    assert.is(headers['webhook-timestamp'], '1700000000');
    assert.ok(await isSigned({ headers, body: Buffer.from(body) }, secret));
    for (const changed of [{ 'webhook-id': 'j' }, { 'webhook-timestamp': '1700000001' }])
      assert.not.ok(await isSigned({ headers: { ...headers, ...changed }, body: Buffer.from(body) }, secret));
    assert.not.ok(await isSigned({ headers, body: Buffer.from(body) }, newSecret()));
  }
});

Message('is signed like the example of the convention', () => {
  // The example in the text of Standard Webhooks.
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const headers = new Map(
    messageHeaders({
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      body: Buffer.from('{"test": 2432232314}'),
      secret,
      sentAt: 1_614_265_330_000,
    }),
  );
  assert.is(headers.get('webhook-signature'), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

Message.run();
