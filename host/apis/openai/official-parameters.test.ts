// Every parameter of the official client's types is known to its route: it has an effect, or the page says that it has
// none.
import type OpenAI from 'openai';
import type { ClientSecretCreateParams } from 'openai/resources/realtime/client-secrets';
import type { InputTokenCountParams } from 'openai/resources/responses/input-tokens';
import type { PartCreateParams } from 'openai/resources/uploads/parts';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TRANSCRIPTION_FIELDS, TRANSLATION_FIELDS } from './audio/audio-fields.ts';
import { BATCH_FIELDS } from './batches/batch-fields.ts';
import { CHAT_FIELDS } from './chat/chat-fields.ts';
import { COMPLETION_FIELDS } from './completions/completion-fields.ts';
import type { RequestFields } from './fields.ts';
import { FILE_FIELDS } from './files/file-fields.ts';
import { CLIENT_SECRET_FIELDS } from './realtime/client-secret.ts';
import { INPUT_TOKENS_FIELDS, RESPONSE_FIELDS } from './responses/response-fields.ts';
import { COMPLETE_FIELDS, PART_FIELDS, UPLOAD_FIELDS } from './uploads/upload-fields.ts';
import { EMBEDDING_FIELDS } from './vectors/embedding-fields.ts';

const Official = suite('parameters of the official client');

type KeyOf<Params> = Params extends unknown ? keyof Params & string : never;

/** Returns the names of the parameters of a route. The compiler demands that no parameter of `Params` is unknown. */
const namesOf =
  <Params>() =>
  <Fields extends RequestFields>(
    { schema, idle }: Fields,
    _unknown: Record<Exclude<KeyOf<Params>, keyof Fields['schema']['shape'] | keyof Fields['idle']>, never>,
  ): string[] => [...Object.keys(schema.shape), ...Object.keys(idle)];

Official('are known to their routes', () => {
  const known = [
    namesOf<OpenAI.ChatCompletionCreateParams>()(CHAT_FIELDS, {}),
    namesOf<OpenAI.Responses.ResponseCreateParams>()(RESPONSE_FIELDS, {}),
    namesOf<InputTokenCountParams>()(INPUT_TOKENS_FIELDS, {}),
    namesOf<OpenAI.CompletionCreateParams>()(COMPLETION_FIELDS, {}),
    namesOf<OpenAI.EmbeddingCreateParams>()(EMBEDDING_FIELDS, {}),
    namesOf<OpenAI.Audio.TranscriptionCreateParams>()(TRANSCRIPTION_FIELDS, {}),
    namesOf<OpenAI.Audio.TranslationCreateParams>()(TRANSLATION_FIELDS, {}),
    namesOf<OpenAI.FileCreateParams>()(FILE_FIELDS, {}),
    namesOf<OpenAI.UploadCreateParams>()(UPLOAD_FIELDS, {}),
    namesOf<PartCreateParams>()(PART_FIELDS, {}),
    namesOf<OpenAI.UploadCompleteParams>()(COMPLETE_FIELDS, {}),
    namesOf<OpenAI.BatchCreateParams>()(BATCH_FIELDS, {}),
    namesOf<ClientSecretCreateParams>()(CLIENT_SECRET_FIELDS, {}),
  ];
  for (const names of known) assert.is(new Set(names).size, names.length, 'a parameter has two states');
});

type Idle<Fields extends RequestFields, Outer extends string> = keyof Fields['idle'] extends infer Name
  ? Name extends `${Outer}.${infer Inner}`
    ? Inner
    : never
  : never;

/** Demands of the compiler that no member of an object is unknown. `known` has those with an effect. */
const knowsMembers =
  <Members>() =>
  <Fields extends RequestFields, Outer extends string, Known extends string>(
    { idle }: Fields,
    outer: Outer,
    known: readonly Known[],
    _unknown: Record<Exclude<KeyOf<Members>, Known | Idle<Fields, Outer>>, never>,
  ): void => {
    for (const name of known) assert.not.ok(`${outer}.${name}` in idle, name);
  };

Official('that are objects have only known members', () => {
  knowsMembers<OpenAI.ChatCompletionStreamOptions>()(CHAT_FIELDS, 'stream_options', ['include_usage'], {});
  knowsMembers<OpenAI.ChatCompletionStreamOptions>()(COMPLETION_FIELDS, 'stream_options', ['include_usage'], {});
  knowsMembers<OpenAI.Reasoning>()(RESPONSE_FIELDS, 'reasoning', ['effort'], {});
  knowsMembers<OpenAI.Reasoning>()(INPUT_TOKENS_FIELDS, 'reasoning', ['effort'], {});
  knowsMembers<OpenAI.Responses.ResponseTextConfig>()(RESPONSE_FIELDS, 'text', ['format'], {});
  knowsMembers<OpenAI.Responses.ResponseTextConfig>()(INPUT_TOKENS_FIELDS, 'text', ['format'], {});
  const tool = ['type', 'name', 'description', 'parameters', 'strict', 'format'] as const;
  knowsMembers<OpenAI.Responses.FunctionTool>()(RESPONSE_FIELDS, 'tools[]', tool, {});
  knowsMembers<OpenAI.Responses.CustomTool>()(RESPONSE_FIELDS, 'tools[]', tool, {});
  knowsMembers<OpenAI.Responses.FunctionTool>()(INPUT_TOKENS_FIELDS, 'tools[]', tool, {});
});

Official.run();
