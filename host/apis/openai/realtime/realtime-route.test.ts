// Transcription sessions of OpenAI's realtime API, with the official client and real speech.
import { execFileSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun, readWav } from '../../../inference/engines/fixtures/cannot-run.ts';
import { ffmpegPath, SAMPLE_TEXT, speechPath } from '../../../test/helpers/media/media.ts';
import { wordErrors } from '../../../test/helpers/media/word-errors.ts';
import { skip } from '../../../test/skip.ts';
import { CertificateFolder, hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';
import { refusalOf, SocketClient } from '../../http/sockets/fixtures/socket-client.ts';
import { RealtimeClient, realtimePcm } from './fixtures/realtime-client.ts';

const Realtime = suite('transcription sessions of OpenAI’s realtime API');
const certificates = new CertificateFolder();
let at: AudioApp;
let pcm: Buffer;

Realtime.before(async () => {
  at = await startAudioApp({ config: { tls: certificates.make('server') } });
  const [speech] = await readWav(speechPath());
  pcm = realtimePcm(speech!);
});
Realtime.after(async () => {
  await at?.[Symbol.asyncDispose]();
  certificates[Symbol.dispose]();
});

const open = (): Promise<RealtimeClient> => RealtimeClient.open(at.client, 'whisper-1');

/** Returns the `session.update` for these settings of the input. */
const update = (input: object, more: object = {}): object => ({
  type: 'session.update',
  session: { type: 'transcription', audio: { input }, ...more },
});

const seconds = (count: number): Buffer => Buffer.alloc(count * 48_000);

Realtime('gives the words of two turns while they are spoken, and tells where the turns are', async () => {
  const client = await open();
  const turns = update({ turn_detection: { type: 'server_vad', silence_duration_ms: 1800 } });
  const { session } = await client.ask(turns, 'session.updated');
  assert.is(session.type, 'transcription');
  client.append(Buffer.concat([pcm, seconds(3), pcm, seconds(3)]));
  let previous: string | null = null;
  let stoppedMs = 0;
  for (const startMs of [0, 14_000]) {
    const started = await client.next('input_audio_buffer.speech_started');
    const id = started.item_id;
    assert.ok(started.audio_start_ms >= stoppedMs && started.audio_start_ms < startMs + 1000, String(startMs));
    const stopped = await client.next('input_audio_buffer.speech_stopped');
    stoppedMs = stopped.audio_end_ms;
    assert.ok(stoppedMs > startMs + 10_000 && stoppedMs < startMs + 14_000, String(stoppedMs));
    const committed = await client.next('input_audio_buffer.committed');
    const added = await client.next('conversation.item.added');
    const done = await client.next('conversation.item.done');
    for (const event of [committed, added, done]) assert.is(event.previous_item_id, previous);
    const completed = await client.next('conversation.item.input_audio_transcription.completed');
    for (const one of [stopped.item_id, committed.item_id, added.item.id, done.item.id, completed.item_id])
      assert.is(one, id);
    assert.ok(wordErrors(SAMPLE_TEXT, completed.transcript) <= 4, completed.transcript);
    assert.is(client.deltasOf(id), completed.transcript);
    assert.is(completed.usage.type, 'duration');
    previous = id;
  }
  const types = client.events.map(({ type }) => type);
  assert.ok(
    types.indexOf('conversation.item.input_audio_transcription.delta') < types.indexOf('input_audio_buffer.committed'),
  );
  assert.is(new Set(client.events.map((event) => 'event_id' in event && event.event_id)).size, client.events.length);
  client.close();
});

Realtime('transcribes what the client commits, and the next turn with other settings', async () => {
  const client = await open();
  await client.ask(
    update({ turn_detection: null, transcription: { language: 'en', prompt: 'Kennedy' } }),
    'session.updated',
  );
  client.append(pcm, 100_000);
  const busy = await client.ask(update({ format: { type: 'audio/pcmu' } }), 'error');
  assert.match(busy.error.message, /commit or clear the audio first/);
  const committed = await client.ask({ type: 'input_audio_buffer.commit' }, 'input_audio_buffer.committed');
  const first = await client.next('conversation.item.input_audio_transcription.completed');
  assert.equal([committed.previous_item_id, first.item_id], [null, committed.item_id]);
  assert.equal(first.usage, { type: 'duration', seconds: 11 });
  assert.ok(wordErrors(SAMPLE_TEXT, first.transcript) <= 4, first.transcript);
  assert.is(client.deltasOf(first.item_id), first.transcript);

  for (const [type, format] of [
    ['audio/pcmu', 'mulaw'],
    ['audio/pcma', 'alaw'],
  ] as const) {
    const updated = await client.ask(update({ format: { type } }), 'session.updated');
    assert.equal(updated.session.audio?.input, {
      format: { type },
      transcription: { model: 'whisper-1', language: 'en', prompt: 'Kennedy' },
      noise_reduction: null,
      turn_detection: null,
    });
    const args = ['-v', 'error', '-i', speechPath(), '-ar', '8000', '-ac', '1', '-f', format, 'pipe:1'];
    client.append(execFileSync(ffmpegPath(), args), 10_000);
    await client.ask({ type: 'input_audio_buffer.commit' }, 'input_audio_buffer.committed');
    const { transcript } = await client.next('conversation.item.input_audio_transcription.completed');
    // As in live-route.test.ts: the beginning of speech at 8 kHz is heard differently on different processors.
    assert.ok(wordErrors(SAMPLE_TEXT, transcript) <= 8, transcript);
  }
  client.close();
});

Realtime('ends a turn when the client commits it, and drops what the client clears', async () => {
  const client = await open();
  client.append(pcm.subarray(0, 3 * 48_000));
  await client.ask({ type: 'input_audio_buffer.clear' }, 'input_audio_buffer.cleared');
  const empty = await client.ask({ type: 'input_audio_buffer.commit', event_id: 'mine' }, 'error');
  assert.equal([empty.error.code, empty.error.event_id], ['input_audio_buffer_commit_empty', 'mine']);
  client.append(pcm.subarray(0, 3 * 48_000));
  const { audio_start_ms: startMs } = await client.next('input_audio_buffer.speech_started');
  assert.ok(startMs >= 3000, String(startMs));
  await client.ask({ type: 'input_audio_buffer.commit' }, 'input_audio_buffer.committed');
  const { transcript } = await client.next('conversation.item.input_audio_transcription.completed');
  assert.match(transcript, /fellow Americans/);
  client.append(seconds(1));
  await client.ask({ type: 'input_audio_buffer.commit' }, 'input_audio_buffer.committed');
  assert.is((await client.next('conversation.item.input_audio_transcription.completed')).transcript, '');
  client.close();
});

Realtime('tells that a language is unknown, and goes on', async () => {
  const client = await open();
  await client.ask(update({ turn_detection: null, transcription: { language: 'klingon' } }), 'session.updated');
  client.append(pcm.subarray(0, 48_000));
  const failed = await client.next('conversation.item.input_audio_transcription.failed');
  assert.is(failed.error.param, 'session.audio.input.transcription.language');
  await client.ask({ type: 'input_audio_buffer.commit' }, 'input_audio_buffer.committed');
  await client.ask(update({ transcription: { language: null } }), 'session.updated');
  client.append(pcm.subarray(0, 3 * 48_000));
  await client.ask({ type: 'input_audio_buffer.commit' }, 'input_audio_buffer.committed');
  assert.match((await client.next('conversation.item.input_audio_transcription.completed')).transcript, /Americans/);
  client.close();
});

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const append = (audio: unknown): object => ({ type: 'input_audio_buffer.append', audio });
const MODEL = 'session.audio.input.transcription.model';

const WRONG: readonly (readonly [
  what: string,
  sent: object | string | Buffer,
  param: string | null,
  code: string | null,
])[] = [
  ['no JSON', '{"type":', null, null],
  ['a list', '[]', null, null],
  ['null', 'null', null, null],
  ['a binary message', Buffer.alloc(4800), null, 'unsupported_message'],
  ['a depth of 10,000', `{"type":"session.update","session":${nested(10_000)}}`, null, null],
  ['no type', {}, 'type', null],
  ['a type of another session', { type: 'response.create' }, 'type', null],
  ['a type of the beta', { type: 'transcription_session.update', session: {} }, 'type', null],
  ['the type __proto__', { type: '__proto__' }, 'type', null],
  ['no audio', { type: 'input_audio_buffer.append' }, 'audio', 'missing_required_parameter'],
  ['audio that is no text', append(7), 'audio', null],
  ['audio that is no base64', append('AAA%'), 'audio', null],
  ['audio in base64 for addresses', append('_-__'), 'audio', 'invalid_audio'],
  ['half of a base64 group', append('AAAAA'), 'audio', null],
  ['half a sample', append('AAAA'), 'audio', 'invalid_audio'],
  ['audio with a lone surrogate', '{"type":"input_audio_buffer.append","audio":"\\ud800"}', 'audio', null],
  ['a commit of nothing', { type: 'input_audio_buffer.commit' }, null, 'input_audio_buffer_commit_empty'],
  ['no session', { type: 'session.update' }, 'session', 'missing_required_parameter'],
  ['a session of speech to speech', { type: 'session.update', session: { type: 'realtime' } }, 'session.type', null],
  ['an unknown format', update({ format: { type: 'audio/mp3' } }), 'session.audio.input.format.type', null],
  ['another rate', update({ format: { type: 'audio/pcm', rate: 16_000 } }), 'session.audio.input.format.rate', null],
  ['an unknown model', update({ transcription: { model: 'gpt-9' } }), MODEL, 'model_not_found'],
  ['a model of texts', update({ transcription: { model: 'tiny' } }), MODEL, 'model_not_found'],
  [
    'a prompt of 1 MB',
    update({ transcription: { prompt: 'x'.repeat(900_000) } }),
    'session.audio.input.transcription.prompt',
    null,
  ],
  [
    'semantic turns',
    update({ turn_detection: { type: 'semantic_vad' } }),
    'session.audio.input.turn_detection.type',
    null,
  ],
  [
    'no silence',
    update({ turn_detection: { type: 'server_vad', silence_duration_ms: 0 } }),
    'session.audio.input.turn_detection.silence_duration_ms',
    null,
  ],
  [
    'log-probabilities',
    update({}, { include: ['item.input_audio_transcription.logprobs'] }),
    'session.include',
    'unsupported_parameter',
  ],
];

Realtime('answers wrong events with errors that name the event and the parameter, and goes on', async () => {
  const client = await open();
  for (const [n, [what, sent, param, code]] of WRONG.entries()) {
    const hasId = typeof sent === 'object' && !Buffer.isBuffer(sent);
    const message = hasId ? JSON.stringify({ ...sent, event_id: `e${n}` }) : sent;
    client.official.socket.send(message);
    const { error } = await client.next('error');
    assert.equal(
      [error.type, error.param, error.code],
      ['invalid_request_error', param, code],
      `${what}: ${error.message}`,
    );
    assert.is(error.event_id, hasId ? `e${n}` : null, what);
    assert.ok(error.message.length > 0 && error.message.length < 2000, what);
  }
  const { session } = await client.ask(
    update({
      noise_reduction: { type: 'near_field' },
      transcription: { delay: 'low' },
      turn_detection: { type: 'server_vad', threshold: 0.9, prefix_padding_ms: 100 },
    }),
    'session.updated',
  );
  const { noise_reduction: noise, turn_detection: turns } = session.audio!.input as Record<string, unknown>;
  assert.equal(noise, null);
  assert.equal(turns, { type: 'server_vad', threshold: 0.9, prefix_padding_ms: 100, silence_duration_ms: 500 });
  client.close();
});

const insecure = { rejectUnauthorized: false };
const REFUSED: readonly (readonly [query: string, status: number, param: string, message: RegExp])[] = [
  ['?intent=translation', 400, 'intent', /no sessions of speech to speech/],
  ['?call_id=rtc_1', 400, 'call_id', /Extra inputs/],
  ['?model=gpt-realtime', 404, 'model', /does not exist: the models are asr, whisper-1/],
  ['?model=tiny', 404, 'model', /cannot do realtime/],
];

Realtime('refuses other sessions and unknown models before the handshake', async () => {
  const url = `${at.url.replace('http', 'ws')}/v1/realtime`;
  for (const [query, status, param, message] of REFUSED) {
    const refusal = await refusalOf(url + query, insecure);
    assert.equal([refusal.status, refusal.body.error.param], [status, param], query);
    assert.match(refusal.body.error.message, message);
  }
});

Realtime('takes a model from the first update, and no audio before', async () => {
  const client = await SocketClient.open(`${at.url.replace('http', 'ws')}/v1/realtime?intent=transcription`, {
    ...insecure,
    protocols: ['realtime'],
  });
  assert.is(client.socket.protocol, 'realtime');
  assert.is((await client.message(0)).session.audio.input.transcription, null);
  client.socket.send(JSON.stringify(append('AAAAAAAA')));
  assert.equal(
    [(await client.message(1)).error.param, client.messages[1].error.code],
    [MODEL, 'missing_required_parameter'],
  );
  client.socket.send(JSON.stringify(update({ transcription: { model: 'asr' } })));
  assert.is((await client.message(2)).session.audio.input.transcription.model, 'asr');
  client.socket.send('x'.repeat(2_000_000));
  assert.is((await client.closed).code, 1009);
});

if (cannotRun !== undefined) skip('transcription sessions of OpenAI’s realtime API', cannotRun);
else if (!hasOpenssl) skip('transcription sessions of OpenAI’s realtime API', 'openssl is missing');
else Realtime.run();
