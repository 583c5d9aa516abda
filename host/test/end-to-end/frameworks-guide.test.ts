// docs/frameworks.md: its programs are copied into an empty folder and run, with packages from npm and PyPI.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LlamaEmbeddingDeployment, LlamaRerankDeployment } from 'aana-host';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert } from '../../../native/lib/fixtures/tiny-embedding.ts';
import { llamaOptions, startOpenAiApp } from '../../apis/openai/fixtures/openai-app.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { blocksOf } from '../helpers/guide.ts';
import { pythonPackages } from '../helpers/installed-packages.ts';
import { testModel } from '../helpers/models.ts';
import { skip } from '../skip.ts';

const run = promisify(execFile);
const HAYSTACK = '2.31.0';
const page = readFileSync(join(packageRoot, 'docs/frameworks.md'), 'utf8');
const programs = new Map(blocksOf(page).map(({ about, text }) => [about, text]));

const Guide = suite('docs/frameworks.md');
let folder = '';

Guide.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-frameworks-'));
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  symlinkSync(packageRoot, join(modules, 'aana-host'));
  symlinkSync(join(packageRoot, 'node_modules/@langchain'), join(modules, '@langchain'));
  for (const [file, text] of programs) writeFileSync(join(folder, file), text);
});

Guide.after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program of the page, and returns what it printed. */
async function outputOf(program: string, file: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const data = { AANA_DATA_DIR: join(folder, `${file}-data`), AANA_LOG_LEVEL: 'error' };
  const { stdout } = await run(program, [file], { cwd: folder, env: { ...process.env, ...data, ...env } });
  return stdout;
}

Guide('has the programs that the test knows', () => {
  assert.equal([...programs.keys()], ['teas.mjs', 'summary-chain.mjs', 'summarize.mjs', 'pipeline.py']);
});

Guide('a chain finds a text and answers from it', async () => {
  const output = await outputOf(process.execPath, 'teas.mjs');
  assert.match(output, /^Green tea needs water of 75 degrees\. \{ page: 1 \}\n\S/);
});

Guide('a deployment holds a chain', async () => {
  assert.match(await outputOf(process.execPath, 'summarize.mjs'), /^\S/);
});

Guide('a pipeline of Haystack embeds, ranks and answers over HTTP', async () => {
  const python = await pythonPackages(`test-haystack-${HAYSTACK}`, `haystack-ai==${HAYSTACK}`);
  if (!python) return skip('pipeline.py', 'pip cannot install its packages');
  assert.match(page, `haystack-ai==${HAYSTACK}`);
  const [language, embedding] = await Promise.all(['smollm2-135m-instruct', 'all-minilm-l6-v2'].map(testModel));
  const kwargs = { n_ctx: 1024, n_threads: 1 };
  await using at = await startOpenAiApp({
    prepare: (app, tiny) => {
      const reranker = `${tiny}-reranker.gguf`;
      writeTinyBert(reranker, { pooling: 'rank' });
      const user = (model: string) => ({
        user_config: { model_id: model, model_kwargs: { n_ctx: 256, n_threads: 1 } },
      });
      app.registerDeployment(
        'llm_deployment',
        llamaOptions(language!, { model_kwargs: kwargs, default_sampling_params: { max_tokens: 30 } }),
      );
      app.registerDeployment('embedding_deployment', LlamaEmbeddingDeployment.options(user(embedding!)));
      app.registerDeployment('rerank_deployment', LlamaRerankDeployment.options(user(reranker)));
    },
  });
  writeFileSync(join(folder, 'pipeline.py'), programs.get('pipeline.py')!.replace('http://127.0.0.1:8000', at.url));
  const output = await outputOf('python3', 'pipeline.py', {
    PYTHONPATH: join(python, 'lib'),
    HAYSTACK_TELEMETRY_ENABLED: 'False',
  });
  assert.match(output, /^\['Black tea needs boiling water\.', 'Green tea needs water of 75 degrees\.'\]\n\S/);
});

Guide.run();
