import * as z from 'zod';
import { GIB, MIB, positiveBytes, seconds } from './fields.ts';
import { settings } from '../registry.ts';

export const LimitsConfig = z.strictObject({
  max_body_bytes: positiveBytes(2 * GIB, 'Largest request body, all uploaded files together, in bytes.').register(
    settings,
    { env: 'AANA_MAX_BODY_BYTES' },
  ),
  max_file_bytes: positiveBytes(2 * GIB, 'Largest uploaded file, in bytes.').register(settings, {
    env: 'AANA_MAX_FILE_BYTES',
  }),
  max_files: z
    .int()
    .min(0)
    .max(1000)
    .default(16)
    .describe('Most uploaded files in one request.')
    .register(settings, { env: 'AANA_MAX_FILES' }),
  max_json_bytes: positiveBytes(4 * MIB, 'Largest JSON input of an endpoint, in bytes.').register(settings, {
    env: 'AANA_MAX_JSON_BYTES',
  }),
  max_json_depth: z
    .int()
    .min(1)
    .max(1000)
    .default(64)
    .describe('Deepest nesting of the JSON input.')
    .register(settings, { env: 'AANA_MAX_JSON_DEPTH' }),
  max_json_elements: z
    .int()
    .min(1000)
    .max(10_000_000)
    .default(100_000)
    .describe(
      'Most members of objects and elements of lists in the JSON input, all together. Numbers in lists are not ' +
        'counted, so that tokens and vectors are limited by `max_json_bytes` alone.',
    )
    .register(settings, { env: 'AANA_MAX_JSON_ELEMENTS' }),
  invocation_timeout_s: seconds(3600, 'Time limit of one run of an endpoint, in seconds.').register(settings, {
    env: 'AANA_INVOCATION_TIMEOUT_S',
  }),
  header_timeout_s: seconds(30, 'Time that a client has to send the header of a request, in seconds.').register(
    settings,
    { env: 'AANA_HEADER_TIMEOUT_S' },
  ),
  request_timeout_s: seconds(900, 'Time that a client has to send a whole request, in seconds.').register(settings, {
    env: 'AANA_REQUEST_TIMEOUT_S',
  }),
  keep_alive_timeout_s: seconds(10, 'Time that an idle connection stays open, in seconds.').register(settings, {
    env: 'AANA_KEEP_ALIVE_TIMEOUT_S',
  }),
  stream_keep_alive_s: seconds(
    15,
    'Silence on a stream, in seconds, after which the host sends a keep-alive message if the stream’s format has one.',
  ).register(settings, { env: 'AANA_STREAM_KEEP_ALIVE_S' }),
  max_header_bytes: z
    .int()
    .min(1024)
    .max(MIB)
    .default(16_384)
    .describe('Largest header of a request, in bytes (status 431).')
    .register(settings, { env: 'AANA_MAX_HEADER_BYTES' }),
  max_connections: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(10_000)
    .describe('Most open connections; further ones are closed at once.')
    .register(settings, { env: 'AANA_MAX_CONNECTIONS' }),
});
