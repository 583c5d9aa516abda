import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { Api, type ApplicationState, type LoadSample } from './api.ts';
import { connectLive, dropToken, keepToken, type Live, takeToken } from './session.ts';

/** Most samples that the page keeps, as many as the server. */
const SAMPLES = 450;

/** What the page knows about the application. */
export interface Dashboard {
  readonly api: Api;
  readonly state: ApplicationState;
  readonly samples: readonly LoadSample[];
  /** Why the page shows old facts; undefined while they are fresh. */
  readonly away: string | undefined;
}

export type Session =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'locked'; readonly reason: string | undefined; readonly unlock: (token: string) => void }
  | { readonly kind: 'open'; readonly dashboard: Dashboard };

export const DashboardContext = createContext<Dashboard | undefined>(undefined);

/** Returns what the page knows. Only for parts of the open page. */
export function useDashboard(): Dashboard {
  const dashboard = useContext(DashboardContext);
  if (!dashboard) throw new Error('the page is not open');
  return dashboard;
}

/** Time for which a tab without a token waits for that of another tab. */
const OTHER_TAB_MS = 300;

/** Follows the application as long as the page is shown. */
export function useSession(): Session {
  const [session, setSession] = useState<Session>({ kind: 'connecting' });
  const live = useRef<Live | undefined>(undefined);

  useEffect(() => {
    let token = takeToken();
    let api: Api | undefined;
    let samples: readonly LoadSample[] = [];
    const lock = (reason?: string): void => {
      dropToken();
      setSession({ kind: 'locked', reason, unlock: open });
    };
    const open = (given: string): void => {
      token = given;
      keepToken(given);
      live.current?.open(given);
    };
    const isLocked = (): boolean => token === undefined;
    const begin = (used: string): Api => {
      keepToken(used);
      const begun = new Api(used);
      void begun.load().then(
        ({ samples: earlier }) => (samples = merged(earlier, samples)),
        () => {},
      );
      return begun;
    };
    live.current = connectLive((message) => {
      if (message.type === 'refused') {
        [token, api, samples] = [undefined, undefined, []];
        return lock(message.reason);
      }
      if (message.type === 'away')
        return setSession((now) =>
          now.kind === 'open' ? { kind: 'open', dashboard: { ...now.dashboard, away: message.reason } } : now,
        );
      token = message.token;
      api ??= begin(token);
      if (message.state.load) samples = merged(samples, [message.state.load]);
      setSession({ kind: 'open', dashboard: { api, state: message.state, samples, away: undefined } });
    });
    if (token !== undefined) live.current.open(token);
    const waiting = setTimeout(() => {
      if (isLocked()) lock();
    }, OTHER_TAB_MS);
    const close = (): void => live.current?.close();
    const onShow = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) location.reload();
    };
    addEventListener('pagehide', close);
    addEventListener('pageshow', onShow);
    return () => {
      clearTimeout(waiting);
      removeEventListener('pagehide', close);
      removeEventListener('pageshow', onShow);
      close();
    };
  }, []);
  return session;
}

/** Returns the samples of both lists, each once, the newest last. */
function merged(some: readonly LoadSample[], newer: readonly LoadSample[]): readonly LoadSample[] {
  const first = newer[0]?.time ?? '9';
  return [...some.filter(({ time }) => time < first), ...newer].slice(-SAMPLES);
}

/** The answer to a request of the page. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  readonly reload: () => void;
}

/** Returns whether somebody sees the tab. */
export function useSeen(): boolean {
  const [isSeen, setSeen] = useState(!document.hidden);
  useEffect(() => {
    const onChange = (): void => setSeen(!document.hidden);
    document.addEventListener('visibilitychange', onChange);
    return () => document.removeEventListener('visibilitychange', onChange);
  }, []);
  return isSeen;
}

/** What the stream tells changes of. */
export type Topic = keyof ApplicationState['changes'];

/** Time between two requests for what the stream does not tell of, such as the work of other hosts. */
const REFRESH_MS = 15_000;

/**
 * Requests something now, when `key` changes, and when the stream tells that something of the topic has changed. A tab
 * that nobody sees requests nothing.
 */
export function useLoaded<T>(topic: Topic, key: string, request: () => Promise<T>): Loaded<T> {
  const [answer, setAnswer] = useState<{ readonly key: string; readonly value?: T; readonly error?: string }>({ key });
  const latest = useRef(request);
  latest.current = request;
  const asked = useRef(0);
  const reload = useCallback(() => {
    const number = (asked.current += 1);
    const take = (found: { readonly value: T } | { readonly error: string }): void => {
      if (number === asked.current) setAnswer({ key, ...found }); // an older answer may come later
    };
    latest.current().then(
      (value) => take({ value }),
      (error: Error) => take({ error: error.message }),
    );
  }, [key]);
  const revision = useDashboard().state.changes[topic];
  useEffect(() => {
    const reloadIfSeen = (): void => {
      if (!document.hidden) reload();
    };
    reloadIfSeen();
    const timer = setInterval(reloadIfSeen, REFRESH_MS);
    document.addEventListener('visibilitychange', reloadIfSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', reloadIfSeen);
    };
  }, [reload, revision]);
  const isOld = answer.key !== key;
  return { value: isOld ? undefined : answer.value, error: isOld ? undefined : answer.error, reload };
}
