// Every parameter of a realtime session has the state that the documentation says, on real servers.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { SESSION_OBJECTS } from './session-fields.ts';
import { skip } from '../../../test/skip.ts';
import { type AudioApp, startAudioApp } from '../fixtures/audio-app.ts';
import { SocketClient } from '../../http/sockets/fixtures/socket-client.ts';

const Parameters = suite('parameters of realtime sessions');
let lenient: AudioApp;
let strict: AudioApp;

Parameters.before(async () => {
  [lenient, strict] = (await Promise.all(
    [false, true].map((isStrict) => startAudioApp({ config: { openai: { strict: isStrict } } })),
  )) as [AudioApp, AudioApp];
});
Parameters.after(async () => {
  await lenient?.[Symbol.asyncDispose]();
  await strict?.[Symbol.asyncDispose]();
});

const DETECTION = { type: 'server_vad' };

/** For each parameter with an effect a value, and for the others one that asks for another answer. */
const VALUES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  session: { type: 'transcription', audio: {}, include: [] },
  'session.audio': { input: {}, output: { voice: 'alloy' } },
  'session.audio.input': {
    format: { type: 'audio/pcmu' },
    transcription: {},
    turn_detection: DETECTION,
    noise_reduction: { type: 'near_field' },
  },
  'session.audio.input.transcription': { model: 'asr', language: 'en', prompt: 'A talk.', delay: 'low' },
  'session.audio.input.turn_detection': {
    type: 'server_vad',
    silence_duration_ms: 300,
    threshold: 0.6,
    prefix_padding_ms: 100,
    idle_timeout_ms: 5000,
    create_response: true,
    interrupt_response: true,
  },
};

/** Returns a session in which the object at a path has these members. */
function sessionWith(path: string, members: object): object {
  const required = path.endsWith('turn_detection') ? DETECTION : {};
  const within = path.split('.').slice(1);
  const value = within.reduceRight<object>((inner, name) => ({ [name]: inner }), { ...required, ...members });
  return { type: 'transcription', ...value };
}

interface ServerEvent {
  readonly type: string;
  readonly error?: { readonly param: string | null; readonly code: string | null };
}

/** Sends an update and returns the event that answers it. */
async function update(at: AudioApp, session: object): Promise<ServerEvent> {
  const client = await SocketClient.open(`${at.url.replace('http', 'ws')}/v1/realtime?model=asr`);
  client.socket.send(JSON.stringify({ type: 'session.update', session }));
  const answer = (await client.message(1)) as unknown as ServerEvent;
  client.socket.terminate();
  return answer;
}

for (const { route, fields } of SESSION_OBJECTS)
  Parameters(`of ${route} have their state`, async () => {
    const { schema, idle } = fields;
    const values = VALUES[route] ?? {};
    assert.equal(Object.keys(values).toSorted(), [...Object.keys(schema.shape), ...Object.keys(idle)].toSorted());
    for (const [name, value] of Object.entries(values)) {
      const field = Object.hasOwn(idle, name) ? idle[name] : undefined;
      const session = sessionWith(route, { [name]: value });
      assert.is((await update(lenient, session)).type, 'session.updated', name);
      const refused = await update(strict, field ? session : sessionWith(route, { [name]: 7 ** 9 }));
      if (field?.isHarmless) assert.is(refused.type, 'session.updated', name);
      else {
        assert.is(refused.error?.param, `${route}.${name}`, JSON.stringify(refused));
        if (field) assert.is(refused.error?.code, 'unsupported_parameter');
        else assert.is((await update(strict, session)).type, 'session.updated', name);
      }
    }
    const unknown = sessionWith(route, { surprise: 1 });
    assert.is((await update(lenient, unknown)).type, 'session.updated');
    assert.is((await update(strict, unknown)).error?.param, `${route}.surprise`);
  });

if (cannotRun !== undefined) skip('parameters of realtime sessions', cannotRun);
else Parameters.run();
