import * as z from 'zod';
import { CLUSTER_NAME, PLAIN_NAME, TCP_ADDRESS, tcpAddress } from '../../core/net/cluster-names.ts';
import { textOrNull } from '../../core/fields.ts';
import { settings } from '../registry.ts';

const EVERYWHERE = /^(0+(\.0+)*|\[[0:]*\]):/;

export const ClusterConfig = z
  .strictObject({
    cert: textOrNull(
      'PEM file of this machine’s certificate, which has `name` and is for clients and servers. Whoever has it and ' +
        'its key is an operator of the cluster.',
    ).register(settings, { isPath: true }),
    key: textOrNull('PEM file of the certificate’s private key, without a passphrase.').register(settings, {
      isPath: true,
    }),
    ca: textOrNull('PEM file of the authority that signs the certificates of the cluster.').register(settings, {
      isPath: true,
    }),
    name: z
      .string()
      .regex(PLAIN_NAME, 'must be a DNS name of at most 64 characters')
      .default(CLUSTER_NAME)
      .describe('DNS name that the certificates of all machines of the cluster have. It need not resolve.'),
    listen: z
      .string()
      .regex(TCP_ADDRESS, 'must be an address of this machine and a port, such as 10.0.0.5:8700')
      .refine((text) => !EVERYWHERE.test(text), 'must be one address of this machine, to which others can connect')
      .refine((text) => tcpAddress(text).port <= 65_535, 'must have a port of at most 65535')
      .nullable()
      .default(null)
      .describe(
        'Address and port at which other machines of the cluster reach this host, such as `10.0.0.5:8700`; port 0 ' +
          'takes a free one. Replicas listen at the same address, on ports that the system chooses.',
      ),
  })
  .refine(
    ({ cert, key, ca }) => (cert === null) === (key === null) && (key === null) === (ca === null),
    '`cert`, `key` and `ca` must be set together',
  )
  .refine(({ cert, listen }) => cert !== null || listen === null, '`listen` needs `cert`, `key` and `ca`');
