import * as z from 'zod';
import { DEFAULT_DEPLOYMENTS } from '../../host/base/config/schema.ts';
import { flagName, SETTINGS } from '../../host/base/config/settings.ts';
import { DeploymentOptions } from '../../host/inference/deployments/class/deployment-options.ts';

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
}

/** Returns the path and schema of every key that is not a section. */
function keysOf(schema: JsonSchema, path = ''): [key: string, schema: JsonSchema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const key = path === '' ? name : `${path}.${name}`;
    return inner.properties ? keysOf(inner, key) : [[key, inner] satisfies [string, JsonSchema]];
  });
}

function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}s`;
  return [schema.type ?? 'any'].flat().join(' or ');
}

/** Returns `docs/configuration.md`, generated from the schemas of the configuration. */
export function renderConfigurationDocs(): string {
  const deployment = z.toJSONSchema(DeploymentOptions, { io: 'input' });
  const rows = SETTINGS.map((setting) => {
    const { key, env, alsoEnv, defaultText, description } = setting;
    const schema = z.toJSONSchema(setting.schema, { io: 'input' }) as JsonSchema;
    const flag = flagName(setting);
    const cells = [
      `\`${key}\``,
      typeOf(schema),
      defaultText ?? `\`${JSON.stringify(schema.default)}\``,
      alsoEnv === undefined ? `\`${env}\`` : `\`${env}\`, \`${alsoEnv}\``,
      flag ? `\`${flag}\`` : '',
      description,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const options = keysOf(deployment as JsonSchema).map(([key, value]) => {
    const fallback = value.default === undefined ? '' : `\`${JSON.stringify(value.default)}\``;
    return `| ${[`\`${key}\``, typeOf(value), fallback, value.description ?? ''].join(' | ')} |`;
  });
  return `# Configuration

<!-- Made by \`npm run docs\` from host/base/config/; do not edit. -->

The configuration comes from five sources. Each one takes precedence over those before it, key by key:

1. the defaults below;
2. \`aana.config.json\` in the working directory, or the file given with \`--config\`;
3. \`.env\` in the working directory, or the file given with \`--env-file\`: variables that the environment has not \
([below](#variables-in-a-file)); \`--no-env-file\` reads none;
4. environment variables (an empty variable counts as unset; lists of paths are separated as in \`PATH\`; other lists \
are JSON or separated by commas; booleans are \`true\` or \`false\`);
5. flags of \`aana-host serve\` (a flag for a list may be repeated).

A key that is not in this table is an error. Relative paths in the file start from its folder; relative paths of \
variables and
flags start from the working directory.

| key | type | default | variable | flag | meaning |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

Dots in a key stand for nested objects in the file. For example, \`media.allow_paths\` is

\`\`\`json
{ "media": { "allow_paths": ["/srv/videos"] } }
\`\`\`

## Variables in a file

A file \`.env\` in the working directory, or the one of \`--env-file\`, has variables, one in a line:

\`\`\`sh
# a comment
AANA_PORT=8100
HF_TOKEN="hf_…"
DB_CONFIG='{"pool_size": 10}'
\`\`\`

A variable of the environment takes precedence, unless it is empty. The variables set keys of this page only: they are \
not added to the environment of the process or its children. A value in quotes may have several lines. A line that is \
none of this is an error with its number.
A program's \`loadConfig()\` and \`new AanaApp()\` read the file, too, but not if they are given \`env\`. \`aana-host \
config\` shows which values come from it. Keep a file with secrets out of version control, and let only its owner read \
it.

## Folders of the original SDK

These variables have a meaning here, too. Those of the table above take precedence.

| variable | stands for |
| --- | --- |
| \`TMP_DATA_DIR\` | \`data_dir\`; its folder \`tmp\` is \`media.temp_dir\`, and its folder \`models\` is \
\`cache_dir\` |
| \`VIDEO_DIR\`, else \`AUDIO_DIR\`, else \`IMAGE_DIR\` | \`media.temp_dir\`, because all media of a request have one \
folder, which is deleted when the request ends |
| \`MODEL_DIR\` | \`cache_dir\` |

## The database

The default is SQLite in \`data_dir\`. PostgreSQL is set with the keys of \`db_config\`, or as in the original SDK \
with one variable, whose JSON may have
any of these keys:

\`\`\`sh
DB_CONFIG='{"datastore_type": "postgresql", "datastore_config": {"host": "db.example.org", "user": "aana", "password": \
"…", "database": "aana"}}' npx aana-host serve plugins/
\`\`\`

Variables of single keys take precedence over it. The host creates and updates the tables when it starts (or at the \
first use if \`task_queue.enabled\` is false); \`aana-host migrate\` does so before the start.
For a database with replicas, \`host\` names all servers (\`db1,db2:5433\`). The host connects to the server that \
accepts writes, and to its successor when a replica is promoted, without a restart. Accepted tasks survive the loss of \
the primary only if it
commits to a replica synchronously (\`synchronous_standby_names\`). Encrypt and check connections over a network: \
\`ssl_mode: "verify-full"\`.

A pooler between the host and PostgreSQL must give each connection its own session (PgBouncer: \`pool_mode = \
session\`), because the host uses prepared statements and notifications.

## What plugins get

A plugin gets the rights that its \`plugin.json\` asks for and \`plugin_grants\` allows. Rights that are not granted \
are absent. Without
grants every plugin gets all rights that it asks for, except \`hosts\` and \`repositories-write\`. The other rights \
are harmless: a plugin opens only media that a request names, under the rules of \`media\`, and a deployment does the \
same for every caller. But an outgoing request
can leak the data of a plugin, and other plugins rely on the videos, captions and transcripts that the application \
keeps. \`aana-host check <folder>\`
shows the rights that a plugin would get.

\`\`\`json
{
  "plugin_grants": {
    "*": { "capabilities": ["deployments"], "deployments": ["llm_deployment"] },
    "news": { "capabilities": ["http", "storage"], "hosts": ["api.example.org", "*.example.net:8443"] },
    "video-transcribe": { "capabilities": ["*"], "deployments": ["asr_deployment"], "limits": { "memory_bytes": \
268435456, "concurrency": 16 } }
  }
}
\`\`\`

\`capabilities\` and \`deployments\` come from the plugin's entry, else from \`*\`, else everything but \
\`repositories-write\` is granted. \`hosts\` comes from the same entries, but without
an entry no host is granted. A host is a name (\`api.example.org\`), all subdomains of a name (\`*.example.net\`), \
both with the port if it is not the default port, or \`*\` for every public host.
An address, \`localhost\`, and a name with its port (also the default one) allow \`fetch\` the private address of this \
host
([plugins](plugins.md#requests-to-other-servers)). Each limit comes from the plugin's
entry, else from \`*\`, else from \`plugin_limits\`. A manifest can lower it.

## Settings of plugins

A plugin declares [settings](plugins.md#settings) in its \`plugin.json\`, such as the key of another server.
\`plugin_settings\` gives their values by the name of the plugin. A plugin sees only its own settings, and only those
that it declares.

\`\`\`json
{
  "plugin_settings": {
    "news": { "api_key_file": "/run/secrets/news", "region": "eu", "limit": 20 },
    "coupons": { "signing_key_env": "COUPON_KEY" }
  }
}
\`\`\`

| key | the value of the setting \`x\` is |
| --- | --- |
| \`x\` | the given text, number or boolean |
| \`x_env\` | the text of this environment variable of the server, not of a [file of variables](#variables-in-a-file) |
| \`x_file\` | the text of the file at this absolute path, without its last line break; UTF-8, at most 16 KiB |

A setting is given in one of these ways. An empty text counts as none. The text for a number is its decimal form, for
a boolean \`true\` or \`false\`. Without a value the default of the plugin counts. If a required setting has no value,
or a given value cannot be used, the plugin is loaded, its endpoints answer with 503 (\`PluginNotConfigured\`), and
the log says where the value was looked for. Names that the plugin does not declare are a warning in the log.

The next request has a changed file, or what [\`aana-host apply\`](operating.md#applying-a-configuration) has applied,
without a restart; a request that runs keeps its values. \`aana-host check\` lists the settings that a plugin
declares. \`aana-host plugins\`, \`GET /api/application\` and the dashboard say how each one is given, and show no
value. \`aana-host config\` shows no literal value of \`plugin_settings\`, because only the plugin says which of them
are secret.

## Deployments

\`deployments\` names the model services that endpoints can use. If the file has the key, it replaces the default, \
which is:

\`\`\`json
${JSON.stringify({ deployments: DEFAULT_DEPLOYMENTS }, null, 2)}
\`\`\`

Each entry has these keys:

| key | type | default | meaning |
| --- | --- | --- | --- |
${options.join('\n')}
`;
}
