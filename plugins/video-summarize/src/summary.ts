import {
  type ChatDialog,
  type ChatOptions,
  type Context,
  HostError,
  type Llm,
  type SamplingParams,
} from 'aana-host/plugin';
import { condenseNotes } from './notes.ts';
import { notesPrompt, type Prompt, shortTranscriptPrompt, transcriptPrompt } from './prompts.ts';
import { splitParts } from './split.ts';

/** Longer texts are summarized in parts, because small models lose the thread well before their context is full. */
const MAX_PART_TOKENS = 800;
/** A smaller part contains too little to be worth a pass. */
const MIN_PART_TOKENS = 64;
/** Shorter transcripts are summarized in one sentence. */
const SHORT_TOKENS = 60;
const ANSWER_TOKENS = 400;
const NOTES_TOKENS = 200;
/** Maximum error from counting the tokens of text and answer separately. */
const SLACK_TOKENS = 24;

/**
 * The frequency penalty counts the words of the answer alone. A repetition penalty would count those of the transcript,
 * too, and make small models replace its names and numbers by others.
 */
const sampling: SamplingParams = { temperature: 0, min_p: 0.1, frequency_penalty: 0.2 };
/** No penalty, because a faithful sentence repeats words. */
const shortSampling: SamplingParams = { ...sampling, frequency_penalty: 0 };

/** The progress of a run whose transcript is there. */
export const TRANSCRIBED = 0.7;

export interface Chat {
  readonly dialog: ChatDialog;
  readonly options: ChatOptions;
}

/**
 * Returns the chat whose answer is the summary of a transcript given in pieces. If the transcript does not fit into one
 * prompt, its parts are summarized first, and then the resulting notes, until the rest fits.
 */
export async function lastChat(
  ctx: Pick<Context, 'llm' | 'progress'>,
  pieces: readonly string[],
  wanted: SamplingParams | null | undefined,
): Promise<Chat> {
  const { llm } = ctx;
  const { partTokens, answerTokens, notesTokens } = await shareContext(llm, wanted?.max_tokens);
  const countTokens = async (text: string): Promise<number> => (await llm.countTokens({ text })).tokens;
  let promptFor = transcriptPrompt;
  let parts = await splitParts(pieces, { maxTokens: partTokens, separator: ' ', countTokens });
  if (parts.length === 1 && (await countTokens(parts.join())) < SHORT_TOKENS)
    return chat(shortTranscriptPrompt(parts.join()), shortSampling, wanted, answerTokens);
  while (parts.length > 1) {
    const notes: string[] = [];
    for (const [at, part] of parts.entries()) {
      ctx.progress(
        TRANSCRIBED + (1 - TRANSCRIBED) * (at / parts.length),
        `summarizing part ${at + 1} of ${parts.length}`,
      );
      const { dialog, options } = chat(promptFor(part), sampling, wanted, notesTokens);
      const { message } = await llm.chat(dialog, options);
      notes.push(message.content.trim());
    }
    const condensed = condenseNotes(notes);
    promptFor = condensed.length > 1 ? notesPrompt : transcriptPrompt; // only one is left if all parts say the same
    parts = await splitParts(condensed, { maxTokens: partTokens, separator: '\n', countTokens });
  }
  return chat(promptFor(parts.join()), sampling, wanted, answerTokens);
}

/** Divides the context into tokens for the text, for the answer, and for the notes about a part. */
export async function shareContext(
  llm: Llm,
  wantedTokens: number | null | undefined,
): Promise<{ partTokens: number; answerTokens: number; notesTokens: number }> {
  const { dialog, assistantPrefix } = transcriptPrompt('');
  const { tokens, max_tokens: contextTokens } = await llm.countTokens({ dialog });
  const fixed = tokens + assistantPrefix.length + SLACK_TOKENS;
  const answerTokens = Math.min(wantedTokens ?? ANSWER_TOKENS, Math.floor(contextTokens / 2));
  const reserved = Math.max(answerTokens, Math.min(NOTES_TOKENS, Math.floor(contextTokens / 4)));
  const partTokens = Math.min(MAX_PART_TOKENS, contextTokens - fixed - reserved);
  if (partTokens < MIN_PART_TOKENS) {
    throw new HostError(
      'PromptTooLongException',
      'bad-request',
      `the model's context of ${contextTokens} tokens is too small for a summary`,
      {
        data: { prompt_len: fixed + MIN_PART_TOKENS, max_len: contextTokens },
      },
    );
  }
  // A third at most, so that every pass ends with less text than it began with.
  return { partTokens, answerTokens, notesTokens: Math.min(NOTES_TOKENS, reserved, Math.floor(partTokens / 3)) };
}

function chat(
  { dialog, assistantPrefix }: Prompt,
  usual: SamplingParams,
  wanted: SamplingParams | null | undefined,
  maxTokens: number,
): Chat {
  return {
    dialog,
    options: {
      sampling_params: { ...ownSampling(wanted, usual), max_tokens: maxTokens },
      assistant_prefix: assistantPrefix,
    },
  };
}

/** Returns the sampling that the caller wants, and the usual one for the rest. */
export function ownSampling(wanted: SamplingParams | null | undefined, usual = shortSampling): SamplingParams {
  const asked = Object.fromEntries(
    // A summary is one answer.
    Object.entries(wanted ?? {}).filter(([key, value]) => key !== 'n' && value !== null && value !== undefined),
  );
  return { ...usual, ...asked };
}
