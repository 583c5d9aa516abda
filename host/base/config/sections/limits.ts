import * as z from 'zod';
import { whole } from '../../core/fields.ts';
import { GIB, MIB, positiveBytes, seconds } from './fields.ts';

export const LimitsConfig = z.strictObject({
  max_body_bytes: positiveBytes(2 * GIB, 'Largest request body, all uploaded files together, in bytes.'),
  max_file_bytes: positiveBytes(2 * GIB, 'Largest uploaded file, in bytes.'),
  max_files: whole({ min: 0, max: 1000, default: 16 }, 'Most uploaded files in one request.'),
  max_json_bytes: positiveBytes(4 * MIB, 'Largest JSON input of an endpoint, in bytes.'),
  max_json_depth: whole({ min: 1, max: 1000, default: 64 }, 'Deepest nesting of the JSON input.'),
  max_json_elements: whole(
    { min: 1000, max: 10_000_000, default: 100_000 },
    'Most members of objects and elements of lists in the JSON input, all together. Numbers in lists are not ' +
      'counted, so that tokens and vectors are limited by `max_json_bytes` alone.',
  ),
  invocation_timeout_s: seconds(3600, 'Time limit of one run of an endpoint, in seconds.'),
  header_timeout_s: seconds(30, 'Time that a client has to send the header of a request, in seconds.'),
  request_timeout_s: seconds(900, 'Time that a client has to send a whole request, in seconds.'),
  keep_alive_timeout_s: seconds(10, 'Time that an idle connection stays open, in seconds.'),
  stream_keep_alive_s: seconds(
    15,
    'Silence on a stream, in seconds, after which the host sends a keep-alive message if the stream’s format has one.',
  ),
  max_header_bytes: whole(
    { min: 1024, max: MIB, default: 16_384 },
    'Largest header of a request, in bytes (status 431).',
  ),
  max_connections: whole(
    { min: 1, max: 1_000_000, default: 10_000 },
    'Most open connections; further ones are closed at once.',
  ),
});
