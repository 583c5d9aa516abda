-- In all statements, $1 is the owner of the media. $2 is the id that the owner uses.
-- statement: find
select id from media where owner = $1 and coalesce(name, id) = $2

-- statement: insert
insert into media (owner, name, id, media_type, bytes, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $6)
on conflict do nothing returning id

-- Also removes everything that belongs to the media.
-- statement: size
select cast(bytes + coalesce((select sum(bytes) from caption where media_id = media.id), 0)
  + coalesce((select sum(bytes) from transcript where media_id = media.id), 0) as bigint) as bytes
from media where owner = $1 and coalesce(name, id) = $2

-- statement: remove
delete from media where owner = $1 and coalesce(name, id) = $2 returning id

-- statement: insertVideo
insert into video (id, path, url, title, description) values ($1, $2, $3, $4, $5)

-- statement: readVideo
select coalesce(name, media.id) as id, path, url, title, description from media join video on video.id = media.id
  where owner = $1 and coalesce(name, media.id) = $2

-- statement: listVideos
select coalesce(name, media.id) as id, path, url, title, description from media join video on video.id = media.id
where owner = $1 and coalesce(name, media.id) > $2 order by coalesce(name, media.id) limit $3

-- statement: insertCaption
insert into caption (owner, media_id, model, frame_id, caption, timestamp, caption_type, bytes, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) returning id

-- statement: readCaption
select caption.id, coalesce(name, media.id) as media_id, model, frame_id, caption, timestamp, caption_type
from caption left join media on media.id = caption.media_id where caption.owner = $1 and caption.id = $2

-- statement: listCaptions
select id, cast($2 as text) as media_id, model, frame_id, caption, timestamp, caption_type from caption
where media_id = (select id from media where owner = $1 and coalesce(name, id) = $2) and (timestamp, id) > ($3, $4)
  order by timestamp, id limit $5

-- statement: removeCaption
delete from caption where owner = $1 and id = $2 returning bytes

-- statement: insertTranscript
insert into transcript (owner, media_id, model, transcript, segments, language, language_confidence, transcript_type,
  bytes, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) returning id

-- statement: readTranscript
select transcript.id, coalesce(name, media.id) as media_id, model, transcript, segments, language, language_confidence,
  transcript_type
from transcript left join media on media.id = transcript.media_id where transcript.owner = $1 and transcript.id = $2

-- statement: listTranscripts
select id, cast($2 as text) as media_id, model, transcript, segments, language, language_confidence, transcript_type
  from transcript
where media_id = (select id from media where owner = $1 and coalesce(name, id) = $2) order by id

-- statement: listTranscriptInfos
select id, cast($2 as text) as media_id, model, language, language_confidence, transcript_type from transcript
where media_id = (select id from media where owner = $1 and coalesce(name, id) = $2) and id > $3 order by id limit $4

-- statement: removeTranscript
delete from transcript where owner = $1 and id = $2 returning bytes

-- Also makes a second writer for the same owner wait until this transaction ends.
-- statement: lockUsage
insert into media_usage (owner, bytes) values ($1, 0) on conflict (owner) do update set owner = excluded.owner
  returning bytes

-- statement: setUsage
update media_usage set bytes = $2 where owner = $1
