import * as z from 'zod';
import { DeploymentOptions } from '../../inference/deployments/class/deployment-options.ts';
import { settings } from './registry.ts';
import { ApiServiceConfig } from './sections/access.ts';
import { AlertsConfig } from './sections/observing/alerts.ts';
import { ClusterConfig } from './sections/cluster.ts';
import { CorsConfig } from './sections/cors.ts';
import { DatabaseConfig } from './sections/stored/database.ts';
import { DevicesConfig } from './sections/devices.ts';
import { amount, toggle, whole } from '../core/fields.ts';
import { writablePath } from './sections/fields.ts';
import { LimitsConfig } from './sections/limits.ts';
import { McpConfig } from './sections/apis/mcp.ts';
import { MediaConfig } from './sections/media.ts';
import { ModelsConfig } from './sections/models.ts';
import { ObjectStoreConfig } from './sections/stored/object-store.ts';
import { OpenAiConfig } from './sections/apis/openai.ts';
import { DashboardConfig, LogConfig, TelemetryConfig } from './sections/observability.ts';
import { OutgoingConfig } from './sections/outgoing.ts';
import { PluginBuilds, PluginConfig, PluginGrant, PluginSettings } from './sections/plugins.ts';
import { RateLimitsConfig } from './sections/rate-limits.ts';
import { AllowedHosts, LISTEN_KEYS, TrustedProxies } from './sections/server.ts';
import { SocketsConfig } from './sections/sockets.ts';
import { TaskQueueConfig } from './sections/task-queue.ts';
import { TlsConfig } from './sections/tls.ts';
import { UsageConfig } from './sections/observing/usage.ts';
import { UserLimitsConfig } from './sections/user-limits.ts';
import { WebhookConfig } from './sections/webhooks.ts';

/** Deployments of a configuration that names none: speech recognition and text generation. */
export const DEFAULT_DEPLOYMENTS = {
  asr_deployment: { type: 'WhisperDeployment', user_config: { model_size: 'base', compute_type: 'int8' } },
  llm_deployment: { type: 'LlamaTextGenerationDeployment', user_config: { model_id: 'qwen2.5-coder-0.5b-instruct' } },
};

/** The whole configuration, with the keys of the file. Every key has a default. */
export const ConfigSchema = z.strictObject({
  name: z
    .string()
    .min(1)
    .default('app')
    .describe('Name of the application: the title of its API documentation.')
    .register(settings, { flag: '--name <name>' }),
  app: z
    .string()
    .regex(/^.+:[A-Za-z_$][\w$]*$/, 'must be <module>:<export>, such as ./app.js:app')
    .nullable()
    .default(null)
    .describe(
      'Application that `serve` starts, such as `./app.js:app`: a module and its export that is an `AanaApp`. ' +
        '`deployments` and `plugins` are added to those that the application registers, and replace those of ' +
        'the same name.',
    )
    .register(settings, { isPath: true }),
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address to listen on; 0.0.0.0 is every address of the machine.')
    .register(settings, { flag: '--host <address>' }),
  port: whole({ min: 0, max: 65_535, default: 8000 }, 'Port to listen on; 0 takes a free one.').register(settings, {
    flag: '--port <number>',
  }),
  ...LISTEN_KEYS,
  workers: whole(
    { min: 1, max: 64, default: 1 },
    'Processes of `aana-host serve` that answer requests behind one port, with one set of replicas. See ' +
      '[operating.md](operating.md#workers).',
  ).register(settings, { env: 'NUM_WORKERS', flag: '--workers <number>' }),
  tls: TlsConfig.prefault({}).describe('HTTPS.'),
  cluster: ClusterConfig.prefault({}).describe('Other machines that use the deployments of this host.'),
  trusted_proxies: TrustedProxies,
  allowed_hosts: AllowedHosts,
  cors: CorsConfig.prefault({}).describe('Access for pages of other origins.').register(settings, { env: 'CORS' }),
  plugins: z
    .array(z.string().min(1))
    .default([])
    .describe('Plugin folders, or folders that contain them, in addition to those on the command line.')
    .register(settings, { isPath: true }),
  deployments: z
    .record(
      z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'a name has 1 to 64 letters, digits, "_" or "-"'),
      DeploymentOptions,
    )
    .prefault(DEFAULT_DEPLOYMENTS)
    .describe('Deployments by name, each with its type and options.')
    .register(settings, { defaultText: 'see below' }),
  cache_dir: writablePath()
    .default('')
    .describe('Folder of models, native builds and built components.')
    .register(settings, {
      folders: [{ env: 'TMP_DATA_DIR', within: 'models' }, { env: 'MODEL_DIR' }],
      flag: '--cache-dir <dir>',
      isCommonFlag: true,
      isPath: true,
      defaultText: '`$XDG_CACHE_HOME/aana-host`, else `~/.cache/aana-host`',
    }),
  data_dir: writablePath()
    .default('')
    .describe(
      'Folder of data that must not be lost: the SQLite database and, without `object_store.url`, the files of ' +
        'users and tasks. Hosts that share a database and have no object store must share this folder.',
    )
    .register(settings, {
      folders: [{ env: 'TMP_DATA_DIR' }],
      flag: '--data-dir <dir>',
      isCommonFlag: true,
      isPath: true,
      defaultText: '`$XDG_DATA_HOME/aana-host`, else `~/.local/share/aana-host`',
    }),
  include_stacktrace: toggle(
    false,
    'Whether error answers carry a stack trace. It reveals paths of the server, so do not use it on public servers.',
  ).register(settings, { env: 'INCLUDE_STACKTRACE', flag: '--include-stacktrace' }),
  compat_status: z
    .enum(['none', 'original'])
    .default('none')
    .describe(
      'HTTP statuses of errors: those of this project, or those of the original SDK, where most errors have status ' +
        '400 (docs/errors.md).',
    ),
  cuda_visible_devices: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'GPUs that the deployments may use: indices in the order of nvidia-smi, or UUIDs. An empty string means no GPU.',
    )
    .register(settings, { env: 'CUDA_VISIBLE_DEVICES', isSetByEmpty: true }),
  devices: DevicesConfig.prefault({})
    .describe('Devices on which replicas are placed.')
    .register(settings, { prefix: 'AANA_' }),
  native_build: z
    .enum(['auto', 'prebuilt', 'source'])
    .default('auto')
    .describe(
      'How the native addon is built: over published libraries, from source, or whichever of the two fits ' +
        'the platform.',
    )
    .register(settings, { env: 'AANA_BUILD', flag: '--native-build <mode>', isCommonFlag: true }),
  cuda_backend: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe(
      "Whether the native addon uses ggml's CUDA backend: yes, no, or if this machine has an NVIDIA GPU when the " +
        'host starts. The backend is a download of 143 MB. The libraries of CUDA are one of 425 MB, where the ' +
        'machine has none.',
    ),
  vulkan_backend: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe(
      "Whether the native addon uses ggml's Vulkan backend, which is a download of 24 MB: yes, no, or if this " +
        "machine has a GPU without NVIDIA's driver. It is not used beside CUDA's.",
    ),
  shutdown_grace_s: amount(
    { min: 0, max: 86_400, default: 30 },
    'Time in which running requests may finish when the server stops, in seconds.',
  ).register(settings, { flag: '--shutdown-grace <seconds>' }),
  media: MediaConfig.prefault({}).describe('Videos and audio.').register(settings, { prefix: 'AANA_' }),
  outgoing: OutgoingConfig.prefault({}).describe('Requests to other servers: media, plugins, webhooks and models.'),
  limits: LimitsConfig.prefault({}).describe('Limits of requests.').register(settings, { prefix: 'AANA_' }),
  sockets: SocketsConfig.prefault({})
    .describe('Limits of WebSockets, such as those of `/asr/live`.')
    .register(settings, { prefix: 'AANA_SOCKET_' }),
  strict: toggle(
    false,
    'Whether the start fails when a plugin cannot be loaded. Otherwise the plugin is reported and skipped.',
  ).register(settings, { flag: '--strict' }),
  watch: toggle(false, 'Whether the host rebuilds and reloads a plugin when its files change.').register(settings, {
    flag: '--watch',
  }),
  runtime_dir: writablePath()
    .default('')
    .describe('Folder of the sockets through which commands of the same user reach a running server.')
    .register(settings, {
      flag: '--runtime-dir <dir>',
      isCommonFlag: true,
      isPath: true,
      defaultText: '`$XDG_RUNTIME_DIR/aana-host`, else `run` in `cache_dir`',
    }),
  plugin_limits: PluginConfig.prefault({})
    .describe('Limits of plugins. A manifest can lower them, but not raise them.')
    .register(settings, { prefix: 'AANA_PLUGIN_' }),
  plugin_builds: PluginBuilds.prefault({})
    .describe('Limits of the builds of plugins.')
    .register(settings, { prefix: 'AANA_PLUGIN_BUILD_' }),
  plugin_confinement: z
    .enum(['prefer', 'require'])
    .default('prefer')
    .describe(
      'Whether a plugin is refused where the kernel does not enforce the whole confinement of its process: no new ' +
        'privileges, a filter of system calls (seccomp), Landlock and a limit of memory. `aana-host doctor` says ' +
        'what the kernel enforces.',
    )
    .register(settings, { env: 'AANA_PLUGIN_CONFINEMENT' }),
  plugin_idle_s: amount(
    { min: 0, max: 604_800, default: 0 },
    'Time without requests after which the process of a plugin ends, in seconds; 0 never ends it. The next request ' +
      'starts it again, which takes some hundredths of a second for a component and up to a second for Extism.',
  ).register(settings, { env: 'AANA_PLUGIN_IDLE_S' }),
  plugin_grants: z
    .record(
      z.union(
        [z.literal('*'), z.string().regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/)],
        'must be the name of a plugin, or "*"',
      ),
      PluginGrant,
    )
    .default({})
    .describe(
      'Rights that plugins get of those that their manifests ask for, by the name of the plugin, or `*` for ' +
        'all. See below.',
    ),
  plugin_settings: z
    .record(z.string().regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'must be the name of a plugin'), PluginSettings)
    .default({})
    .describe(
      'Values of the settings that plugins declare, by the name of the plugin: `x` is the value of the setting `x`, ' +
        '`x_env` names an environment variable with it, and `x_file` a file with it. See below.',
    )
    .register(settings, { isLive: true }),
  models: ModelsConfig.prefault({}).describe('Sources of models.'),
  db_config: DatabaseConfig.prefault({}).register(settings, { env: 'DB_CONFIG' }),
  object_store: ObjectStoreConfig.prefault({}).describe('Where the bytes of uploads are kept.'),
  task_queue: TaskQueueConfig.prefault({}).describe('Deferred requests.').register(settings, { env: 'TASK_QUEUE' }),
  api_service: ApiServiceConfig.prefault({}).describe('API keys.').register(settings, { env: 'API_SERVICE' }),
  rate_limits: RateLimitsConfig.prefault({}).describe(
    'Limits of how often callers may send requests. Each host counts separately.',
  ),
  user_limits: UserLimitsConfig.prefault({})
    .describe('Limits of what callers may use. A caller is a user or, without API keys, an address.')
    .register(settings, { prefix: 'AANA_USER_' }),
  openai: OpenAiConfig.prefault({}).describe('OpenAI’s API over the deployments.'),
  mcp: McpConfig.prefault({}).describe('Endpoints as tools of the Model Context Protocol.'),
  alerts: AlertsConfig.prefault({}).describe('What is told to the operator when it goes wrong.'),
  telemetry: TelemetryConfig.prefault({}).describe('What the host reports about its work.'),
  dashboard: DashboardConfig.prefault({}).describe('A page for the operator, on a port of its own.'),
  usage: UsageConfig.prefault({}).describe('Records of what requests use, for a system that bills.'),
  webhook: WebhookConfig.prefault({})
    .describe('Notifications about deferred requests.')
    .register(settings, { env: 'WEBHOOK' }),
  log: LogConfig.prefault({}).describe('Log lines, written to the standard error.'),
});

type DeepReadonly<T> = T extends (infer U)[]
  ? readonly DeepReadonly<U>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** The configuration of a host: complete, checked and frozen. */
export type Config = DeepReadonly<z.infer<typeof ConfigSchema>>;
/** Any part of the configuration, as a file or an embedding program gives it. */
export type ConfigInput = z.input<typeof ConfigSchema>;
