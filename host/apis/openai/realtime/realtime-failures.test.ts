// Transcription sessions that go wrong: the call fails, the client vanishes or floods, the server shuts down. The
// deployment runs in a real replica, and behaves badly where it should.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeApp, makeFolder, started } from '../../../application/fixtures/test-app.ts';
import type { AanaApp, ConfigInput } from 'aana-host';
import { ParrotDeployment } from '../../http/sockets/fixtures/parrot-deployment.ts';
import { SocketClient } from '../../http/sockets/fixtures/socket-client.ts';

const Failures = suite('transcription sessions that go wrong');
const folder = makeFolder();
let app: AanaApp;

const appWith = (config: ConfigInput): Promise<AanaApp> =>
  started(makeApp(folder, {}, config).registerDeployment('parrot', ParrotDeployment.options()));

Failures.before(async () => {
  app = await appWith({});
});
Failures.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

/** A session of the deployment, which behaves as `language` says. */
class Session {
  readonly client: SocketClient;
  #taken = 0;

  private constructor(client: SocketClient) {
    this.client = client;
  }

  static async open(language: string | null = null, input: object = {}, one: AanaApp = app): Promise<Session> {
    const url = `${one.url!.replace('http', 'ws')}/v1/realtime?model=parrot`;
    const session = new Session(await SocketClient.open(url));
    await session.update({ transcription: { language }, ...input });
    return session;
  }

  send(event: object): void {
    this.client.socket.send(JSON.stringify(event));
  }

  async update(input: object): Promise<void> {
    this.send({ type: 'session.update', session: { type: 'transcription', audio: { input } } });
    await this.next('session.updated');
  }

  /** Sends so many seconds of audio. */
  append(seconds = 0.2): void {
    this.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(48_000 * seconds).toString('base64') });
  }

  /** Returns the next event of one of these types. */
  async next(...types: readonly string[]): ReturnType<SocketClient['message']> {
    for (;;) {
      const event = await this.client.message(this.#taken);
      this.#taken += 1;
      if (types.includes(event.type)) return event;
    }
  }
}

/** Waits until no transcription runs any more. */
async function quiet(one: AanaApp = app): Promise<void> {
  const parrot = one.handle(ParrotDeployment, 'parrot');
  while ((await parrot.facts()).running > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

for (const turnDetection of [{ type: 'server_vad' }, null])
  Failures(
    `go on after a turn that fails, with the turns of ${turnDetection ? 'the server' : 'the client'}`,
    async () => {
      const session = await Session.open('broken', { turn_detection: turnDetection });
      session.append();
      const { error, item_id: id } = await session.next('conversation.item.input_audio_transcription.failed');
      assert.equal([error.type, error.code], ['server_error', 'inference_exception']);
      assert.match(id, /^item_/);
      session.send({ type: 'input_audio_buffer.clear' });
      await session.next('input_audio_buffer.cleared');
      await session.update({ transcription: { language: null } });
      session.append();
      session.send({ type: 'input_audio_buffer.commit' });
      const { transcript } = await session.next('conversation.item.input_audio_transcription.completed');
      assert.is(transcript, '16003200');
      session.client.socket.terminate();
    },
  );

Failures('survive the loss of their replica', async () => {
  const session = await Session.open('mortal', { turn_detection: null });
  session.append();
  const { error } = await session.next('conversation.item.input_audio_transcription.failed');
  assert.is(error.type, 'server_error');
  session.send({ type: 'input_audio_buffer.clear' });
  await session.update({ transcription: { language: null } });
  for (;;) {
    session.append();
    session.send({ type: 'input_audio_buffer.commit' });
    const outcomes = ['completed', 'failed'].map((name) => `conversation.item.input_audio_transcription.${name}`);
    const { type } = await session.next(...outcomes);
    if (type === outcomes[0]) break; // the replica is back
  }
  session.client.socket.terminate();
});

Failures('end the call of a client that clears the audio, or vanishes', async () => {
  const session = await Session.open('deaf', { turn_detection: null });
  session.append();
  session.send({ type: 'input_audio_buffer.clear' });
  await session.next('input_audio_buffer.cleared');
  await quiet();
  session.append();
  session.send({ type: 'input_audio_buffer.commit' });
  await session.next('input_audio_buffer.committed');
  session.client.socket.terminate();
  await quiet();
});

Failures('make no call before they have audio', async () => {
  const session = await Session.open(null, { turn_detection: null });
  for (const [audio, code] of [
    ['AAAA', 'invalid_audio'], // half a sample
    ['', 'input_audio_buffer_commit_empty'],
  ]) {
    session.send({ type: 'input_audio_buffer.append', audio });
    session.send({ type: 'input_audio_buffer.commit' });
    assert.is((await session.next('error')).error.code, code);
  }
  await session.update({ format: { type: 'audio/pcmu' } });
  assert.is((await app.handle(ParrotDeployment, 'parrot').facts()).running, 0);
  session.client.socket.terminate();
});

Failures('read no more from a client than the deployment takes', async () => {
  const session = await Session.open('deaf');
  for (let count = 0; count < 50; count += 1) session.append(10);
  const { socket } = session.client;
  const isStuck = async (): Promise<boolean> => {
    const before = socket.bufferedAmount;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return before > 0 && socket.bufferedAmount >= before;
  };
  while (!(await isStuck()));
  socket.terminate();
  await quiet();
});

Failures('answer each of 500 wrong events', async () => {
  const session = await Session.open();
  for (let count = 0; count < 500; count += 1) session.send({ type: 'response.create', event_id: `e${count}` });
  for (let count = 0; count < 500; count += 1) assert.is((await session.next('error')).error.event_id, `e${count}`);
  session.client.socket.terminate();
});

Failures('refuse parameters without effect with the setting `openai.strict`', async () => {
  await using one = await appWith({ openai: { strict: true } });
  const session = await Session.open(null, { turn_detection: { type: 'server_vad', threshold: 0.5 } }, one);
  const inputs: readonly (readonly [input: object, param: string])[] = [
    [{ noise_reduction: { type: 'near_field' } }, 'noise_reduction'],
    [{ transcription: { delay: 'low' } }, 'transcription.delay'],
    [{ turn_detection: { type: 'server_vad', idle_timeout_ms: 5000 } }, 'turn_detection.idle_timeout_ms'],
  ];
  for (const [input, param] of inputs) {
    session.send({ type: 'session.update', session: { type: 'transcription', audio: { input } } });
    const { error } = await session.next('error');
    assert.equal([error.code, error.param], ['unsupported_parameter', `session.audio.input.${param}`]);
  }
  session.client.socket.terminate();
});

Failures('tell that they have lasted too long, and when they will', async () => {
  await using one = await appWith({ sockets: { max_duration_s: 1 } });
  const before = Date.now() / 1000;
  const client = await SocketClient.open(`${one.url!.replace('http', 'ws')}/v1/realtime?model=parrot`);
  const { session: facts } = await client.message(0);
  assert.ok(facts.expires_at >= Math.floor(before + 1) && facts.expires_at <= Date.now() / 1000 + 1);
  const input = { transcription: { language: 'deaf' } };
  for (const event of [
    { type: 'session.update', session: { type: 'transcription', audio: { input } } },
    { type: 'input_audio_buffer.append', audio: Buffer.alloc(9600).toString('base64') },
  ])
    client.socket.send(JSON.stringify(event)); // not waited for, because the session may end first
  assert.equal(await client.closed, { code: 1008, reason: 'SocketExpired' });
  const { error } = client.messages.at(-1);
  assert.equal([error.type, error.code], ['server_error', 'socket_expired']);
  await quiet(one);
});

Failures('give the words that they have when the server shuts down', async () => {
  const one = await appWith({});
  const session = await Session.open(null, {}, one);
  session.append();
  await session.next('conversation.item.input_audio_transcription.delta');
  const stopped = one.shutdown({ graceMs: 60_000 });
  const { transcript } = await session.next('conversation.item.input_audio_transcription.completed');
  assert.is(transcript, '16003200');
  assert.is((await session.client.closed).code, 1001);
  await stopped;
});

Failures.run();
