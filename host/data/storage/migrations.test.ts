// The files of the host's migrations: a migration that is not marked as contracting must only expand, so that hosts of
// the version before it go on beside it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HOST_MIGRATIONS } from './index.ts';

const Files = suite('files of migrations');

/** Returns the statements with which a migration does more than expand. */
function breaking(sql: string): string[] {
  const statements = sql
    .replace(/--.*$/gm, '')
    .replace(/\$\$[\s\S]*?\$\$/g, "''") // bodies of functions
    .replace(/\bbegin\b[\s\S]*?\bend(?=;)/gi, '') // bodies of triggers
    .split(';')
    .map((statement) => statement.trim().replace(/\s+/g, ' '))
    .filter((statement) => statement !== '');
  const made = statements.map((statement) => /^create table (\w+)/i.exec(statement)?.[1]);
  return statements.filter((statement) => {
    if (/^create (table|index|view|function|trigger)\b|^update\b/i.test(statement)) return false;
    const [, table] = /^(?:create unique index \w+ on|insert into|alter table) (\w+)/i.exec(statement) ?? [];
    if (table !== undefined && made.includes(table)) return false;
    if (!/^alter table \w+ add column/i.test(statement)) return true;
    const isRequired = /\bnot null\b/i.test(statement) && !/\bdefault\b/i.test(statement);
    return isRequired || /\b(unique|primary key)\b|,[^)]*\b(add|alter|drop|rename)\b/i.test(statement);
  });
}

Files('expand, unless they are marked', () => {
  const names = readdirSync(HOST_MIGRATIONS.folder);
  assert.ok(names.length >= 2);
  for (const name of names) {
    const sql = readFileSync(join(HOST_MIGRATIONS.folder, name), 'utf8');
    if (!sql.startsWith('-- contracts: least ')) assert.equal(breaking(sql), [], name);
  }
});

Files('are there for both databases, with the same mark', () => {
  const marks: Record<string, Record<string, string>> = { sqlite: {}, postgresql: {} };
  for (const name of readdirSync(HOST_MIGRATIONS.folder)) {
    const [, step = '', only] = /^(.*?)(?:\.(sqlite|postgresql))?\.sql$/.exec(name) ?? [];
    const [first = ''] = readFileSync(join(HOST_MIGRATIONS.folder, name), 'utf8').split('\n');
    for (const dialect of only === undefined ? Object.keys(marks) : [only])
      Object.assign(marks[dialect] ?? {}, { [step]: first.startsWith('-- contracts') ? first : '' });
  }
  assert.equal(marks['sqlite'], marks['postgresql']);
});

for (const sql of [
  'drop table tasks',
  'drop index tasks_user',
  'drop trigger tasks_wait_inserted',
  'alter table tasks drop column error',
  'alter table tasks rename to jobs',
  'alter table tasks rename column error to failure',
  'alter table tasks alter column error type json',
  'alter table tasks alter column error set not null',
  'alter table tasks add constraint positive check (priority > 0)',
  'alter table tasks add column kind text not null',
  'alter table tasks add column kind text unique',
  'alter table tasks add column kind text, drop column error',
  'create unique index tasks_hash on tasks (request_hash)',
  'create or replace function count_task_bytes() returns trigger language plpgsql as $$ begin end $$',
  'delete from tasks',
  'insert into tasks (id) values (1)',
  'ALTER TABLE tasks\n  DROP COLUMN error',
])
  Files(`do not expand with: ${sql.replace(/\s+/g, ' ')}`, () => {
    assert.is(breaking(`-- A comment.\ncreate table kinds (id integer);\n${sql};\n`).length, 1);
  });

Files('expand with new tables, columns, indexes and triggers', () => {
  const sql = `
    create table kinds (id integer primary key, name text not null); -- drop table tasks;
    create unique index kinds_name on kinds (name);
    insert into kinds values (1, 'a');
    alter table tasks add column kind integer not null default 0;
    alter table tasks add column note text check (note in ('a', 'b'));
    update tasks set note = 'a';
    create index tasks_kind on tasks (kind);
    create function count_kinds() returns trigger language plpgsql as $$ begin delete from kinds; end $$;
    create trigger kinds_counted after insert on tasks begin
      delete from kinds;
    end;`;
  assert.equal(breaking(sql), []);
});

Files.run();
