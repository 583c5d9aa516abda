-- statement: insert
insert into webhooks (id, user_id, url, events, secret, scopes, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $7)

-- Null is a user, too: all callers have it when the host requires no keys.
-- statement: read (sqlite)
select id, user_id, url, events, disabled_at, disabled_reason from webhooks where id = $1 and user_id is $2
-- statement: read (postgresql)
select id, user_id, url, events, disabled_at, disabled_reason from webhooks where id = $1 and user_id is not distinct
  from $2

-- statement: list (sqlite)
select id, user_id, url, events, disabled_at, disabled_reason from webhooks where user_id is $1 order by created_at, id
-- statement: list (postgresql)
select id, user_id, url, events, disabled_at, disabled_reason from webhooks where user_id is not distinct from $1
  order by created_at, id

-- statement: listAll
select id, user_id, url, events, disabled_at, disabled_reason from webhooks where {filters} order by created_at, id
  limit $1 offset $2

-- statement: listDisabled
select id, user_id, url, events, disabled_at, disabled_reason from webhooks where disabled_at is not null
  order by disabled_at desc, id limit $1

-- statement: readAny
select id, user_id, url, events, disabled_at, disabled_reason from webhooks where id = $1

-- statement: removeAny
delete from webhooks where id = $1 returning id, user_id, url, events, disabled_at, disabled_reason

-- $5 are the scopes of the key that sets the URL.
-- statement: update
update webhooks set url = $2, events = $3, secret = coalesce(cast($4 as text), secret), scopes = case when url = $2
  then scopes else $5 end, updated_at = $6 where id = $1

-- statement: enable
update webhooks set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null, paused_until = 0
  where id = $1

-- statement: disable
update webhooks set disabled_at = $2, disabled_reason = $3 where id = $1 and disabled_at is null returning id

-- statement: remove (sqlite)
delete from webhooks where id = $1 and user_id is $2 returning id
-- statement: remove (postgresql)
delete from webhooks where id = $1 and user_id is not distinct from $2 returning id

-- statement: succeeded
update webhooks set failures = 0, failing_since = null, paused_until = 0 where id = $1 and failures > 0

-- statement: failed
update webhooks set failures = failures + 1, failing_since = coalesce(failing_since, $2) where id = $1
  returning failures, failing_since

-- statement: pause
update webhooks set paused_until = $2 where id = $1 and paused_until < $2

-- statement: resume
update webhooks set paused_until = 0 where id = $1

-- The secret of the newest key of the user that has one.
-- statement: secretOfUser
select hmac_secret as secret from api_keys where user_id = $1 and hmac_secret is not null order by id desc limit 1
