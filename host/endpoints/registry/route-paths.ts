const PARAMETER = /^\{([A-Za-z_]\w*)\}$/;

/** A path, or a template such as `/items/{id}`, whose parameters are whole segments. The first segment is none. */
export const PATH = /^\/[A-Za-z0-9._~-]+(\/([A-Za-z0-9._~-]+|\{[A-Za-z_]\w*\}))*$/;

const segmentsOf = (path: string): string[] => path.split('/').slice(1);
const nameIn = (segment: string): string | undefined => PARAMETER.exec(segment)?.[1];

/** Returns the names of the parameters of a template, in order. */
export const pathParametersOf = (template: string): string[] =>
  segmentsOf(template).flatMap((segment) => nameIn(segment) ?? []);

/**
 * Returns the texts of a template's parameters in a path; undefined if it does not match. A text that is not
 * percent-encoded UTF-8 does not match.
 */
export function matchPath(template: string, path: string): ReadonlyMap<string, string> | undefined {
  const [wanted, given] = [segmentsOf(template), segmentsOf(path)];
  if (wanted.length !== given.length) return undefined;
  const texts = new Map<string, string>();
  for (const [n, segment] of wanted.entries()) {
    const name = nameIn(segment);
    const text = given[n]!;
    if (name === undefined) {
      if (segment !== text) return undefined;
      continue;
    }
    if (text === '') return undefined;
    try {
      texts.set(name, decodeURIComponent(text));
    } catch {
      return undefined;
    }
  }
  return texts;
}

/** Whether a path can match two templates. */
export function overlap(left: string, right: string): boolean {
  return segmentsOf(left).length === segmentsOf(right).length && beginsLike(left, right);
}

/** Whether a path that matches `template` can be `path`, or lie below it. */
export function beginsLike(template: string, path: string): boolean {
  const segments = segmentsOf(template);
  return segmentsOf(path).every((segment, n) => {
    const own = segments[n];
    return own !== undefined && (own === segment || nameIn(own) !== undefined || nameIn(segment) !== undefined);
  });
}
