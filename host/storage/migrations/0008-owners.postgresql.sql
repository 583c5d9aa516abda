-- Whose media it is: a user, or the empty text for nobody in particular. `name` is the id under which the owner knows it, where that is not the `id`
-- itself: two users may use the same one. What was there before belongs to nobody.
alter table media add column owner text not null default '';
alter table media add column name text;
create unique index media_owner on media (owner, coalesce(name, id));
alter table caption add column owner text not null default '';
alter table transcript add column owner text not null default '';

-- How much there is of each, for the limit of its owner.
alter table media add column bytes bigint not null default 0;
alter table caption add column bytes bigint not null default 0;
alter table transcript add column bytes bigint not null default 0;
create table media_usage (
  owner text primary key,
  bytes bigint not null check (bytes >= 0)
);
