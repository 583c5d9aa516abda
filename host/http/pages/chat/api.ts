// Requests of the page to the server, relative to the page, so that it works wherever the application is mounted.

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** The JSON of a request of `/v1/chat/completions`. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly stream: true;
  readonly stream_options: { readonly include_usage: true };
}

/** One event of a streamed answer. */
export interface ChatChunk {
  readonly choices: readonly {
    readonly delta: { readonly content?: string | null; readonly reasoning_content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly completion_tokens: number } | null;
}

interface ErrorBody {
  readonly error?: { readonly message?: string };
}

export const CHAT_PATH = 'v1/chat/completions';

/** Returns the names of the models that can chat. Throws an Error with the message of the server. */
export async function listChatModels(key: string): Promise<string[]> {
  const response = await fetch('v1/models', { headers: authorization(key) });
  if (!response.ok) throw await failureOf(response);
  const { data } = (await response.json()) as {
    readonly data: readonly { readonly id: string; readonly capabilities: readonly string[] }[];
  };
  return data.filter(({ capabilities }) => capabilities.includes('chat')).map(({ id }) => id);
}

/** Yields the events of an answer. Throws an Error with the message of the server. */
export async function* streamChat(request: ChatRequest, key: string, signal: AbortSignal): AsyncGenerator<ChatChunk> {
  const response = await fetch(CHAT_PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization(key) },
    body: JSON.stringify(request),
    signal,
  });
  if (!response.ok || !response.body) throw await failureOf(response);
  for await (const data of eventData(response.body)) {
    if (data === '[DONE]') return;
    const value = JSON.parse(data) as ChatChunk & ErrorBody;
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
