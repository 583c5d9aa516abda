-- statement: exists
select 1 as found from media where id = $1

-- statement: insert
insert into media (id, media_type, created_at, updated_at) values ($1, $2, $3, $3)
on conflict (id) do nothing returning id

-- statement: remove
delete from media where id = $1 returning id

-- statement: insertVideo
insert into video (id, path, url, title, description) values ($1, $2, $3, $4, $5)

-- statement: readVideo
select id, path, url, title, description from video where id = $1

-- statement: listVideos
select id, path, url, title, description from video where id > $1 order by id limit $2

-- statement: insertCaption
insert into caption (media_id, model, frame_id, caption, timestamp, caption_type, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $7) returning id

-- statement: readCaption
select id, media_id, model, frame_id, caption, timestamp, caption_type from caption where id = $1

-- statement: listCaptions
select id, media_id, model, frame_id, caption, timestamp, caption_type from caption
where media_id = $1 and (timestamp, id) > ($2, $3) order by timestamp, id limit $4

-- statement: removeCaption
delete from caption where id = $1 returning id

-- statement: insertTranscript
insert into transcript (media_id, model, transcript, segments, language, language_confidence, transcript_type, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8) returning id

-- statement: readTranscript
select id, media_id, model, transcript, segments, language, language_confidence, transcript_type from transcript where id = $1

-- statement: listTranscripts
select id, media_id, model, transcript, segments, language, language_confidence, transcript_type from transcript where media_id = $1 order by id

-- statement: listTranscriptInfos
select id, media_id, model, language, language_confidence, transcript_type from transcript where media_id = $1 and id > $2 order by id limit $3

-- statement: removeTranscript
delete from transcript where id = $1 returning id
