-- The webhooks of a user ($1; null is a user, too). They are locked, because a removal before the end of the
-- transaction would make it fail.
-- statement: recipients (sqlite)
select id, events, user_id from webhooks where user_id is $1
-- statement: recipients (postgresql)
select id, events, user_id from webhooks
  where user_id = $1 or (user_id is null and cast($1 as text) is null) for key share

-- Webhooks of users with the key of an admin that is valid at $1.
-- statement: ofAdmins (sqlite)
select id, events, user_id from webhooks
where user_id in (select user_id from api_keys where is_admin = 1 and (expired_at is null or expired_at > $1))
-- statement: ofAdmins (postgresql)
select id, events, user_id from webhooks
where user_id in (select user_id from api_keys where is_admin and (expired_at is null or expired_at > $1)) for key share

-- The columns of the task have the id of the alert and nothing.
-- statement: insertAlert
insert into webhook_deliveries (id, webhook_id, event, task_id, task_token, endpoint, task_status, num_retries, result,
  user_id, status, due_at, created_at)
values ($1, $2, $3, $4, 0, '', '', 0, $5, $6, 'pending', $7, $7)
on conflict (webhook_id, task_id, event, task_token) do nothing

-- statement: insert
insert into webhook_deliveries (id, webhook_id, event, task_id, task_token, endpoint, task_status, num_retries, result,
  traceparent, user_id, status, due_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', $12, $12)
on conflict (webhook_id, task_id, event, task_token) do nothing

-- The webhooks with a delivery due until $1, and its due time; webhooks without failures come first. Webhooks are found
-- by steps along the index of
-- waiting deliveries, so neither webhooks without deliveries nor long queues cost time.
-- statement: waiting
with recursive queues (id) as (
  select min(webhook_id) from webhook_deliveries where status = 'pending'
  union all
  select (select min(webhook_id) from webhook_deliveries where status = 'pending' and webhook_id > queues.id)
    from queues where queues.id is not null
)
select id, user_id, url, secret, scopes, failures, due_at from (
  select id, user_id, url, secret, scopes, failures, case when first_due > paused_until then first_due
    else paused_until end as due_at from (
    select webhooks.id, user_id, url, secret, scopes, failures, paused_until,
      (select min(due_at) from webhook_deliveries as one
        where one.webhook_id = webhooks.id and one.status = 'pending') as first_due
    from queues join webhooks on webhooks.id = queues.id where disabled_at is null
  ) as each_webhook
) as waiting
where due_at <= $1 order by case when failures = 0 then 0 else 1 end, due_at

-- Targets of deliveries that are being sent.
-- statement: busy
select url, count(*) as count from webhook_deliveries join webhooks on webhooks.id = webhook_id
where lease_owner is not null and due_at > $1 group by url

-- statement: take
update webhook_deliveries set lease_token = lease_token + 1, lease_owner = $4, due_at = $5
where status = 'pending' and due_at <= $2 and seq in (
  select seq from webhook_deliveries where webhook_id = $1 and status = 'pending' and due_at <= $2 order by due_at, seq
    limit $3
)
returning id, event, task_id, endpoint, task_status, num_retries, result, traceparent, attempts, lease_token

-- $2 is the token of the holder, which has lost the delivery when no row is updated.
-- statement: finish
update webhook_deliveries set status = $3, attempts = attempts + 1, due_at = $4, ended_at = $5, lease_owner = null
where id = $1 and lease_token = $2 and lease_owner is not null returning id

-- statement: giveBack
update webhook_deliveries set due_at = $3, lease_owner = null
  where id = $1 and lease_token = $2 and lease_owner is not null

-- statement: addAttempt
insert into webhook_attempts (delivery_id, lease_token, host, started_at, ended_at, response_status, error)
  values ($1, $2, $3, $4, $5, $6, $7)

-- statement: list
select id, event, task_id, status, attempts, due_at, lease_owner, created_at, ended_at from webhook_deliveries
where webhook_id = $1 and (cast($2 as text) is null or status = $2) order by seq desc limit $3 offset $4

-- statement: attempts (sqlite)
select delivery_id, started_at, ended_at, response_status, error from webhook_attempts
where delivery_id in (select value from json_each($1)) order by delivery_id, lease_token
-- statement: attempts (postgresql)
select delivery_id, started_at, ended_at, response_status, error from webhook_attempts
where delivery_id in (select json_array_elements_text(cast($1 as json))) order by delivery_id, lease_token

-- statement: read
select id, event, task_id, status, attempts, due_at, lease_owner, created_at, ended_at from webhook_deliveries
  where id = $2 and webhook_id = $1

-- A delivery that a host is sending is not changed.
-- statement: replay
update webhook_deliveries set status = 'pending', attempts = 0, due_at = $3, ended_at = null, lease_owner = null
where id = $2 and webhook_id = $1 and (lease_owner is null or due_at <= $3) returning id

-- statement: hasten
update webhook_deliveries set attempts = 0, due_at = $2
  where webhook_id = $1 and status = 'pending' and lease_owner is null

-- After a step back of the clock: deliveries without an attempt, which are due at once ($1), and deliveries that are
-- due after any delay that begins now ($2).
-- statement: mendDueTimes
update webhook_deliveries set due_at = $1
where status = 'pending' and ((attempts = 0 and lease_owner is null and due_at > $1) or due_at > $2) returning id

-- statement: mendPauses
update webhooks set paused_until = $1 where paused_until > $2

-- Deliveries that ended long ago, and deliveries that wait for a webhook that was disabled long ago.
-- statement: prune
delete from webhook_deliveries where seq in (
  select seq from webhook_deliveries
  where ended_at <= $1 or (status = 'pending' and created_at <= $1
    and webhook_id in (select id from webhooks where disabled_at <= $1))
  limit $2
) returning id
