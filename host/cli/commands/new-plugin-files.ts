export interface NewPluginNames {
  /** Lower-case words joined by "-". */
  readonly name: string;
  /** Dependencies in package.json. */
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * Names missing packages. Otherwise a compiler of a folder above could print many errors instead. Removes what was
 * compiled before, because it can have tests that are gone.
 */
const prepareTests =
  "node -e \"for (const name of ['aana-host/package.json', 'typescript/package.json', '@types/node/package.json']) " +
  "try { require.resolve(name) } catch { console.error(name.replace('/package.json', '') + ' is not installed: " +
  "run npm install'); process.exit(1) } require('fs').rmSync('build', { recursive: true, force: true })\"";

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/** Returns the files of a new plugin, by path inside its folder. */
export function newPluginFiles({
  name,
  dependencies,
  devDependencies,
}: NewPluginNames): Readonly<Record<string, string>> {
  const id = name.replaceAll('-', '_');
  return {
    'plugin.json': json({ name, version: '0.1.0', description: 'Greets people.' }),
    'package.json': json({
      name,
      version: '0.1.0',
      private: true,
      type: 'module',
      scripts: {
        dev: 'aana-host dev .',
        build: 'aana-host build .',
        pretest: prepareTests,
        test: 'tsc && node --test build/*.test.js',
      },
      dependencies,
      devDependencies,
    }),
    'tsconfig.json': json({
      compilerOptions: {
        strict: true,
        noUncheckedIndexedAccess: true,
        verbatimModuleSyntax: true,
        erasableSyntaxOnly: true,
        rewriteRelativeImportExtensions: true,
        module: 'nodenext',
        target: 'es2023',
        lib: ['es2023', 'esnext.disposable', 'esnext.array'],
        types: ['node'],
        skipLibCheck: true, // a folder above may have other versions of the types
        rootDir: 'src',
        outDir: 'build',
      },
      include: ['src'],
    }),
    'aana.config.json': json({ deployments: {} }),
    '.gitignore': 'node_modules/\nbuild/\ndist/\n',
    'src/globals.d.ts': globals,
    'src/index.ts': source(name, id),
    'src/index.test.ts': test(id),
    'README.md': readme(name, id),
  };
}

const source = (
  name: string,
  id: string,
): string => `import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';

const greet = defineEndpoint({
  name: '${id}_greet',
  path: '/${name}/greet',
  summary: 'Greet somebody',
  input: z.strictObject({
    who: z.string().check(z.minLength(1), z.describe('Name of the person to greet')),
    times: z._default(z.int().check(z.minimum(1), z.maximum(10), z.describe('Number of greetings')), 1),
  }),
  output: z.strictObject({ greeting: z.string() }),
  run({ who, times }, ctx) {
    ctx.log.info('greeting', { who });
    return { greeting: Array(times).fill(\`Hello, \${who}!\`).join(' ') };
  },
});

export const endpoint = definePlugin([greet]);
`;

const globals = `// Types of the web that plugins have, and that those of Node 20 lack.
import type { webcrypto } from 'node:crypto';

declare global {
  interface CryptoKey extends webcrypto.CryptoKey {}
  interface CryptoKeyPair extends webcrypto.CryptoKeyPair {}
  interface SubtleCrypto extends webcrypto.SubtleCrypto {}
  interface JsonWebKey extends webcrypto.JsonWebKey {}
  var CryptoKey: webcrypto.CryptoKeyConstructor;
  type BodyInit = NonNullable<RequestInit['body']>;
  type HeadersInit = NonNullable<RequestInit['headers']>;
}
`;

const test = (id: string): string => `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostError } from 'aana-host/plugin';
import { runEndpoint } from 'aana-host/plugin/testing';
import { endpoint } from './index.ts';

test('greets as often as asked', async () => {
  const { output, logs } = await runEndpoint(endpoint, '${id}_greet', { who: 'Ada', times: 2 });
  assert.deepEqual(output, { greeting: 'Hello, Ada! Hello, Ada!' });
  assert.equal(logs[0]?.message, 'greeting');
});

test('refuses to greet nobody', async () => {
  await assert.rejects(
    () => runEndpoint(endpoint, '${id}_greet', { who: '' }),
    (error) => error instanceof HostError && error.kind === 'invalid-input',
  );
});
`;

const readme = (name: string, id: string): string => `# ${name}

\`POST /${name}/greet\` (\`${id}_greet\`): greets somebody.

\`\`\`sh
npm install
npm run dev        # builds and serves at http://127.0.0.1:8000, and reloads when a file changes
npm test           # runs the tests in plain Node, with fakes of the host's functions
npm run build      # only builds the component, dist/${name}.wasm
\`\`\`

\`\`\`sh
curl -s -F 'body={"who":"Ada"}' http://127.0.0.1:8000/${name}/greet
\`\`\`

\`\`\`json
{"greeting":"Hello, Ada!"}
\`\`\`

\`aana.config.json\` deploys no models, so that the server starts at once. To use speech recognition or a language
model, remove \`"deployments": {}\`, add \`"capabilities": ["deployments"], "deployments": ["*"]\` to \`plugin.json\`
and call \`ctx.asr\` or \`ctx.llm\`.
The guide is \`node_modules/aana-host/docs/plugins.md\`.
`;
