import type { oas31 } from 'openapi3-ts';
import { valueAt } from '../../base/core/json/json-pointer.ts';

export type Schema = Readonly<Record<string, unknown>> | boolean;

/** One operation of a document. References are resolved where the fuzzer looks. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: 'path' | 'query' | 'header';
    readonly schema: Schema;
  }[];
  /** Schemas of the body by media type. Empty if the operation has no body. */
  readonly body: ReadonlyMap<string, Schema>;
  /** Schemas of the answers by status and media type. */
  readonly answers: ReadonlyMap<string, ReadonlyMap<string, Schema>>;
}

type Json = Readonly<Record<string, unknown>>;

/** Resolves references of a document. */
export class Resolver {
  readonly #document: Json;

  constructor(document: Json) {
    this.#document = document;
  }

  resolve<T = Json>(value: unknown): T {
    const reference = (value as { $ref?: unknown } | null)?.$ref;
    if (typeof reference !== 'string') return value as T;
    const found = valueAt(this.#document, reference);
    if (found === undefined) throw new Error(`the document has no ${reference}`);
    return this.resolve(found);
  }
}

const METHODS = ['get', 'put', 'post', 'patch', 'delete'] as const;

export function operationsOf(document: oas31.OpenAPIObject, resolver: Resolver): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.flatMap((method): Operation[] => {
      const operation = item[method];
      if (!operation) return [];
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) =>
        resolver.resolve<oas31.ParameterObject>(one),
      );
      const responses = Object.entries((operation.responses ?? {}) as Json).map(
        ([status, one]) => [status, contentOf(resolver.resolve<oas31.ResponseObject>(one))] as const,
      );
      return [
        {
          id: operation.operationId ?? `${method} ${path}`,
          method: method.toUpperCase(),
          path,
          parameters: parameters.flatMap(({ name, in: where, schema = {} }) =>
            where === 'cookie' ? [] : [{ name, in: where, schema: schema as Schema }],
          ),
          body: contentOf(resolver.resolve<oas31.RequestBodyObject | undefined>(operation.requestBody) ?? {}),
          answers: new Map(responses),
        },
      ];
    }),
  );
}

function contentOf({ content = {} }: { readonly content?: oas31.ContentObject }): ReadonlyMap<string, Schema> {
  return new Map(Object.entries(content).map(([type, { schema = {} }]) => [type, schema as Schema]));
}
