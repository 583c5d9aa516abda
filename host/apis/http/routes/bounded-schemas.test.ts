import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { oas31 } from 'openapi3-ts';
import type * as z from 'zod';
import { CHAT_FIELDS } from '../../openai/chat/chat-fields.ts';
import * as schemas from '../../../base/schemas/index.ts';
import { startVariedApp } from '../../../test/helpers/varied-app.ts';
import { allRoutes } from '../fixtures/all-routes.ts';
import { requestSchemas, type Schema, schemasIn } from '../fixtures/request-schemas.ts';

/** Yields the places of lists, records and texts without a limit. */
function* unlimited(schema: Schema, path: string, seen: Set<Schema>): Generator<string> {
  if (seen.has(schema)) return;
  seen.add(schema);
  const { def } = (schema as z.ZodType)._zod as unknown as { def: Record<string, unknown> & { type: string } };
  const { checks = [] } = def as unknown as z.core.$ZodTypeDef;
  const isLimited = checks.some(
    ({
      _zod: {
        def: { check },
      },
    }) => check === 'max_length' || check === 'length_equals',
  );
  const meta = (schema as Partial<z.ZodType>).meta?.() ?? {};
  if (def.type === 'array' && !isLimited) yield `${path}: a list`;
  const isShort = def['format'] === 'uuid' || meta['format'] === 'binary'; // a part of a form is a file
  if (def.type === 'string' && !isLimited && !isShort) yield `${path}: a text`;
  if (def.type === 'record' && def['maxProperties'] === undefined) yield `${path}: a record`;
  if (def.type === 'map' || def.type === 'set') yield `${path}: a ${def.type}`;
  const inner: Record<string, unknown> = {
    ...def,
    ...(def.type === 'lazy' && { of: (def['getter'] as () => unknown)() }),
  };
  for (const [key, member] of Object.entries(inner))
    if (key !== 'checks')
      for (const [at, one] of schemasIn(member, key, /./)) yield* unlimited(one, `${path}.${at}`, seen);
}

const Bounded = suite('schemas of requests');

Bounded('are those of all routes that a server with all parts documents', async () => {
  await using app = await startVariedApp({ config: { api_service: { enabled: true }, mcp: { enabled: true } } });
  const { paths = {} } = (await (await fetch(`${app.url}/openapi.json`)).json()) as oas31.OpenAPIObject;
  const operations = Object.values(paths).flatMap((item) => [item.get, item.put, item.post, item.delete]);
  assert.equal(
    operations
      .flatMap((operation) => (operation && !operation['x-aana-endpoint'] ? [operation.operationId] : []))
      .sort(),
    allRoutes.map(({ id }) => id).sort(),
  );
});

Bounded('have a limit at each list, record and text', () => {
  assert.ok(requestSchemas.length > 100, `${requestSchemas.length} schemas`);
  const seen = new Set<Schema>();
  assert.equal(
    requestSchemas.flatMap(([path, schema]) => [...unlimited(schema, path, seen)]),
    [],
  );
  assert.ok(seen.size > 1000, `${seen.size} schemas`);
});

Bounded('refuse a record with too many members before they are checked', () => {
  const bias = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [n, 'wrong']));
  const { issues } = schemas.checkedValue(CHAT_FIELDS.schema.shape.logit_bias, bias);
  assert.equal(
    issues?.map(({ message, path }) => [message, path]),
    [['must have at most 1024 members.', []]],
  );
});

Bounded.run();
