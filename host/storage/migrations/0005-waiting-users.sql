-- Whether tasks of users wait is asked whenever tasks are taken, also where thousands of nobody's wait.
create index tasks_waiting_users on tasks (user_id) where status in ('created', 'not_finished') and user_id is not null;
