// docs/retrieval.md: its program runs as it is, with a real model, and its function for reranking in an application.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaApp, LlamaRerankDeployment, loadConfig, silentLogger } from 'aana-host';
import { packageRoot } from '../../base/core/package-root.ts';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { writeTinyBert } from '../../../native/lib/fixtures/tiny-embedding.ts';
import { blocksOf, contentsOf } from '../helpers/guide.ts';
import { linkDependencies } from '../helpers/plugin-project.ts';
import { skip } from '../skip.ts';

const run = promisify(execFile);
const page = readFileSync(join(packageRoot, 'docs/retrieval.md'), 'utf8');
const blocks = blocksOf(page);

const Guide = suite('docs/retrieval.md');
const folder = mkdtempSync(join(tmpdir(), 'aana-retrieval-guide-'));
const env = { ...process.env, AANA_DATA_DIR: join(folder, 'data'), XDG_RUNTIME_DIR: join(folder, 'run') };

Guide.before(() => {
  linkDependencies(folder);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const { about, text } of blocks.filter(({ about: path }) => path !== '')) {
    mkdirSync(dirname(join(folder, about)), { recursive: true });
    writeFileSync(join(folder, about), `${text}\n`);
  }
});
Guide.after(() => rmSync(folder, { recursive: true }));

if (cannotRun !== undefined) skip('docs/retrieval.md', cannotRun);
else {
  Guide('its program prints what the page says', async () => {
    const [command, expected] = ['sh', 'text'].map((kind) => blocks.find(({ language }) => language === kind)?.text);
    const { stdout } = await run('bash', ['-ec', command ?? ''], { cwd: folder, env });
    assert.is(stdout.trim(), expected);
  });

  Guide('its function keeps the best chunks with their scores', async () => {
    const ranker = join(folder, 'ranker.gguf');
    writeTinyBert(ranker, { pooling: 'rank' });
    const app = new AanaApp({ config: loadConfig({ env }), log: silentLogger, progress: { write: () => true } });
    const options = { model_id: ranker, model_kwargs: { n_threads: 1 } };
    app.registerDeployment('rerank_deployment', LlamaRerankDeployment.options({ user_config: options }));
    await app.migrate();
    await app.deploy();
    try {
      const { best } = (await import(pathToFileURL(join(folder, 'my-search/rerank.js')).href)) as {
        best: (
          app: unknown,
          question: string,
          chunks: readonly { id: number; text: string }[],
          count: number,
        ) => Promise<readonly { id: number; text: string; score: number }[]>;
      };
      const chunks = ['the cat', 'a dog', 'the dog and the cat'].map((text, id) => ({ id, text }));
      const found = await best(app, 'the cat', chunks, 2);
      assert.is(found.length, 2);
      assert.ok(found[0]!.score >= found[1]!.score);
      for (const { id, text } of found) assert.is(chunks[id]?.text, text);
    } finally {
      await app.shutdown();
    }
  });
}

Guide('names every section in its list of contents', () => {
  const { listed, sections } = contentsOf(page.replaceAll(/^```[^]*?^```$/gm, ''));
  assert.equal(listed, sections);
});

Guide.run();
