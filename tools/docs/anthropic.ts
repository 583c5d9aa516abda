import { documentedRoutes } from '../../host/apis/http/fixtures/documented-routes.ts';
import { parameterTables } from './openai.ts';

/** Returns `docs/anthropic-compatibility.md`, generated from the parameters of the routes. */
export function renderAnthropicDocs(): string {
  return `# Anthropic's API

<!-- Made by \`npm run docs\` from host/apis/anthropic/; do not edit. -->

Every server answers Anthropic's Messages API at \`/v1/messages\`, over its deployments of text models. Clients need \
another base URL and the name of a deployment. In TypeScript (\`npm install @anthropic-ai/sdk\`):

\`\`\`ts
import Anthropic from '@anthropic-ai/sdk';
const client = new Anthropic({ baseURL: 'http://127.0.0.1:8000', apiKey: 'none' });
const message = await client.messages.create({ model: 'llm_deployment', max_tokens: 256, messages: [{ role: 'user', \
content: 'Hello!' }] });
\`\`\`

In Python (\`pip install anthropic\`):

\`\`\`python
from anthropic import Anthropic
client = Anthropic(base_url="http://127.0.0.1:8000", api_key="none")
message = client.messages.create(model="llm_deployment", max_tokens=256, messages=[{"role": "user", "content": \
"Hello!"}])
\`\`\`

Programs that take the address of the API from the environment need \`ANTHROPIC_BASE_URL=http://127.0.0.1:8000\`, and \
an alias for each name of a model that they have built in: \`{"openai": {"aliases": {"claude-sonnet": \
"llm_deployment"}}}\`. [Names of models](openai-compatibility.md#names-of-models) are those of OpenAI's API, which \
\`GET /v1/models\` lists. A request of \`/v1/models\` with the header \`anthropic-version\`, which the official \
clients send, is answered in the shapes of Anthropic's API, with its pages (\`limit\`, \`after_id\`, \`before_id\`) \
and errors. What models can do is not told there: \`capabilities\`, \`max_input_tokens\` and \`max_tokens\` are null. \
Elsewhere the header has no effect.

With [API keys](security.md), the client's \`apiKey\` is one of ours. Its scopes count: \`/v1/*\`, \`/v1/messages\` or \
\`endpoints\`. The setting \`openai.enabled\` turns these routes off, too.

## Messages

A request is translated to the same call of the deployment as a request of \`/v1/chat/completions\`.

| block of a request | what the model reads |
| --- | --- |
| \`text\` | the text; several texts of a message are joined by line ends |
| \`tool_use\`, \`tool_result\` | the call and its result, in the chat template of the model; \`is_error\` has no \
effect |
| \`thinking\` | reasoning of an earlier answer, if the chat template has a place for it |
| \`redacted_thinking\` | nothing |
| \`server_tool_use\`, \`web_search_tool_result\`, \`mcp_tool_use\` and others that tools of Anthropic's servers left \
| nothing; \`x-aana-ignored-parameters\` names them, and \`openai.strict\` refuses them. A \`compaction\` is always \
refused. |
| \`image\` | the image, \`base64\`, \`url\` or the \`file_id\` of a stored [file](openai-compatibility.md#files), if \
the model has a [vision projector](deployments.md#images); its text, if another deployment \
[reads it](deployments.md#images-for-a-model-that-sees-none); otherwise refused (400). The \
[limits](openai-compatibility.md#images-and-videos-in-dialogs) are those of OpenAI's API. An image in the result of a \
tool goes to the beginning of the user's message behind the results. |
| \`document\` | \`title\`, \`context\` and the text of the source: \`text\`, \`base64\` or the \`file_id\` of a \
PDF or of a text in UTF-8, or \`content\`, which may have images. A \`url\` is refused (400). PDFs have the \
[limits](openai-compatibility.md#audio-files-and-images-in-dialogs) of OpenAI's API. |
| \`search_result\` | \`title\`, \`source\` and the texts, without citations in the answer |

Messages of the role \`system\` may be among the others. A last message of the assistant is the beginning of the \
answer. Reasoning is answered as a block \`thinking\` with the \`signature\` \`unsigned\`, because clients drop \
reasoning without one. Every signature is accepted back, and none is checked.

The tools \`bash_20250124\`, \`text_editor_20250124\`, \`text_editor_20250429\`, \`text_editor_20250728\` and \
\`memory_20250818\`, which clients run, become functions with the inputs that Anthropic documents. Other tools that \
Anthropic defines, such as \`web_search_20250305\`, are refused; with \`"openai": {"hosted_tools": "drop"}\` the model \
does not see them, and the header has names such as \`tools[].web_search_20250305\`.

\`stop_reason\` is \`end_turn\`, \`stop_sequence\` (with the text in \`stop_sequence\`), \`tool_use\`, \`max_tokens\`, \
or \`model_context_window_exceeded\` if the context is full before \`max_tokens\`.

\`usage.input_tokens\` counts the tokens of the prompt that were computed, and \`usage.cache_read_input_tokens\` those \
that were computed for an earlier request. Their sum is what \`/v1/messages/count_tokens\` answers. In a stream, \
\`message_start\` comes before the model reads the prompt, and its \`input_tokens\` are all tokens of the prompt; \
\`message_delta\` has the whole usage. A deployment over another server tells the tokens only at the end, so its \
\`message_start\` has zeros and comes with the first token. A stream in silence gets the event \`ping\` every \
\`limits.stream_keep_alive_s\`.

## Batches

\`POST /v1/messages/batches\` answers many requests in the background, as \`client.messages.batches\` does it:

\`\`\`ts
const params = { model: 'llm_deployment', max_tokens: 256, messages: [{ role: 'user' as const, content: 'Hello!' }] };
const { id } = await client.messages.batches.create({ requests: [{ custom_id: 'first', params }] });
// when client.messages.batches.retrieve(id) has the processing_status "ended":
for await (const { custom_id, result } of await client.messages.batches.results(id)) console.log(custom_id, \
result.type);
\`\`\`

- The request as a whole is refused (400) for a \`custom_id\` that is not 1 to 64 letters, digits, \`_\` and \`-\` or \
that two requests have, for \`params\` that are no object, and for more than \`openai.batches.maximum_requests\` \
requests. All of them together may have \`limits.max_json_bytes\` and \`limits.max_json_elements\`, because they are \
one body: about 10,000 short requests by default. What is wrong in \`params\` is the result of this request, \
\`errored\` with the error of the route. So are \`stream: true\`, documents in base64, stored files, and a model that \
the key does not allow.
- Batches are worked off as [those of OpenAI's API](openai-compatibility.md#batches), with the same settings \
\`openai.batches.…\`: a batch is a [task](tasks.md), takes turns with other users, goes on after a restart, and \
computes no stored answer again. Both APIs list only their own batches.
- The requests are a stored [file](openai-compatibility.md#files) of the user with the purpose \`batch\`, and the \
results one with \`batch_output\`. They count for \`openai.files.maximum_stored_bytes_per_user\`, and expire after \
\`openai.files.retention\`. Then \`results\` answers 404. To delete a batch deletes both.
- After 24 hours, or when the batch is cancelled, requests without an answer are \`expired\` or \`canceled\`. If the \
task of a batch was cancelled or deleted at \`/tasks\`, or failed, all its requests are \`errored\`.
- \`results\` and \`delete\` answer 409 while the batch has not ended, and so does \`cancel\` when it has.
- A key needs the scope \`/v1/messages/*\` or those of the single paths, and also one for \`/v1/messages\` to create a \
batch.

## Errors

Errors have Anthropic's form, \`{"type": "error", "error": {"type", "message"}, "request_id"}\`, so clients throw \
their typed exceptions. The header \`request-id\` has the same id, which is in the log, too.

| status | \`error.type\` | when |
| --- | --- | --- |
| 400 | \`invalid_request_error\` | a parameter is wrong or missing, in which case the message names the parameter, or \
the dialog is longer than the context: \`prompt is too long: 700 tokens > 511 maximum\`, by which agents know that \
they must compact it |
| 401 | \`authentication_error\` | the key is missing, unknown or expired |
| 403 | \`permission_error\` | the scopes of the key do not allow the path |
| 404 | \`not_found_error\` | no model has the name, or no route has the path |
| 409 | \`conflict_error\` | a batch has not ended, or has ended |
| 413 | \`request_too_large\` | the body is larger than \`limits.max_json_bytes\` |
| 429 | \`rate_limit_error\` | over a rate limit; \`retry-after\` has the time to wait, and \
\`anthropic-ratelimit-requests-limit\`, \`-remaining\` and \`-reset\` tell the limit of which the least is left |
| 500 | \`api_error\` | the server failed |
| 504 | \`timeout_error\` | over \`limits.invocation_timeout_s\` |
| 529 | \`overloaded_error\` | the server is starting, a queue is full, or a replica was lost; try again later |

An error in a stream is an event \`error\`, and no \`message_stop\` follows.

## Parameters

A parameter without effect does not change the answer, and the header \`x-aana-ignored-parameters\` names it. With \
\`openai.strict\` it is refused. Parameters that a request of this API does not know are without effect, too; \
\`accepted\` ones change no answer anywhere and are not named.

${parameterTables(documentedRoutes('anthropic', 'body'))}`;
}
