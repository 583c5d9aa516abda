import * as z from 'zod';
import { AnswerLogprobs } from '../text/answer-values.ts';
import { Attributes } from '../vector-stores/store-fields.ts';

const Status = z.enum(['in_progress', 'completed', 'incomplete']);
export type ItemStatus = z.output<typeof Status>;

/** A file that the model read before it wrote a text. */
export const FileCitation = z.object({
  type: z.literal('file_citation'),
  file_id: z.string(),
  filename: z.string(),
  index: z.int().describe('Its position among the files of the text.'),
});
export type FileCitation = z.output<typeof FileCitation>;

const OutputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z
    .array(FileCitation)
    .describe('The files whose texts the model was given by searches of this response.'),
  logprobs: AnswerLogprobs.shape.content.describe('Of each token, with `include`.'),
});
const Refusal = z.object({ type: z.literal('refusal'), refusal: z.string() });
const InputText = z.object({ type: z.literal('input_text'), text: z.string() });
const ReasoningText = z.object({ type: z.literal('reasoning_text'), text: z.string() });

/** A part of an answer while it is streamed. */
export const OutputPart = z.discriminatedUnion('type', [OutputText, ReasoningText]);
export type OutputPart = z.output<typeof OutputPart>;

/** An image as the client gave it. It is opened again when the dialog goes on. */
const InputImage = z.object({
  type: z.literal('input_image'),
  image_url: z.string(),
  detail: z.enum(['auto', 'low', 'high', 'original']),
});

/** Audio as the client gave it, for a model that hears. It is opened again when the dialog goes on. */
const InputAudio = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string(), format: z.string() }),
});
const Part = z.discriminatedUnion('type', [InputText, OutputText, Refusal, InputImage, InputAudio]);
export type Part = z.output<typeof Part>;

export const MessageItem = z.object({
  type: z.literal('message'),
  id: z.string(),
  status: Status,
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.array(Part),
});

export const ReasoningItem = z.object({
  type: z.literal('reasoning'),
  id: z.string(),
  status: Status,
  summary: z.array(z.object({ type: z.literal('summary_text'), text: z.string() })),
  content: z.array(ReasoningText),
});

export const CallItem = z.object({
  type: z.literal('function_call'),
  id: z.string(),
  status: Status,
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});

const CallOutputItem = z.object({
  type: z.literal('function_call_output'),
  id: z.string(),
  status: Status,
  call_id: z.string(),
  output: z.union([z.string(), z.array(Part)]),
});

export const CustomCallItem = z.object({
  type: z.literal('custom_tool_call'),
  id: z.string(),
  status: Status,
  call_id: z.string(),
  name: z.string(),
  input: z.string(),
});

const CustomOutputItem = CallOutputItem.extend({ type: z.literal('custom_tool_call_output') });

/** A search of vector stores, which the server has made for the model. */
export const FileSearchItem = z.object({
  type: z.literal('file_search_call'),
  id: z.string(),
  status: z
    .enum(['in_progress', 'searching', 'completed', 'incomplete', 'failed'])
    .describe('`failed`: the model gave wrong arguments, or searched too often.'),
  queries: z.array(z.string()),
  results: z
    .array(
      z.object({
        file_id: z.string(),
        filename: z.string(),
        score: z.number(),
        attributes: Attributes,
        text: z.string(),
      }),
    )
    .nullable()
    .describe('With `include`, or if the model has not read them yet because it also called a function.'),
});
export type FileSearchItem = z.output<typeof FileSearchItem>;

/** An item of an answer. */
export const OutputItem = z.discriminatedUnion('type', [
  MessageItem,
  ReasoningItem,
  CallItem,
  CustomCallItem,
  FileSearchItem,
]);
export type OutputItem = z.output<typeof OutputItem>;

/** An item of a dialog: of an answer, or of the input of a request with everything that the request left out. */
export const Item = z.discriminatedUnion('type', [
  MessageItem,
  ReasoningItem,
  CallItem,
  CallOutputItem,
  CustomCallItem,
  CustomOutputItem,
  FileSearchItem,
]);
export type Item = z.output<typeof Item>;
