-- How long a task was put off since something last worked on it, because nothing could: in milliseconds.
alter table tasks add column unserved_ms integer not null default 0;
