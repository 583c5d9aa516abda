// Endpoints of host code that declare their deployments, over real servers, replicas and downloads.
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Deferred, deferred } from '../../base/core/deferred.ts';
import { SentimentDeployment } from '../../inference/deployments/fixtures/sentiment-deployment.ts';
import { type AanaApp, Endpoint, type HostEndpointContext, schemas, z } from 'aana-host';
import { makeMedia, sine, testFfmpeg } from '../../test/helpers/media/media-files.ts';
import { skip } from '../../test/skip.ts';
import { makeApp, makeFolder, postJson, started } from '../fixtures/test-app.ts';

const Declared = suite('deployments that endpoints declare');
let folder = '';
Declared.before(() => void (folder = makeFolder()));
Declared.after(() => rmSync(folder, { recursive: true, force: true }));

const Output = z.strictObject({ label: z.string() });
const Text = z.strictObject({ text: z.string() });

/** Calls a deployment with a text. */
class Classify extends Endpoint<typeof Text, typeof Output> {
  readonly input = Text;
  readonly output = Output;
  override readonly deployments: readonly string[] = ['sentiment'];

  async run({ text }: z.output<typeof Text>, context: HostEndpointContext): Promise<z.output<typeof Output>> {
    if (text === 'nothing') return { label: 'none' };
    if (text === 'broken') throw new Error('it is broken');
    const { label } = await this.handle(SentimentDeployment, 'sentiment').classify({ text }, context);
    return { label };
  }
}

/** Creates an application with a deployment that takes one call at a time and queues none. */
const oneAtATime = (): AanaApp =>
  makeApp(folder, {}, { media: { allow_private_urls: true } }).registerDeployment(
    'sentiment',
    SentimentDeployment.options({ max_ongoing_requests: 1, max_queued_requests: 0 }),
  );

/** Keeps the deployment busy until the function that it returns is called. */
function occupy(app: AanaApp): () => Promise<void> {
  const ending = new AbortController();
  const call = app
    .handle(SentimentDeployment, 'sentiment')
    .untilCancelled({}, { signal: ending.signal })
    .catch(() => {});
  return async () => {
    ending.abort();
    await call;
    const isFree = (): Promise<boolean> =>
      app
        .handle(SentimentDeployment, 'sentiment')
        .facts()
        .then(
          () => true,
          () => false,
        );
    while (!(await isFree())) await delay(10); // the replica gives the call up a little later
  };
}

async function assertFull(answer: Response): Promise<void> {
  const { error } = (await answer.json()) as { error: string };
  assert.equal([answer.status, error], [503, 'DeploymentFull']);
  assert.ok(Number(answer.headers.get('retry-after')) >= 1, String(answer.headers.get('retry-after')));
}

const ffmpeg = await testFfmpeg();
if (ffmpeg === undefined) skip('media of endpoints that declare deployments', 'no ffmpeg');
else {
  const Input = z.strictObject({ video: schemas.VideoInput });

  /** Serves a sound when the test allows it. */
  async function startOrigin(): Promise<
    AsyncDisposable & { readonly url: string; readonly requests: () => number; hold: Deferred<void> | undefined }
  > {
    const file = join(folder, 'sound.wav');
    await makeMedia(ffmpeg as string, file, ...sine(440, 1));
    let requests = 0;
    const origin = {
      url: '',
      requests: () => requests,
      hold: undefined as Deferred<void> | undefined,
      [Symbol.asyncDispose]: async () => void server.close(),
    };
    const answer = async (res: ServerResponse): Promise<void> => {
      requests += 1;
      await origin.hold?.promise;
      res.setHeader('content-type', 'audio/wav').end(readFileSync(file));
    };
    const server = createServer((_, res) => void answer(res)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sound.wav`;
    return origin;
  }

  /** Fetches and decodes a sound, then calls a deployment. */
  function withMedia(app: AanaApp): AanaApp {
    const input = { name: 'listen', path: '/listen', input: Input, output: Output };
    const run = async (
      { video }: z.output<typeof Input>,
      context: HostEndpointContext,
    ): Promise<z.output<typeof Output>> => {
      await using audio = await app.openAudio(video, context);
      return {
        label: (
          await app.handle(SentimentDeployment, 'sentiment').classify({ text: `good ${audio.duration}` }, context)
        ).label,
      };
    };
    return app
      .registerEndpoint({ ...input, deployments: ['sentiment'], run })
      .registerEndpoint({ ...input, name: 'undeclared', path: '/undeclared', run });
  }

  Declared('that are full refuse a request before its media are fetched, and say when to come back', async () => {
    await using origin = await startOrigin();
    await using app = await started(withMedia(oneAtATime()));
    const release = occupy(app);
    await assertFull(await postJson(`${app.url}/listen`, { video: { url: origin.url } }));
    assert.is(origin.requests(), 0);
    await assertFull(await postJson(`${app.url}/undeclared`, { video: { url: origin.url } }));
    assert.is(origin.requests(), 1, 'without the declaration the refusal comes after the fetch');
    await release();
    assert.equal(await (await postJson(`${app.url}/listen`, { video: { url: origin.url } })).json(), {
      label: 'positive',
    });
    assert.is(origin.requests(), 2);
  });

  Declared('keep the place of a request while its media are fetched', async () => {
    await using origin = await startOrigin();
    await using app = await started(
      withMedia(oneAtATime()).registerEndpoint({ name: 'classify', path: '/classify', endpoint_cls: Classify }),
    );
    origin.hold = deferred();
    const first = postJson(`${app.url}/listen`, { video: { url: origin.url } });
    while (origin.requests() === 0) await delay(10);
    await assertFull(await postJson(`${app.url}/classify`, { text: 'good' }));
    await assertFull(await postJson(`${app.url}/listen`, { video: { url: origin.url } }));
    origin.hold.resolve();
    assert.equal(await (await first).json(), { label: 'positive' });
    assert.is(origin.requests(), 1);
    assert.equal(await (await postJson(`${app.url}/classify`, { text: 'good' })).json(), { label: 'positive' });
  });
}

Declared('free the place of a request that ends without a call, or fails', async () => {
  await using app = await started(
    oneAtATime().registerEndpoint({ name: 'classify', path: '/classify', endpoint_cls: Classify }),
  );
  const ask = async (text: string): Promise<unknown> =>
    (await (await postJson(`${app.url}/classify`, { text })).json()) as unknown;
  for (let n = 0; n < 3; n += 1) {
    assert.equal(await ask('nothing'), { label: 'none' });
    assert.is(((await ask('broken')) as { error: string }).error, 'Error');
  }
  assert.equal(await ask('good'), { label: 'positive' });
});

const declaring = {
  name: 'listen',
  path: '/listen',
  input: Text,
  output: Output,
  deployments: ['sentimant'],
  run: async () => ({ label: '' }),
};
const MISSING = /^endpoint listen: deployments: there is no deployment sentimant; .*; deployments are: sentiment$/;

Declared('must exist when the application starts, also if they were registered after the endpoint', async () => {
  const app = makeApp(folder)
    .registerEndpoint(declaring)
    .registerDeployment('sentiment', SentimentDeployment.options({ user_config: { broken: 'config' } }));
  const error = await app.deploy().then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  assert.is(error?.name, 'EndpointError', 'before the deployment, which is broken, is started');
  assert.match(error?.message ?? '', MISSING);
});

Declared('must exist when an endpoint is registered while the application runs', async () => {
  await using app = await makeApp(folder).registerDeployment('sentiment', SentimentDeployment.options()).deploy();
  assert.throws(
    () => app.registerEndpoint(declaring),
    (error: Error) => error.name === 'EndpointError' && MISSING.test(error.message),
  );
  app.registerEndpoint({ ...declaring, deployments: ['sentiment'] });
  assert.equal(
    app.endpoints.map(({ name, deployments }) => [name, deployments]),
    [['listen', ['sentiment']]],
  );
});

class Misspelt extends Classify {
  override readonly deployments = 'sentiment' as never;
}

Declared('are a list of names, and only functions and classes declare them', () => {
  const app = makeApp(folder);
  assert.throws(
    () => app.registerEndpoint({ name: 'a', path: '/a', endpoint_cls: Misspelt }),
    /endpoint a: deployments of Misspelt must be a list of deployment names/,
  );
  assert.throws(
    () => app.registerEndpoint({ ...declaring, deployments: 'sentiment' as never }),
    /endpoint listen: deployments: /,
  );
  assert.throws(
    () => app.registerEndpoint({ name: 'a', path: '/a', endpoint_cls: Classify, deployments: ['sentiment'] } as never),
    /endpoint a: deployments is only for run; a class has it as a field/,
  );
});

Declared.run();
