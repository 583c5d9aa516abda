import * as z from 'zod';
import { ConfigSchema, DEFAULT_DEPLOYMENTS } from './schema.ts';
import { flagName, SETTINGS } from './settings.ts';

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Every key of the schema that is a value of its own, with its path. */
export function configKeys(
  schema: JsonSchema = z.toJSONSchema(ConfigSchema, { io: 'input' }) as JsonSchema,
  path = '',
): [key: string, schema: JsonSchema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const key = path === '' ? name : `${path}.${name}`;
    return inner.properties ? configKeys(inner, key) : [[key, inner] satisfies [string, JsonSchema]];
  });
}

function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}s`;
  return [schema.type ?? 'any'].flat().join(' or ');
}

function defaultOf(key: string, schema: JsonSchema): string {
  if (key === 'runtime_dir') return '`$XDG_RUNTIME_DIR/aana-host`, else `run` in `cache_dir`';
  if (key === 'cache_dir') return '`$XDG_CACHE_HOME/aana-host`, else `~/.cache/aana-host`';
  if (key === 'data_dir') return '`$XDG_DATA_HOME/aana-host`, else `~/.local/share/aana-host`';
  if (key === 'deployments') return 'see below';
  return `\`${JSON.stringify(schema.default)}\``;
}

/**
 * `docs/configuration.md`, made from the schema and the table of settings; `deployment` is the JSON schema of one
 * deployment's options.
 */
export function renderConfigurationDocs(deployment: unknown): string {
  const rows = configKeys().map(([key, value]) => {
    const setting = SETTINGS.find((candidate) => candidate.key === key);
    const flag = setting && flagName(setting);
    const cells = [
      `\`${key}\``,
      typeOf(value),
      defaultOf(key, value),
      setting
        ? [setting.env, setting.alsoEnv]
            .filter(Boolean)
            .map((name) => `\`${name}\``)
            .join(', ')
        : '',
      flag ? `\`${flag}\`` : '',
      value.description ?? '',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const options = configKeys(deployment as JsonSchema).map(([key, value]) => {
    const fallback = value.default === undefined ? '' : `\`${JSON.stringify(value.default)}\``;
    return `| ${[`\`${key}\``, typeOf(value), fallback, value.description ?? ''].join(' | ')} |`;
  });
  return `# Configuration

<!-- Made by \`aana-host docs config > docs/configuration.md\` from host/config/schema.ts; do not edit. -->

A configuration is put together from four sources; each beats the one before, key by key:

1. the defaults below;
2. \`aana.config.json\` in the working directory, or the file given with \`--config\`;
3. environment variables (an empty one is as unset; lists of paths are separated as in \`PATH\`, others by commas, or are JSON; booleans are \`true\` or \`false\`);
4. flags of \`aana-host serve\` (a flag for a list may be repeated).

A key that is not in this table is refused. Relative paths in the file start from the folder of the file, those of variables and
flags from the working directory.

| key | type | default | variable | flag | meaning |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

Groups are objects in the file: \`media.allow_paths\` is

\`\`\`json
{ "media": { "allow_paths": ["/srv/videos"] } }
\`\`\`

## The database

Without a word SQLite is used, in \`data_dir\`. PostgreSQL is set with the keys of \`db_config\`, or with one variable as in the original, whose JSON may have
any of them:

\`\`\`sh
DB_CONFIG='{"datastore_type": "postgresql", "datastore_config": {"host": "db.example.org", "user": "aana", "password": "…", "database": "aana"}}' npx aana-host serve plugins/
\`\`\`

The variables of single keys beat it. Tables are made and brought up to date at the start (by the first use where \`task_queue.enabled\` is false), or before it with \`aana-host migrate\`.
With replicas, \`host\` names all servers (\`db1,db2:5433\`): connections go to the one that takes writes, and to its successor when a replica is promoted, without a restart. What was accepted survives the primary only where it
commits to a replica synchronously (\`synchronous_standby_names\`). Connections over a network should be encrypted and checked: \`ssl_mode: "verify-full"\`.

A pooler between host and PostgreSQL must give each connection a session of its own (PgBouncer: \`pool_mode = session\`): statements are prepared, and notifications heard.

## What plugins get

A plugin gets what its \`plugin.json\` asks for, as far as \`plugin_grants\` allows it; what it asks for and does not get is absent. Without
grants every plugin gets all that it asks for, except hosts and \`repositories-write\`: media are those that a request names, under the rules of \`media\`, and a deployment does the same for every caller, but a request
can carry away what a plugin was given, and others rely on the videos, captions and transcripts that the application keeps. \`aana-host check <folder>\`
shows what a plugin would get.

\`\`\`json
{
  "plugin_grants": {
    "*": { "capabilities": ["deployments"], "deployments": ["llm_deployment"] },
    "news": { "capabilities": ["http", "storage"], "hosts": ["api.example.org", "*.example.net:8443"] },
    "video-transcribe": { "capabilities": ["*"], "deployments": ["asr_deployment"], "limits": { "memory_bytes": 268435456, "concurrency": 16 } }
  }
}
\`\`\`

\`capabilities\` and \`deployments\` are taken from the entry of the plugin, else from \`*\`, else everything but \`repositories-write\` is granted. \`hosts\` is taken in the same way, but without
an entry there is none: \`api.example.org\`, every host below one (\`*.example.net\`), each with its port where it is not the usual one, or \`*\` for every public host. Each limit is the plugin's own
entry, else that of \`*\`, else that of \`plugin_limits\`; a manifest that asks for less lowers it.

## Deployments

\`deployments\` names the models that endpoints can use. A file that has the key replaces the default, which is:

\`\`\`json
${JSON.stringify({ deployments: DEFAULT_DEPLOYMENTS }, null, 2)}
\`\`\`

Each entry has these keys:

| key | type | default | meaning |
| --- | --- | --- | --- |
${options.join('\n')}
`;
}
