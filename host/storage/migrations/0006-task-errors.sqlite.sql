-- Name of the error that a failed task ended with: what is looked for must not be taken out of JSON that a stranger wrote, which can have what a text cannot.
alter table tasks add column error text;
update tasks set error = json_extract(result, '$.error') where status = 'failed' and json_valid(result);
create index tasks_error on tasks (error, completed_at) where error is not null;
-- Batches of streamed values that the running attempt has stored: a batch that is written again is known.
alter table tasks add column reported integer not null default 0;
