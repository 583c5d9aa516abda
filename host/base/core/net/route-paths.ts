const PARAMETER = /^\{([A-Za-z_]\w*)\}$/;
const SEGMENTS = String.raw`\/[A-Za-z0-9._~-]+(\/([A-Za-z0-9._~-]+|\{[A-Za-z_]\w*\}))*`;

/** A path, or a template such as `/items/{id}`, whose parameters are whole segments. The first segment is none. */
export const PATH = new RegExp(`^${SEGMENTS}$`);
/** Such a path, or all paths below it: `/video/*`. */
export const PATH_PATTERN = new RegExp(String.raw`^${SEGMENTS}(\/\*)?$`);

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
    const decoded = text === '' ? undefined : decode(text);
    if (decoded === undefined) return undefined;
    texts.set(name, decoded);
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

/**
 * Returns whether a pattern names a path: the path itself, all paths below one if the pattern ends with `/*`, or the
 * template of the endpoint at the path, whatever the names of its parameters. Without `template` no endpoint is there.
 */
export function matchesPattern(pattern: string, path: string, template?: string): boolean {
  const isBelow = pattern.endsWith('/*');
  const named = isBelow ? pattern.slice(0, -1) : pattern;
  const matches = (one: string, wanted: string): boolean => (isBelow ? one.startsWith(wanted) : one === wanted);
  return (
    matches(path, named) || (template?.includes('{') === true && matches(withoutNames(template), withoutNames(named)))
  );
}

/** Returns a path whose segments are encoded in one way, so that two spellings of a path are equal. */
export function inOneSpelling(path: string): string {
  if (!path.includes('%')) return path;
  return path
    .split('/')
    .map((segment) => {
      const text = decode(segment);
      return text === undefined ? segment : encodeURIComponent(text);
    })
    .join('/');
}

/** The endpoints of paths, by segments, so that a look-up takes as long as the path, however many there are. */
export class PathTree<T> {
  readonly #literal = new Map<string, T>();
  readonly #root: PathNode<T> = new PathNode();

  set(template: string, value: T): void {
    this.#literal.set(template, value);
    let node = this.#root;
    for (const segment of segmentsOf(template)) node = nameIn(segment) === undefined ? node.at(segment) : node.any;
    node.value = value;
  }

  /** Returns the value of a path, or of a template that it matches; a segment without a parameter goes first. */
  find(path: string): T | undefined {
    return this.#literal.get(path) ?? this.#root.find(segmentsOf(path), 0);
  }
}

class PathNode<T> {
  value: T | undefined;
  readonly #named = new Map<string, PathNode<T>>();
  #any: PathNode<T> | undefined;

  at(segment: string): PathNode<T> {
    let node = this.#named.get(segment);
    if (!node) this.#named.set(segment, (node = new PathNode()));
    return node;
  }

  get any(): PathNode<T> {
    return (this.#any ??= new PathNode());
  }

  find(segments: readonly string[], from: number): T | undefined {
    const segment = segments[from];
    if (segment === undefined) return this.value;
    const found = this.#named.get(segment)?.find(segments, from + 1);
    if (found !== undefined || !this.#any || segment === '' || decode(segment) === undefined) return found;
    return this.#any.find(segments, from + 1);
  }
}

const withoutNames = (path: string): string => path.replaceAll(/\{\w*\}/g, '{}');

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
