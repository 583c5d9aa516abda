import type { ChatRequest, Quotation } from './api.ts';
import { element } from './elements.ts';
import type { Recording } from './recordings.ts';

/** Words that a quotation has at most, so that it is a passage and no transcript. */
const MAX_WORDS = 30;
const MAX_CLAIMS = 3;

const claimSchema = {
  type: 'object',
  properties: {
    quote: { type: 'string', format: 'quote' }, // first, so that the claim follows from it
    claim: { type: 'string', minLength: 1, maxLength: 300 },
  },
  required: ['quote', 'claim'],
  additionalProperties: false,
};
const answerSchema = {
  type: 'object',
  properties: { claims: { type: 'array', items: claimSchema, minItems: 1, maxItems: MAX_CLAIMS } },
  required: ['claims'],
  additionalProperties: false,
};

interface CitedAnswer {
  readonly claims: readonly { readonly claim: string; readonly quote: string }[];
}

// It shows no example, because small models copy it.
const INSTRUCTION =
  'Answer the next message from the recordings, as JSON. Each quote is a passage of a recording. Its claim is a ' +
  'short sentence in your own words, which the quote shows and which answers the message.';

/** Returns a request whose answer consists of claims, each with a passage of one of the recordings. */
export function citing(request: ChatRequest, recordings: readonly Recording[]): ChatRequest {
  return {
    ...request,
    messages: [
      ...request.messages.slice(0, -1),
      { role: 'system', content: INSTRUCTION },
      ...request.messages.slice(-1),
    ],
    structured_outputs: {
      json: answerSchema,
      quote_of: recordings.map(({ passages }) => passages),
      max_words: MAX_WORDS,
    },
  };
}

/** Returns the claims and quotations of the JSON of an answer, or of its beginning, as a text. */
export function claimsText(json: string): string {
  const found = [...json.matchAll(/"(claim|quote)":\s*"((?:[^"\\]|\\.)*)/g)];
  return found.map(([, key, text = '']) => (key === 'quote' ? `\n- “${plain(text)}” ` : plain(text))).join('');
}

/** Returns the list of an answer's claims. Each quotation has a link to its moment. */
export function claimsList(
  json: string,
  quotations: readonly Quotation[],
  recordings: readonly Recording[],
): HTMLElement {
  const { claims } = JSON.parse(json) as CitedAnswer;
  const list = element('ul', 'claims');
  const once = new Map(claims.map((one) => [`${one.claim}\n${one.quote}`, one])); // small models repeat themselves
  for (const { claim, quote } of once.values()) {
    const found = quotations.find(({ text }) => text === quote);
    const link = found && recordings[found.source]?.momentLink(found);
    list.append(element('li', '', claim, element('blockquote', '', quote, ...(link ? [' ', link] : []))));
  }
  return list;
}

/** Returns the text of a JSON string whose end may be missing. */
function plain(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
