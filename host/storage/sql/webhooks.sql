-- statement: insert
insert into webhooks (id, user_id, url, events, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)

-- A null user is a user, too: the one that everybody is while no keys are asked for.
-- statement: read (sqlite)
select id, user_id, url, events from webhooks where id = $1 and user_id is $2
-- statement: read (postgresql)
select id, user_id, url, events from webhooks where id = $1 and user_id is not distinct from $2

-- statement: list (sqlite)
select id, user_id, url, events from webhooks where user_id is $1 order by created_at, id
-- statement: list (postgresql)
select id, user_id, url, events from webhooks where user_id is not distinct from $1 order by created_at, id

-- statement: update (sqlite)
update webhooks set url = $3, events = $4, updated_at = $5 where id = $1 and user_id is $2 returning id
-- statement: update (postgresql)
update webhooks set url = $3, events = $4, updated_at = $5 where id = $1 and user_id is not distinct from $2 returning id

-- statement: remove (sqlite)
delete from webhooks where id = $1 and user_id is $2 returning id
-- statement: remove (postgresql)
delete from webhooks where id = $1 and user_id is not distinct from $2 returning id
