// Follows docs/deployments.md block by block: compiles sources strictly and runs them, compares outputs, and checks
// configurations.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod/mini';
import { loadConfig } from '../../base/config/index.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import {
  DeploymentManager,
  DeploymentOptions,
  LlamaRerankDeployment,
  LlamaTextGenerationDeployment,
} from '../../inference/deployments/index.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { ChatDialogInput, GenerationDetails, TextChunk, TokenLogprob } from '../../base/schemas/index.ts';
import { blocksOf, contentsOf } from '../helpers/guide.ts';
import { linkDependencies, runNode, testProject } from '../helpers/plugin-project.ts';

const Guide = suite('docs/deployments.md');
const page = await readFile(join(packageRoot, 'docs/deployments.md'), 'utf8');
const blocks = blocksOf(page);
const built = (source: string): string => source.replace('guide/src/', 'build/').replace(/\.ts$/, '.js');
let folder = '';

Guide.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-guide-'));
  linkDependencies(folder);
  const { compilerOptions } = JSON.parse(await readFile(join(packageRoot, 'examples/embed/tsconfig.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), '{"name":"reader","private":true,"type":"module"}');
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'src/index.test.ts'), "import './greeting-deployment.test.ts';\n");
  for (const { language, about, text } of blocks.filter((block) => block.language === 'ts')) {
    assert.match(about, /^guide\/src\/[\w.-]+\.ts$/, `a block of ${language} names its file`);
    const file = join(folder, about.replace('guide/', ''));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${text}\n`);
  }
});
Guide.after(() => rm(folder, { recursive: true, force: true }));

Guide('its sources are strictly typed, and its test passes', () => {
  assert.is(testProject(folder), 1);
});

/** Schemas of the values that the page shows. */
const shown: Record<string, { parse(value: unknown): unknown }> = {
  details: GenerationDetails,
  choices: LlamaTextGenerationDeployment.methods.chat.output,
  logprobs: TokenLogprob,
  'prompt-logprobs': z.pick(TextChunk, { prompt_token_ids: true, prompt_logprobs: true }),
  ranking: LlamaRerankDeployment.methods.rerank.output,
  tools: ChatDialogInput,
  structured: LlamaTextGenerationDeployment.methods.chat.input,
};

for (const { line, language, about, text } of blocks.filter((block) => block.language !== 'ts')) {
  Guide(`line ${line}: ${language} ${about}`, async () => {
    if (about === 'aana.config.json') {
      const file = join(folder, about);
      await writeFile(file, text);
      const { deployments } = loadConfig({ env: {}, file });
      const manager = new DeploymentManager({
        log: silentLogger,
        models: { pull: async () => ({ path: '' }) },
        env: {},
      });
      for (const [name, options] of Object.entries(deployments))
        manager.register(name, structuredClone(options) as DeploymentOptions); // throws for a mistake
    } else if (about === 'autoscaling_config')
      DeploymentOptions.parse({ type: 'WhisperDeployment', autoscaling_config: JSON.parse(text) });
    else if (Object.hasOwn(shown, about)) shown[about]?.parse(JSON.parse(text));
    else {
      const [, source = ''] =
        /^run (\S+)$/.exec(about) ?? assert.unreachable(`unknown kind of block: ${language} ${about}`) ?? [];
      assert.is(runNode(folder, built(source)).trim(), text);
    }
  });
}

Guide('names every section in its list of contents', () => {
  const { listed, sections } = contentsOf(page);
  assert.equal(listed, sections);
});

Guide.run();
