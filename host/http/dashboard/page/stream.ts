import { type ApplicationState, authorization, RequestError, requireSuccess } from './api.ts';

/** What a tab learns about the application. */
export type Message =
  | { readonly type: 'state'; readonly token: string; readonly state: ApplicationState }
  /** The server does not answer; the stream tries again by itself. */
  | { readonly type: 'away'; readonly reason: string }
  /** The server refuses the token. The stream has ended. */
  | { readonly type: 'refused'; readonly reason: string };

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/** Tells the states of the application until the signal aborts or the token is refused. Connects again when it is lost. */
export async function watchApplication(
  token: string,
  tell: (message: Message) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      for await (const state of states(token, signal)) {
        waitMs = FIRST_WAIT_MS;
        tell({ type: 'state', token, state });
      }
      tell({ type: 'away', reason: 'the application has ended or restarts' });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof RequestError && (error.status === 401 || error.status === 403))
        return tell({ type: 'refused', reason: error.message });
      tell({ type: 'away', reason: error instanceof RequestError ? error.message : 'the application does not answer' });
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

async function* states(token: string, signal: AbortSignal): AsyncGenerator<ApplicationState> {
  const response = await fetch('/api/application/events', { headers: authorization(token), signal });
  await requireSuccess(response);
  let text = '';
  const decoder = new TextDecoder();
  for (const reader = response.body!.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield JSON.parse(data) as ApplicationState;
    }
  }
}
