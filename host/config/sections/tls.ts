import * as z from 'zod';

export const TlsConfig = z
  .strictObject({
    cert: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'Certificate of the server with those that lead to its authority, in PEM. With it, and `key`, the server speaks HTTPS.',
      ),
    key: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Private key of the certificate, in PEM, without a passphrase.'),
    client_ca: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Authorities of client certificates, in PEM. With it nobody connects who has none of theirs.'),
    min_version: z.enum(['TLSv1.2', 'TLSv1.3']).default('TLSv1.2').describe('Oldest version of TLS that is spoken.'),
    hsts_max_age_s: z
      .int()
      .min(0)
      .max(63_072_000)
      .default(31_536_000)
      .describe(
        'How long browsers are told to use HTTPS alone for this host (`strict-transport-security`), in seconds; 0 does not tell them.',
      ),
  })
  .refine(({ cert, key }) => (cert === null) === (key === null), '`cert` and `key` go together: one of them is not set')
  .refine(({ cert, client_ca: ca }) => cert !== null || ca === null, '`client_ca` needs `cert` and `key`');
