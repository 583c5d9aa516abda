// docs/openai.md and README.md: their programs are copied into an empty folder, and run with clients from npm and PyPI
// beside a real server.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../../apis/openai/fixtures/openai-app.ts';
import { LlamaEmbeddingDeployment } from 'aana-host';
import { type Block, blocksOf } from '../helpers/guide.ts';
import { nodeClients, OPENAI_FOR_NODE } from '../helpers/client-packages.ts';
import { npmPackages, pythonPackages } from '../helpers/installed-packages.ts';
import { testModel } from '../helpers/models.ts';
import { skip } from '../skip.ts';

const run = promisify(execFile);
const blocks = ['docs/openai.md', 'README.md'].flatMap((page) =>
  blocksOf(readFileSync(join(packageRoot, page), 'utf8')).map((block): Block & { page: string } => ({
    ...block,
    page,
  })),
);

const TYPESCRIPT = { openai: OPENAI_FOR_NODE, tsx: '4.23.15' };
const PYTHON_VERSION = '3.54.0';

const TSC = join(packageRoot, 'node_modules/typescript/bin/tsc');
/** Whether this Node runs TypeScript as it is. */
const canStripTypes = 'typescript' in process.features && Boolean(process.features.typescript);

const Guide = suite('clients of the guide to OpenAI’s API');
let at: OpenAiApp;
let folder = '';

Guide.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aana-openai-guide-'));
  const [language, embedding] = await Promise.all(['smollm2-135m-instruct', 'all-minilm-l6-v2'].map(testModel));
  at = await startOpenAiApp({
    prepare: (app) => {
      app.registerDeployment(
        'llm_deployment',
        llamaOptions(language!, {
          model_kwargs: { n_ctx: 1024, n_threads: 1, n_seq_max: 2 },
          default_sampling_params: { temperature: 0, max_tokens: 60 },
        }),
      );
      app.registerDeployment(
        'embedding_deployment',
        LlamaEmbeddingDeployment.options({ user_config: { model_id: embedding!, model_kwargs: { n_threads: 1 } } }),
      );
    },
  });
});
Guide.after(async () => {
  await at?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a program of a page beside the server of the test, and returns what it printed. */
async function outputOf(file: string, text: string, program: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  assert.match(text, 'http://127.0.0.1:8000/v1');
  writeFileSync(join(folder, file), text.replaceAll('http://127.0.0.1:8000', at.url));
  const { stdout } = await run(program, [file], { cwd: folder, env: { ...process.env, ...env } });
  return stdout;
}

const printed = (output: string, expected: RegExp): void => assert.ok(expected.test(output), output);

/** What each program prints, with a small model: any text where the model chooses the words. */
const OUTPUTS: Readonly<Record<string, RegExp>> = {
  'hello.mts': /^\S/,
  'hello.py': /^\S/,
  'background.mjs': /^(completed|incomplete) \S/,
  'batch.mjs': /^rivers \S[^]*\nlakes \S/,
  'store.mjs': /^roses\.txt [01]\.\d\d Water the roses\b/,
  'search.mjs': /^completed roses\.txt \S/,
  'chat.mjs': /^\S[^]* \d+\n\S/,
  'chat.py': /^\S[^]* \d+\n\S/,
  'river.mjs': /^\{\s+name: .*,\s+length_km: \d+,\s+continent: '(Africa|America|Asia|Europe)'\s+\}\n$/,
  'embeddings.mjs': /^true\n$/,
  'ai-sdk.mjs': /^\S[^]*\{ name: .*, is_long: (true|false) \}\nIt is sunny in (Cairo|Oslo)\. \S/,
  'langchain.mjs': /^\S[^]*\{ name: .*, is_long: (true|false) \}\nIt is sunny in (Cairo|Oslo)\. \S/,
};

Guide('has all programs that the test knows, and no others', () => {
  const files = blocks.filter(({ language }) => ['js', 'ts', 'python'].includes(language)).map(({ about }) => about);
  assert.equal(files.filter((about) => /\.(mjs|mts|py)$/.test(about)).sort(), Object.keys(OUTPUTS).sort());
});

const packages = cannotRun === undefined ? await nodeClients() : undefined;
const typed = cannotRun === undefined ? await npmPackages('test-openai-typescript', TYPESCRIPT) : undefined;
const pythonPath =
  cannotRun === undefined
    ? await pythonPackages(`test-openai-${PYTHON_VERSION}`, `openai==${PYTHON_VERSION}`)
    : undefined;

for (const { about, text, page } of blocks) {
  const expected = OUTPUTS[about];
  if (!expected) continue;
  Guide(`${about} of ${page} runs as it is`, async () => {
    if (about.endsWith('.py')) {
      if (!pythonPath) return skip(about, 'pip cannot install its packages');
      printed(await outputOf(about, text, 'python3', { PYTHONPATH: join(pythonPath, 'lib') }), expected);
      return;
    }
    const installed = about.endsWith('.mts') ? typed : packages;
    if (!installed) return skip(about, 'npm cannot install its packages');
    symlinkSync(join(installed, 'node_modules'), join(folder, 'node_modules'));
    try {
      if (!about.endsWith('.mts') || canStripTypes) printed(await outputOf(about, text, process.execPath), expected);
      if (!about.endsWith('.mts')) return;
      printed(await outputOf(about, text, join(installed, 'node_modules/.bin/tsx')), expected);
      await run(process.execPath, [TSC, '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', about], {
        cwd: folder,
      });
    } finally {
      rmSync(join(folder, 'node_modules'));
    }
  });
}

if (cannotRun === undefined) Guide.run();
else skip('clients of the guide to OpenAI’s API', cannotRun);
