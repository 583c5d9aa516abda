import { useEffect, useState } from 'preact/hooks';

/** The route of the page: `#/logs?deployment=asr` has the path `logs` and a parameter. */
export interface Route {
  readonly path: string;
  readonly query: URLSearchParams;
}

function routeNow(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return { path, query: new URLSearchParams(query) };
}

/** Returns the route of the page, also after it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(routeNow);
  useEffect(() => {
    const onChange = (): void => setRoute(routeNow());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return route;
}

/** Returns the address of a route, for links. */
export function linkTo(path: string, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `#/${path}${text === '' ? '' : `?${text}`}`;
}
