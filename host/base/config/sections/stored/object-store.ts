import * as z from 'zod';
import { amount, textOrNull } from '../../../core/fields.ts';
import { settings } from '../../registry.ts';

const URL_FORM = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/(?!\.{1,2}(?:\/|$))[\w.-]+)*\/?$/;

/** Where the bytes of uploads are kept. */
export const ObjectStoreConfig = z
  .strictObject({
    url: z
      .string()
      .regex(URL_FORM, 'must be s3://bucket or s3://bucket/prefix, with letters, digits, "_", "-" and "."')
      .nullable()
      .default(null)
      .describe(
        'Bucket of S3, or of a server with its API, and a prefix of all keys: `s3://bucket/prefix`. Hosts that share ' +
          'a database name the same one. Default: the folders `files`, `uploads` and `tasks` in `data_dir`.',
      ),
    endpoint: z
      .url({ protocol: /^https?$/, hostname: /./, error: 'must be an http or https URL' })
      .refine((text) => !/[?#@]/.test(text), 'must have no user name, query or fragment')
      .nullable()
      .default(null)
      .describe(
        'Address of the server, such as `https://s3.example.org:9000`, which knows buckets by their path. ' +
          'Default: AWS.',
      )
      .register(settings, { env: 'AWS_ENDPOINT_URL_S3' }),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/, 'must have small letters, digits or "-"')
      .default('us-east-1')
      .describe('Region of the bucket.')
      .register(settings, { env: 'AWS_REGION' }),
    access_key_id: textOrNull('Id of the access key.').register(settings, { env: 'AWS_ACCESS_KEY_ID' }),
    secret_access_key: textOrNull('Secret of the access key.').register(settings, { env: 'AWS_SECRET_ACCESS_KEY' }),
    session_token: textOrNull('Token of a temporary access key.').register(settings, { env: 'AWS_SESSION_TOKEN' }),
    timeout: amount(
      { min: 0.1, max: 3600, default: 10 },
      'Longest silence of the store, and time after a first failure in which a request to it is repeated, in seconds.',
    ),
  })
  .refine(({ url, access_key_id: id, secret_access_key: secret }) => url === null || (id !== null && secret !== null), {
    path: ['url'],
    error: 'needs access_key_id and secret_access_key (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)',
  });
