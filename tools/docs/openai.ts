import * as z from 'zod';
import { ABSENT_ROUTES } from '../../host/apis/openai/absent-routes.ts';
import { type DocumentedRoute, documentedRoutes } from '../../host/apis/http/fixtures/documented-routes.ts';
import { SESSION_OBJECTS } from '../../host/apis/openai/realtime/session-fields.ts';

/** Returns `docs/openai-compatibility.md`, generated from the parameters of the routes. */
export function renderOpenAiDocs(): string {
  return `# OpenAI's API

<!-- Made by \`npm run docs\` from host/apis/openai/; do not edit. -->

Every server answers OpenAI's API below \`/v1\`, over its deployments. Clients need another base URL and the name of a \
deployment. In TypeScript (\`npm install openai\`):

\`\`\`ts
import OpenAI from 'openai';
const client = new OpenAI({ baseURL: 'http://127.0.0.1:8000/v1', apiKey: 'none' });
const answer = await client.chat.completions.create({ model: 'llm_deployment', messages: [{ role: 'user', content: \
'Hello!' }] });
\`\`\`

In Python (\`pip install openai\`):

\`\`\`python
from openai import OpenAI
client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none")
answer = client.chat.completions.create(model="llm_deployment", messages=[{"role": "user", "content": "Hello!"}])
\`\`\`

With [API keys](security.md), the client's \`apiKey\` is one of ours. Its scopes count: \`/v1/*\`, \
\`/v1/chat/completions\` or \`endpoints\`; \`model:llm_deployment\` allows one model, and the key sees no others. Its \
user takes turns with other users in the queues of the deployments.

## Names of models

\`GET /v1/models\` lists the names, with the state of each model and what it can do. A name is

1. a deployment: \`llm_deployment\`;
2. an alias of the configuration: \`{"openai": {"aliases": {"gpt-4o-mini": "llm_deployment"}}}\`;
3. the id of the model that a deployment has: \`qwen2.5-coder-0.5b-instruct\`, or the name of its file if the \
configuration has a path;
4. one of these with a LoRA adapter: \`llm_deployment:sql\`.

Another name is answered with 404 and \`model_not_found\`. The message lists the names, or says which deployment is \
missing.

## One name for several deployments

An alias can name several deployments with weights, and others that answer when the chosen one does not:

\`\`\`json
{
  "openai": {
    "aliases": {
      "gpt-4o-mini": {
        "deployments": [{ "name": "llm_deployment", "weight": 9 }, { "name": "candidate", "weight": 1 }],
        "fallbacks": ["remote"],
        "fallback_after_s": 20
      }
    }
  }
}
\`\`\`

- Weights are parts of the conversations. A conversation stays with its deployment, which has its prompt in the \
cache: the choice depends on the user and on the dialog up to its first message of the user. Requests without a \
dialog, such as embeddings, are given out at random. A deployment with the weight 0 gets nothing.
- The fallbacks get a request in turn after an error of the deployment: it is busy, not loaded, lost or away, or it \
fails. Errors of the request itself, such as a prompt that is too long, are answered at once. An answer that has \
begun to stream stays with its deployment.
- \`fallback_after_s\` is the time for the first piece of a stream, or for a whole answer without a stream. With \
fallbacks, \`message_start\` of \`/v1/messages\` comes with the first piece.
- Deployments that do not exist, that cannot do what is asked, such as read images, or that the API key does not \
allow are left out.
- \`model:adapter\` and the id of a model can be in the place of a deployment. The answer has the name of the \
request as its \`model\`, and the header \`x-aana-deployment\` names the deployment, as spans and usage do. The log \
names each request that goes to a fallback, and the metric \`aana.model.fallbacks\` counts them.
- The tokenizer of an alias, and the vectors of embeddings, are those of a deployment. Only deployments of the same \
model for embeddings should share a name. \`/v1/tokenize\` and \`/v1/detokenize\` use the deployment with the most \
weight, and a session of \`/v1/realtime\` keeps its deployment and has no fallback.

Aliases change while the host runs: change the configuration and apply it \
([guide](operating.md#applying-a-configuration)).

## Models on demand

A request can start a model that is no deployment yet, if the operator allows its name:

\`\`\`json
{
  "openai": {
    "on_demand": {
      "models": ["qwen2.5-coder-0.5b-instruct", "whisper-*", "bartowski/*"],
      "keep_alive_s": 300,
      "max_models": 3
    }
  }
}
\`\`\`

- A name is an id of the [catalogue](models.md), or \`owner/repo\` or \`owner/repo/file.gguf\` of the hub, never a \
path. For a model of the hub, the route decides the type of the deployment: \`/v1/chat/completions\` starts a \
language model, and \`/v1/embeddings\` a model for embeddings.
- The first request fetches the model, loads it and waits for it. A stream stays open with comments meanwhile. \
Requests at the same time wait for the same start. A request can exceed \`limits.invocation_timeout_s\`; the start \
goes on, and a later request finds the model.
- The model is a deployment with the name of the model in status, dashboard, metrics and scopes \
(\`model:bartowski/Llama-3.2-1B-Instruct-GGUF\`), until \`keep_alive_s\` after its last request. While it is idle it \
makes room for other deployments. Its options are the defaults, with \`num_gpus\`. If an operator removes it, the next \
request starts it again; if an operator unloads it, requests are refused until it is loaded or has ended.
- A model whose files have more than \`max_bytes\` is refused with 400 before it is fetched. Models stay on the disk \
after they end, so allow as many as the disk has room for: \`*/*\` lets every client fetch every model of the hub. \
A \`*\` without \`/\` allows models of the catalogue alone.
- The settings change while the server runs (\`aana-host apply\`). A model that is no longer allowed ends as soon as \
nothing uses it.
- More than \`max_models\` end the one that was not used for longest. While all of them work, another one is refused \
with 503.
- A name that is not allowed, and a repository that the hub does not show, are answered with 404. A hub that is away \
and a model for which the machine has no room are answered with 503.
- \`GET /v1/models\` lists the names without \`*\` and those of the catalogue that are allowed, with the state \
\`UNLOADED\` until they start. An alias can stand for such a name.

## Errors

Errors have OpenAI's form, \`{"error": {"message", "type", "param", "code"}}\`, so clients throw their typed \
exceptions. \`param\` names the wrong parameter, such as \`messages[0].content\`.

| status | \`code\` | when |
| --- | --- | --- |
| 400 | null, \`missing_required_parameter\`, \`unsupported_parameter\` | a parameter is wrong or missing, or cannot \
be honoured |
| 400 | \`invalid_value\` | the file is no audio or video, is damaged, or has no audio track |
| 400 | \`context_length_exceeded\` | the dialog is longer than the context of the model |
| 400 | \`previous_response_not_found\` | the user has no such response, or one that it continues was removed |
| 401 | \`invalid_api_key\` | the key is missing, unknown or expired |
| 403 | \`insufficient_permissions\` | the scopes of the key do not allow the path |
| 404 | \`model_not_found\`, \`response_not_found\`, \`file_not_found\`, \`upload_not_found\`, \`batch_not_found\`, \
\`unknown_url\` | no model has the name; the user has no such response, file, upload or batch; no route has the path |
| 409 | \`file_in_use\`, \`batch_ended\`, \`upload_ended\` | the file is the input of a batch that runs; the batch \
cannot be cancelled any more; the upload is completed, cancelled or expired |
| 413 | \`request_too_large\` | the body is larger than \`limits.max_json_bytes\`, or a file than \
\`limits.max_file_bytes\` |
| 429 | \`rate_limit_exceeded\` | over a rate limit; \`retry-after\` has the time to wait |
| 429 | \`insufficient_quota\` | the subscription of the key is not active, and \
\`openai.active_subscription_required\` is set; reading and removing what is stored is still allowed |
| 503, 504 | the name of the error, such as \`deployment_full\` | try again later |

A session of \`/v1/realtime\` has these codes in its event \`error\`, too: \`unsupported_message\` for a binary \
message, \`invalid_audio\` for half a sample, and \`input_audio_buffer_commit_empty\` for a commit without audio.

Where a [rate limit](security.md#rate-limits) counts, answers have \`x-ratelimit-limit-requests\`, \
\`x-ratelimit-remaining-requests\` and \`x-ratelimit-reset-requests\` (\`60s\`) for the limit of which the least is \
left. Tokens are not limited.

An error in a stream is the last event, and no \`[DONE]\` follows; a response ends with the event \`response.failed\`. \
Every answer has \`x-request-id\`, which is in the log, too.

## Custom tools

The input of a custom tool is one text, not JSON: a command, a program or a patch. \`/v1/chat/completions\` and \
\`/v1/responses\` take custom tools beside functions, in \`tools\`, \`tool_choice\` and \`allowed_tools\`.

\`\`\`ts
const clock = {
  type: 'custom' as const,
  custom: {
    name: 'set_alarm',
    description: 'Sets an alarm at a time such as 07:30',
    format: { type: 'grammar' as const, grammar: { syntax: 'regex' as const, definition: \
'([01][0-9]|2[0-3]):[0-5][0-9]' } },
  },
};
const called = await client.chat.completions.create({
  model: 'llm_deployment',
  messages: [{ role: 'user', content: 'Wake me at half past seven.' }],
  tools: [clock],
  tool_choice: 'required',
});
const [alarm] = called.choices[0]!.message.tool_calls!;
if (alarm?.type === 'custom') console.log(alarm.custom.input);
\`\`\`

- Every call obeys the grammar of its tool. A grammar that cannot be obeyed is refused (400), and \`param\` names its \
definition.
- A \`regex\` matches the whole text. It has the syntax of JavaScript, without looks around, back references, word \
boundaries and flags.
- A \`lark\` grammar has \`start\`, rules and terminals with texts, patterns, ranges, groups and repetitions, and \
\`%import common.…\`. No rule may contain itself, and \`%ignore\` is refused: write spaces where they are allowed.
- A streamed call comes as \`{"index", "id", "type": "custom", "custom": {"name", "input"}}\`, then as \`{"index", \
"custom": {"input"}}\`. The helper \`chat.completions.stream()\` of the official client knows only functions; \
\`create({ stream: true })\` has the pieces. \`/v1/responses\` has the events \
\`response.custom_tool_call_input.delta\` and \`done\`.
- The model sees a function with the one argument \`input\`.

## Responses

\`POST /v1/responses\` gives the answer of a chat completion as a list of items: \`reasoning\`, \`message\`, \
\`function_call\`, \`custom_tool_call\` and \`file_search_call\`. A response is stored with the items that it was \
given, for the user of the API key, unless the request has \`"store": false\`. \`GET\` and \`DELETE \
/v1/responses/{id}\` and \`GET /v1/responses/{id}/input_items\` read and remove it; a key with scopes needs \
\`/v1/responses/*\` for them.

\`\`\`ts
const first = await client.responses.create({ model: 'llm_deployment', input: 'Who wrote Faust?' });
const second = await client.responses.create({ model: 'llm_deployment', input: 'When?', previous_response_id: first.id \
});
\`\`\`

- A response with \`previous_response_id\` continues the dialog of that response, without its \`instructions\`. \
Together they may have as many bytes as one request (\`limits.max_json_bytes\`).
- An \`item_reference\` stands for the newest stored item with its id.
- Reasoning is readable text in \`content\`, not a summary, and clients can send it back.
- With \`openai.responses.store\` set to \`false\`, no response is stored, and a request that asks for it is refused.
- A response is kept for \`openai.responses.retention\` seconds after it was stored or continued. Over \
\`openai.responses.maximum_stored_bytes_per_user\`, those that were not used for longest are removed.
- A response whose client leaves, or whose stream fails, is not stored.
- There are no conversations, no prompt templates and no tools of the server but \`file_search\`. A request for \
one of them is refused.

### Searches of files

With the tool \`{"type": "file_search", "vector_store_ids": ["vs_…"]}\` the model searches [vector \
stores](#vector-stores) while it answers. [A program](openai.md#vector-stores) shows it. The model must be one \
that calls tools.

- The model sees a function \`file_search\`. The server answers its calls, and the model goes on with what was \
found. \`tool_choice\` can be \`{"type": "file_search"}\`; it counts for the first turn. \`max_num_results\` (10 \
by default), \`filters\` and \`ranking_options\` are those of a search. Results are a part of the prompt: with a \
small context, ask for few.
- A response has at most 8 searches, or \`max_tool_calls\`. Then the model no longer sees the tool. \
\`max_output_tokens\` limits all turns together, and \`usage\` sums them.
- An item \`file_search_call\` has \`results\` with \`"include": ["file_search_call.results"]\`. When the dialog \
goes on, by \`previous_response_id\` or with the item in the input, the model sees the results that the item has. \
If the model calls a function of yours in the same turn, the item always has them.
- A text cites (\`file_citation\`) all files whose parts the model was given before it. The model does not tell \
which of them it used.
- A request names at most 10 stores, which the user has and which have not expired. A key needs the scope \
\`/v1/vector_stores/*\` or that of the embedding model. Wrong stores are refused before the model writes.
- Responses in the background and the requests of batches have the tool, too. The rights of a batch are those that its \
key had when the batch was made. A store that is gone when a task needs it is an error of the response, or of the \
line. \
\`hybrid_search\` is refused.

### Responses in the background

With \`"background": true\`, the answer comes at once with the status \`queued\`, and a [task](tasks.md) makes the \
response. \`GET /v1/responses/{id}\` tells the status until it is \`completed\`, \`incomplete\`, \`failed\` or \
\`cancelled\`; \`POST /v1/responses/{id}/cancel\` ends it. [A program](openai.md#responses-in-the-background) shows it.

- The client can leave, and the server can restart: on any host of the database, the next attempt begins the answer \
again. A response that has ended is not made again.
- The request is checked before it is stored, so a wrong one is refused with 400. An error of the model is the \
\`error\` of a \`failed\` response. While a deployment is not available, a response waits like any \
[task](tasks.md#the-life-of-a-task).
- A response needs \`store\`, and an attempt takes at most \`task_queue.execution_timeout\` seconds. A host makes \
\`openai.responses.concurrent_background_responses\` at once. A response that has not ended is not removed by age or \
over the limit of bytes.
- Only a response that has an answer can be continued with \`previous_response_id\`. Deleting a response ends its task.
- Cancelling a response again, or one that has ended, returns it as it is. A response that was not made in the \
background is refused (400).
- With \`stream\`, too, the events are stored: \`GET /v1/responses/{id}?stream=true&starting_after=N\` sends those \
after the number N, and waits for further ones. When an attempt was lost, its events are gone, and the numbers go on \
with another \`response.created\`: a client drops the text before it. The last event of a cancelled response is \
\`response.cancelled\`.
- Audio is transcribed before the response is stored.

## Audio

\`/v1/audio/transcriptions\` and \`/v1/audio/translations\` need a deployment of speech to text, such as \
\`WhisperDeployment\`. An alias gives it the name that a client has built in: \`{"openai": {"aliases": {"whisper-1": \
"asr_deployment"}}}\`. The file can be in every form that ffmpeg reads, also a video.

\`\`\`ts
import { createReadStream } from 'node:fs';
const file = createReadStream('talk.mp4');
const stream = await client.audio.transcriptions.create({ file, model: 'whisper-1', stream: true });
for await (const event of stream) if (event.type === 'transcript.text.delta') process.stdout.write(event.delta);
\`\`\`

- \`diarized_json\` says who speaks: \`A\`, \`B\` and so on. It needs a \`SpeakerDiarizationDeployment\`, too. A \
stream of it has the segments when all of them are known.
- \`known_speaker_names\` and \`known_speaker_references\` give up to four people their names: each reference is a \
data URL with 2 to 10 s of speech of one person alone. References are compared by the [deployment's \
threshold](deployments.md#known-speakers). They count as text of the form, so all of them together may have \
\`limits.max_json_bytes\`.
- Segments of \`verbose_json\` have all keys of OpenAI's, because typed clients need them. \`tokens\` are those of the \
text, without those of times; \`temperature\` is that of the request; \`seek\` is \`start\` in hundredths of a second.
- \`include: ['logprobs']\` tells the tokens of \`json\`, as a whole and in the events of a stream. Their bytes, \
joined, are the text. A token is scored among the tokens that could follow, so those that are never chosen have no \
share.
- \`usage\` has the seconds of the audio, rounded up. Events of streams have no \`usage\`.
- A translation is into English, and needs a model that knows other languages: not \`tiny.en\`.

## Files

\`POST /v1/files\` stores a file for the user of the API key. \`GET /v1/files\` lists the files, \`GET \
/v1/files/{id}/content\` sends the bytes as they were uploaded, and \`DELETE /v1/files/{id}\` removes them. A key with \
scopes needs \`/v1/files\` and \`/v1/files/*\`.

\`\`\`ts
const { id } = await client.files.create({ file: createReadStream('requests.jsonl'), purpose: 'batch' });
const text = await (await client.files.content(id)).text();
\`\`\`

- A file may have \`limits.max_file_bytes\`, and the files of a user together \
\`openai.files.maximum_stored_bytes_per_user\`. More are refused with 413.
- A file expires after \`expires_after\` (an hour to 30 days), else after \`openai.files.retention\`. Nobody finds it \
from then on.
- Lists are in the order of uploads and can be read while files are deleted. \`after\` may be the id of a file that is \
gone.
- Hosts that share a database share the bytes, too: [a bucket or a folder](operating.md#several-hosts).

### Files in parts

\`POST /v1/uploads\` begins a file that comes in parts, \`POST /v1/uploads/{id}/parts\` adds a part (the part \`data\` \
of a form), \`POST /v1/uploads/{id}/complete\` makes the file, and \`POST /v1/uploads/{id}/cancel\` ends the upload. A \
key with scopes needs \`/v1/uploads\` and \`/v1/uploads/*\`.

\`\`\`ts
const upload = await client.uploads.create({ bytes: 11, filename: 'requests.jsonl', purpose: 'batch', mime_type: \
'application/jsonl' });
const first = await client.uploads.parts.create(upload.id, { data: new File(['hello '], 'part') });
const second = await client.uploads.parts.create(upload.id, { data: new File(['world'], 'part') });
const { file } = await client.uploads.complete(upload.id, { part_ids: [first.id, second.id] });
\`\`\`

- Parts can come at the same time and in any order: \`part_ids\` has the order of the file. Its parts must have the \
announced \`bytes\` together, and \`md5\` is compared. After a refused completion, the upload goes on.
- A part may have \`limits.max_file_bytes\`, and an upload 10,000 parts. Parts count as bytes of files of the user, so \
there is no other limit of a file.
- An upload that is not completed within an hour is \`expired\`. Its parts are removed a minute later at most, and at \
once when it is cancelled. While a file is made, its bytes are on the disk twice.

## Realtime transcription

\`GET /v1/realtime\` is a WebSocket for transcription sessions, as with OpenAI's \`?intent=transcription\`: audio \
comes in, and words go out while they are spoken. [\`/asr/live\`](live.md) does the same with binary messages and \
fewer events.

\`\`\`ts
import { OpenAIRealtimeWS } from 'openai/realtime/ws'; // connects with wss:// only, so the server needs TLS
const socket = new OpenAIRealtimeWS({ model: 'whisper-1' }, client);
socket.on('conversation.item.input_audio_transcription.delta', ({ delta }) => process.stdout.write(delta));
socket.socket.on('open', () => socket.send({ type: 'input_audio_buffer.append', audio: base64OfPcmAt24kHz }));
\`\`\`

- Deployments with the methods \`transcribe_live\` and \`transcribe_turns\` serve it, such as \`WhisperDeployment\`.
- The model is that of the address (\`?model=\`) or of \`session.update\`. \`session.created\` and \`session.updated\` \
show the values that are in effect.
- A client takes \`input_audio_buffer.append\`, \`.commit\` and \`.clear\`. Audio is PCM with 16 bits at 24 kHz, or \
G.711 (\`audio/pcmu\`, \`audio/pcma\`).
- Words come in \`conversation.item.input_audio_transcription.delta\` while the turn lasts, as soon as they do not \
change any more, and so before the turn is committed. \`completed\` has the whole text of the turn.
- With \`server_vad\`, which is the default, silence ends a turn: \`speech_started\`, deltas, \`speech_stopped\`, \
\`committed\`, \`conversation.item.added\` and \`done\`, \`completed\`. A commit of the client ends the turn at once. \
So does \`session.update\`. Each turn is heard by itself, so words at its edges are less certain; a \
\`silence_duration_ms\` above the default of 500 keeps sentences together.
- Without turn detection, \`session.update\` is refused between audio and its commit.
- A wrong event is answered with \`error\`, which has its \`event_id\`, and the session goes on. When a transcription \
fails, the item gets \`failed\`; audio after it is a new turn, without turn detection after the commit.
- An event may have \`sockets.max_message_bytes\`, and a session lasts up to \`sockets.max_duration_s\`. The [close \
codes](live.md#close-codes) are those of live transcription.
- A page sends its API key as the subprotocol \`openai-insecure-api-key.<key>\` beside \`realtime\`. There are no \
sessions of speech to speech.
- A page should have no API key. The server of the page makes a secret for it, \`POST /v1/realtime/client_secrets\`, \
which opens sessions of this user for ten minutes, or for \`expires_after\` (10 s to two hours). It is sent like a \
key, opens \`/v1/realtime\` and nothing else, and is refused when its API key is revoked or expires. Its sessions \
begin with the \`session\` of the request and can change it. Sessions that are open go on when it expires. The API key \
needs the scopes \`/v1/realtime\` and \`/v1/realtime/client_secrets\`, or the one of a model. Hosts that share a \
database share the folder \`secrets\` below \`data_dir\`.

\`\`\`ts
const session = { type: 'transcription' as const, audio: { input: { transcription: { model: 'whisper-1' } } } };
const { value } = await client.realtime.clientSecrets.create({ session }); // on your server
const page = new WebSocket('ws://127.0.0.1:8000/v1/realtime', ['realtime', \`openai-insecure-api-key.\${value}\`]); // \
in the page
\`\`\`

## Audio, files and images in dialogs

Language models here read text, and images and audio if they have a projector for them. A message can have audio: \
\`input_audio\` in \`/v1/chat/completions\` and \`/v1/responses\`, and there also \`input_file\` with a \
\`file_data\` such as \`data:audio/wav;base64,…\`. A [model that hears](deployments.md#audio) gets the audio itself. \
For other models, \`openai.audio_input.deployment\` names a deployment of speech to text: audio of the user becomes \
its transcript, as a text in the same place, before the model sees the dialog. A stored response has what the model \
got: the transcript, or the audio, which is opened again when the dialog goes on.

\`\`\`ts
import { readFileSync } from 'node:fs';
const data = readFileSync('question.wav').toString('base64');
const content = [{ type: 'input_audio' as const, input_audio: { data, format: 'wav' as const } }];
const spoken = await client.chat.completions.create({ model: 'llm_deployment', messages: [{ role: 'user', content }] });
\`\`\`

- The file can be in every form that ffmpeg reads, whatever \`format\` says. The media checks of uploads hold.
- A request may have \`openai.audio_input.max_bytes\` of audio in addition to \`limits.max_json_bytes\`, in \
\`limits.max_files\` parts. The server holds it in memory.
- For a transcript, a key for single models needs the scope of that deployment, too.
- \`usage.prompt_tokens_details.audio_tokens\` of a chat completion tells the tokens that the model has heard.
- Without the setting, audio for a model that does not hear is refused (400). Requests of a batch and \
\`/v1/responses/input_tokens\` take audio only for a model that hears, and \`/v1/messages\` takes none.
- A file of the user is read as text, a stored one by its \`file_id\`, and one in the request as \`file_data\`, which \
is base64 or a data URL: \`{"type": "file", "file": {"file_id"}}\` in \`/v1/chat/completions\`, and \`{"type": \
"input_file", "file_id"}\` in \`/v1/responses\` and \`/v1/responses/input_tokens\`. It becomes a text in the same \
place, and a stored response has the text. The file must be a PDF, text in UTF-8 such as Markdown, JSON or source \
code, or an [image](#images-and-videos-in-dialogs), whatever its name and purpose say; others are refused (400). A \
request may have \`limits.max_files\` files. Those that are no images have together at most \
\`limits.max_json_bytes\`, as their texts do. A key with scopes needs \`/v1/files/*\`, too. Requests of a batch take \
no files.
- Of a PDF the model reads the text of all pages, with empty lines between pages. A PDF that needs a password, is \
damaged, has no text (a scan) or more than 1,000 pages, or takes more than 30 seconds or 512 MiB of memory to read is \
refused (400). Its images are not read. Characters of fonts that name an encoding for Chinese, Japanese or Korean in \
place of a table of characters are missing. Each request with the PDF reads it again, in a process of its own; at most \
two are read at a time.
- The server never opens the address of a file.

### Images and videos in dialogs

A model takes images if its deployment names a [vision projector](deployments.md#images), or another deployment that \
[reads the texts in them](deployments.md#images-for-a-model-that-sees-none): \`image_url\` in \
\`/v1/chat/completions\`, \`input_image\` in \`/v1/responses\`, and \`image\` in \`/v1/messages\`, in messages \
of every role that the model's chat template writes. Other models refuse them (400, \`unsupported_parameter\`, with \
the part in \`param\`), and nothing is opened. \`OpenAITextGenerationDeployment\` passes images on to its server.

\`\`\`ts
const picture = readFileSync('picture.png').toString('base64');
const seen = await client.chat.completions.create({
  model: 'llm_deployment',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is in this picture?' },
        { type: 'image_url', image_url: { url: \`data:image/png;base64,\${picture}\` } },
      ],
    },
  ],
});
\`\`\`

- The image is a data URL with base64, or an http or https address, which the server fetches unless \
\`openai.image_input.fetch\` is off. It follows at most \`media.max_redirects\` redirects, and refuses private \
addresses unless \`media.allow_private_urls\` is set.
- ffmpeg decodes PNG, JPEG, GIF (its first picture), WebP and BMP, and AVIF and HEIC where it can, whatever the name \
and the type of the file say. SVG is refused.
- An image can be a stored [file](#files) of the user: \`{"type": "file", "file": {"file_id"}}\` in a message of the \
user in \`/v1/chat/completions\`; \`{"type": "input_image", "file_id"}\`, also in the output of a call, or \
\`input_file\` in \`/v1/responses\`; \`{"type": "image", "source": {"type": "file", "file_id"}}\` in \`/v1/messages\`. \
Its purpose (\`vision\`, \`user_data\` or another one) has no effect. Images of files have together at most \
\`openai.image_input.max_bytes\`. The file of another user is not found (404). A stored response has the image \
itself, so its dialog goes on when the file is gone.
- A request may have \`openai.image_input.max_images\` images, and \`openai.image_input.max_bytes\` of them in \
addition to \`limits.max_json_bytes\`. A fetched image may have as many bytes. Images of more than 64 megapixels \
(413), and those whose longer side is more than 200 times the shorter one (400), are refused. An image of more than 4 \
megapixels is scaled down before the model gets it.
- \`detail\` is accepted and has no effect: the projector decides how many tokens an image has. \`usage\` counts \
them among the tokens of the prompt, and \`usage.prompt_tokens_details.image_tokens\` (\`input_tokens_details\` in \
\`/v1/responses\`) tells them.
- A response in the background and a request of a batch open their images when they run: an image that cannot be \
opened then is the error of the response or of the line. A line of a batch may have \`openai.image_input.max_bytes\` \
of images in addition to \`limits.max_json_bytes\`, and a batch of messages as many in all.
- A stored response keeps its images as the client gave them, and opens them again when the dialog goes on. \
\`overflow\`, \`truncation\` and \`reproducible\` beside an image that the model sees are refused (400).
- An image in a message that the chat template of the model leaves out is refused (400).

A model that takes images also takes videos in \`/v1/chat/completions\`, and so do requests of a batch: \`{"type": \
"video_url", "video_url": {"url"}}\`, as in vLLM. The model sees frames, each behind its time as a text, such as \
\`<1.5 seconds>\`.

\`\`\`json
{
  "model": "llm_deployment",
  "messages": [
    {
      "role": "user",
      "content": [
        { "type": "video_url", "video_url": { "url": "https://example.com/clip.mp4" } },
        { "type": "text", "text": "What happens here?" }
      ]
    }
  ],
  "media_io_kwargs": { "video": { "fps": 1 } }
}
\`\`\`

- \`media_io_kwargs.video\` chooses the frames, as in vLLM: at most \`num_frames\` at even distances (32), at a rate \
of \`fps\`, or with \`scenes\` those at which a new scene begins. \`mm_processor_kwargs.fps\` is the same as \
\`fps\`.
- All videos of a request have at most \`openai.video_input.max_frames\` frames, of at most 768 pixels a side, or 1280 \
if their texts are read. More are thinned evenly. So are those for which the context has no room beside the answer \
(\`max_tokens\`, at most half of the context): \`usage.prompt_tokens_details.dropped_frames\` has their number. \
Texts that another deployment has read in frames are not left out: a request whose texts do not fit is refused.
- The video is a data URL or an address, which is fetched as those of images are, within the limits of \
[media](media.md). Data URLs count against \`openai.image_input.max_bytes\`. \`data:video/jpeg;base64,\` with \
pictures between commas is a video without times. A dialog has at most 64 of these, images and audio together.
- The sound of a video is not heard. \`/v1/responses\` and \`/v1/messages\` take no videos, because these APIs have no \
part for them.

## Batches

\`POST /v1/batches\` answers the requests of a file with the purpose \`batch\` in the background: each line is \
\`{"custom_id", "method": "POST", "url", "body"}\`, and all lines have the \`url\` of the batch, one of \
\`/v1/chat/completions\`, \`/v1/completions\`, \`/v1/embeddings\` and \`/v1/responses\`. [A \
program](openai.md#batches) shows it.

- All lines are checked before the first one runs. A batch with a wrong line is \`failed\`, and \`errors.data\` has up \
to 100 errors with \`code\`, \`line\` and \`param\`: \`invalid_json_line\`, \`line_too_large\`, \
\`missing_required_parameter\`, \`invalid_custom_id\`, \`duplicate_custom_id\`, \`invalid_method\`, \`invalid_url\`, \
\`invalid_type\`, \`model_not_found\`, \`too_many_requests\`, \`empty_file\`. A model must be one that the key of the \
batch allows.
- A request that fails later is a line of the error file with its status, as the route would answer it. While a \
deployment is not available, a request is tried again for about four minutes. Answers have no streams, and parameters \
without effect are not named.
- \`openai.batches.concurrent_requests\` requests of a batch run at once, after other requests of the same user. With \
API keys, other users take turns with the batch by their weights. A host runs \`openai.batches.concurrent_batches\` \
batches at once.
- A batch is a [task](tasks.md): it goes on when a host stops or is lost, on any host of the database. An answer that \
is stored is not computed again. A request that was running runs once more, and a response that it stored \
(\`/v1/responses\`) can then be stored twice.
- After 24 hours the batch is \`expired\`; requests without an answer are lines of the error file with the code \
\`batch_expired\`. A cancelled batch has the answers until then; its running requests end within a second or two, and \
one that waits for its first request ends at once.
- \`usage\` adds up the tokens of all answers. The files of a batch are stored also over the limit of the user's bytes.
- A batch whose task was cancelled or deleted at \`/tasks\`, or whose task failed, is \`failed\` with the code \
\`task_ended\`.
- With the scopes \`/v1/batches\` and \`/v1/batches/*\`, a key also needs one for the \`endpoint\` of the batch. Like \
every task, a batch goes on when its key is revoked or expires.

## Vector stores

\`POST /v1/vector_stores\` makes a store, files of \`/v1/files\` are read into it in the background, and \`POST \
/v1/vector_stores/{id}/search\` finds their parts by meaning and by words. [A program](openai.md#vector-stores) shows \
it. The texts and vectors are in the database of the host; SQLite needs the npm package \`sqlite-vec\`, PostgreSQL \
the extension pgvector.

- A [deployment for embeddings](deployments.md#embeddings) makes the vectors: the only one there is, or the one that \
\`openai.vector_stores.embedding_deployment\` names. Without one, or if the key may not use it, the \
answer is 503 with the code \`no_embedding_model\`. Questions and files get its prompts \`query\` and \
\`document\`, if it has them, as models such as e5 want it.
- Files are text, Markdown, HTML, PDF and subtitles (SubRip, WebVTT), by their names. A file that \
cannot be read is \`failed\` alone, and \`last_error\` says \
why: \`unsupported_file\` for other types, \`invalid_file\` for one that is empty, damaged, encrypted, a scan, or \
larger than \`openai.vector_stores.maximum_file_bytes\` (subtitles: 4 MiB), and \`server_error\` for the rest, such as \
no room (\`openai.vector_stores.maximum_stored_bytes_per_user\`).
- Texts are divided into chunks of up to 800 tokens, of which up to 400 repeat the chunk before, or as \
\`chunking_strategy\` says. A chunk never has more tokens than the model takes; the model counts them. Chunks of \
Markdown end with their section.
- Reading is a [task](tasks.md): it goes on where it was when a host stops or is lost. A file that is added again is \
read again. A file that is deleted in \`/v1/files\` leaves all stores; one that expires there stays in them.
- A search ranks by vectors and words together; the \`ranker\` \`none\` ranks by vectors alone, and the score is then \
the cosine of the angle. Queries are not rewritten. Lists of files are in the order of their uploads.
- After another model was configured, the next search or file begins to make new vectors from the stored texts. Until \
they are there, the store is \`in_progress\` and is searched by words.
- A store that has expired is not searched any more (409), and is removed a day later.
- A key needs the scopes \`/v1/vector_stores\` and \`/v1/vector_stores/*\` or the scope of the embedding model, and \
must be allowed to read the files that it adds.

## Parameters

A parameter without effect does not change the answer, and the header \`x-aana-ignored-parameters\` names it. With \
\`openai.strict\` it is refused (400, \`unsupported_parameter\`). Tools that only OpenAI's servers run, such as \
\`web_search\`, are refused in a request of \`/v1/responses\`; with \`"openai": {"hosted_tools": "drop"}\` the model \
does not see them, and the header has names such as \`tools[].web_search\`. A \`tool_choice\` of such a tool is \
refused. What such tools left in a dialog, such as an item \`web_search_call\`, is dropped and named as \
\`input[].web_search_call\`; with \`openai.strict\` it is refused. An item \`compaction\` is always refused. A \
parameter whose state is *refused* asks for another answer than the server can give, so it is always refused. \
Parameters that a request does not set have the values of the deployment (\`default_sampling_params\`); an answer \
without a limit of tokens ends with the context.

${parameterTables(documentedRoutes('openai', 'body'))}
${parameterTables(SESSION_OBJECTS)}
## Parameters of queries

A wrong value is refused with 400, and \`param\` names it. Other parameters of a query have no effect, but \
\`/v1/realtime\` refuses them.

${parameterTables(documentedRoutes('openai', 'query'))}
## Routes that this server does not have

Requests for other routes of OpenAI's API are answered with 404 and \`unknown_url\`, which clients do not repeat.

| path | what | instead |
| --- | --- | --- |
${ABSENT_ROUTES.map(({ path, what, instead = '' }) => `| \`${path}\` | ${what} | ${instead} |`).join('\n')}
`;
}

/** Returns a section for each route with the table of its parameters. */
export function parameterTables(routes: readonly DocumentedRoute[]): string {
  return routes.map(section).join('\n');
}

function section({ route, alias, fields: { schema, idle } }: DocumentedRoute): string {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const rows = [
    ...Object.entries(properties).map(([name, value]) => [
      `\`${name}\``,
      'has an effect',
      descriptionOf(value as Readonly<Record<string, unknown>>),
    ]),
    ...Object.entries(idle).map(([name, { why, isHarmless, isRefused }]) => [
      `\`${name}\``,
      isRefused ? 'refused' : isHarmless ? 'accepted' : 'no effect',
      why,
    ]),
  ];
  const also = alias === undefined ? '' : `It is also at \`${alias}\`.\n\n`;
  return `### \`${route}\`

${also}| parameter | state | |
| --- | --- | --- |
${rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')}
`;
}

/** Returns the description of a schema, which may be on a branch of a union with null. */
function descriptionOf({ description, anyOf }: Readonly<Record<string, unknown>>): string {
  if (typeof description === 'string') return description;
  const branches = Array.isArray(anyOf) ? (anyOf as readonly { readonly description?: string }[]) : [];
  return branches.flatMap((branch) => branch.description ?? [])[0] ?? '';
}
