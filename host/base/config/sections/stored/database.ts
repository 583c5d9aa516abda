import * as z from 'zod';
import { amount, whole } from '../../../core/fields.ts';
import { writablePath } from '../fields.ts';
import { settings } from '../../registry.ts';

export const DatabaseConfig = z
  .strictObject({
    datastore_type: z
      .enum(['sqlite', 'postgresql'])
      .default('sqlite')
      .describe('Kind of database. SQLite needs no server; PostgreSQL can be shared by several hosts.'),
    datastore_config: z
      .strictObject({
        path: writablePath()
          .nullable()
          .default(null)
          .describe('SQLite: file of the database. Default: `aana.db` in `data_dir`.')
          .register(settings, { isPath: true }),
        host: z
          .string()
          .min(1)
          .default('127.0.0.1')
          .describe(
            'PostgreSQL: address of the server, or the folder of its socket. Several addresses, separated by ' +
              'commas, such as `db1,db2:5433`, are a primary and its replicas; the host uses the server that ' +
              'accepts writes.',
          ),
        port: whole(
          { min: 1, max: 65_535, default: 5432 },
          'PostgreSQL: port of the server, for addresses without one.',
        ),
        user: z.string().min(1).default('aana').describe('PostgreSQL: user to connect as.'),
        password: z
          .string()
          .nullable()
          .default(null)
          .describe('PostgreSQL: password of the user, if the server asks for one.'),
        database: z.string().min(1).default('aana').describe('PostgreSQL: name of the database. It must exist.'),
        ssl_mode: z
          .enum(['disable', 'require', 'verify-ca', 'verify-full'])
          .default('disable')
          .describe(
            'PostgreSQL: encryption of connections. `require` encrypts; `verify-ca` also requires a server ' +
              'certificate that a trusted authority signed; `verify-full` also requires that the certificate ' +
              'names the host.',
          ),
        ssl_root_cert: writablePath()
          .nullable()
          .default(null)
          .describe(
            'PostgreSQL: PEM file of the authorities that sign server certificates. Default: the authorities that ' +
              'Node trusts.',
          )
          .register(settings, { isPath: true }),
        ssl_cert: writablePath()
          .nullable()
          .default(null)
          .describe('PostgreSQL: PEM file of the certificate that this host shows to the server.')
          .register(settings, { isPath: true }),
        ssl_key: writablePath()
          .nullable()
          .default(null)
          .describe('PostgreSQL: PEM file of the private key of `ssl_cert`.')
          .register(settings, { isPath: true }),
      })
      .prefault({}),
    pool_size: whole(
      { min: 1, max: 1000, default: 5 },
      'Connections to the database. With PostgreSQL there are two more, for notifications and for heartbeats.',
    ),
    max_overflow: whole(
      { min: 0, max: 1000, default: 10 },
      'Most connections that are added to `pool_size` under load.',
    ),
    pool_recycle: z
      .number()
      .positive()
      .max(604_800)
      .default(3600)
      .describe('PostgreSQL: age at which a connection is replaced, in seconds.'),
    query_timeout: amount(
      { min: 0, max: 604_800, default: 30 },
      'PostgreSQL: time limit of one statement, in seconds; 0 is no limit.',
    ),
    connection_timeout: z
      .number()
      .positive()
      .max(3600)
      .default(10)
      .describe('Time limit for getting a connection, and for waiting for other writers, in seconds.'),
    max_vector_memory_bytes: whole(
      { min: 0, max: 2 ** 40, default: 256 * 2 ** 20 },
      'SQLite: most bytes of vectors that the host keeps in memory, so that repeated searches in a collection do not ' +
        'read all of it; 0 keeps none.',
    ),
  })
  .describe('Database of tasks and of the data that plugins store.');
