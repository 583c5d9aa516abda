// Bundles the compiled programs and entry points into `bundle/`, which users start and import: one process loads a few
// files instead of 900, which halves its start. Run after each compilation; `npm run build` does both.
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Compiled files below `dist/` that Node starts or that users import. Each keeps its path below `bundle/`. */
const ENTRIES = [
  'host/cli/main',
  'host/index',
  'host/deployments/class/author',
  'host/deployments/process/custom-deployment',
  'host/devices/process/list-addon-devices',
  'host/documents/read-pdf-child',
  'host/engines/diarization/diarization',
  'host/engines/llama',
  'host/engines/llama-embedding',
  'host/engines/llama-rerank',
  'host/engines/openai/openai',
  'host/engines/speech/vad',
  'host/engines/whisper',
  'host/models/convert/requantise-child',
  'host/modules/typescript-hooks',
  'host/plugins/build/main',
  'host/plugins/guest/main',
  'host/replicas/child/main',
];

/** Packages with native parts, with files that are read, that are large, or that only authors of plugins need. */
const EXTERNAL =
  /^(node:|@bytecodealliance\/|cmake-js|componentize-qjs|extism|ffmpeg-static|node-addon-api|pg-native|preact|rolldown|sqlite3|swagger-ui-dist|typescript|unpdf|uplot)/;

const MARK = '__aana_module_url__';

/**
 * Keeps the addresses of modules. The code of a module finds other files by `import.meta.url`, which would be that of the
 * file into which it is bundled. It gets its path below `bundle/` instead.
 */
function addresses(compiled) {
  return {
    name: 'addresses',
    async load(id) {
      if (!id.startsWith(compiled)) return null;
      const code = await readFile(id, 'utf8');
      const map = await readFile(`${id}.map`, 'utf8').catch(() => undefined);
      const url = `${MARK}(${JSON.stringify(relative(compiled, id).split(sep).join('/'))})`;
      const place = /\bimport\.meta\.(url|filename)(?=[),;])/g; // and not in a text
      return {
        code: code.replaceAll(place, (_, what) => (what === 'url' ? url : `${url}.slice('file://'.length)`)),
        ...(map && { map }),
        moduleType: 'js',
      };
    },
    renderChunk(code, { fileName }) {
      if (!code.includes(MARK)) return null;
      const to = (path) =>
        `new URL(${JSON.stringify(relative(dirname(fileName), path).split(sep).join('/'))}, import.meta.url).href`;
      return { code: code.replaceAll(new RegExp(`${MARK}\\("([^"]+)"\\)`, 'g'), (_, path) => to(path)) };
    },
  };
}

export async function bundle(root) {
  const { rolldown } = await import('rolldown');
  const compiled = join(root, 'dist', sep);
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(ENTRIES.map((name) => [name, join(compiled, `${name}.js`)])),
    platform: 'node',
    external: EXTERNAL,
    logLevel: 'silent',
    plugins: [addresses(compiled)],
  });
  rmSync(join(root, 'bundle'), { recursive: true, force: true });
  await build.write({
    dir: join(root, 'bundle'),
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name]-[hash].js',
  });
  await build.close();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await bundle(fileURLToPath(new URL('../../', import.meta.url)));
