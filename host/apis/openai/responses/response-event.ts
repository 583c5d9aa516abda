import * as z from 'zod';
import { FileCitation, OutputItem, OutputPart } from './items.ts';
import { AnswerLogprobs } from '../text/answer-values.ts';
import { ModelResponse } from './response-answer.ts';

const sequence_number = z.int().describe('0 for the first event.');
const inOutput = { sequence_number, output_index: z.int() };
const inItem = { ...inOutput, item_id: z.string() };
const inPart = { ...inItem, content_index: z.int() };
const logprobs = AnswerLogprobs.shape.content;

const ofResponse = <const Type extends string>(type: Type) =>
  z.object({ type: z.literal(type), sequence_number, response: ModelResponse });

/** One event of a streamed response. Its name is also the field `event` of the server-sent event. */
export const ResponseEvent = z.discriminatedUnion('type', [
  ofResponse('response.created'),
  ofResponse('response.queued'),
  ofResponse('response.in_progress'),
  z.object({ type: z.literal('response.output_item.added'), ...inOutput, item: OutputItem }),
  z.object({ type: z.literal('response.content_part.added'), ...inPart, part: OutputPart }),
  z.object({ type: z.literal('response.reasoning_text.delta'), ...inPart, delta: z.string() }),
  z.object({ type: z.literal('response.reasoning_text.done'), ...inPart, text: z.string() }),
  z.object({ type: z.literal('response.output_text.delta'), ...inPart, delta: z.string(), logprobs }),
  z.object({
    type: z.literal('response.output_text.annotation.added'),
    ...inPart,
    annotation_index: z.int(),
    annotation: FileCitation,
  }),
  z.object({ type: z.literal('response.output_text.done'), ...inPart, text: z.string(), logprobs }),
  z.object({ type: z.literal('response.content_part.done'), ...inPart, part: OutputPart }),
  z.object({ type: z.literal('response.function_call_arguments.delta'), ...inItem, delta: z.string() }),
  z.object({
    type: z.literal('response.function_call_arguments.done'),
    ...inItem,
    name: z.string(),
    arguments: z.string(),
  }),
  z.object({ type: z.literal('response.custom_tool_call_input.delta'), ...inItem, delta: z.string() }),
  z.object({ type: z.literal('response.custom_tool_call_input.done'), ...inItem, input: z.string() }),
  z.object({ type: z.literal('response.file_search_call.in_progress'), ...inItem }),
  z.object({ type: z.literal('response.file_search_call.searching'), ...inItem }),
  z.object({ type: z.literal('response.file_search_call.completed'), ...inItem }),
  z.object({ type: z.literal('response.output_item.done'), ...inOutput, item: OutputItem }),
  ofResponse('response.completed'),
  ofResponse('response.incomplete'),
  ofResponse('response.failed'),
  ofResponse('response.cancelled'),
]);
export type ResponseEvent = z.output<typeof ResponseEvent>;
