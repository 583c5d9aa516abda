-- $2 is a JSON list of names.
-- statement: read (sqlite)
select name, tokens from user_tokens where month = $1 and name in (select value from json_each($2))
-- statement: read (postgresql)
select name, tokens from user_tokens where month = $1 and name in (select json_array_elements_text(cast($2 as json)))

-- $2 is a JSON list of names and tokens, in the order of the names, so that hosts wait for each other in one order.
-- statement: add (sqlite)
insert into user_tokens (month, name, tokens)
select $1, json_extract(value, '$.name'), json_extract(value, '$.tokens') from json_each($2) where true
on conflict (month, name) do update set tokens = user_tokens.tokens + excluded.tokens returning name, tokens
-- statement: add (postgresql)
insert into user_tokens (month, name, tokens)
select $1, value ->> 'name', cast(value ->> 'tokens' as bigint) from json_array_elements(cast($2 as json))
on conflict (month, name) do update set tokens = user_tokens.tokens + excluded.tokens returning name, tokens

-- statement: prune
delete from user_tokens where month < $1
