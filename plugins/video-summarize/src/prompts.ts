import type { ChatDialog } from 'aana-host/plugin';

/** What a text is: the words of a speaker, or notes that earlier passes made of parts of them. */
export type TextKind = 'transcript' | 'notes';

export interface Prompt {
  readonly dialog: ChatDialog;
  /** Begins the answer: small models then write a list of their own instead of repeating the text. */
  readonly assistantPrefix: string;
}

const system = 'You are a helpful assistant that summarizes audio transcripts.';

/** The instruction stands after the text: before it, small models copy the text sentence by sentence. */
export function summaryPrompt(kind: TextKind, text: string): Prompt {
  const heading = kind === 'transcript' ? 'Transcript of an audio recording:' : 'Notes about the parts of an audio recording, in order:';
  const subject = kind === 'transcript' ? 'the transcript' : 'the recording';
  return prompt(
    `${heading}\n\n"""\n${text}\n"""\n\nWrite a summary of ${subject} as at most five bullet points. Each bullet point says in one sentence ` +
      'what the speaker explains, does or shows, with the numbers. Cover the beginning, the middle and the end.',
    '- The speaker explains',
  );
}

/** For a few sentences: asked for points, small models make some up. */
export function shortPrompt(text: string): Prompt {
  return prompt(
    `Transcript of an audio recording:\n\n"""\n${text}\n"""\n\nWrite a summary of the transcript as one bullet point. ` +
      'It says in one sentence what the speaker says, in the words of the transcript.',
    '- The speaker says',
  );
}

function prompt(instruction: string, assistantPrefix: string): Prompt {
  return {
    dialog: {
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: instruction },
      ],
    },
    assistantPrefix,
  };
}
