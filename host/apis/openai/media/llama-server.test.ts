// Answers to dialogs with images beside those of a real llama-server with the same model and the same vision projector.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProjectorKind } from '../../../../native/lib/fixtures/tiny-projector.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { OpenAITextGenerationDeployment } from 'aana-host';
import { type LlamaServer, noLlamaServer, startLlamaServer } from '../../../test/helpers/llama-server.ts';
import { skip } from '../../../test/skip.ts';
import { dataUrl, imageUrl, testPng, writeSeeing } from '../fixtures/images.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const KINDS: readonly ProjectorKind[] = ['mlp', 'gemma3', 'qwen2vl'];
const CONTEXT = 512;

const Beside = suite('images beside llama-server');
const folder = mkdtempSync(join(tmpdir(), 'aana-beside-'));
let at: OpenAiApp;
const servers: Partial<Record<ProjectorKind, LlamaServer>> = {};

Beside.before(async () => {
  const files = KINDS.map((kind) => ({ kind, ...writeSeeing(folder, kind) }));
  for (const { kind, model, mmproj } of files)
    servers[kind] = await startLlamaServer(model, ['-c', String(CONTEXT), '-np', '1', '--mmproj', mmproj, '-fa', 'on']);
  at = await startOpenAiApp({
    prepare: (app) => {
      for (const { kind, model, mmproj } of files) {
        const kwargs = { n_ctx: CONTEXT, n_threads: 1, n_seq_max: 1, mmproj };
        app.registerDeployment(kind, llamaOptions(model, { model_kwargs: kwargs }));
      }
      app.registerDeployment(
        'remote',
        OpenAITextGenerationDeployment.options({ user_config: { base_url: servers.mlp!.baseUrl } }),
      );
    },
  });
});
Beside.after(async () => {
  await at?.[Symbol.asyncDispose]();
  for (const server of Object.values(servers)) await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

interface Scored {
  readonly token: string;
  readonly logprob: number;
  readonly top_logprobs: readonly { readonly logprob: number }[];
}

interface Answer {
  readonly choices: readonly {
    readonly message: { readonly content: string };
    readonly logprobs: { readonly content: Scored[] };
  }[];
  readonly usage: { readonly prompt_tokens: number };
}

const asking = (model: string, content: readonly unknown[]) => ({
  model,
  messages: [{ role: 'user', content }],
  temperature: 0,
  max_tokens: 24,
  logprobs: true,
  top_logprobs: 2,
});

async function answered(response: Response): Promise<Answer> {
  const text = await response.text();
  assert.is(response.status, 200, text.slice(0, 500));
  return JSON.parse(text) as Answer;
}

const asked = (url: string, body: unknown): Promise<Answer> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }).then(
    answered,
  );

/** Logits differ in their last bits, because the deployment has kernels of its own. */
const MARGIN = 0.25;

function expectSame(near: Answer, far: Answer, message: string): number {
  assert.is(near.usage.prompt_tokens, far.usage.prompt_tokens, message);
  const [own, other] = [near, far].map((answer) => answer.choices[0]!.logprobs.content) as [Scored[], Scored[]];
  for (const [n, { token, logprob, top_logprobs: top }] of own.entries()) {
    if (token !== other[n]?.token) {
      const margin = top[0]!.logprob - top[1]!.logprob;
      assert.ok(
        margin < MARGIN,
        `${message}: token ${n} is ${token} and ${other[n]?.token}, with a margin of ${margin}`,
      );
      return n;
    }
    assert.ok(
      Math.abs(logprob - other[n].logprob) < MARGIN,
      `${message}: token ${n}, ${logprob} and ${other[n].logprob}`,
    );
  }
  assert.is(own.length, other.length);
  return own.length;
}

for (const kind of KINDS)
  Beside(`greedy answers are the same (${kind})`, async () => {
    const [first, second, wide] = await Promise.all([testPng(1), testPng(2), testPng(3, 96, 64)]);
    const contents = [
      [{ type: 'text', text: 'Once upon a time' }, imageUrl(dataUrl(first))],
      [imageUrl(dataUrl(second)), { type: 'text', text: 'Once upon a time' }],
      [
        { type: 'text', text: 'The cat' },
        imageUrl(dataUrl(first)),
        { type: 'text', text: 'and the dog' },
        imageUrl(dataUrl(second)),
      ],
      // The encoders of fixed size scale this one, and llama.cpp does it for both.
      [imageUrl(dataUrl(wide)), { type: 'text', text: 'ran' }, { type: 'text', text: 'home' }],
    ];
    let same = 0;
    for (const [n, content] of contents.entries()) {
      const near = await answered(await at.post('/v1/chat/completions', asking(kind, content)));
      const far = await asked(`${servers[kind]!.baseUrl}/chat/completions`, asking('any', content));
      same += expectSame(near, far, `content ${n}`);
    }
    assert.ok(same >= contents.length * 8, `only ${same} tokens were compared`);
  });

Beside('a deployment over another server passes images on', async () => {
  const content = [{ type: 'text', text: 'Once' }, imageUrl(dataUrl(await testPng(5))), { type: 'text', text: 'upon' }];
  const own = await answered(await at.post('/v1/chat/completions', asking('mlp', content)));
  const passed = await answered(await at.post('/v1/chat/completions', asking('remote', content)));
  assert.ok(expectSame(own, passed, 'over the other server') >= 8);
});

const reason = cannotRun ?? noLlamaServer();
if (reason !== undefined) skip('images beside llama-server', reason);
else Beside.run();
