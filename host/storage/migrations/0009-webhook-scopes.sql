-- What the key was for that chose the URL of a webhook: a JSON list, or null for everything that its user may do.
alter table webhooks add column scopes text;
