import type { Format } from './text.ts';

const COMMENT = /^# (?:TYPE|HELP|UNIT) (\S+)/;
const END = '# EOF';

/**
 * Returns the metrics of several processes as one text. Each sample gets the label `worker` with the number of its
 * process, because gauges of processes must not be added, and a counter that starts again with its process must not
 * make a sum smaller.
 */
export function mergedText(parts: ReadonlyMap<number, string>, format: Format): string {
  const families = new Map<string, { readonly head: string[]; readonly samples: string[] }>();
  for (const [worker, text] of parts) {
    let name = '';
    const known = new Set(families.keys());
    for (const line of text.split('\n')) {
      if (line === '' || line === END) continue;
      name = COMMENT.exec(line)?.[1] ?? name;
      const family = families.get(name) ?? { head: [], samples: [] };
      families.set(name, family);
      if (!COMMENT.test(line)) family.samples.push(labelled(line, worker));
      else if (!known.has(name)) family.head.push(line);
    }
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return [...lines, ...(format === 'openmetrics' ? [END] : []), ''].join('\n');
}

function labelled(sample: string, worker: number): string {
  const at = sample.search(/[{ ]/);
  const rest = sample[at] === '{' ? `,${sample.slice(at + 1)}` : `}${sample.slice(at)}`;
  return `${sample.slice(0, at)}{worker="${worker}"${rest}`;
}
