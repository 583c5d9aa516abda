// Bundles the sources into `bundle/`, which users start and import. Types are removed and not checked, so that a first
// start does not wait for the compiler; `tsc -b` checks them. Run after each change; `npm run build` does both.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Modules that Node starts or that users import. Each keeps its path below `bundle/`. */
const ENTRIES = [
  'host/cli/main',
  'host/index',
  'host/apis/langchain/index',
  'host/application/remote/helper-child',
  'host/application/workers/worker-main',
  'host/inference/deployments/builtin/caption-deployment',
  'host/inference/deployments/class/author',
  'host/inference/deployments/process/custom-deployment',
  'host/inference/devices/process/list-addon-devices',
  'host/io/documents/read-html-child',
  'host/io/documents/read-pdf-child',
  'host/inference/engines/diarization/diarization',
  'host/inference/engines/llama',
  'host/inference/engines/llama-embedding',
  'host/inference/engines/llama-rerank',
  'host/inference/engines/ocr/ocr',
  'host/inference/engines/ocr/ocr-thread',
  'host/inference/engines/onnx/graph-thread',
  'host/inference/engines/onnx/onnx',
  'host/inference/engines/openai/openai',
  'host/inference/engines/speech/vad',
  'host/inference/engines/transformers/generation-thread',
  'host/inference/engines/transformers/pipeline-thread',
  'host/inference/engines/transformers/text-generation',
  'host/inference/engines/transformers/transformers',
  'host/inference/engines/whisper',
  'host/setup/models/convert/requantize-child',
  'host/base/modules/typescript-hooks',
  'host/data/storage/sqlite/vectors/table-thread',
  'host/endpoints/plugins/build/main',
  'host/endpoints/plugins/capabilities/crypto/key-thread-main',
  'host/endpoints/plugins/extism/process/main',
  'host/endpoints/plugins/extism/process/thread',
  'host/inference/replicas/child/main',
];

/** Modules for the bundles of plugins and for browsers. These and what they import stay files of their own. */
const MODULES = [
  'host/endpoints/sdk/index',
  'host/endpoints/sdk/node',
  'host/endpoints/sdk/testing/testing',
  ...['described', 'learned'].map((name) => `host/endpoints/sdk/guest/${name}`),
  ...[
    'abort',
    'crypto',
    'domain',
    'encoding',
    'locales',
    'promises',
    'random-values',
    'structured-clone',
    'subtle',
    'timers',
    'url',
  ].map((name) => `host/endpoints/sdk/guest/web/${name}`),
  ...['blob', 'fetch', 'form-data', 'headers', 'request', 'response', 'streams'].map(
    (name) => `host/endpoints/sdk/guest/web/fetch/${name}`,
  ),
  'host/apis/http/dashboard/page/main',
  'host/apis/http/dashboard/page/stream-worker',
];

/** Packages with native parts, with files that are read, or that are large. */
const EXTERNAL = new RegExp(
  '^(node:|@langchain/|@swc/|cmake-js|ffmpeg-static|node-addon-api|pg-native|preact|sqlite3|swagger-ui-dist|' +
    'typescript|unpdf|uplot)',
);

/** The script of the page for chats, one file with all that it imports. */
const CHAT_PAGE = 'host/apis/http/pages/chat/main';

/** The same as in `tsconfig.base.json`. */
const TARGET = 'es2023';

const MARK = '__aana_module_url__';

/**
 * Keeps the addresses of modules. The code of a module finds other files by `import.meta.url`, which would be that of
 * the file into which it is bundled. It gets its path below `bundle/` instead.
 */
function addresses(root) {
  return {
    name: 'addresses',
    transform: {
      filter: { id: /\.ts$/, code: /\bimport\.meta\.(url|filename)/ },
      handler(code, id) {
        const path = relative(root, id).split(sep).join('/').replace(/\.ts$/, '.js');
        const url = `${MARK}(${JSON.stringify(path)})`;
        const place = /\bimport\.meta\.(url|filename)(?=[),;])/g; // and not in a text
        return code.replaceAll(place, (_, what) => (what === 'url' ? url : `${url}.slice('file://'.length)`));
      },
    },
    renderChunk(code, { fileName }) {
      if (!code.includes(MARK)) return null;
      const to = (path) =>
        `new URL(${JSON.stringify(relative(dirname(fileName), path).split(sep).join('/'))}, import.meta.url).href`;
      return { code: code.replaceAll(new RegExp(`${MARK}\\("([^"]+)"\\)`, 'g'), (_, path) => to(path)) };
    },
  };
}

/** Returns the source of a module. */
const sourceOf = (root, name) => [`${name}.ts`, `${name}.tsx`].map((file) => join(root, file)).find(existsSync);

const inputs = (root, names) => Object.fromEntries(names.map((name) => [name, sourceOf(root, name)]));

/** The folder of an npm package in the path of one of its files. */
const PACKAGE = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/;

/**
 * Takes the sources out of the source maps, because the files lie beside the bundle. Each process that prints places in
 * sources reads the maps of all its code when it starts.
 */
function leaveOutSources(folder) {
  for (const name of readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.js.map'))) {
    const file = join(folder, name);
    const { sourcesContent: _, ...map } = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify(map));
  }
}

/** Returns the names, versions and licences of the npm packages of which the chunks have code. */
function licencesOf(chunks) {
  const folders = new Set(chunks.flatMap(({ moduleIds = [] }) => moduleIds.map((id) => PACKAGE.exec(id)?.[0])));
  folders.delete(undefined);
  const parts = [...folders].map((folder) => {
    const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)([.-]|$)/i.test(file));
    const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
    if (texts.length === 0) texts.push(`Copyright ${author?.name ?? author ?? `the authors of ${name}`}`);
    return [`${name} ${version} (${license})`, ...texts].join('\n\n');
  });
  return `${[...new Set(parts)].toSorted().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

export async function bundle(root) {
  const { rolldown } = await import('rolldown');
  const output = { dir: join(root, 'bundle'), format: 'esm', sourcemap: true, entryFileNames: '[name].js' };
  rmSync(output.dir, { recursive: true, force: true });
  const programs = await rolldown({
    cwd: root,
    input: inputs(root, ENTRIES),
    platform: 'node',
    external: EXTERNAL,
    logLevel: 'silent',
    // Koa's packages bring three versions of the table of media types, of 180 kB each.
    resolve: { alias: { 'mime-types': join(root, 'node_modules/mime-types/index.js') } },
    transform: { target: TARGET },
    plugins: [addresses(root)],
  });
  const { output: ofPrograms } = await programs.write({
    ...output,
    comments: false,
    chunkFileNames: 'shared/[name]-[hash].js',
  });
  await programs.close();
  const modules = await rolldown({
    cwd: root,
    input: inputs(root, MODULES),
    platform: 'neutral',
    external: /^[^./]/,
    logLevel: 'silent',
    transform: { target: TARGET },
    treeshake: false,
  });
  await modules.write({ ...output, preserveModules: true, preserveModulesRoot: root });
  await modules.close();
  const page = await rolldown({
    cwd: root,
    input: inputs(root, [CHAT_PAGE]),
    platform: 'browser',
    logLevel: 'silent',
    transform: { target: TARGET },
  });
  const { output: ofPage } = await page.write({ ...output, sourcemap: false, minify: true, comments: false });
  await page.close();
  leaveOutSources(output.dir);
  writeFileSync(join(output.dir, 'LICENSES.txt'), licencesOf([...ofPrograms, ...ofPage]));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await bundle(fileURLToPath(new URL('../../', import.meta.url)));
