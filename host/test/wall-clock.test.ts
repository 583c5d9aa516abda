// The wall clock jumps. Durations, deadlines and leases use `systemClock` or `performance.now()`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../core/package-root.ts';

/** The files that may read the wall clock, with the reason. */
const READERS: Readonly<Record<string, string>> = {
  'alerts/alerts.ts': 'the time of an alert, and the end of a certificate',
  'access/monthly-tokens.ts': 'the calendar month of a limit',
  'access/client-secrets.ts': 'the end of a secret is told to its client, and another host may check it',
  'application/ports/standard-error-log.ts': 'the time of a log line',
  'cli/backup/make-backup.ts': 'the time of a backup',
  'cli/backup/restore-backup.ts': 'the name of a folder',
  'cli/groups/care.ts': 'the name of a file',
  'cli/commands/keys.ts': 'the end of a key, for people',
  'cli/diagnose/diagnose.ts': 'the time of a diagnosis',
  'cli/doctor/clock-check.ts': 'checks the wall clock itself',
  'cli/doctor/database-check.ts': 'compares the wall clock with the one of the database',
  'cli/duration.ts': 'the end of a key that a person gave as a duration',
  'core/log/log-ring.ts': 'the time of a log line',
  'core/log/logger.ts': 'the time of a log line',
  'core/telemetry.ts': 'the times of spans',
  'anthropic/anthropic-api.ts': 'a time in a header',
  'engines/openai/failures.ts': 'a Retry-After header may be a date',
  'files/file-folder.ts': 'compared with the time of a file',
  'http/dashboard/page/format.ts': 'a time for people',
  'http/server/certificate.ts': 'compared with the end of a certificate',
  'media/temp-folders.ts': 'compared with the time of a folder, and part of a name',
  'models/folders/converted-folder.ts': 'the time of a model, for people',
  'models/import-model.ts': 'the time of a model, for people',
  'models/requantized.ts': 'the time of a model, for people',
  'models/store.ts': 'the time of a model, for people',
  'openai/models/models-routes.ts': 'a time in an answer',
  'openai/realtime/client-secrets-route.ts': 'a time in an answer',
  'openai/realtime/realtime-session.ts': 'a time in an answer',
  'openai/text/values.ts': 'a time in an answer',
  'plugins/extism/guest.ts': 'the clock of a guest',
  'plugins/extism/interface.ts': 'the name of an import of guests',
  'plugins/guest/wasi.ts': 'the clock of a guest',
  'sdk/guest/console.ts': 'runs in a guest, which has no other clock',
  'sdk/guest/imports.ts': 'the clock of a guest in tests of its author',
  'storage/postgres/postgres-database.ts': 'before the first answer of the database',
  'storage/sqlite/sqlite-database.ts': 'stored times, for people and for when something is due',
  'storage/sqlite/sqlite-file.ts': 'a connection for work that stores no times',
  'tasks/task-files.ts': 'compared with the time of a folder',
  'telemetry/instruments.ts': 'the time of an exemplar',
  'telemetry/load/load-history.ts': 'the time of a sample, for people',
  'telemetry/otlp/metric-export.ts': 'times in messages to a collector',
  'telemetry/traces/tracer.ts': 'the times of spans',
  'telemetry/traces/local-trace.ts': 'the times of spans',
  'usage/request-meter.ts': 'the time of a record',
  'webhooks/deliverer.ts': 'a time in a header, and a Retry-After header may be a date',
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

Clock.run();
