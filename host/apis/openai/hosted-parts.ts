import * as z from 'zod';

/** A part of a dialog that only the server that made it can read, such as a search of the web by its own tools. */
export interface HostedPart {
  /** Its type, as a parameter. */
  readonly at: readonly (string | number)[];
  /** Its name in the header of ignored parameters, such as `input[].web_search_call`. */
  readonly name: string;
  /** Whether it stands for other parts of the dialog, so that a request with it is always refused. */
  readonly isCompaction: boolean;
}

/** Types of parts that stand for the beginning of a dialog. */
const COMPACTIONS = ['compaction', 'compaction_trigger'] as const;

type HostedSchema = ReturnType<typeof hostedPart>;

/** Returns the schema of hosted parts of these types. Nothing inside of them is looked at. */
export const hostedPart = <const Type extends string>(types: readonly Type[]) =>
  z.object({ type: z.enum([...types, ...COMPACTIONS]) });

/** Whether a checked part is a hosted one. */
export const isHosted = ({ shape }: HostedSchema, { type }: { readonly type: string }): boolean =>
  shape.type.options.includes(type);

/** Finds the hosted parts in a list, which is at `path` in the request. */
export function hostedParts(
  schema: HostedSchema,
  parts: readonly { readonly type: string }[],
  path: readonly (string | number)[],
): HostedPart[] {
  const list = path.map((key) => (typeof key === 'number' ? '' : `.${key}[]`)).join('');
  return parts.flatMap((part, n) =>
    isHosted(schema, part)
      ? [
          {
            at: [...path, n, 'type'],
            name: `${list.slice(1)}.${part.type}`,
            isCompaction: COMPACTIONS.some((one) => one === part.type),
          },
        ]
      : [],
  );
}
