-- statement: addEvent
insert into task_events (task_id, event, data, created_at) values ($1, $2, $3, $4)
