import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describeConfig, loadConfig, SETTINGS } from './index.ts';

const Described = suite('the description of a configuration');
const folder = mkdtempSync(join(tmpdir(), 'aana-config-'));
Described.after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'aana.config.json');

Described('names the origin of each value: file, variable, group of variables, flag, program, default', () => {
  writeFileSync(file, JSON.stringify({ port: 1, host: '0.0.0.0', limits: { max_files: 3, max_json_bytes: 9000 } }));
  const config = loadConfig({
    cwd: folder,
    env: { AANA_PORT: '2', AANA_MAX_FILES: '4', API_SERVICE: '{"enabled":true}' },
    flags: { port: '3', strict: true },
    base: { name: 'mine', host: '::1', log: { level: 'warn' } },
  });
  const values = describeConfig(config);
  assert.is(values.length, SETTINGS.length);
  const of = (key: string): unknown[] => {
    const { value, origin } = values.find((one) => one.key === key)!;
    return [value, origin];
  };
  assert.equal(of('port'), [3, '--port']);
  assert.equal(of('strict'), [true, '--strict']);
  assert.equal(of('limits.max_files'), [4, 'environment variable AANA_MAX_FILES']);
  assert.equal(of('api_service.enabled'), [true, 'environment variable API_SERVICE']);
  assert.equal(of('limits.max_json_bytes'), [9000, file]);
  assert.equal(of('host'), ['0.0.0.0', file]);
  assert.equal(of('name'), ['mine', 'the program']);
  assert.equal(of('log.level'), ['warn', 'the program']);
  assert.equal(of('watch'), [false, 'default']);
});

Described('has no secrets', () => {
  rmSync(file, { force: true });
  const config = loadConfig({
    cwd: folder,
    env: {
      HF_TOKEN: 'hidden-1',
      WEBHOOK__HMAC_SECRET: 'hidden-2',
      AANA_DASHBOARD_TOKEN: 'hidden-3-hidden-3',
      HTTPS_PROXY: 'http://ann:hidden-4@proxy.example:3128',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hidden-5',
      DB_CONFIG__DATASTORE_CONFIG__PASSWORD: 'hidden-6',
      AWS_SECRET_ACCESS_KEY: 'hidden-8',
      AWS_SESSION_TOKEN: 'hidden-9',
    },
    base: {
      deployments: {
        llm_deployment: { type: 'OpenAITextGenerationDeployment', user_config: { model: 'm', api_key: 'hidden-7' } },
      } as never,
    },
  });
  const text = JSON.stringify(describeConfig(config));
  assert.not.match(text, 'hidden');
  assert.match(text, 'http://…@proxy.example:3128');
  assert.match(text, '"model":"m"');
});

Described.run();
