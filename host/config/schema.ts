import * as z from 'zod';
import { DeploymentOptions } from '../deployments/class/deployment-options.ts';
import { ApiServiceConfig } from './access-schema.ts';
import { AllowedHosts, CorsConfig, LISTEN_KEYS, TlsConfig, TrustedProxies } from './network-schema.ts';
import { TaskQueueConfig } from './queue-schema.ts';

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

const positiveBytes = (bytes: number, description: string) => z.int().min(1).default(bytes).describe(description);
const seconds = (value: number, description: string) =>
  z.number().positive().max(604_800).default(value).describe(description);

/** Where files are made. The kernel's own trees hold none, and Node tries for ever to make a folder in them. */
const place = () =>
  z
    .string()
    .min(1)
    .refine(
      (path) => !/^\/(proc|sys)(\/|$)/.test(path),
      'is in /proc or /sys, where no file can be made; choose another folder',
    );

/** What runs when the configuration names no deployments: speech recognition and text generation. */
export const DEFAULT_DEPLOYMENTS = {
  asr_deployment: { type: 'WhisperDeployment', user_config: { model_size: 'base', compute_type: 'int8' } },
  llm_deployment: { type: 'LlamaTextGenerationDeployment', user_config: { model_id: 'qwen2.5-coder-0.5b-instruct' } },
};

const MediaConfig = z.strictObject({
  allow_paths: z
    .array(z.string().min(1))
    .default([])
    .describe('Directories whose files a request may name by path. None: no path is allowed.'),
  allow_private_urls: z.boolean().default(false).describe('Whether a URL may lead to a private or local address.'),
  ffmpeg_path: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'The ffmpeg to use. Without it: that of ffmpeg-static if its install script fetched one, then the one on the PATH, then a downloaded one.',
    ),
  yt_dlp_path: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('The yt-dlp that downloads the video of a web page given as URL. Without it pages are refused.'),
  max_bytes: positiveBytes(2 * GIB, 'Largest media file that is fetched from a URL, in bytes.'),
  max_duration_s: seconds(4 * 3600, 'Longest media that is decoded, in seconds.'),
  fetch_timeout_s: seconds(300, 'Time for fetching one URL, in seconds.'),
  max_redirects: z.int().min(0).max(20).default(5).describe('Redirects followed while fetching a URL.'),
  temp_dir: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'Where uploads and decoded audio lie while a request runs. Without it: the temporary directory of the system.',
    ),
});

const proxy = (what: string) =>
  z
    .string()
    .refine(isProxyUrl, 'must be the address of an HTTP proxy, such as http://proxy.example.org:3128')
    .nullable()
    .default(null)
    .describe(
      `Proxy for ${what}, \`http://user:password@host:port\`; \`https://\` is a proxy that is spoken to over TLS.`,
    );

function isProxyUrl(text: string): boolean {
  try {
    const { protocol, username, password } = new URL(text.includes('://') ? text : `http://${text}`);
    decodeURIComponent(`${username}${password}`);
    return protocol === 'http:' || protocol === 'https:';
  } catch {
    return false;
  }
}

const OutgoingConfig = z.strictObject({
  http_proxy: proxy('URLs with http'),
  https_proxy: proxy('URLs with https'),
  no_proxy: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'Hosts that are asked directly, with commas between them: `example.org` (and all below it), `10.0.0.0/8`, `host:port`, or `*`.',
    ),
  proxy_resolves: z
    .boolean()
    .default(false)
    .describe(
      'Whether the proxy looks names up, where this machine cannot. Private addresses are then refused only where a URL names them: the proxy must refuse the others.',
    ),
  ca_file: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('PEM file of certificate authorities that are trusted besides those of Node and of NODE_EXTRA_CA_CERTS.'),
});

const LimitsConfig = z.strictObject({
  max_body_bytes: positiveBytes(2 * GIB, 'Largest request: all uploaded files together, in bytes.'),
  max_file_bytes: positiveBytes(2 * GIB, 'Largest uploaded file, in bytes.'),
  max_files: z.int().min(0).max(1000).default(16).describe('Uploaded files in one request.'),
  max_json_bytes: positiveBytes(4 * MIB, 'Largest JSON input of an endpoint, in bytes.'),
  max_json_depth: z.int().min(1).max(1000).default(64).describe('Deepest nesting of the JSON input.'),
  invocation_timeout_s: seconds(3600, 'Time for one run of an endpoint, in seconds.'),
  header_timeout_s: seconds(30, 'Time for a client to send the head of a request, in seconds.'),
  request_timeout_s: seconds(900, 'Time for a client to send a whole request, in seconds.'),
  keep_alive_timeout_s: seconds(10, 'Time an idle connection stays open, in seconds.'),
  stream_keep_alive_s: seconds(
    15,
    'Silence on a stream after which a sign of life is sent, where its format has one, in seconds.',
  ),
  max_header_bytes: z
    .int()
    .min(1024)
    .max(MIB)
    .default(16_384)
    .describe('Largest head of a request, in bytes (status 431).'),
  max_connections: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(10_000)
    .describe('Connections at the same time; more are closed at once.'),
});

/** Limits that both all plugins and one plugin can have. */
const pluginLimits = {
  memory_bytes: z
    .int()
    .min(65_536)
    .describe(
      'Memory of one component instance, in bytes, all of its memories and tables together; more is a trap (status 502).',
    ),
  total_memory_bytes: z
    .int()
    .min(65_536)
    .describe(
      'Memory of all instances of one plugin, in bytes. An instance may always have its equal share, this divided by `concurrency`; more is a trap (status 502) while there is no more.',
    ),
  cpu_ms: z
    .int()
    .min(1)
    .describe('Milliseconds that one invocation may compute in all, with what the host computes for it (status 504).'),
  cpu_slice_ms: z
    .int()
    .min(1)
    .describe('Milliseconds that a plugin may compute without calling the host (status 504).'),
  timeout_s: z
    .number()
    .positive()
    .max(604_800)
    .describe('Time for one invocation, waiting for its turn included, in seconds (status 504).'),
  output_bytes: z
    .int()
    .min(1)
    .describe('Largest answer of one invocation, all streamed values together, in bytes (status 413).'),
  host_calls: z
    .int()
    .min(1)
    .describe('Calls of one invocation to the host; streamed values are no calls (status 413).'),
  handles: z
    .int()
    .min(1)
    .describe('Videos, audios, images, streams and helpers that one invocation holds at a time (status 413).'),
  concurrency: z.int().min(1).max(10_000).describe('Invocations of one plugin at the same time.'),
  queue: z
    .int()
    .min(0)
    .max(100_000)
    .describe(
      'Invocations of one plugin that wait for their turn; more are refused (status 503 with Retry-After), first those of the user with the most. Users take turns.',
    ),
};

const PluginConfig = z.strictObject({
  memory_bytes: pluginLimits.memory_bytes.default(128 * MIB),
  total_memory_bytes: pluginLimits.total_memory_bytes.default(1024 * MIB),
  cpu_ms: pluginLimits.cpu_ms.default(30_000),
  cpu_slice_ms: pluginLimits.cpu_slice_ms.default(2000),
  timeout_s: pluginLimits.timeout_s.default(3600),
  output_bytes: pluginLimits.output_bytes.default(64 * MIB),
  host_calls: pluginLimits.host_calls.default(100_000),
  handles: pluginLimits.handles.default(256),
  concurrency: pluginLimits.concurrency.default(128),
  threads: z
    .int()
    .min(1)
    .max(64)
    .default(8)
    .describe(
      'Threads of one plugin. Before Node 24 each holds one invocation; later Nodes need one, and start further ones while a guest computes for long.',
    ),
  queue: pluginLimits.queue.default(256),
});

const PluginGrant = z.strictObject({
  capabilities: z.array(z.string().min(1)).optional().describe('Capabilities that it may use; `*` is every one.'),
  deployments: z.array(z.string().min(1)).optional().describe('Deployments that it may call; `*` is every one.'),
  hosts: z
    .array(z.string().min(1))
    .optional()
    .describe(
      'Hosts that it may make requests to, with `http`, and open media of that its request does not name, with `media`; `*` is every public one. Default: none.',
    ),
  limits: z.strictObject(pluginLimits).partial().optional().describe('Limits in place of those of `plugin_limits`.'),
});

const ModelsConfig = z.strictObject({
  hf_token: z.string().min(1).nullable().default(null).describe('Token for the model hub.'),
  hf_endpoint: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null)
    .describe('Address of the model hub, when it is not the public one.'),
  offline: z.boolean().default(false).describe('Whether nothing is downloaded: what is not in the cache is missing.'),
});

const DevicesConfig = z.strictObject({
  gpus: z
    .array(
      z.strictObject({
        id: z
          .string()
          .min(1)
          .optional()
          .describe('What CUDA_VISIBLE_DEVICES takes for it. Default: its place in the list.'),
        name: z.string().min(1).optional(),
        memory_bytes: z.int().min(0),
      }),
    )
    .nullable()
    .default(null)
    .describe(
      'GPUs of this machine in place of those that are found, each `{"memory_bytes": …}` with `id` and `name` if need be. An empty list is none.',
    ),
  memory_bytes: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'Main memory that models may take. Without it: what the machine, or its container, has, less what other programs use.',
    ),
  cpus: z
    .number()
    .min(1)
    .nullable()
    .default(null)
    .describe('Processors that models may keep busy. Without it: those of the machine, or of its container.'),
  placement: z
    .enum(['spread', 'pack'])
    .default('spread')
    .describe(
      'Where shares of GPUs go: `spread` to the emptiest GPU, `pack` to the fullest that has room, so that whole GPUs are left for others.',
    ),
});

const DatabaseConfig = z
  .strictObject({
    datastore_type: z
      .enum(['sqlite', 'postgresql'])
      .default('sqlite')
      .describe('SQLite needs no server; several hosts share PostgreSQL.'),
    datastore_config: z
      .strictObject({
        path: place()
          .nullable()
          .default(null)
          .describe('SQLite: file of the database. Without it: `aana.db` in `data_dir`.'),
        host: z
          .string()
          .min(1)
          .default('127.0.0.1')
          .describe(
            'PostgreSQL: address of the server, or the folder of its socket. Several with commas between them, such as `db1,db2:5433`, are a primary and its replicas: the one that takes writes is used.',
          ),
        port: z.int().min(1).max(65_535).default(5432).describe('PostgreSQL: port of the server.'),
        user: z.string().min(1).default('aana').describe('PostgreSQL: whom to connect as.'),
        password: z
          .string()
          .nullable()
          .default(null)
          .describe('PostgreSQL: the password of the user, where the server asks for one.'),
        database: z.string().min(1).default('aana').describe('PostgreSQL: name of the database; it must be there.'),
        ssl_mode: z
          .enum(['disable', 'require', 'verify-ca', 'verify-full'])
          .default('disable')
          .describe(
            'PostgreSQL: whether connections are encrypted (`require`), whether the certificate of the server must be signed by an authority that is trusted (`verify-ca`), and whether it must name the host, too (`verify-full`).',
          ),
        ssl_root_cert: place()
          .nullable()
          .default(null)
          .describe(
            'PostgreSQL: PEM file of the authorities that sign certificates of servers. Without it: those of Node.',
          ),
        ssl_cert: place()
          .nullable()
          .default(null)
          .describe('PostgreSQL: PEM file of the certificate that this host shows to the server.'),
        ssl_key: place().nullable().default(null).describe('PostgreSQL: PEM file of the key to `ssl_cert`.'),
      })
      .prefault({}),
    pool_size: z
      .int()
      .min(1)
      .max(1000)
      .default(5)
      .describe('Connections to the database. PostgreSQL: besides one for notifications and one for heartbeats.'),
    max_overflow: z
      .int()
      .min(0)
      .max(1000)
      .default(10)
      .describe('Connections besides those of `pool_size`, while there is much to do.'),
    pool_recycle: z
      .number()
      .positive()
      .max(604_800)
      .default(3600)
      .describe('PostgreSQL: age at which a connection is replaced, in seconds.'),
    query_timeout: z
      .number()
      .min(0)
      .max(604_800)
      .default(30)
      .describe('PostgreSQL: time for one statement, in seconds; 0 is for ever.'),
    connection_timeout: z
      .number()
      .positive()
      .max(3600)
      .default(10)
      .describe('Time for getting a connection, and for waiting for other writers, in seconds.'),
  })
  .describe('Where tasks and what plugins store are kept.');

const RateLimit = z.strictObject({
  capacity: z.int().min(1).max(1_000_000).describe('Requests that may come at once.'),
  interval_seconds: z.number().positive().max(31_536_000).describe('Time in which so many are there again, evenly.'),
});

const RateLimitsConfig = z.strictObject({
  default: RateLimit.nullable()
    .default(null)
    .describe(
      'Requests of each caller in all, such as `{"capacity": 60, "interval_seconds": 60}`: of each API key or, without keys, each address.',
    ),
  endpoints: z
    .record(
      z.string().regex(/^(\/[A-Za-z0-9._~-]+)+(\/\*)?$/, 'must be a path such as /video/transcribe, or /video/*'),
      RateLimit,
    )
    .default({})
    .describe('Requests of each caller to an endpoint, by its path or `/video/*`.'),
  keys: z
    .record(z.string().min(1), RateLimit.nullable())
    .default({})
    .describe('In place of `rate_limits.default`, by the `key_id` of an API key; null is no limit.'),
  documentation: RateLimit.nullable()
    .default({ capacity: 300, interval_seconds: 60 })
    .describe(
      'Requests of each address to `/openapi.json`, `/docs` and `/redoc`, which need no key; null is no limit.',
    ),
  refused_keys: RateLimit.nullable()
    .default({ capacity: 100, interval_seconds: 60 })
    .describe(
      'API keys from each address that are looked up and not found; null is no limit. Keys that are known to this host go on working.',
    ),
});

const WebhookConfig = z.strictObject({
  hmac_secret: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'What deliveries are signed with, unless the webhook or its user’s key has a secret. Without it, each new webhook gets one of its own.',
    ),
  retry_attempts: z
    .int()
    .min(1)
    .max(100)
    .default(16)
    .describe('Attempts at a delivery, the first one included. With the default waits 16 of them last about a day.'),
  retry_delay: seconds(5, 'Wait after the first attempt, in seconds; each further one is twice as long.'),
  max_retry_delay: seconds(
    21_600,
    'Longest wait between two attempts, in seconds; also the longest that a target may ask for with `Retry-After`.',
  ),
  timeout: z
    .number()
    .positive()
    .max(300)
    .default(10)
    .describe('Time for one attempt, the answer included, in seconds.'),
  max_concurrent: z
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .describe('Deliveries that a host sends at the same time. Targets that fail get half of them at most.'),
  max_concurrent_per_target: z
    .int()
    .min(1)
    .max(1000)
    .default(4)
    .describe(
      'Deliveries to one target (scheme, host and port) at the same time, of all hosts together; one while it fails.',
    ),
  disable_after_failures: z
    .int()
    .min(1)
    .default(20)
    .describe('So many failed attempts in a row disable a webhook, when they last for `disable_after`.'),
  disable_after: z
    .number()
    .min(0)
    .max(31_536_000)
    .default(172_800)
    .describe('How long a webhook must have failed before it is disabled, in seconds.'),
  retention: z
    .number()
    .min(0)
    .max(31_536_000)
    .default(604_800)
    .describe(
      'How long deliveries that ended are kept, and those that wait for a disabled webhook, in seconds; 0 is for ever.',
    ),
  max_webhooks: z.int().min(1).max(10_000).default(100).describe('Webhooks of one user.'),
  allow_private_urls: z
    .boolean()
    .default(false)
    .describe('Whether webhooks may be sent to private and local addresses.'),
});

const LogConfig = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Lines below this level are dropped.'),
  content: z
    .boolean()
    .default(false)
    .describe(
      'Whether lines may hold what requests and models say: the messages of unexpected errors. See [security.md](security.md#what-logs-and-errors-leave-out).',
    ),
  format: z.enum(['text', 'json']).default('text').describe('Lines for people, or one JSON object a line.'),
});

/** The whole configuration. Keys are those of the file; every key has a default. */
export const ConfigSchema = z.strictObject({
  name: z.string().min(1).default('app').describe('Name of the application: the title of its API documentation.'),
  app: z
    .string()
    .regex(/^.+:[A-Za-z_$][\w$]*$/, 'must be <module>:<export>, such as ./app.js:app')
    .nullable()
    .default(null)
    .describe(
      'The application that `serve` starts, `./app.js:app`: a module, and the export of it that is an `AanaApp`. `deployments` and `plugins` are put over what it registers.',
    ),
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address to listen on. 0.0.0.0 is every address of the machine.'),
  port: z.int().min(0).max(65_535).default(8000).describe('Port to listen on; 0 takes a free one.'),
  ...LISTEN_KEYS,
  tls: TlsConfig.prefault({}).describe('HTTPS.'),
  trusted_proxies: TrustedProxies,
  allowed_hosts: AllowedHosts,
  cors: CorsConfig.prefault({}).describe('Pages of other origins.'),
  plugins: z
    .array(z.string().min(1))
    .default([])
    .describe('Plugin folders, or folders of plugin folders, besides those named on the command line.'),
  deployments: z
    .record(
      z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'a name has 1 to 64 letters, digits, "_" or "-"'),
      DeploymentOptions,
    )
    .prefault(DEFAULT_DEPLOYMENTS)
    .describe('Deployments by name: the type of each and its options.'),
  cache_dir: place().default('').describe('Where models, native builds and built components are kept.'),
  data_dir: place()
    .default('')
    .describe(
      'What must not be lost: the database of SQLite, and files of tasks. Hosts that share a database share it.',
    ),
  include_stacktrace: z
    .boolean()
    .default(false)
    .describe('Whether error answers carry a stack trace. It shows paths of the server: not for public servers.'),
  compat_status: z
    .enum(['none', 'original'])
    .default('none')
    .describe(
      'Whose statuses errors have: their own, or those of the original system, which are 400 but for a few (docs/errors.md).',
    ),
  cuda_visible_devices: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'GPUs that the deployments may use: indices in the order of nvidia-smi, or UUIDs; an empty string is none.',
    ),
  devices: DevicesConfig.prefault({}).describe('What replicas are placed on.'),
  native_build: z
    .enum(['auto', 'prebuilt', 'source'])
    .default('auto')
    .describe('How the native addon is built: over published libraries, from source, or whichever fits the platform.'),
  shutdown_grace_s: z
    .number()
    .min(0)
    .max(86_400)
    .default(30)
    .describe('Time that running requests have to finish when the server stops, in seconds.'),
  media: MediaConfig.prefault({}).describe('Videos and audio.'),
  outgoing: OutgoingConfig.prefault({}).describe('Requests to other servers: media, plugins, webhooks and models.'),
  limits: LimitsConfig.prefault({}).describe('Limits of requests.'),
  strict: z
    .boolean()
    .default(false)
    .describe('Whether a plugin that cannot be loaded ends the start; otherwise it is reported and skipped.'),
  watch: z.boolean().default(false).describe('Whether plugins are built and reloaded when their files change.'),
  runtime_dir: place().default('').describe('Where a running server can be reached by the commands of the same user.'),
  plugin_limits: PluginConfig.prefault({}).describe('Limits of plugins. A manifest can ask for less, not for more.'),
  plugin_grants: z
    .record(
      z.union(
        [z.literal('*'), z.string().regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/)],
        'must be the name of a plugin, or "*"',
      ),
      PluginGrant,
    )
    .default({})
    .describe('What plugins get of what their manifests ask for, by name of the plugin, `*` for all. See below.'),
  models: ModelsConfig.prefault({}).describe('Where models come from.'),
  db_config: DatabaseConfig.prefault({}),
  task_queue: TaskQueueConfig.prefault({}).describe('Deferred requests.'),
  api_service: ApiServiceConfig.prefault({}).describe('API keys.'),
  rate_limits: RateLimitsConfig.prefault({}).describe('How often callers may ask; counted on each host by itself.'),
  webhook: WebhookConfig.prefault({}).describe('Who is told what became of deferred requests.'),
  log: LogConfig.prefault({}).describe('Log lines, written to the standard error.'),
});

type DeepReadonly<T> = T extends (infer U)[]
  ? readonly DeepReadonly<U>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** The configuration of a host: complete, checked and frozen. */
export type Config = DeepReadonly<z.infer<typeof ConfigSchema>>;
/** What a file or an embedding program may give: any part of it. */
export type ConfigInput = z.input<typeof ConfigSchema>;
