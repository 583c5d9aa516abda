import type { Capability } from '../capabilities/catalogue.ts';

/**
 * The functions of the module `extism:host/user`, each with its capability. Every plugin has the functions without a
 * capability.
 */
export const userFunctions = {
  block_of: undefined,
  copy_block: undefined,
  host_error: undefined,
  request_id: undefined,
  user: undefined,
  priority: undefined,
  traceparent: undefined,
  remaining_ms: undefined,
  is_cancelled: undefined,
  random: undefined,
  progress: undefined,
  release: undefined,
  settings_get: undefined,
  output_write: undefined,
  output_forward: undefined,
  output_begin: undefined,
  output_send: undefined,
  upload_info: undefined,
  upload_read: undefined,
  upload_read_text: undefined,
  media_open: 'media',
  media_open_image: 'media',
  media_extract_audio: 'media',
  media_info: 'media',
  media_facts: 'media',
  media_frames: 'media',
  media_subtitles: 'media',
  image_encode: 'media',
  frames_next: 'media',
  frames_image: 'media',
  image_pixels: 'media',
  deployments_call: 'deployments',
  deployments_open: 'deployments',
  deployments_next: 'deployments',
  storage_get: 'storage',
  storage_set: 'storage',
  storage_delete: 'storage',
  storage_list: 'storage',
  storage_set_expiring: 'storage',
  storage_increment: 'storage',
  storage_compare_and_set: 'storage',
  storage_entries: 'storage',
  repository_media_exists: 'repositories',
  repository_video: 'repositories',
  repository_videos: 'repositories',
  repository_caption: 'repositories',
  repository_captions: 'repositories',
  repository_transcript: 'repositories',
  repository_transcripts: 'repositories',
  repository_create_media: 'repositories-write',
  repository_save_video: 'repositories-write',
  repository_save_captions: 'repositories-write',
  repository_save_transcript: 'repositories-write',
  repository_delete_media: 'repositories-write',
  repository_delete_caption: 'repositories-write',
  repository_delete_transcript: 'repositories-write',
  http_fetch: 'http',
  http_body: 'http',
  remote_start: 'remote',
  remote_wait: 'remote',
} as const satisfies Record<string, Capability | undefined>;

export type UserFunction = keyof typeof userFunctions;

/**
 * The functions of Extism's own module `extism:host/env`: input, output, blocks, variables and log. Requests are not
 * among them.
 */
const environment: readonly string[] = [
  ...['input_offset', 'input_length', 'input_load_u8', 'input_load_u64', 'output_set', 'error_set', 'error_get'],
  ...[
    'alloc',
    'free',
    'length',
    'length_unsafe',
    'load_u8',
    'load_u64',
    'store_u8',
    'store_u64',
    'config_get',
    'var_get',
    'var_set',
  ],
  ...['log_trace', 'log_debug', 'log_info', 'log_warn', 'log_error', 'get_log_level'],
];

/** The imports of AssemblyScript's library from the module `env`. */
const assemblyScript: readonly string[] = ['abort', 'seed', 'Date.now'];

/**
 * Returns the capability of an import. Undefined stands for an import that every plugin has, `'unknown'` for an import
 * that does not exist.
 */
export function capabilityOf({
  module,
  name,
  kind,
}: WebAssembly.ModuleImportDescriptor): Capability | undefined | 'unknown' {
  if (kind !== 'function') return 'unknown';
  if (module === 'extism:host/user' && Object.hasOwn(userFunctions, name)) return userFunctions[name as UserFunction];
  const known = module === 'extism:host/env' ? environment : module === 'env' ? assemblyScript : [];
  return known.includes(name) ? undefined : 'unknown';
}

/**
 * Returns the name of the exported function for an endpoint or for `helper:<name>`. Names in most languages cannot
 * contain "-" or ":".
 */
export const exportOf = (endpoint: string): string => endpoint.replace(':', '_').replaceAll('-', '_');
