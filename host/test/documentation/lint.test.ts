// Checks the document of a server with endpoints of every kind with two linters that share no code. Both are fetched by
// npx, like the linter of the sources.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { startVariedApp } from '../helpers/varied-app.ts';
import { skip } from '../skip.ts';

const run = promisify(execFile);
const Lint = suite('the OpenAPI document under two linters');
const rules = (name: string): string => join(packageRoot, 'host/test/documentation', name);
/** The document without API keys and limits, and with them. */
const FILES = ['open.json', 'guarded.json'];
const LINTERS = [
  {
    name: 'redocly',
    source: '@redocly/cli@2.77.0',
    clean: /descriptions? (is|are) valid/,
    command: ['redocly', 'lint', ...FILES, '--config', rules('redocly.yaml'), '--format', 'stylish'],
  },
  {
    name: 'spectral',
    source: '@stoplight/spectral-cli@6.16.3',
    clean: /No results/,
    command: ['spectral', 'lint', ...FILES, '--ruleset', rules('spectral.yaml'), '--fail-severity', 'hint'],
  },
];
let folder = '';

Lint.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-lint-'));
  const guarded = {
    api_service: { enabled: true },
    rate_limits: { default: { capacity: 1000, interval_seconds: 1 } },
    mcp: { enabled: true },
  };
  for (const [name, config] of Object.entries({ 'open.json': {}, 'guarded.json': guarded })) {
    await using varied = await startVariedApp({ config });
    await writeFile(join(folder, name), await (await fetch(`${varied.url}/openapi.json`)).text());
  }
});
Lint.after(() => rm(folder, { recursive: true, force: true }));

for (const { name, source, clean, command } of LINTERS) {
  Lint(`${name} finds no problem`, async () => {
    const npx = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
      run('npx', ['--yes', `--package=${source}`, '--', ...args], {
        cwd: folder,
        timeout: 240_000,
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      });
    const missing = await npx(name, '--version').then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (missing !== undefined) return skip(name, `it cannot be fetched: ${missing.trim().split('\n').at(-1)}`);
    const { stdout, stderr } = await npx(...command).catch((error: { stdout: string; stderr: string }) => error);
    assert.match(`${stdout}${stderr}`, clean);
    assert.not.match(`${stdout}${stderr}`, /warning {2}|You have \d+ (warning|error)/, `${stdout}${stderr}`);
  });
}

Lint.run();
