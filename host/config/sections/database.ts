import * as z from 'zod';
import { place } from './fields.ts';

export const DatabaseConfig = z
  .strictObject({
    datastore_type: z
      .enum(['sqlite', 'postgresql'])
      .default('sqlite')
      .describe('SQLite needs no server; several hosts share PostgreSQL.'),
    datastore_config: z
      .strictObject({
        path: place()
          .nullable()
          .default(null)
          .describe('SQLite: file of the database. Without it: `aana.db` in `data_dir`.'),
        host: z
          .string()
          .min(1)
          .default('127.0.0.1')
          .describe(
            'PostgreSQL: address of the server, or the folder of its socket. Several with commas between them, such as `db1,db2:5433`, are a primary and its replicas: the one that takes writes is used.',
          ),
        port: z.int().min(1).max(65_535).default(5432).describe('PostgreSQL: port of the server.'),
        user: z.string().min(1).default('aana').describe('PostgreSQL: whom to connect as.'),
        password: z
          .string()
          .nullable()
          .default(null)
          .describe('PostgreSQL: the password of the user, where the server asks for one.'),
        database: z.string().min(1).default('aana').describe('PostgreSQL: name of the database; it must be there.'),
        ssl_mode: z
          .enum(['disable', 'require', 'verify-ca', 'verify-full'])
          .default('disable')
          .describe(
            'PostgreSQL: whether connections are encrypted (`require`), whether the certificate of the server must be signed by an authority that is trusted (`verify-ca`), and whether it must name the host, too (`verify-full`).',
          ),
        ssl_root_cert: place()
          .nullable()
          .default(null)
          .describe(
            'PostgreSQL: PEM file of the authorities that sign certificates of servers. Without it: those of Node.',
          ),
        ssl_cert: place()
          .nullable()
          .default(null)
          .describe('PostgreSQL: PEM file of the certificate that this host shows to the server.'),
        ssl_key: place().nullable().default(null).describe('PostgreSQL: PEM file of the key to `ssl_cert`.'),
      })
      .prefault({}),
    pool_size: z
      .int()
      .min(1)
      .max(1000)
      .default(5)
      .describe('Connections to the database. PostgreSQL: besides one for notifications and one for heartbeats.'),
    max_overflow: z
      .int()
      .min(0)
      .max(1000)
      .default(10)
      .describe('Connections besides those of `pool_size`, while there is much to do.'),
    pool_recycle: z
      .number()
      .positive()
      .max(604_800)
      .default(3600)
      .describe('PostgreSQL: age at which a connection is replaced, in seconds.'),
    query_timeout: z
      .number()
      .min(0)
      .max(604_800)
      .default(30)
      .describe('PostgreSQL: time for one statement, in seconds; 0 is for ever.'),
    connection_timeout: z
      .number()
      .positive()
      .max(3600)
      .default(10)
      .describe('Time for getting a connection, and for waiting for other writers, in seconds.'),
  })
  .describe('Where tasks and what plugins store are kept.');
