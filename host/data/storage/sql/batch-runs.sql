-- statement: begin
update batches set attempt = attempt + 1 where id = $1 returning *

-- statement: read
select * from batches where id = $1 and attempt = $2

-- statement: start
update batches set status = 'in_progress', in_progress_at = $3, total = $4, model = $5
  where id = $1 and attempt = $2 and status = 'validating' returning id

-- Stores an answer, unless the line has one or another attempt has begun.
-- statement: answer
insert into batch_answers (batch_id, line, file, answer)
select id, cast($3 as bigint), cast($4 as text), cast($5 as text) from batches where id = $1 and attempt = $2
on conflict do nothing returning line

-- statement: count
update batches set
  completed = completed + $2, failed = failed + $3,
  input_tokens = input_tokens + $4, cached_tokens = cached_tokens + $5, output_tokens = output_tokens + $6,
    reasoning_tokens = reasoning_tokens + $7
where id = $1

-- statement: answeredLines
select line from batch_answers where batch_id = $1

-- A page of the lines of a file, after the line $3: at most $4, and none after the first $5 characters.
-- statement: answers
select line, answer from (
  select line, answer, sum(length(answer)) over (order by line) - length(answer) as characters from batch_answers
  where batch_id = $1 and file = $2 and line > $3 order by line limit $4
) as page where characters < $5 order by line

-- statement: finalize
update batches set status = 'finalizing', finalizing_at = $3 where id = $1 and attempt = $2 and status = 'in_progress'
  returning id

-- statement: finish
update batches set
  status = $3, output_file_id = $5, error_file_id = $6, errors = $7,
  completed_at = case when $3 = 'completed' then cast($4 as bigint) end,
  failed_at = case when $3 = 'failed' then cast($4 as bigint) end,
  expired_at = case when $3 = 'expired' then cast($4 as bigint) end,
  cancelled_at = case when $3 = 'cancelled' then cast($4 as bigint) end
where id = $1 and attempt = $2 returning id

-- statement: removeAnswers
delete from batch_answers where batch_id = $1
