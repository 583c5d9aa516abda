import { mkdirSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaApp } from 'aana-host';
import { loadConfig } from '../base/config/index.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { SentimentDeployment } from '../inference/deployments/fixtures/sentiment-deployment.ts';
import { makeMedia, sine, testFfmpeg } from '../test/helpers/media/media-files.ts';
import { until } from '../test/helpers/server.ts';
import { skip } from '../test/skip.ts';
import { Receiver } from '../data/webhooks/fixtures/receiver.ts';
import { type RecordedSpan, Recorder, type Tree } from './fixtures/recorder.ts';
import { keepingPlugins, makeApp, makeFolder, started } from './fixtures/test-app.ts';
import { buildTestPlugin } from '../endpoints/plugins/fixtures/build-test-plugin.ts';

const Reported = suite('the telemetry of an application');
const folder = makeFolder();
Reported.after(() => rmSync(folder, { recursive: true, force: true }));

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = `00-${TRACE}-00f067aa0ba902b7-01`;

Reported('are requests and calls of deployments, whose spans continue in the replica', async () => {
  const telemetry = new Recorder();
  const config = loadConfig({ cwd: '/', env: process.env, base: { task_queue: { enabled: false } } });
  await using app = new AanaApp({ config, log: silentLogger, progress: { write: () => true }, telemetry });
  app.registerDeployment('sentiment', SentimentDeployment.options({}));
  const sentiment = () => app.handle(SentimentDeployment, 'sentiment');
  const place = {
    name: 'facts',
    path: '/facts',
    summary: 'Facts',
    input: z.strictObject({ fail: z.boolean() }),
    output: z.unknown(),
  };
  app.registerEndpoint({
    ...place,
    run: ({ fail }, context) =>
      fail ? sentiment().fail({ how: 'inference' }, context) : sentiment().facts({}, context),
  });
  await app.connect({ port: 0, show_logs: false });
  await app.deploy();
  const ask = async (fail: boolean): Promise<Response> => {
    const body = new FormData();
    body.set('body', JSON.stringify({ fail }));
    return fetch(`${app.url}/facts`, { method: 'POST', body, headers: { traceparent: CALLER } });
  };
  const { traceparent: seen } = (await (await ask(false)).json()) as { traceparent: string };
  assert.is((await ask(true)).status, 500);
  await fetch(`${app.url}/made/up`);

  const calls = telemetry.of('aana.deployment.calls').map(({ attributes }) => attributes);
  assert.equal(calls, [
    { 'aana.deployment': 'sentiment', 'aana.method': 'facts', 'aana.outcome': 'ok' },
    { 'aana.deployment': 'sentiment', 'aana.method': 'fail', 'aana.outcome': 'deployment' },
  ]);
  for (const name of ['aana.deployment.call.duration', 'aana.deployment.call.wait']) {
    assert.is(telemetry.of(name).length, 2, name);
    assert.ok(
      telemetry.of(name).every(({ value }) => value >= 0 && value < 60),
      'in seconds',
    );
  }
  assert.equal(
    telemetry.of('aana.deployment.calls.open').map(({ value }) => value),
    [1, 0, 1, 0],
  );
  assert.equal(telemetry.tree(CALLER), {
    'POST /facts': { 'aana.deployment.call': {} },
    'POST /facts #2': { 'aana.deployment.call': {} },
  });
  assert.equal(telemetry.tree(undefined), { 'aana.deployment.placement': {}, GET: {} });
  assert.is(seen, telemetry.spans.find(({ name }) => name === 'aana.deployment.call')?.traceparent);
  const failed = telemetry.spans
    .filter(({ outcome }) => outcome?.error !== undefined)
    .map(({ name, outcome }) => [name, outcome?.attributes?.['http.response.status_code']]);
  assert.equal(failed, [
    ['POST /facts', 500],
    ['aana.deployment.call', undefined],
  ]);
  assert.equal(
    telemetry
      .of('http.server.request.duration')
      .map(({ attributes }) => [attributes['http.response.status_code'], attributes['http.route']]),
    [
      [200, '/facts'],
      [500, '/facts'],
      [404, undefined],
    ],
  );
});

const SOURCE = `
import { defineEndpoint, defineHelper, definePlugin, z } from 'aana-host/plugin';

const count = defineHelper({ name: 'count', input: z.string(), output: z.int(),
  run: (text) => text.split(' ').length });
const words = defineEndpoint({
  name: 'words', path: '/words', summary: '', input: z.strictObject({ url: z.string(), text: z.string() }),
  output: z.any(), stream: true, uses: ['remote'],
  async run({ url, text }, ctx) {
    const audio = await (await ctx.video.open({ url })).extractAudio();
    await ctx.deployment('sentiment').call('facts');
    for await (const { word } of ctx.deployment('sentiment').stream('words', { text })) ctx.write({ word });
    ctx.write({ seconds: audio.duration, words: await ctx.runRemote(count, text) });
  },
});
export const endpoint = definePlugin([words], { helpers: [count] });
`;

/** Leaves out further writes, because a slow attempt stores its values in several. */
const withOneWrite = (tree: Tree): Tree =>
  Object.fromEntries(
    Object.entries(tree)
      .filter(([name]) => !/^write sqlite #\d+$/.test(name))
      .map(([name, inner]) => [name, withOneWrite(inner)]),
  );

/** Returns the names in a trace, including those of host calls and deployments' methods. */
function labelOf({ name, attributes }: RecordedSpan): string {
  return [
    name,
    attributes['aana.plugin.endpoint'],
    attributes['aana.operation'],
    attributes['aana.method'],
    attributes['aana.media'],
    attributes['aana.webhook.event'],
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}

const ffmpeg = await testFfmpeg();
if (ffmpeg === undefined) skip('the trace of a plugin', 'no ffmpeg');
else {
  Reported('is one tree for a streamed request to a plugin, and one for a task with its webhook', async () => {
    const speech = await readFile(await makeMedia(ffmpeg, join(folder, 'speech.wav'), ...sine(440, 1)));
    const site = createServer((_, response) => response.end(speech));
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    const receiver = await Receiver.start();
    const telemetry = new Recorder();
    try {
      const plugin = join(folder, 'speaker');
      mkdirSync(join(plugin, 'src'), { recursive: true });
      await writeFile(
        join(plugin, 'plugin.json'),
        JSON.stringify({
          name: 'speaker',
          version: '1.0.0',
          capabilities: ['media', 'deployments', 'remote'],
          deployments: ['sentiment'],
        }),
      );
      await writeFile(join(plugin, 'src/index.ts'), SOURCE);
      await buildTestPlugin(plugin);
      await using app = makeApp(
        folder,
        { telemetry },
        {
          ...keepingPlugins(folder),
          media: { allow_private_urls: true, ffmpeg_path: ffmpeg },
          webhook: { allow_private_urls: true },
        },
      );
      app.registerDeployment('sentiment', SentimentDeployment.options({}));
      await started(app.registerPlugins(plugin));
      await fetch(`${app.url}/webhooks`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ url: receiver.url, events: ['task.completed'] }),
      });

      const ask = (query: string): Promise<Response> =>
        fetch(`${app.url}/words${query}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', traceparent: CALLER },
          body: JSON.stringify({
            url: `http://127.0.0.1:${(site.address() as AddressInfo).port}/speech.wav`,
            text: 'good and bad',
          }),
        });
      const streamed = await (await ask('')).text();
      assert.ok(streamed.startsWith('{"word":"good"}'), streamed);
      const invocation = {
        'aana.plugin.call media.open': { 'aana.media.fetch': {} },
        'aana.plugin.call media.extract-audio': { 'aana.media.decode audio': {} },
        'aana.plugin.call deployments.call': { 'aana.deployment.call facts': {} },
        'aana.plugin.call deployments.open': {},
        'aana.deployment.call words': {},
        'aana.plugin.call remote.start': { 'aana.plugin.invocation helper': {} },
        'aana.plugin.call remote.wait': {},
      };
      assert.equal(telemetry.tree(CALLER, labelOf), { 'POST /words': { 'aana.plugin.invocation words': invocation } });

      assert.is((await ask('?defer=true')).status, 200);
      await receiver.until(1);
      // The receiver has the event before the host has read the answer, and closing the application aborts open
      // requests.
      await until(async () => telemetry.of('aana.webhook.deliveries').length === 1);
      const attempt = { 'aana.plugin.invocation words': invocation, 'write sqlite': {} };
      assert.equal(withOneWrite(telemetry.tree(CALLER, labelOf)), {
        'POST /words': { 'aana.plugin.invocation words': invocation },
        'POST /words #2': {
          'write sqlite': {},
          'aana.task.attempt': attempt,
          'aana.webhook.attempt task.completed': { 'write sqlite': {} },
        },
      });
      const delivery = telemetry.spans.find(({ name }) => name === 'aana.webhook.attempt');
      assert.is(receiver.received[0]?.headers['traceparent'], delivery?.traceparent);
    } finally {
      await receiver.close();
      site.close();
    }
    assert.ok(
      telemetry.spans.every(({ outcome }) => outcome !== undefined && outcome.error === undefined),
      'all of them have ended well',
    );

    const speaker = { 'aana.plugin': 'speaker' };
    const words = { ...speaker, 'aana.plugin.endpoint': 'words' };
    const attributesOf = (name: string): unknown[] => telemetry.of(name).map(({ attributes }) => attributes);
    const helper = { ...speaker, 'aana.plugin.endpoint': 'helper' };
    assert.equal(
      attributesOf('aana.plugin.invocation.duration'),
      [helper, words, helper, words].map((one) => ({ ...one, 'aana.outcome': 'ok' })),
    );
    assert.equal(attributesOf('aana.plugin.invocation.wait'), [words, helper, words, helper]);
    assert.equal(attributesOf('aana.plugin.invocation.cpu'), [helper, words, helper, words]);
    const cpu = telemetry.of('aana.plugin.invocation.cpu').map(({ value }) => value);
    // Linux counts the time of a thread in steps of up to 4 ms, so a short invocation may have 0.
    assert.ok(cpu.every((value) => value >= 0 && value < 60) && cpu.some((value) => value > 0), `${cpu}`);
    assert.equal(
      telemetry.of('aana.plugin.invocations.open').map(({ value }) => value),
      [1, 2, 1, 0, 1, 2, 1, 0],
    );
    assert.equal(attributesOf('aana.plugin.call.duration').slice(0, 1), [
      { ...speaker, 'aana.operation': 'media.open', 'aana.outcome': 'ok' },
    ]);
    assert.equal(attributesOf('aana.task.attempt.duration'), [{ 'aana.endpoint': '/words', 'aana.outcome': 'ok' }]);
    assert.equal(attributesOf('aana.task.wait'), [{ 'aana.endpoint': '/words' }]);
    assert.ok(telemetry.of('aana.task.wait').every(({ value }) => value >= 0 && value < 60));
    assert.equal(telemetry.of('aana.tasks.ended'), [
      { value: 1, attributes: { 'aana.endpoint': '/words', 'aana.task.status': 'completed' } },
    ]);
    assert.equal(
      telemetry.of('aana.task.attempts').map(({ value }) => value),
      [1],
    );
    assert.equal(
      telemetry.of('aana.tasks.running').map(({ value }) => value),
      [1, 0],
    );
    assert.equal(attributesOf('aana.webhook.attempt.duration'), [
      { 'aana.webhook.event': 'task.completed', 'aana.outcome': 'ok' },
    ]);
    assert.equal(
      telemetry.of('aana.webhook.deliveries').map(({ attributes }) => attributes['aana.webhook.status']),
      ['delivered'],
    );
    assert.equal(attributesOf('aana.media.fetch.duration'), [{ 'aana.outcome': 'ok' }, { 'aana.outcome': 'ok' }]);
    assert.ok(telemetry.of('aana.media.fetch.size').every(({ value }) => value > 16_000));
    assert.equal(attributesOf('aana.media.decode.duration'), [
      { 'aana.media': 'audio', 'aana.outcome': 'ok' },
      { 'aana.media': 'audio', 'aana.outcome': 'ok' },
    ]);
  });
}

Reported.run();
