import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DEFAULT_DEPLOYMENTS, type LoadOptions, loadConfig } from './index.ts';

const Load = suite('loadConfig');
let cwd = '';

Load.before.each(() => {
  cwd = mkdtempSync(join(tmpdir(), 'aana-config-'));
});
Load.after.each(() => rmSync(cwd, { recursive: true, force: true }));

function load(options: LoadOptions = {}) {
  return loadConfig({ cwd, env: { HOME: cwd }, ...options });
}

function writeConfig(value: unknown, name = 'aana.config.json'): string {
  const path = join(cwd, name);
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
  return path;
}

function messageOf(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    assert.is((error as Error).name, 'ConfigError');
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

Load('fills every key without a file, and names the two default deployments', () => {
  const config = load();
  assert.is(config.port, 8000);
  assert.is(config.host, '127.0.0.1');
  assert.equal(
    Object.entries(config.deployments).map(([name, { type, user_config }]) => [name, { type, user_config }]),
    Object.entries(DEFAULT_DEPLOYMENTS),
  );
  assert.is(config.media.allow_private_urls, false);
});

Load('prefers flags to the environment, the environment to the file, and the file to the defaults', () => {
  writeConfig({ port: 1, host: 'file', log: { level: 'warn', format: 'json' }, name: 'file' });
  const config = load({
    env: { AANA_PORT: '2', AANA_LOG_LEVEL: 'error', AANA_HOST: 'environment' },
    flags: { port: '3', host: undefined },
  });
  assert.is(config.port, 3);
  assert.is(config.host, 'environment');
  assert.is(config.log.level, 'error');
  assert.is(config.log.format, 'json', 'a group is merged key by key');
  assert.is(config.name, 'file');
  assert.is(config.shutdown_grace_s, 30);
});

Load('lets a file replace the default deployments as a whole', () => {
  writeConfig({ deployments: { only: { type: 'WhisperDeployment', num_replicas: 2 } } });
  const { deployments } = load();
  assert.equal(Object.keys(deployments), ['only']);
  assert.is(deployments['only']?.num_replicas, 2);
  assert.is(deployments['only']?.health_check_period_s, 10);
});

Load('returns a deeply frozen configuration', () => {
  const config = load();
  assert.throws(() => {
    (config.media as { max_redirects: number }).max_redirects = 9;
  });
});

Load('finds the cache in AANA_CACHE_DIR, else XDG_CACHE_HOME, else the home directory', () => {
  assert.is(load().cache_dir, join(cwd, '.cache/aana-host'));
  assert.is(load({ env: { XDG_CACHE_HOME: '/x' } }).cache_dir, '/x/aana-host');
  assert.is(load({ env: { XDG_CACHE_HOME: '/x', AANA_CACHE_DIR: '/y' } }).cache_dir, '/y');
  assert.is(load({ env: { AANA_CACHE_DIR: '/y' }, flags: { cache_dir: 'z' } }).cache_dir, join(cwd, 'z'));
});

Load(
  'resolves relative paths of a file from its folder, and those of flags and variables from the working directory',
  () => {
    mkdirSync(join(cwd, 'etc'));
    writeConfig({ media: { allow_paths: ['videos', '/abs'] }, cache_dir: 'cache' }, 'etc/own.json');
    const config = load({ file: 'etc/own.json' });
    assert.equal(config.media.allow_paths, [join(cwd, 'etc/videos'), '/abs']);
    assert.is(config.cache_dir, join(cwd, 'etc/cache'));
    assert.equal(load({ flags: { 'media.allow_paths': ['a', '/b'] } }).media.allow_paths, [join(cwd, 'a'), '/b']);
    assert.equal(load({ env: { AANA_ALLOW_PATHS: `a${delimiter}/b` } }).media.allow_paths, [join(cwd, 'a'), '/b']);
  },
);

Load('treats an empty variable as unset, except that an empty CUDA_VISIBLE_DEVICES means no GPU', () => {
  const config = load({ env: { AANA_PORT: '', CUDA_VISIBLE_DEVICES: '', HF_TOKEN: '' } });
  assert.is(config.port, 8000);
  assert.is(config.models.hf_token, null);
  assert.is(config.cuda_visible_devices, '');
});

Load('names the file and the whole key when it refuses an unknown key', () => {
  const path = writeConfig({ media: { alow_paths: [] } });
  assert.is(messageOf(load), `${path}: unknown key "media.alow_paths"; did you mean "media.allow_paths"?`);
  writeConfig({ media: { xylophone: [] } });
  assert.is(messageOf(load), `${path}: unknown key "media.xylophone"; the known keys are in docs/configuration.md`);
  writeConfig({ deployments: { only: { type: 'WhisperDeployment', replicas: 2 } } });
  assert.match(messageOf(load), 'unknown key "deployments.only.replicas"');
  writeConfig({ deploymnets: {} });
  assert.match(messageOf(load), 'unknown key "deploymnets"; did you mean "deployments"?');
});

Load('names the source of a bad value: file, variable or flag', () => {
  const path = writeConfig({ port: 'x' });
  assert.match(messageOf(load), `${path}: "port": `);
  assert.match(
    messageOf(() => load({ env: { AANA_PORT: '70000' } })),
    /^environment variable AANA_PORT: "port": .*70000/,
  );
  assert.is(
    messageOf(() => load({ env: { AANA_PORT: 'eight' } })),
    'environment variable AANA_PORT: "eight" is not a number',
  );
  assert.match(
    messageOf(() => load({ flags: { port: '1.5' } })),
    /^--port: /,
  );
  assert.match(
    messageOf(() => load({ flags: { port: '1', 'log.level': 'loud' } })),
    /^--log-level: "log.level": /,
  );
  assert.match(
    messageOf(() => load({ env: { AANA_STRICT: 'perhaps' } })),
    /AANA_STRICT: "perhaps" is not "true" or "false"/,
  );
});

Load('says in one sentence that a file is missing, invalid JSON, or not an object', () => {
  assert.match(
    messageOf(() => load({ file: 'none.json' })),
    /none\.json: cannot be read: ENOENT$/,
  );
  const path = writeConfig('{"port": 1,}');
  assert.match(messageOf(load), `${path}: invalid JSON: `);
  writeConfig('[]');
  assert.is(messageOf(load), `${path}: expected a JSON object`);
});

Load('refuses folders in /proc and /sys, where Node tries endlessly to make one', () => {
  for (const [name, value] of [
    ['AANA_CACHE_DIR', '/proc/cache'],
    ['AANA_DATA_DIR', '/sys'],
    ['AANA_RUNTIME_DIR', '/proc/1/x'],
    ['DB_CONFIG__DATASTORE_CONFIG__PATH', '/proc/aana.db'],
  ] as const) {
    assert.match(
      messageOf(() => load({ env: { [name]: value } })),
      new RegExp(
        `^environment variable ${name}: "\\S+": is in /proc or /sys, where no file can be made; choose another folder`,
      ),
    );
  }
  assert.is(load({ env: { AANA_CACHE_DIR: '/process' } }).cache_dir, '/process');
});

Load('takes proxies from the usual variables, in upper and lower case', () => {
  const { outgoing } = load({
    env: {
      HTTP_PROXY: 'http://upper:1',
      http_proxy: 'lower:2',
      HTTPS_PROXY: 'http://upper:1',
      https_proxy: '',
      no_proxy: 'a, b',
      SSL_CERT_FILE: 'ca.pem',
    },
  });
  assert.equal(outgoing, {
    http_proxy: 'lower:2',
    https_proxy: 'http://upper:1',
    no_proxy: 'a, b',
    proxy_resolves: false,
    ca_file: join(cwd, 'ca.pem'),
  });
  for (const [name, value] of [
    ['HTTP_PROXY', 'socks5://p:1'],
    ['https_proxy', 'http://a:%@p:1'],
  ] as const) {
    assert.match(
      messageOf(() => load({ env: { [name]: value } })),
      new RegExp(`^environment variable ${name}: "outgoing\\..*_proxy": must be the address of an HTTP proxy`),
    );
  }
});

Load('does not read the environment of the process when one is given', () => {
  process.env['AANA_PORT'] = '9';
  try {
    assert.is(load({ env: {} }).port, 8000);
    assert.is(loadConfig({ cwd }).port, 9);
  } finally {
    delete process.env['AANA_PORT'];
  }
});

Load('lets values of an embedding program override the defaults, and the file override them', () => {
  writeConfig({ port: 2 });
  const config = load({ base: { port: 1, host: 'base' } });
  assert.is(config.port, 2);
  assert.is(config.host, 'base');
});

Load('refuses a key __proto__ of the file and leaves prototypes alone', () => {
  writeFileSync(join(cwd, 'proto.json'), '{"__proto__":{"port":1}}');
  assert.throws(() => loadConfig({ cwd, env: {}, file: 'proto.json' }), /proto\.json: unknown key "__proto__"/);
  assert.is(({} as { port?: number }).port, undefined);
});

Load('describes valid names when it refuses a name of a deployment', () => {
  writeFileSync(join(cwd, 'name.json'), '{"deployments":{"a b":{"type":"WhisperDeployment"}}}');
  assert.throws(
    () => loadConfig({ cwd, env: {}, file: 'name.json' }),
    /"deployments\.a b": a name has 1 to 64 letters/,
  );
});

Load('takes the settings of the task queue from variables with the names of the original SDK', () => {
  const names = {
    ENABLED: 'false',
    NUM_WORKERS: '9',
    EXECUTION_TIMEOUT: '7200',
    HEARTBEAT_TIMEOUT: '30',
    MAX_RETRIES: '5',
    MAXIMUM_ACTIVE_TASKS_PER_USER: '2',
    RESERVED_WORKERS: '0',
    MAXIMUM_WAITING_TASKS_PER_USER: '7',
    MAXIMUM_STORED_BYTES_PER_USER: '0',
    MAXIMUM_WATCHERS_PER_USER: '6',
    MAXIMUM_PRIORITY: '1',
    MAXIMUM_EXECUTION_TIMEOUT: '8',
    USERS: '{"ann":{"maximum_priority":3}}',
    RETENTION: '60',
  };
  const env = Object.fromEntries(Object.entries(names).map(([name, value]) => [`TASK_QUEUE__${name}`, value]));
  const expected = {
    enabled: false,
    num_workers: 9,
    execution_timeout: 7200,
    heartbeat_timeout: 30,
    max_retries: 5,
    maximum_active_tasks_per_user: 2,
    reserved_workers: 0,
    maximum_waiting_tasks_per_user: 7,
    maximum_stored_bytes_per_user: 0,
    maximum_watchers_per_user: 6,
    maximum_priority: 1,
    maximum_execution_timeout: 8,
    users: { ann: { maximum_priority: 3 } },
    retention: 60,
    unserved_timeout: 86_400,
  };
  assert.equal(load({ env: { HOME: cwd, ...env } }).task_queue, expected);
  assert.equal(
    load({
      env: { HOME: cwd, TASK_QUEUE: JSON.stringify({ ...expected, max_retries: 4 }), TASK_QUEUE__MAX_RETRIES: '5' },
    }).task_queue,
    expected,
  );
  assert.match(
    messageOf(() => load({ env: { TASK_QUEUE__NUM_WORKERS: '0' } })),
    /^environment variable TASK_QUEUE__NUM_WORKERS: "task_queue.num_workers"/,
  );
});

Load('takes the access key of the object store from the variables of AWS, and names what is missing', () => {
  const url = 's3://aana/files';
  const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hidden' };
  const { object_store: store } = load({ env: { ...keys, AANA_OBJECT_STORE_URL: url, AWS_REGION: 'eu-west-1' } });
  assert.equal(
    [store.url, store.region, store.access_key_id, store.secret_access_key],
    [url, 'eu-west-1', 'id', 'hidden'],
  );
  for (const [env, message] of [
    [{ AANA_OBJECT_STORE_URL: url }, /^environment variable AANA_OBJECT_STORE_URL: .*needs access_key_id and secret_/],
    [{ ...keys, AANA_OBJECT_STORE_URL: 'https://aana' }, /"object_store\.url": must be s3:\/\/bucket/],
    [{ ...keys, AANA_OBJECT_STORE_URL: 's3://aana/a b' }, /"object_store\.url": must be s3:\/\/bucket/],
    [{ ...keys, AANA_OBJECT_STORE_URL: 's3://aana/a/../..' }, /"object_store\.url": must be s3:\/\/bucket/],
    [{ ...keys, AWS_ENDPOINT_URL_S3: 'http://b/?a=1' }, /AWS_ENDPOINT_URL_S3: "object_store\.endpoint": must have no/],
    [{ ...keys, AWS_ENDPOINT_URL_S3: 'b:9000' }, /"object_store\.endpoint": must be an http or https URL/],
  ] as const) {
    const text = messageOf(() => load({ env: { HOME: cwd, ...env } }));
    assert.match(text, message);
    assert.not.match(text, 'hidden');
  }
});

Load('takes the database from DB_CONFIG as the original SDK does, and single keys from their own variables', () => {
  const json = JSON.stringify({
    datastore_type: 'postgresql',
    datastore_config: { host: 'db', user: 'u', password: 'p', database: 'd' },
    pool_size: 7,
  });
  const { db_config: config } = load({
    env: { HOME: cwd, DB_CONFIG: json, DB_CONFIG__DATASTORE_CONFIG__PORT: '5433', DB_CONFIG__POOL_SIZE: '9' },
  });
  assert.equal(
    [
      config.datastore_type,
      config.datastore_config.host,
      config.datastore_config.port,
      config.datastore_config.password,
      config.pool_size,
      config.max_overflow,
    ],
    ['postgresql', 'db', 5433, 'p', 9, 10],
  );
  assert.is(
    messageOf(() => load({ env: { DB_CONFIG: '{"datastore_type":"mysql"}' } })).startsWith(
      'environment variable DB_CONFIG: "db_config.datastore_type": ',
    ),
    true,
  );
  assert.match(
    messageOf(() => load({ env: { DB_CONFIG: '[]' } })),
    /^environment variable DB_CONFIG: expected a JSON object/,
  );
  assert.match(
    messageOf(() => load({ env: { DB_CONFIG: '{"datastore_config":{"pot":1}}' } })),
    /"db_config\.datastore_config\.pot"/,
  );
});

Load('keeps the database in the user’s data directory unless a path is given', () => {
  const path = (options: LoadOptions): string | null => load(options).db_config.datastore_config.path;
  assert.is(path({}), join(cwd, '.local/share/aana-host/aana.db'));
  assert.is(path({ env: { XDG_DATA_HOME: '/x' } }), '/x/aana-host/aana.db');
  assert.is(path({ env: { XDG_DATA_HOME: '/x', AANA_DATA_DIR: '/y' } }), '/y/aana.db');
  assert.is(path({ env: { DB_CONFIG: '{"datastore_config":{"path":"own.db"}}' } }), join(cwd, 'own.db'));
});

Load('reads the variables of OpenTelemetry, and names a wrong one without its secret', () => {
  const { otlp, traces, ...telemetry } = load({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a, team=speech',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '3000',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_BLRP_MAX_QUEUE_SIZE: '7',
      OTEL_SERVICE_NAME: 'speech',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    },
  }).telemetry;
  assert.equal(
    [otlp.endpoint, otlp.headers, otlp.timeout_ms, telemetry.service_name, traces.sampler, traces.sampler_arg],
    ['http://collector:4318', ['api-key=a', 'team=speech'], 2000, 'speech', 'traceidratio', 0.25],
  );
  assert.equal(
    [otlp.traces_request_timeout_ms, otlp.metrics_request_timeout_ms, otlp.logs_exporter, otlp.logs_max_queue_size],
    [3000, null, ['none'], 7],
    'a variable of one signal concerns no other',
  );
  const refusals: Readonly<Record<string, string>> = {
    OTEL_EXPORTER_OTLP_HEADERS: 'secret',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: 'zstd',
    OTEL_LOGS_EXPORTER: 'kafka',
    OTEL_TRACES_EXPORTER: 'zipkin',
    OTEL_METRICS_EXPORTER: 'console',
    OTEL_BLRP_MAX_QUEUE_SIZE: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '2',
  };
  for (const [name, value] of Object.entries(refusals)) {
    const message = messageOf(() => load({ env: { [name]: value } }));
    assert.ok(message.startsWith(`environment variable ${name}: `), message);
    assert.not.match(message, 'secret');
  }
});

Load.run();
