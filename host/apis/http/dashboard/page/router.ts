import { useEffect, useState } from 'preact/hooks';

/** The place in the page: `#/logs?deployment=asr` has the path `logs` and a parameter. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

function placeNow(): Place {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return { path, query: new URLSearchParams(query) };
}

/** Returns the place in the page, also after it changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(placeNow);
  useEffect(() => {
    const onChange = (): void => setPlace(placeNow());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return place;
}

/** Returns the address of a place, for links. */
export function linkTo(path: string, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `#/${path}${text === '' ? '' : `?${text}`}`;
}
