// Requests of the page to the server, relative to the page, so that it works wherever the application is mounted.

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** A passage of what is said in a recording, in seconds. */
export interface Passage {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** An answer that quotes recordings: the strings with the format `quote` of a JSON Schema stand in one of them. */
interface StructuredOutputs {
  readonly json: object;
  readonly quote_of: readonly (readonly Passage[])[];
  readonly max_words: number;
}

/** A passage of the recording `source`. */
export interface Quotation extends Passage {
  readonly source: number;
}

/** The JSON of a request of `/v1/chat/completions`. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly structured_outputs?: StructuredOutputs;
  readonly stream: true;
  readonly stream_options: { readonly include_usage: true };
}

/** One event of a streamed answer. */
export interface ChatChunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string | null;
      readonly reasoning_content?: string;
      readonly quotations?: readonly Quotation[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly completion_tokens: number } | null;
}

/** One event of a streamed transcription. */
interface TranscriptEvent extends Omit<Passage, 'text'> {
  readonly type: string;
  readonly delta: string;
}

interface ErrorBody {
  readonly error?: { readonly message?: string };
}

export const CHAT_PATH = 'v1/chat/completions';

export const TRANSCRIPTIONS_PATH = 'v1/audio/transcriptions';

/** Names of the models that the page can use. */
export interface Models {
  readonly chat: readonly string[];
  readonly transcriptions: readonly string[];
}

/** Returns the models of the server. Throws an Error with the message of the server. */
export async function listModels(key: string): Promise<Models> {
  const response = await fetch('v1/models', { headers: authorization(key) });
  if (!response.ok) throw await failureOf(response);
  const { data } = (await response.json()) as {
    readonly data: readonly { readonly id: string; readonly capabilities: readonly string[] }[];
  };
  const able = (capability: string): string[] =>
    data.filter(({ capabilities }) => capabilities.includes(capability)).map(({ id }) => id);
  return { chat: able('chat'), transcriptions: able('transcriptions') };
}

/** Yields the events of an answer. Throws an Error with the message of the server. */
export async function* streamChat(request: ChatRequest, key: string, signal: AbortSignal): AsyncGenerator<ChatChunk> {
  const headers = { 'content-type': 'application/json', ...authorization(key) };
  const answer = fetch(CHAT_PATH, { method: 'POST', headers, body: JSON.stringify(request), signal });
  for await (const event of events(await answer)) yield event as ChatChunk;
}

/** Yields what is said in a file, segment by segment. Throws an Error with the message of the server. */
export async function* streamTranscription(
  file: File,
  model: string,
  key: string,
  signal: AbortSignal,
): AsyncGenerator<Passage> {
  const body = new FormData();
  body.set('model', model);
  body.set('stream', 'true');
  body.set('file', file);
  const answer = fetch(TRANSCRIPTIONS_PATH, { method: 'POST', headers: authorization(key), body, signal });
  for await (const event of events(await answer)) {
    const { type, delta: text, start, end } = event as TranscriptEvent;
    if (type === 'transcript.text.delta') yield { text, start, end };
  }
}

/** Yields the events of a stream up to its end. */
async function* events(response: Response): AsyncGenerator<unknown> {
  if (!response.ok || !response.body) throw await failureOf(response);
  for await (const data of eventData(response.body)) {
    if (data === '[DONE]') return;
    const value = JSON.parse(data) as ErrorBody;
    if (value.error) throw new Error(value.error.message);
    yield value;
  }
  throw new Error('The server ended the answer early.');
}

/** Yields the data of server-sent events whose data is one line. */
async function* eventData(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (text + value).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length);
  }
}

const authorization = (key: string): Record<string, string> => (key === '' ? {} : { authorization: `Bearer ${key}` });

async function failureOf(response: Response): Promise<Error> {
  const body = (await response.json().catch(() => ({}))) as ErrorBody;
  return new Error(body.error?.message ?? `The server answered with the status ${response.status}.`);
}
