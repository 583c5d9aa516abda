-- statement: insert
insert into uploads (id, owner, purpose, filename, bytes, file_expires_after, status, created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, 'pending', $7, $8)

-- statement: read
select * from uploads where id = $1 and owner = $2

-- Takes the number of a part, and lets no other transaction end the upload before this one has stored the part.
-- statement: countPart
update uploads set part_count = part_count + 1 where id = $1 and owner = $2 and status = 'pending' and expires_at > $3
  returning part_count

-- statement: insertPart
insert into upload_parts (id, upload_id, owner, bytes, sha256) values ($1, $2, $3, $4, $5)

-- statement: parts
select id, bytes, sha256 from upload_parts where upload_id = $1 and owner = $2

-- statement: removeParts
delete from upload_parts where upload_id = $1 returning id

-- statement: complete
update uploads set status = 'completed', file_id = $4
  where id = $1 and owner = $2 and status = 'pending' and expires_at > $3 returning id

-- statement: cancel
update uploads set status = 'cancelled' where id = $1 and owner = $2 and status = 'pending' and expires_at > $3
  returning id

-- Uploads that were not completed in time.
-- statement: expire
update uploads set status = 'expired' where id in (select id from uploads where status = 'pending' and expires_at <= $1
  order by expires_at limit $2) returning id

-- statement: prune
delete from uploads where id in (select id from uploads where status <> 'pending' and expires_at <= $1
  order by expires_at limit $2) returning id

-- statement: partExists
select id from upload_parts where id = $1
