import * as z from 'zod';
import { textOrNull, whole } from '../../core/fields.ts';
import { settings } from '../registry.ts';

export const TlsConfig = z
  .strictObject({
    cert: textOrNull(
      'PEM file of the server’s certificate and its chain up to the authority. With it and `key` the server ' +
        'speaks HTTPS.',
    ).register(settings, { flag: '--tls-cert <file>', isPath: true }),
    key: textOrNull('PEM file of the certificate’s private key, without a passphrase.').register(settings, {
      flag: '--tls-key <file>',
      isPath: true,
    }),
    client_ca: textOrNull(
      'PEM file of the authorities of client certificates. With it only clients with such a certificate can connect.',
    ).register(settings, { flag: '--tls-client-ca <file>', isPath: true }),
    min_version: z
      .enum(['TLSv1.2', 'TLSv1.3'])
      .default('TLSv1.2')
      .describe('Oldest version of TLS that the server accepts.'),
    hsts_max_age_s: whole(
      { min: 0, max: 63_072_000, default: 31_536_000 },
      'Time for which browsers must use only HTTPS for this host (`strict-transport-security`), in seconds; 0 ' +
        'omits the header.',
    ),
  })
  .refine(({ cert, key }) => (cert === null) === (key === null), '`cert` and `key` must be set together')
  .refine(({ cert, client_ca: ca }) => cert !== null || ca === null, '`client_ca` needs `cert` and `key`');
