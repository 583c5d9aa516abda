/** How a text from the environment or the command line becomes a value of its key. */
export type SettingKind = 'text' | 'path' | 'number' | 'boolean' | 'paths' | 'list' | 'json';

/** One key of the configuration, and where else than in the file it can be set. */
export interface Setting {
  /** Path in the file, with dots. */
  readonly key: string;
  readonly kind: SettingKind;
  /** Environment variable. `paths` are separated as in PATH, `list` by commas unless it is a JSON list, `json` is a JSON value. Empty is as unset. */
  readonly env: string;
  /** Another spelling of the variable, which beats the first: programs are used to either. */
  readonly alsoEnv?: string;
  /** Flag of `serve`, as the command line library takes it. `paths` and `list` may be repeated. */
  readonly flag?: string;
}

/** Every key once. A test compares this table with the schema. */
export const SETTINGS: readonly Setting[] = [
  { key: 'name', kind: 'text', env: 'AANA_NAME', flag: '--name <name>' },
  { key: 'app', kind: 'path', env: 'AANA_APP' },
  { key: 'host', kind: 'text', env: 'AANA_HOST', flag: '--host <address>' },
  { key: 'port', kind: 'number', env: 'AANA_PORT', flag: '--port <number>' },
  { key: 'listen', kind: 'text', env: 'AANA_LISTEN', flag: '--listen <address>' },
  { key: 'socket_mode', kind: 'text', env: 'AANA_SOCKET_MODE', flag: '--socket-mode <mode>' },
  { key: 'tls.cert', kind: 'path', env: 'AANA_TLS_CERT', flag: '--tls-cert <file>' },
  { key: 'tls.key', kind: 'path', env: 'AANA_TLS_KEY', flag: '--tls-key <file>' },
  { key: 'tls.client_ca', kind: 'path', env: 'AANA_TLS_CLIENT_CA', flag: '--tls-client-ca <file>' },
  { key: 'tls.min_version', kind: 'text', env: 'AANA_TLS_MIN_VERSION' },
  { key: 'tls.hsts_max_age_s', kind: 'number', env: 'AANA_TLS_HSTS_MAX_AGE_S' },
  { key: 'trusted_proxies', kind: 'list', env: 'AANA_TRUSTED_PROXIES', flag: '--trusted-proxy <address>' },
  { key: 'cors.allow_origins', kind: 'list', env: 'CORS__ALLOW_ORIGINS', flag: '--cors-origin <origin>' },
  { key: 'cors.allow_origin_regex', kind: 'text', env: 'CORS__ALLOW_ORIGIN_REGEX' },
  { key: 'cors.allow_credentials', kind: 'boolean', env: 'CORS__ALLOW_CREDENTIALS' },
  { key: 'cors.allow_methods', kind: 'list', env: 'CORS__ALLOW_METHODS' },
  { key: 'cors.allow_headers', kind: 'list', env: 'CORS__ALLOW_HEADERS' },
  { key: 'plugins', kind: 'paths', env: 'AANA_PLUGINS' },
  { key: 'deployments', kind: 'json', env: 'AANA_DEPLOYMENTS' },
  { key: 'cache_dir', kind: 'path', env: 'AANA_CACHE_DIR', flag: '--cache-dir <dir>' },
  { key: 'data_dir', kind: 'path', env: 'AANA_DATA_DIR', flag: '--data-dir <dir>' },
  { key: 'include_stacktrace', kind: 'boolean', env: 'INCLUDE_STACKTRACE', flag: '--include-stacktrace' },
  { key: 'compat_status', kind: 'text', env: 'AANA_COMPAT_STATUS' },
  { key: 'cuda_visible_devices', kind: 'text', env: 'CUDA_VISIBLE_DEVICES' },
  { key: 'devices.gpus', kind: 'json', env: 'AANA_GPUS' },
  { key: 'devices.memory_bytes', kind: 'number', env: 'AANA_MEMORY_BYTES' },
  { key: 'native_build', kind: 'text', env: 'AANA_BUILD', flag: '--native-build <mode>' },
  { key: 'shutdown_grace_s', kind: 'number', env: 'AANA_SHUTDOWN_GRACE_S', flag: '--shutdown-grace <seconds>' },
  { key: 'media.allow_paths', kind: 'paths', env: 'AANA_ALLOW_PATHS', flag: '--allow-path <dir>' },
  { key: 'media.allow_private_urls', kind: 'boolean', env: 'AANA_ALLOW_PRIVATE_URLS', flag: '--allow-private-urls' },
  { key: 'media.ffmpeg_path', kind: 'path', env: 'AANA_FFMPEG_PATH', flag: '--ffmpeg <file>' },
  { key: 'media.yt_dlp_path', kind: 'path', env: 'AANA_YT_DLP_PATH', flag: '--yt-dlp <file>' },
  { key: 'media.max_bytes', kind: 'number', env: 'AANA_MEDIA_MAX_BYTES' },
  { key: 'media.max_duration_s', kind: 'number', env: 'AANA_MEDIA_MAX_DURATION_S' },
  { key: 'media.fetch_timeout_s', kind: 'number', env: 'AANA_FETCH_TIMEOUT_S' },
  { key: 'media.max_redirects', kind: 'number', env: 'AANA_MAX_REDIRECTS' },
  { key: 'media.temp_dir', kind: 'path', env: 'AANA_TEMP_DIR', flag: '--temp-dir <dir>' },
  { key: 'outgoing.http_proxy', kind: 'text', env: 'HTTP_PROXY', alsoEnv: 'http_proxy' },
  { key: 'outgoing.https_proxy', kind: 'text', env: 'HTTPS_PROXY', alsoEnv: 'https_proxy' },
  { key: 'outgoing.no_proxy', kind: 'text', env: 'NO_PROXY', alsoEnv: 'no_proxy' },
  { key: 'outgoing.proxy_resolves', kind: 'boolean', env: 'AANA_PROXY_RESOLVES' },
  { key: 'outgoing.ca_file', kind: 'path', env: 'SSL_CERT_FILE' },
  { key: 'limits.max_body_bytes', kind: 'number', env: 'AANA_MAX_BODY_BYTES' },
  { key: 'limits.max_file_bytes', kind: 'number', env: 'AANA_MAX_FILE_BYTES' },
  { key: 'limits.max_files', kind: 'number', env: 'AANA_MAX_FILES' },
  { key: 'limits.max_json_bytes', kind: 'number', env: 'AANA_MAX_JSON_BYTES' },
  { key: 'limits.max_json_depth', kind: 'number', env: 'AANA_MAX_JSON_DEPTH' },
  { key: 'limits.invocation_timeout_s', kind: 'number', env: 'AANA_INVOCATION_TIMEOUT_S' },
  { key: 'limits.header_timeout_s', kind: 'number', env: 'AANA_HEADER_TIMEOUT_S' },
  { key: 'limits.request_timeout_s', kind: 'number', env: 'AANA_REQUEST_TIMEOUT_S' },
  { key: 'limits.keep_alive_timeout_s', kind: 'number', env: 'AANA_KEEP_ALIVE_TIMEOUT_S' },
  { key: 'limits.stream_keep_alive_s', kind: 'number', env: 'AANA_STREAM_KEEP_ALIVE_S' },
  { key: 'limits.max_header_bytes', kind: 'number', env: 'AANA_MAX_HEADER_BYTES' },
  { key: 'limits.max_connections', kind: 'number', env: 'AANA_MAX_CONNECTIONS' },
  { key: 'strict', kind: 'boolean', env: 'AANA_STRICT', flag: '--strict' },
  { key: 'watch', kind: 'boolean', env: 'AANA_WATCH', flag: '--watch' },
  { key: 'runtime_dir', kind: 'path', env: 'AANA_RUNTIME_DIR', flag: '--runtime-dir <dir>' },
  { key: 'plugin_limits.memory_bytes', kind: 'number', env: 'AANA_PLUGIN_MEMORY_BYTES' },
  { key: 'plugin_limits.cpu_ms', kind: 'number', env: 'AANA_PLUGIN_CPU_MS' },
  { key: 'plugin_limits.cpu_slice_ms', kind: 'number', env: 'AANA_PLUGIN_CPU_SLICE_MS' },
  { key: 'plugin_limits.timeout_s', kind: 'number', env: 'AANA_PLUGIN_TIMEOUT_S' },
  { key: 'plugin_limits.output_bytes', kind: 'number', env: 'AANA_PLUGIN_OUTPUT_BYTES' },
  { key: 'plugin_limits.host_calls', kind: 'number', env: 'AANA_PLUGIN_HOST_CALLS' },
  { key: 'plugin_limits.handles', kind: 'number', env: 'AANA_PLUGIN_HANDLES' },
  { key: 'plugin_limits.concurrency', kind: 'number', env: 'AANA_PLUGIN_CONCURRENCY' },
  { key: 'plugin_limits.threads', kind: 'number', env: 'AANA_PLUGIN_THREADS' },
  { key: 'plugin_limits.queue', kind: 'number', env: 'AANA_PLUGIN_QUEUE' },
  { key: 'plugin_grants', kind: 'json', env: 'AANA_PLUGIN_GRANTS' },
  { key: 'models.hf_token', kind: 'text', env: 'HF_TOKEN' },
  { key: 'models.hf_endpoint', kind: 'text', env: 'HF_ENDPOINT' },
  { key: 'models.offline', kind: 'boolean', env: 'AANA_OFFLINE', flag: '--offline' },
  { key: 'db_config.datastore_type', kind: 'text', env: 'DB_CONFIG__DATASTORE_TYPE' },
  { key: 'db_config.datastore_config.path', kind: 'path', env: 'DB_CONFIG__DATASTORE_CONFIG__PATH' },
  { key: 'db_config.datastore_config.host', kind: 'text', env: 'DB_CONFIG__DATASTORE_CONFIG__HOST' },
  { key: 'db_config.datastore_config.port', kind: 'number', env: 'DB_CONFIG__DATASTORE_CONFIG__PORT' },
  { key: 'db_config.datastore_config.user', kind: 'text', env: 'DB_CONFIG__DATASTORE_CONFIG__USER' },
  { key: 'db_config.datastore_config.password', kind: 'text', env: 'DB_CONFIG__DATASTORE_CONFIG__PASSWORD' },
  { key: 'db_config.datastore_config.database', kind: 'text', env: 'DB_CONFIG__DATASTORE_CONFIG__DATABASE' },
  { key: 'db_config.pool_size', kind: 'number', env: 'DB_CONFIG__POOL_SIZE' },
  { key: 'db_config.max_overflow', kind: 'number', env: 'DB_CONFIG__MAX_OVERFLOW' },
  { key: 'db_config.pool_recycle', kind: 'number', env: 'DB_CONFIG__POOL_RECYCLE' },
  { key: 'db_config.query_timeout', kind: 'number', env: 'DB_CONFIG__QUERY_TIMEOUT' },
  { key: 'db_config.connection_timeout', kind: 'number', env: 'DB_CONFIG__CONNECTION_TIMEOUT' },
  { key: 'task_queue.enabled', kind: 'boolean', env: 'TASK_QUEUE__ENABLED' },
  { key: 'task_queue.num_workers', kind: 'number', env: 'TASK_QUEUE__NUM_WORKERS' },
  { key: 'task_queue.execution_timeout', kind: 'number', env: 'TASK_QUEUE__EXECUTION_TIMEOUT' },
  { key: 'task_queue.heartbeat_timeout', kind: 'number', env: 'TASK_QUEUE__HEARTBEAT_TIMEOUT' },
  { key: 'task_queue.max_retries', kind: 'number', env: 'TASK_QUEUE__MAX_RETRIES' },
  { key: 'task_queue.maximum_active_tasks_per_user', kind: 'number', env: 'TASK_QUEUE__MAXIMUM_ACTIVE_TASKS_PER_USER' },
  { key: 'task_queue.retention', kind: 'number', env: 'TASK_QUEUE__RETENTION' },
  { key: 'api_service.enabled', kind: 'boolean', env: 'API_SERVICE__ENABLED' },
  { key: 'rate_limits.default', kind: 'json', env: 'AANA_RATE_LIMITS_DEFAULT' },
  { key: 'rate_limits.endpoints', kind: 'json', env: 'AANA_RATE_LIMITS_ENDPOINTS' },
  { key: 'rate_limits.keys', kind: 'json', env: 'AANA_RATE_LIMITS_KEYS' },
  { key: 'webhook.hmac_secret', kind: 'text', env: 'WEBHOOK__HMAC_SECRET' },
  { key: 'webhook.retry_attempts', kind: 'number', env: 'WEBHOOK__RETRY_ATTEMPTS' },
  { key: 'webhook.retry_delay', kind: 'number', env: 'WEBHOOK__RETRY_DELAY' },
  { key: 'webhook.max_retry_delay', kind: 'number', env: 'WEBHOOK__MAX_RETRY_DELAY' },
  { key: 'webhook.timeout', kind: 'number', env: 'WEBHOOK__TIMEOUT' },
  { key: 'webhook.max_concurrent', kind: 'number', env: 'WEBHOOK__MAX_CONCURRENT' },
  { key: 'webhook.max_concurrent_per_target', kind: 'number', env: 'WEBHOOK__MAX_CONCURRENT_PER_TARGET' },
  { key: 'webhook.disable_after_failures', kind: 'number', env: 'WEBHOOK__DISABLE_AFTER_FAILURES' },
  { key: 'webhook.disable_after', kind: 'number', env: 'WEBHOOK__DISABLE_AFTER' },
  { key: 'webhook.retention', kind: 'number', env: 'WEBHOOK__RETENTION' },
  { key: 'webhook.max_webhooks', kind: 'number', env: 'WEBHOOK__MAX_WEBHOOKS' },
  { key: 'webhook.allow_private_urls', kind: 'boolean', env: 'WEBHOOK__ALLOW_PRIVATE_URLS' },
  { key: 'log.level', kind: 'text', env: 'AANA_LOG_LEVEL', flag: '--log-level <level>' },
  { key: 'log.content', kind: 'boolean', env: 'AANA_LOG_CONTENT' },
  { key: 'log.format', kind: 'text', env: 'AANA_LOG_FORMAT', flag: '--log-format <format>' },
];

/** Variables whose JSON object sets several keys below theirs; the variables of those keys beat it. */
export const GROUP_VARIABLES = [
  { key: 'db_config', env: 'DB_CONFIG' },
  { key: 'task_queue', env: 'TASK_QUEUE' },
  { key: 'api_service', env: 'API_SERVICE' },
  { key: 'webhook', env: 'WEBHOOK' },
  { key: 'cors', env: 'CORS' },
] as const;

/** The long name of a flag, such as `--port`. */
export function flagName(setting: Setting): string | undefined {
  return setting.flag?.split(' ')[0];
}
