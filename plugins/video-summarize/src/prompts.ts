import type { ChatDialog } from 'aana-host/plugin';

export interface Prompt {
  readonly dialog: ChatDialog;
  /** The beginning of the answer. With it, small models write their own list instead of repeating the text. */
  readonly assistantPrefix: string;
}

// Instructions stand after the text. If they stand before it, small models copy the text sentence by sentence.

export function transcriptPrompt(transcript: string): Prompt {
  return prompt(
    `Transcript:\n\n${transcript}\n\nWhat are the main points of this transcript? ` +
      'Answer with at most five bullet points, each one short sentence about what the speaker says or does.',
    '- The speaker explains',
  );
}

/** Returns the prompt for a few sentences. Asked for points, small models would invent some. */
export function shortTranscriptPrompt(transcript: string): Prompt {
  return prompt(
    `Transcript of an audio recording:\n\n"""\n${transcript}\n"""\n\n` +
      'Write one bullet point that repeats what the speaker says, in the words of the transcript.',
    '- The speaker says',
  );
}

/**
 * Returns the prompt for notes: `Part 1: …` and so on. It asks for one point for each part, because small models asked
 * for a summary of all notes cover only the first.
 */
export function notesPrompt(notes: string): Prompt {
  return prompt(
    `Notes about the parts of an audio recording, in order:\n\n${notes}\n\nWrite one bullet point for each part, ` +
      `one sentence each, in order.`,
    '- The speaker explains',
  );
}

/** Returns the dialog whose answer is claims with quotations. It shows no example, because small models copy it. */
export function claimsPrompt(transcript: string, mostClaims: number): ChatDialog {
  return prompt(
    `Transcript:\n\n${transcript}\n\nWhat are the main points of this transcript? Answer with at most ` +
      `${mostClaims} claims as JSON. Each "claim" is one short sentence in your own words about what the speaker ` +
      'says or does, and its "quotes" are the words of the transcript that support it.',
    '',
  ).dialog;
}

function prompt(instruction: string, assistantPrefix: string): Prompt {
  return {
    dialog: {
      messages: [
        { role: 'system', content: 'You are a helpful assistant that summarizes audio transcripts.' },
        { role: 'user', content: instruction },
      ],
    },
    assistantPrefix,
  };
}
