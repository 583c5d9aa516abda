// Libraries from npm and PyPI beside a real server: dialogs as they store them, forms of answers, calls of tools,
// streams and embeddings.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../../apis/openai/fixtures/openai-app.ts';
import { LlamaEmbeddingDeployment } from 'aana-host';
import { nodeClients, pythonClients } from '../helpers/client-packages.ts';
import { testModel } from '../helpers/models.ts';
import { skip } from '../skip.ts';

const run = promisify(execFile);
const FIXTURES = join(packageRoot, 'host/test/end-to-end/fixtures');

const Clients = suite('libraries beside a real server');
let at: OpenAiApp;
let folder = '';

Clients.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aana-clients-'));
  const [language, embedding] = await Promise.all(['smollm2-135m-instruct', 'all-minilm-l6-v2'].map(testModel));
  const kwargs = { n_ctx: 2048, n_threads: 1, n_seq_max: 2 };
  at = await startOpenAiApp({
    prepare: (app) => {
      const defaults = { temperature: 0 };
      app.registerDeployment(
        'smol',
        llamaOptions(language!, { model_kwargs: kwargs, default_sampling_params: defaults }),
      );
      app.registerDeployment(
        'embedder',
        LlamaEmbeddingDeployment.options({ user_config: { model_id: embedding!, model_kwargs: { n_threads: 1 } } }),
      );
    },
  });
});
Clients.after(async () => {
  await at?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a program of the fixtures, which prints only the number of its checks if none fails. */
async function passes(program: string, file: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const { stdout } = await run(program, [file], { env: { ...process.env, AANA_URL: at.url, ...env } });
  assert.ok(/^\d\d checks\n$/.test(stdout), stdout);
}

Clients('AI SDK and LangChain.js', async () => {
  const installed = await nodeClients();
  if (!installed) return skip('AI SDK and LangChain.js', 'npm cannot install them');
  symlinkSync(join(installed, 'node_modules'), join(folder, 'node_modules'));
  copyFileSync(join(FIXTURES, 'clients.mjs'), join(folder, 'clients.mjs'));
  await passes(process.execPath, join(folder, 'clients.mjs'));
});

Clients('OpenAI’s, Anthropic’s and pydantic-ai’s packages for Python', async () => {
  const installed = await pythonClients();
  if (!installed) return skip('packages for Python', 'pip cannot install them');
  await passes('python3', join(FIXTURES, 'clients.py'), { PYTHONPATH: join(installed, 'lib') });
});

if (cannotRun === undefined) Clients.run();
else skip('libraries beside a real server', cannotRun);
