// Secrets for realtime sessions of pages, with the official client and real speech.
import OpenAI, { AuthenticationError, BadRequestError, NotFoundError, PermissionDeniedError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun, readWav } from '../../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { speechPath } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';
import { PythonModels } from '../fixtures/python-models.ts';
import { refusalOf, SocketClient } from '../../http/sockets/fixtures/socket-client.ts';
import { realtimePcm } from './fixtures/realtime-client.ts';

const Secrets = suite('client secrets of realtime sessions');
let open: AudioApp;
let guarded: AudioApp;

Secrets.before(async () => {
  open = await startAudioApp();
  guarded = await startAudioApp({
    config: { api_service: { enabled: true }, openai: { aliases: { 'whisper-1': 'asr' } } },
  });
});
Secrets.after(async () => {
  await open?.[Symbol.asyncDispose]();
  await guarded?.[Symbol.asyncDispose]();
  await python?.[Symbol.asyncDispose]();
});

const SESSION = {
  type: 'transcription' as const,
  audio: { input: { turn_detection: null, transcription: { model: 'whisper-1', language: 'en', prompt: 'A talk.' } } },
} as unknown as OpenAI.Realtime.RealtimeTranscriptionSessionCreateRequest;

const withKey = (at: AudioApp, apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
const socketUrl = (at: AudioApp, query = ''): string => `${at.url.replace('http', 'ws')}/v1/realtime${query}`;
const protocols = (secret: string): string[] => ['realtime', `openai-insecure-api-key.${secret}`];
const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });
const keyOf = async (user_id: string, more: object = {}) => guarded.app.apiKeys!.create({ user_id, ...more });

Secrets('open sessions with their settings, with keys and without', async () => {
  const [samples] = await readWav(speechPath());
  const audio = realtimePcm(samples!.subarray(0, 48_000)).toString('base64');
  for (const [at, client] of [
    [open, open.client],
    [guarded, withKey(guarded, (await keyOf('ann')).apiKey)],
  ] as const) {
    const before = Math.floor(Date.now() / 1000);
    const { value, expires_at: expires, session } = await client.realtime.clientSecrets.create({ session: SESSION });
    assert.match(value, /^ek_[\w-]+$/);
    assert.ok(expires >= before + 600 && expires <= before + 660);
    const { input } = (session as OpenAI.Realtime.RealtimeTranscriptionSessionCreateResponse).audio!;
    assert.equal(
      [session.type, input!.transcription, input!.turn_detection],
      ['transcription', { model: 'whisper-1', language: 'en', prompt: 'A talk.' }, null],
    );
    for (const options of [{ protocols: protocols(value) }, bearer(value)]) {
      const socket = await SocketClient.open(socketUrl(at), options);
      const created = (await socket.message(0)) as { session: { audio: { input: { transcription: unknown } } } };
      assert.equal(created.session.audio.input.transcription, input!.transcription);
      if ('protocols' in options) {
        socket.socket.send(JSON.stringify({ type: 'input_audio_buffer.append', audio }));
        socket.socket.send(JSON.stringify({ type: 'input_audio_buffer.commit' }));
        let n = 1;
        while (!(await socket.message(n)).type.endsWith('transcription.completed')) n += 1;
        assert.match((socket.messages[n] as { transcript: string }).transcript, /fellow Americans/i);
      }
      socket.socket.terminate();
    }
  }
});

Secrets('open nothing else, and end with their key', async () => {
  const { apiKey, record } = await keyOf('bob');
  const { value } = await withKey(guarded, apiKey).realtime.clientSecrets.create({ session: SESSION });
  const client = withKey(guarded, value);
  const denied = await errorOf(client.models.list().asResponse(), PermissionDeniedError);
  assert.equal(
    [denied.code, denied.message],
    ['insufficient_permissions', '403 a client secret only opens /v1/realtime'],
  );
  await errorOf(client.realtime.clientSecrets.create({}), PermissionDeniedError);
  assert.is((await fetch(`${guarded.url}/tasks`, bearer(value))).status, 403);

  const changed = `${value.slice(0, -1)}${value.endsWith('A') ? 'Q' : 'A'}`;
  for (const at of [guarded, open]) {
    const refusal = await refusalOf(socketUrl(at, '?model=asr'), { protocols: protocols(changed) });
    assert.equal([refusal.status, refusal.body.error.code], [401, 'invalid_api_key']);
  }
  await guarded.app.apiKeys!.revoke(record.key_id);
  const revoked = await refusalOf(socketUrl(guarded), { protocols: protocols(value) });
  assert.equal([revoked.status, revoked.body.error.code], [401, 'invalid_api_key']);
  assert.match(revoked.body.error.message, /was revoked/);
});

Secrets('have no more rights than their key', async () => {
  const { apiKey } = await keyOf('eve', { scopes: ['/v1/realtime/client_secrets'] });
  const denied = await errorOf(withKey(guarded, apiKey).realtime.clientSecrets.create({}), PermissionDeniedError);
  assert.is(denied.code, 'insufficient_permissions');
  const { apiKey: texts } = await keyOf('eve', { scopes: ['model:tiny'] });
  const missing = await errorOf(
    withKey(guarded, texts).realtime.clientSecrets.create({ session: SESSION }),
    NotFoundError,
  );
  assert.is(missing.code, 'model_not_found');
  const { value } = await withKey(guarded, texts).realtime.clientSecrets.create({});
  const refusal = await refusalOf(socketUrl(guarded, '?model=asr'), { protocols: protocols(value) });
  assert.equal([refusal.status, refusal.body.error.code], [404, 'model_not_found']);
  const { apiKey: speech } = await keyOf('eve', { scopes: ['model:asr'] });
  const { value: good } = await withKey(guarded, speech).realtime.clientSecrets.create({});
  const socket = await SocketClient.open(socketUrl(guarded, '?model=asr'), { protocols: protocols(good) });
  assert.is((await socket.message(0)).type, 'session.created');
  socket.socket.terminate();
  await errorOf(
    new OpenAI({ baseURL: `${guarded.url}/v1`, apiKey: 'no' }).realtime.clientSecrets.create({}),
    AuthenticationError,
  );
});

Secrets('are refused with wrong settings, which the error names', async () => {
  const cases: readonly (readonly [body: object, param: string])[] = [
    [{ expires_after: { anchor: 'created_at', seconds: 9 } }, 'expires_after.seconds'],
    [{ expires_after: { anchor: 'created_at', seconds: 7201 } }, 'expires_after.seconds'],
    [{ expires_after: { anchor: 'never' } }, 'expires_after.anchor'],
    [{ session: { type: 'realtime' } }, 'session.type'],
    [{ session: 'x' }, 'session'],
    [
      { session: { type: 'transcription', audio: { input: { transcription: { language: 7 } } } } },
      'session.audio.input.transcription.language',
    ],
    [
      { session: { type: 'transcription', audio: { input: { transcription: { prompt: 'ß'.repeat(4000) } } } } },
      'session',
    ],
  ];
  for (const [body, param] of cases) {
    const error = await errorOf(open.client.realtime.clientSecrets.create(body), BadRequestError);
    assert.is(error.param, param);
  }
});

const python = cannotRun === undefined ? await PythonModels.start() : undefined;
if (python !== undefined)
  Secrets('are valid for the models of OpenAI’s package for Python', async () => {
    const bodies = [{}, { session: SESSION, expires_after: { anchor: 'created_at', seconds: 60 } }];
    const answers = await Promise.all(
      bodies.map(async (body) => (await open.post('/v1/realtime/client_secrets', body)).text()),
    );
    await python.check(['realtime.ClientSecretCreateResponse', ...answers]);
  });

if (cannotRun !== undefined) skip('client secrets of realtime sessions', cannotRun);
else Secrets.run();
