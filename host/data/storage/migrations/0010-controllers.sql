-- Who controls the replicas of an application. Each start of a controller takes the next epoch, and only the newest one
-- may write what follows.
create table controllers (
  application text primary key,
  epoch bigint not null check (epoch > 0),
  -- The machine and the process, for people.
  host text not null,
  started_at bigint not null
);

-- What operators want of a deployment beside its configuration. A deployment that is as configured has no row.
create table wanted_deployments (
  application text not null,
  deployment text not null,
  -- The number of replicas or its bounds, and what the configuration said when they were set, as JSON.
  replicas text,
  configured text,
  -- 1 if it is unloaded.
  is_unloaded integer not null,
  -- The digest of the options that were applied last; empty if the deployment was removed.
  applied text,
  changed_by text not null,
  changed_at bigint not null,
  primary key (application, deployment)
);

-- What operators did with deployments: the last changes of each application.
create table deployment_changes (
  application text not null,
  number bigint not null,
  epoch bigint not null,
  deployment text not null,
  kind text not null,
  -- For people, such as the keys that have changed.
  detail text not null,
  changed_by text not null,
  changed_at bigint not null,
  primary key (application, number)
);
