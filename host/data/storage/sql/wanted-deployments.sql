-- statement: list
select deployment, replicas, configured, is_unloaded, applied, changed_by, changed_at
from wanted_deployments where application = $1 order by deployment

-- statement: keep
insert into wanted_deployments
  (application, deployment, replicas, configured, is_unloaded, applied, changed_by, changed_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (application, deployment) do update set
  replicas = excluded.replicas, configured = excluded.configured, is_unloaded = excluded.is_unloaded,
  applied = excluded.applied, changed_by = excluded.changed_by, changed_at = excluded.changed_at

-- statement: forget
delete from wanted_deployments where application = $1 and deployment = $2

-- statement: record
insert into deployment_changes (application, number, epoch, deployment, kind, detail, changed_by, changed_at)
select $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5, $6, $7 from deployment_changes where application = $1

-- statement: trim
delete from deployment_changes where application = $1
  and number <= (select max(number) from deployment_changes where application = $1) - $2

-- statement: changes
select number, epoch, deployment, kind, detail, changed_by, changed_at
from deployment_changes where application = $1 and {filters} order by number desc limit $2
