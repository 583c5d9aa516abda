-- The place in a distributed trace that a request came with, for what is done for it later: the runs of its task, and messages of webhooks.
alter table tasks add column traceparent text;
alter table webhook_deliveries add column traceparent text;
