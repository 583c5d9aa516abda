import { hasVectorPostgres } from '../../test/helpers/database/vector-postgres.ts';
import { unlessOffline } from '../../test/helpers/media/clips.ts';
import { skip } from '../../test/skip.ts';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from './fixtures/databases.ts';
import { vectorCollectionTests } from './fixtures/vectors/collections.ts';
import { vectorFaultTests } from './fixtures/vectors/faults.ts';
import { vectorSearchTests } from './fixtures/vectors/search.ts';
import { vectorStoreTests } from './fixtures/vectors/vector-stores.ts';

function vectorTests(databases: TestDatabases): void {
  vectorCollectionTests(databases);
  vectorSearchTests(databases);
  vectorStoreTests(databases);
  vectorFaultTests(databases);
}

const postgres = hasVectorPostgres
  ? await unlessOffline(() => postgresDatabases({ hasVectors: true }))
  : 'its package is for Linux on x64';
vectorTests(sqliteDatabases());
if (typeof postgres === 'string') skip('vectors in PostgreSQL', postgres);
else vectorTests(postgres);
