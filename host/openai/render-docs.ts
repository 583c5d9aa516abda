import * as z from 'zod';
import { TRANSCRIPTION_FIELDS, TRANSLATION_FIELDS } from './audio/audio-fields.ts';
import { CHAT_FIELDS } from './chat/chat-fields.ts';
import { COMPLETION_FIELDS } from './completions/completion-fields.ts';
import type { RequestFields } from './fields.ts';
import { INPUT_TOKENS_FIELDS, RESPONSE_FIELDS } from './responses/response-fields.ts';
import { DETOKENIZE_FIELDS, TOKENIZE_FIELDS } from './tokens/token-fields.ts';
import { EMBEDDING_FIELDS } from './vectors/embedding-fields.ts';
import { RERANK_FIELDS } from './vectors/rerank.ts';

/** A route, such as `POST /v1/completions`, with its parameters. */
export interface DocumentedRoute {
  readonly route: string;
  readonly fields: RequestFields;
}

/** The routes with parameters, for the documentation. */
export const DOCUMENTED_ROUTES: readonly DocumentedRoute[] = [
  { route: 'POST /v1/chat/completions', fields: CHAT_FIELDS },
  { route: 'POST /v1/responses', fields: RESPONSE_FIELDS },
  { route: 'POST /v1/responses/input_tokens', fields: INPUT_TOKENS_FIELDS },
  { route: 'POST /v1/completions', fields: COMPLETION_FIELDS },
  { route: 'POST /v1/tokenize', fields: TOKENIZE_FIELDS },
  { route: 'POST /v1/detokenize', fields: DETOKENIZE_FIELDS },
  { route: 'POST /v1/embeddings', fields: EMBEDDING_FIELDS },
  { route: 'POST /v1/rerank', fields: RERANK_FIELDS },
  { route: 'POST /v1/audio/transcriptions', fields: TRANSCRIPTION_FIELDS },
  { route: 'POST /v1/audio/translations', fields: TRANSLATION_FIELDS },
];

/** Returns `docs/openai-compatibility.md`, generated from the parameters of the routes. */
export function renderOpenAiDocs(): string {
  return `# OpenAI's API

<!-- Made by \`aana-host docs openai > docs/openai-compatibility.md\` from host/openai/; do not edit. -->

Every server answers OpenAI's API below \`/v1\`, over its deployments. Clients need another base URL and the name of a deployment. In TypeScript (\`npm install openai\`):

\`\`\`ts
import OpenAI from 'openai';
const client = new OpenAI({ baseURL: 'http://127.0.0.1:8000/v1', apiKey: 'none' });
const answer = await client.chat.completions.create({ model: 'llm_deployment', messages: [{ role: 'user', content: 'Hello!' }] });
\`\`\`

In Python (\`pip install openai\`):

\`\`\`python
from openai import OpenAI
client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none")
answer = client.chat.completions.create(model="llm_deployment", messages=[{"role": "user", "content": "Hello!"}])
\`\`\`

With [API keys](security.md), the client's \`apiKey\` is one of ours. Its scopes count: \`/v1/*\`, \`/v1/chat/completions\` or \`endpoints\`; \`model:llm_deployment\` allows one model, and the key sees no others. Its user takes turns with other users in the queues of the deployments.

## Names of models

\`GET /v1/models\` lists the names, with the state of each model and what it can do. A name is

1. a deployment: \`llm_deployment\`;
2. an alias of the configuration: \`{"openai": {"aliases": {"gpt-4o-mini": "llm_deployment"}}}\`;
3. the id of the model that a deployment has: \`qwen2.5-coder-0.5b-instruct\`, or the name of its file if the configuration has a path;
4. one of these with a LoRA adapter: \`llm_deployment:sql\`.

Another name is answered with 404 and \`model_not_found\`. The message lists the names, or says which deployment is missing.

## Errors

Errors have OpenAI's form, \`{"error": {"message", "type", "param", "code"}}\`, so clients throw their typed exceptions. \`param\` names the wrong parameter, such as \`messages[0].content\`.

| status | \`code\` | when |
| --- | --- | --- |
| 400 | null, \`missing_required_parameter\`, \`unsupported_parameter\` | a parameter is wrong or missing, or cannot be honoured |
| 400 | \`invalid_value\` | the file is no audio or video, is damaged, or has no audio track |
| 400 | \`context_length_exceeded\` | the dialog is longer than the context of the model |
| 400 | \`previous_response_not_found\` | the user has no such response, or one that it continues was removed |
| 401 | \`invalid_api_key\` | the key is missing, unknown or expired |
| 403 | \`insufficient_permissions\` | the scopes of the key do not allow the path |
| 404 | \`model_not_found\`, \`response_not_found\`, \`unknown_url\` | no model has the name; the user has no such response; no route has the path |
| 413 | \`request_too_large\` | the body is larger than \`limits.max_json_bytes\`, or a file than \`limits.max_file_bytes\` |
| 429 | \`rate_limit_exceeded\` | over a rate limit; \`retry-after\` has the time to wait |
| 503, 504 | the name of the error, such as \`deployment_full\` | try again later |

An error in a stream is the last event, and no \`[DONE]\` follows; a response ends with the event \`response.failed\`. Every answer has \`x-request-id\`, which is in the log, too.

## Responses

\`POST /v1/responses\` gives the answer of a chat completion as a list of items: \`reasoning\`, \`message\` and \`function_call\`. A response is stored with the items that it was given, for the user of the API key, unless the request has \`"store": false\`. \`GET\` and \`DELETE /v1/responses/{id}\` and \`GET /v1/responses/{id}/input_items\` read and remove it; a key with scopes needs \`/v1/responses/*\` for them.

\`\`\`ts
const first = await client.responses.create({ model: 'llm_deployment', input: 'Who wrote Faust?' });
const second = await client.responses.create({ model: 'llm_deployment', input: 'When?', previous_response_id: first.id });
\`\`\`

- A response with \`previous_response_id\` continues the dialog of that response, without its \`instructions\`. Together they may have as many bytes as one request (\`limits.max_json_bytes\`).
- An \`item_reference\` stands for the newest stored item with its id.
- Reasoning is readable text in \`content\`, not a summary, and clients can send it back.
- With \`openai.responses.store\` set to \`false\`, no response is stored, and a request that asks for it is refused.
- A response is kept for \`openai.responses.retention\` seconds after it was stored or continued. Over \`openai.responses.maximum_stored_bytes_per_user\`, those that were not used for longest are removed.
- A response whose client leaves, or whose stream fails, is not stored.
- There are no responses in the background, no conversations, no prompt templates and no tools of the server. A request for one of them is refused.

## Audio

\`/v1/audio/transcriptions\` and \`/v1/audio/translations\` need a deployment of speech to text, such as \`WhisperDeployment\`. An alias gives it the name that a client has built in: \`{"openai": {"aliases": {"whisper-1": "asr_deployment"}}}\`. The file can be in every form that ffmpeg reads, also a video.

\`\`\`ts
import { createReadStream } from 'node:fs';
const file = createReadStream('talk.mp4');
const stream = await client.audio.transcriptions.create({ file, model: 'whisper-1', stream: true });
for await (const event of stream) if (event.type === 'transcript.text.delta') process.stdout.write(event.delta);
\`\`\`

- \`diarized_json\` says who speaks: \`A\`, \`B\` and so on. It needs a \`SpeakerDiarizationDeployment\`, too. A stream of it has the segments when all of them are known.
- Segments of \`verbose_json\` have all keys of OpenAI's, because typed clients need them. \`tokens\` is empty, because no deployment tells tokens; \`temperature\` is that of the request; \`seek\` is \`start\` in hundredths of a second.
- \`usage\` has the seconds of the audio, rounded up. Events of streams have no \`usage\`.
- A translation is into English, and needs a model that knows other languages: not \`tiny.en\`.

## Parameters

A parameter without effect does not change the answer, and the header \`x-aana-ignored-parameters\` names it. With \`openai.strict\` it is refused (400, \`unsupported_parameter\`). One whose state is *refused* asks for another answer than the server can give, so it is always refused. Parameters that a request does not set have the values of the deployment (\`default_sampling_params\`); an answer without a limit of tokens ends with the context.

${parameterTables(DOCUMENTED_ROUTES)}`;
}

/** Returns a section for each route with the table of its parameters. */
export function parameterTables(routes: readonly DocumentedRoute[]): string {
  return routes.map(({ route, fields }) => section(route, fields)).join('\n');
}

function section(route: string, { schema, idle }: RequestFields): string {
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
  return `### \`${route}\`

| parameter | state | |
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
