import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { AanaApp, AanaError } from 'aana-host';
import { loadConfig, type LoadOptions } from '../../base/config/index.ts';
import { createLogger } from '../../base/core/log/logger.ts';
import { answerBy, asText, textAnswer, VideoInput } from '../../base/schemas/index.ts';

/** A running application with endpoints of every kind that clients and documents must support. */
export interface VariedApp extends AsyncDisposable {
  readonly url: string;
  readonly app: AanaApp;
  /** Its log lines so far. */
  readonly logged: readonly string[];
}

const Shade = z
  .strictObject({
    name: z.string().min(1).max(20).describe('The name of the colour.'),
    alpha: z.number().min(0).max(1).default(1),
  })
  .meta({ id: 'Shade' });
const Tree = z
  .strictObject({
    label: z.string(),
    get children() {
      return z.array(Tree).optional();
    },
  })
  .meta({ id: 'Tree' });
const Content = z.string().meta({ 'x-aana-file': true });

export interface VariedOptions {
  readonly plugins?: readonly string[];
  readonly config?: LoadOptions['base'];
  /** Registers further endpoints that a test needs. */
  readonly register?: (app: AanaApp) => void;
}

export async function startVariedApp({ plugins = [], config = {}, register }: VariedOptions = {}): Promise<VariedApp> {
  const dataDir = await mkdtemp(join(tmpdir(), 'aana-varied-'));
  const logged: string[] = [];
  const app = new AanaApp({
    name: 'varied',
    config: loadConfig({ cwd: dataDir, env: { ...process.env, AANA_DATA_DIR: dataDir }, base: config }),
    log: createLogger({ level: 'info', format: 'json', write: (line) => void logged.push(line) }),
    progress: { isTTY: false, write: () => true },
    openapi_params: {
      description: 'Endpoints of many kinds.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
  });
  registerEndpoints(app);
  register?.(app);
  app.registerPlugins(...plugins);
  const stop = async (): Promise<void> => {
    await app.shutdown({ graceMs: 0 });
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    await app.listen({ host: '127.0.0.1', port: 0 });
    await app.deploy();
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: app.url ?? '', app, logged, [Symbol.asyncDispose]: stop };
}

function registerEndpoints(app: AanaApp): void {
  app.registerEndpoint({
    name: 'mix_colours',
    path: '/colours/mix',
    summary: 'Mix colours',
    description: 'Returns the mean of the colours.',
    tags: ['colours'],
    input: z.strictObject({
      colours: z.array(Shade).min(1).max(5),
      mode: z.enum(['add', 'mean']).default('mean'),
      gamma: z.number().gt(0).lt(10).optional().describe('The gamma of the screen.'),
      seed: z.int().min(-5).max(5).nullable().optional(),
      note: z.union([z.string().regex(/^[a-z]{2,8}$/), z.int()]).optional(),
      weights: z.record(z.string(), z.number()).optional(),
    }),
    output: z.strictObject({ name: z.string(), alpha: z.number(), seed: z.int().nullable(), of: z.array(Shade) }),
    run: async ({ colours, seed }) => ({
      name: colours.map(({ name }) => name).join('+'),
      alpha: colours.reduce((sum, { alpha }) => sum + alpha, 0) / colours.length,
      seed: seed ?? null,
      of: colours,
    }),
  });
  app.registerEndpoint({
    name: 'list_colours',
    path: '/colours/list',
    summary: 'A list of colours, also as a table',
    input: z.strictObject({
      colours: z.array(Shade).min(1).max(5),
      format: z.enum(['json', 'csv', 'html']).nullable().default('json'),
    }),
    output: answerBy('format', {
      json: z.strictObject({ names: z.array(z.string()) }),
      csv: textAnswer('text/csv'),
      html: textAnswer('text/html'),
    }),
    run: async ({ colours, format }) => {
      const names = colours.map(({ name }) => name);
      if (format === 'csv') return asText('text/csv', ['name', ...names, ''].join('\n'));
      if (format === 'html') return asText('text/html', `<ul>${names.join()}</ul>`);
      return { names };
    },
  });
  app.registerEndpoint({
    name: 'grow-tree',
    path: '/tree/grow',
    summary: 'A tree with one more leaf',
    input: z.strictObject({ tree: Tree, pair: z.tuple([z.string(), z.int()]).optional() }),
    output: z.strictObject({ tree: Tree, leaves: z.int() }),
    run: async ({ tree }) => ({
      tree: { ...tree, children: [...(tree.children ?? []), { label: 'leaf' }] },
      leaves: leavesOf(tree) + 1,
    }),
  });
  app.registerEndpoint({
    name: 'describe_video',
    path: '/video/describe',
    summary: 'Describe a video file',
    input: z.strictObject({ video: VideoInput }),
    output: z.strictObject({ bytes: z.int().nullable(), filename: z.string().nullable(), text: z.string().nullable() }),
    run: async ({ video }, { files }) => {
      const file = files.get(video.content ?? '');
      if (!file) return { bytes: null, filename: null, text: null };
      return {
        bytes: file.bytes,
        filename: file.filename ?? null,
        text: (await readFile(file.path)).subarray(0, 80).toString(),
      };
    },
  });
  app.registerEndpoint({
    name: 'join_files',
    path: '/files/join',
    summary: 'Join several files',
    input: z.strictObject({
      files: z.array(z.strictObject({ file: Content, times: z.int().min(0).max(3).default(1) })).min(1),
    }),
    output: z.strictObject({ text: z.string() }),
    run: async ({ files: wanted }, { files }) => {
      const texts = await Promise.all(
        wanted.map(async ({ file, times }) => (await readFile(files.get(file)?.path ?? '', 'utf8')).repeat(times)),
      );
      return { text: texts.join('') };
    },
  });
  app.registerEndpoint({
    name: 'count_stream',
    path: '/count_stream',
    summary: 'Count, one value at a time',
    input: z.strictObject({
      until: z.int().min(0).max(200).default(3),
      fail_at: z.int().optional(),
      pause_ms: z.int().min(0).max(1000).default(0),
    }),
    output: z.strictObject({ n: z.int(), text: z.string() }),
    async *run({ until, fail_at: failAt, pause_ms: pauseMs }, { signal }) {
      for (let n = 0; n < until; n++) {
        if (n === failAt)
          throw new AanaError('InferenceException', 'bad-request', 'it cannot count further', {
            data: { model_name: 'counter' },
          });
        yield { n, text: `{"é\u2028${n}` };
        if (pauseMs > 0) await delay(pauseMs, undefined, { signal });
      }
    },
  });
  app.registerEndpoint({
    name: 'keep_always',
    path: '/keep/always',
    summary: 'Always run as a task',
    defer_option: 'always',
    input: z.strictObject({ words: z.array(z.string().max(40)).max(20).default(['a']) }),
    output: z.strictObject({ count: z.int() }),
    run: async ({ words }) => ({ count: words.length }),
  });
  app.registerEndpoint({
    name: 'never_kept',
    path: '/keep/never',
    summary: '',
    defer_option: 'never',
    input: z.strictObject({
      when: z.iso.datetime().optional(),
      id: z.uuid().optional(),
      any: z.unknown().optional(),
      flag: z.boolean().default(false),
    }),
    output: z.strictObject({ flag: z.boolean(), any: z.unknown() }),
    run: async ({ flag, any }) => ({ flag, any: any ?? null }),
  });
  app.registerEndpoint({
    name: 'refuse',
    path: '/refuse',
    summary: 'Fail in a given way',
    defer_option: 'never',
    input: z.strictObject({
      kind: z.enum(['bad-request', 'denied', 'not-found', 'too-large', 'unavailable']).default('bad-request'),
    }),
    output: z.strictObject({}),
    run: async ({ kind }) => {
      throw new AanaError('RefusedException', kind, `refused: ${kind}`, { data: { kind } });
    },
  });
}

function leavesOf({ children = [] }: z.output<typeof Tree>): number {
  return children.length === 0 ? 1 : children.reduce((sum, child) => sum + leavesOf(child), 0);
}
