// The wall clock jumps. Durations, deadlines and leases use `systemClock` or `performance.now()`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../base/core/package-root.ts';

/** The files that may read the wall clock, with the reason. */
const READERS: Readonly<Record<string, string>> = {
  'base/alerts/alerts.ts': 'the time of an alert, and the end of a certificate',
  'data/access/monthly-tokens.ts': 'the calendar month of a limit',
  'data/access/client-secrets.ts': 'the end of a secret is told to its client, and another host may check it',
  'application/ports/standard-error-log.ts': 'the time of a log line',
  'cli/backup/make-backup.ts': 'the time of a backup',
  'cli/backup/restore-backup.ts': 'the name of a folder',
  'cli/groups/care.ts': 'the name of a file',
  'cli/commands/keys.ts': 'the end of a key, for people',
  'cli/diagnose/diagnose.ts': 'the time of a diagnosis',
  'cli/doctor/clock-check.ts': 'checks the wall clock itself',
  'cli/doctor/database-check.ts': 'compares the wall clock with the one of the database',
  'cli/duration.ts': 'the end of a key that a person gave as a duration',
  'base/core/log/log-ring.ts': 'the time of a log line',
  'base/core/log/logger.ts': 'the time of a log line',
  'base/core/telemetry.ts': 'the times of spans',
  'apis/anthropic/anthropic-api.ts': 'a time in a header',
  'endpoints/sdk/guest/web/fetch/blob.ts': 'the time of a file, for people',
  'inference/engines/openai/failures.ts': 'a Retry-After header may be a date',
  'data/objects/row-objects.ts': 'compared with the time of a file',
  'cli/doctor/object-store-check.ts': 'compares the wall clock with the one of the store',
  'apis/http/dashboard/page/format.ts': 'a time for people',
  'base/certificates/certificate.ts': 'compared with the end of a certificate',
  'base/certificates/tls-reason.ts': 'a time for people, who compare it with that of a certificate',
  'cli/commands/cluster.ts': 'when certificates begin and end',
  'io/media/cache/media-cache.ts': 'compared with the times of files, and with dates of other servers',
  'io/artifacts/temp-folders.ts': 'compared with the time of a folder, and part of a name',
  'setup/models/import-model.ts': 'the time of a model, for people',
  'setup/models/kept-conversion.ts': 'the time of a model, for people',
  'setup/models/store.ts': 'the time of a model, for people',
  'apis/openai/models/models-routes.ts': 'a time in an answer',
  'apis/openai/realtime/client-secrets-route.ts': 'a time in an answer',
  'apis/openai/realtime/realtime-session.ts': 'a time in an answer',
  'apis/openai/text/values.ts': 'a time in an answer',
  'endpoints/plugins/rights/setting-file.ts': 'compared with the time of a file',
  'endpoints/plugins/extism/process/guest.ts': 'the clock of a guest',
  'endpoints/plugins/extism/interface.ts': 'the name of an import of guests',
  'endpoints/plugins/sandbox/code-folder.ts': 'compared with the time of a file',
  'endpoints/sdk/guest/console.ts': 'runs in a guest, which has no other clock',
  'endpoints/sdk/guest/imports.ts': 'the clock of a guest in tests of its author',
  'data/storage/postgres/postgres-database.ts': 'before the first answer of the database',
  'data/storage/sqlite/sqlite-database.ts': 'stored times, for people and for when something is due',
  'data/storage/sqlite/sqlite-file.ts': 'a connection for work that stores no times',
  'base/telemetry/instruments.ts': 'the time of an exemplar',
  'base/telemetry/load/load-history.ts': 'the time of a sample, for people',
  'base/telemetry/otlp/metric-export.ts': 'times in messages to a collector',
  'base/telemetry/traces/tracer.ts': 'the times of spans',
  'base/telemetry/traces/local-trace.ts': 'the times of spans',
  'data/usage/request-meter.ts': 'the time of a record',
  'data/webhooks/deliverer.ts': 'a time in a header, and a Retry-After header may be a date',
};

const READS = /\bDate\.now\b|\bnew Date\(\)/;
const HOST = join(packageRoot, 'host');
const isOfProduct = (file: string): boolean =>
  file.endsWith('.ts') && !file.endsWith('.test.ts') && !/(^|\/)(test|bench|fixtures|testing)\//.test(file);

const Clock = suite('the wall clock');

Clock('is read only by files that need it, for people, other machines and times of files', () => {
  const files = readdirSync(HOST, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'));
  const readers = files.filter((file) => isOfProduct(file) && READS.test(readFileSync(join(HOST, file), 'utf8')));
  assert.equal(readers.sort(), Object.keys(READERS).sort());
});

Clock('time limits beside other signals are those of signalWithin, because Node 20 can lose others', () => {
  const files = readdirSync(HOST, { recursive: true, encoding: 'utf8' }).filter(isOfProduct);
  const losing = /AbortSignal\.any\([^;]*AbortSignal\.timeout/;
  const found = files.filter((file) => losing.test(readFileSync(join(HOST, file), 'utf8')));
  assert.equal(found, []);
});

Clock.run();
