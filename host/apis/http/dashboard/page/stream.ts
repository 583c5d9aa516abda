import { type ApplicationState, authorization, RequestError, requireSuccess } from './api.ts';
import { eventsOf } from './events.ts';

/** What a tab learns about the application. */
export type Message =
  | { readonly type: 'state'; readonly token: string; readonly state: ApplicationState }
  /** The server does not answer; the stream tries again by itself. */
  | { readonly type: 'away'; readonly reason: string }
  /** The server refuses the token. The stream has ended. */
  | { readonly type: 'refused'; readonly reason: string };

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/**
 * Tells the states of the application until the signal aborts or the token is refused. Connects again when it is lost.
 */
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
  yield* eventsOf<ApplicationState>(response);
}
