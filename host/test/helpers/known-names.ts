import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { AanaApp } from 'aana-host';
import { checkOptions } from '../../application/app-options.ts';
import { Registration } from '../../application/endpoint/endpoint-registration.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import {
  CaptionConfig,
  CaptionDeployment,
  DeploymentOptions,
  HandleOptions,
  LlamaTextGenerationConfig,
  LlamaEmbeddingConfig,
  LlamaEmbeddingDeployment,
  LlamaRerankConfig,
  LlamaRerankDeployment,
  LlamaTextGenerationDeployment,
  OnnxConfig,
  OnnxDeployment,
  OpenAITextGenerationConfig,
  OpenAITextGenerationDeployment,
  WhisperConfig,
  SpeakerDiarizationConfig,
  SpeakerDiarizationDeployment,
  VadConfig,
  TransformersConfig,
  TransformersDeployment,
  VadDeployment,
  WhisperDeployment,
} from '../../inference/deployments/index.ts';
import { REQUEST_ERRORS } from '../../base/core/error-table.ts';
import { STREAM_TYPES } from '../../apis/http/response/stream-formats.ts';
import * as schemas from '../../base/schemas/index.ts';
import { type Capability, defineEndpoint, definePlugin } from '../../endpoints/sdk/node.ts';
import { runEndpoint } from '../../endpoints/sdk/testing/testing.ts';
import { type Connection, Repositories } from '../../data/storage/index.ts';
import { type PublicSurface, SURFACE_FILE } from '../public-surface/surface.ts';

const surface = JSON.parse(readFileSync(SURFACE_FILE, 'utf8')) as PublicSurface;

/** Methods and paths: `GET /tasks` of the line `GET /tasks (query status, …): 200 …`. */
const ROUTES = new Set(surface.http.map((line) => line.split(' (')[0]!));
/** The OpenAPI document does not describe its own pages; `pages.test.ts` opens them. */
const PAGES = new Set(['GET /docs', 'GET /redoc', 'GET /openapi.json']);
const CONTENT_TYPES = new Set([...STREAM_TYPES, 'application/json']);
const ERRORS = new Set(Object.keys(REQUEST_ERRORS));
const EXPORTS = new Set(Object.values(surface.exports).flatMap(({ values, types }) => [...values, ...types]));
/** Names of settings and of their environment variables. */
const SETTINGS = new Set(surface.settings.flatMap((line) => line.split(' ').filter((word) => !word.startsWith('-'))));
/** `aana-host deploy` and `aana-host deploy --port`. */
const COMMANDS = new Set(
  surface.commands.flatMap((line) => {
    const words = line.split(' ');
    const end = words.findIndex((word) => /^[-<[]/.test(word));
    const command = words.slice(0, end < 0 ? words.length : end).join(' ');
    return [command, ...words.filter((word) => word.startsWith('--')).map((flag) => `${command} ${flag}`)];
  }),
);

const SCHEMAS: Readonly<Record<string, z.core.$ZodType>> = {
  WhisperConfig: WhisperConfig.schema,
  CaptionConfig: CaptionConfig.schema,
  LlamaTextGenerationConfig: LlamaTextGenerationConfig.schema,
  OpenAITextGenerationConfig: OpenAITextGenerationConfig.schema,
  LlamaEmbeddingConfig: LlamaEmbeddingConfig.schema,
  LlamaRerankConfig: LlamaRerankConfig.schema,
  SpeakerDiarizationConfig: SpeakerDiarizationConfig.schema,
  VadConfig: VadConfig.schema,
  OnnxConfig: OnnxConfig.schema,
  TransformersConfig: TransformersConfig.schema,
};
const METHODS: Readonly<Record<string, object>> = {
  WhisperDeployment: WhisperDeployment.methods,
  LlamaTextGenerationDeployment: LlamaTextGenerationDeployment.methods,
  OpenAITextGenerationDeployment: OpenAITextGenerationDeployment.methods,
  LlamaEmbeddingDeployment: LlamaEmbeddingDeployment.methods,
  LlamaRerankDeployment: LlamaRerankDeployment.methods,
  SpeakerDiarizationDeployment: SpeakerDiarizationDeployment.methods,
  VadDeployment: VadDeployment.methods,
  CaptionDeployment: CaptionDeployment.methods,
  OnnxDeployment: OnnxDeployment.methods,
  TransformersDeployment: TransformersDeployment.methods,
};
/** Classes whose members are read from their declaration files. */
const DECLARATIONS: Readonly<Record<string, string>> = {
  Endpoint: 'dist/host/application/endpoint/endpoint.d.ts',
  Deployment: 'dist/host/inference/deployments/class/deployment.d.ts',
};

/** Returns whether the package has this name, spelled as in the documentation. */
export function isKnownName(name: string): boolean {
  const bare = name.replace(/\(\)$/, '');
  const [first = '', ...path] = bare.split('.');
  const [member = ''] = path;
  if ([ROUTES, PAGES, CONTENT_TYPES, ERRORS, EXPORTS, SETTINGS, COMMANDS].some((names) => names.has(bare))) return true;
  if (first === 'app') return path.length === 1 && member in AanaApp.prototype;
  if (first === 'ctx') return path.length === 1 && contextMembers().has(member);
  if (first === 'repositories') return typeof memberOf(new Repositories({} as Connection), path) === 'function';
  if (first === 'schemas') return isField((schemas as Record<string, unknown>)[member], path.slice(1));
  if (first in METHODS && path.length === 1) return member in METHODS[first]!;
  if (first in SCHEMAS && path.length > 0) return isField(SCHEMAS[first], path);
  if (first in DECLARATIONS && path.length === 1) return declares(DECLARATIONS[first]!, member);
  return isOption(bare);
}

/** An option of an application, an endpoint, a deployment or a handle. */
function isOption(name: string): boolean {
  const path = name.split('.');
  return [Registration, DeploymentOptions, HandleOptions].some((schema) => isField(schema, path)) || isAppOption(name);
}

function isAppOption(name: string): boolean {
  try {
    checkOptions({ [name]: undefined });
    return true;
  } catch {
    return false;
  }
}

type JsonSchema = { readonly properties?: Readonly<Record<string, JsonSchema>> };

function isField(schema: unknown, path: readonly string[]): boolean {
  if ((schema as { _zod?: unknown } | undefined)?._zod === undefined) return false;
  let at: JsonSchema | undefined = z.toJSONSchema(schema as z.core.$ZodType, {
    io: 'input',
    unrepresentable: 'any',
  }) as JsonSchema;
  for (const key of path) at = at?.properties?.[key];
  return at !== undefined;
}

const memberOf = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], value);

function declares(file: string, member: string): boolean {
  const path = join(packageRoot, file);
  return (
    existsSync(path) && new RegExp(`^ +(?:abstract |readonly |get )*${member}\\b`, 'm').test(readFileSync(path, 'utf8'))
  );
}

/** Returns the names of the members of `ctx` in an endpoint that uses every capability. */
function contextMembers(): Set<string> {
  const uses: readonly Capability[] = ['storage', 'repositories', 'remote'];
  const members = new Set<string>();
  const endpoint = defineEndpoint({
    name: 'members',
    path: '/members',
    summary: '',
    input: schemas.ChatMessage,
    output: schemas.ChatMessage,
    uses,
    run(input, ctx) {
      for (let at: object | null = ctx; at !== null; at = Object.getPrototypeOf(at))
        for (const key of Object.getOwnPropertyNames(at)) members.add(key);
      return input;
    },
  });
  runEndpoint(definePlugin([endpoint]), 'members', { role: 'user', content: '' });
  return members;
}
