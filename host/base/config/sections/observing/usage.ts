import * as z from 'zod';
import { amount, whole } from '../../../core/fields.ts';
import { MIB, writablePath } from '../fields.ts';
import { settings } from '../../registry.ts';

const UsageFile = z.strictObject({
  path: writablePath()
    .nullable()
    .default(null)
    .describe('File to which records of usage are appended, one JSON object in a line. Each host needs its own.')
    .register(settings, { env: 'AANA_USAGE_FILE', isPath: true }),
  max_bytes: whole(
    { min: 4096, default: 100 * MIB },
    'Size after which the file is renamed to `<path>.1`, and `.1` to `.2`.',
  ),
  max_files: whole({ min: 1, max: 10_000, default: 10 }, 'Most renamed files that are kept.'),
});

const UsageHttp = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://billing.example.org/api/v1/events' })
    .nullable()
    .default(null)
    .describe('URL to which records of usage are posted as a batch of CloudEvents. They wait in the database.'),
  headers: z
    .array(z.string().regex(/^[\w!#$%&'*+.^`|~-]+\s*=[\t\x20-\x7e]*$/, 'must be name=value'))
    .default([])
    .describe('Headers of these requests, such as `authorization=Bearer%20…`, with percent-encoded values.'),
  batch_size: whole({ min: 1, max: 1000, default: 100 }, 'Most records of one request.'),
  interval_s: amount({ min: 0.05, max: 3600, default: 5 }, 'Time between two looks at waiting records, in seconds.'),
  timeout_s: z.number().positive().max(300).default(10).describe('Time limit of one request, in seconds.'),
  max_waiting: whole(
    { min: 1, max: 100_000_000, default: 1_000_000 },
    'Most records that wait in the database. Newer ones are dropped and counted.',
  ),
});

export const UsageConfig = z.strictObject({
  file: UsageFile.prefault({}).describe('Records in a file.'),
  http: UsageHttp.prefault({}).describe('Records for another server.').register(settings, { prefix: 'AANA_USAGE_' }),
});
