import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type * as z from 'zod';
import * as anthropic from '../anthropic/index.ts';
import { operations } from '../control/protocol.ts';
import { CLIENT_EVENTS } from '../openai/realtime/client-events.ts';
import * as sessions from '../openai/realtime/session-fields.ts';
import * as openai from '../openai/index.ts';
import * as schemas from '../schemas/index.ts';
import * as api from './index.ts';

type Schema = z.core.$ZodType;

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && '_zod' in value;

/** Yields the schemas in the values of a module, at any depth. `keys` are the members that are looked at. */
function* schemasIn(value: unknown, path: string, keys: RegExp): Generator<readonly [path: string, schema: Schema]> {
  if (isSchema(value)) yield [path, value];
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value))
      if (keys.test(key)) yield* schemasIn(member, `${path}.${key}`, keys);
}

/** Core models that callers send. */
const MODELS =
  /^(AudioReference|Artifact|BatchedWhisperParams|ChatDialog|ChatDialogInput|ImageChatDialog|ImageInput|KnownSpeakers|LiveParams|LiveTurnParams|ResponseFormat|SamplingParams|SpeakerDiarizationParams|StructuredOutputs|ToolChoice|ToolDefinition|VadParams|VideoInput|WhisperParams|chatOptions|\w+_id)$/;
/** Parameters in paths are left out, because the limit of the header is theirs. */
const requests = [
  ...schemasIn(api, 'routes', /^(?!answers$|fails$|PATH_PARAMETERS$)/),
  ...schemasIn(openai, 'openai', /_FIELDS$|^schema$/),
  ...schemasIn(sessions, 'session', /_FIELDS$|^schema$/),
  ...schemasIn(CLIENT_EVENTS, 'events', /./),
  ...schemasIn(anthropic, 'anthropic', /_FIELDS$|^schema$/),
  ...schemasIn(operations, 'control', /^(?!value$)/),
  ...Object.entries(schemas).flatMap(([name, value]) => (MODELS.test(name) ? [...schemasIn(value, name, /./)] : [])),
];

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
  const keys = (def['keyType'] as Schema | undefined)?._zod.values;
  if (def.type === 'record' && def['maxProperties'] === undefined && keys === undefined) yield `${path}: a record`;
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

Bounded('have a limit at each list, record and text', () => {
  assert.ok(requests.length > 100, `${requests.length} schemas`);
  const seen = new Set<Schema>();
  assert.equal(
    requests.flatMap(([path, schema]) => [...unlimited(schema, path, seen)]),
    [],
  );
  assert.ok(seen.size > 1000, `${seen.size} schemas`);
});

Bounded('refuse a record with too many members before they are checked', () => {
  const bias = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [n, 'wrong']));
  const { issues } = schemas.checkedValue(openai.CHAT_FIELDS.schema.shape.logit_bias, bias);
  assert.equal(
    issues?.map(({ message, path }) => [message, path]),
    [['must have at most 1024 members.', []]],
  );
});

Bounded.run();
