import { Parser } from 'htmlparser2';

/** Returns the texts of all elements with these names, in the order of the document. Damaged XML has fewer of them. */
export function textsIn<Name extends string>(
  xml: string,
  names: readonly Name[],
): Readonly<Record<Name, readonly string[]>> {
  const found = Object.fromEntries(names.map((name) => [name, [] as string[]])) as unknown as Record<Name, string[]>;
  let open: string[] | undefined;
  const parser = new Parser(
    {
      onopentagname: (name) => {
        open = Object.hasOwn(found, name) ? found[name as Name] : undefined;
        open?.push('');
      },
      ontext: (text) => {
        if (open) open[open.length - 1] += text;
      },
      onclosetag: () => {
        open = undefined;
      },
    },
    { xmlMode: true },
  );
  parser.end(xml);
  return found;
}
