// Attacks on the schemas of everything that callers send: how much a check visits and tells.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LimitsConfig } from '../../../base/config/sections/limits.ts';
import { checkedValue, MOST_ENTRIES, validationEntries } from '../../../base/schemas/index.ts';
import { requestSchemas, type Schema } from '../fixtures/request-schemas.ts';
import { LargeValues, partsOf, schemaAttacks } from '../fixtures/schema-attacks.ts';

/** Lower than the defaults: visits are counted, and their number for each value does not depend on the size. */
const limits = { ...LimitsConfig.parse({}), max_json_bytes: 256 * 1024, max_json_elements: 20_000 };
/**
 * A check ends at the first mistake, but not in a record, and not at a text or number of the right type that breaks a
 * rule. Such lists and records are shorter than this.
 */
const MOST_ISSUES = 10_000;
/** Each value is seen by the options of the unions around it, and so are members that it lacks. */
const VISITS_OF_VALUE = 10;
/** The members that a request lacks are seen, too. */
const VISITS_OF_SCHEMA = 200;

let visits = 0;

/** Counts the values that a schema, and those that it consists of, see. */
function countVisits(schema: Schema, counted: Set<Schema>): void {
  if (counted.has(schema)) return;
  counted.add(schema);
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => {
    visits += 1;
    return run(payload, context);
  };
  for (const part of partsOf(schema)) countVisits(part, counted);
}

/** Returns the number of values in an input, at all depths. */
function valuesIn(input: unknown): number {
  if (typeof input !== 'object' || input === null) return 1;
  let count = 1;
  for (const value of Array.isArray(input) ? input : Object.values(input)) count += valuesIn(value);
  return count;
}

const Attacks = suite('attacks on the schemas of requests');

Attacks('are left at the first mistakes, and each value is seen a few times', () => {
  const large = new LargeValues(limits);
  const counted = new Set<Schema>();
  const attacked = new Set<Schema>();
  const missed: string[] = [];
  let attacks = 0;
  for (const [path, schema] of requestSchemas) {
    for (const { what, at, input } of schemaAttacks(schema, large, attacked, { at: path, around: (value) => value })) {
      attacks += 1;
      countVisits(schema, counted);
      visits = 0;
      const { issues } = checkedValue(schema, input);
      const seen = visits;
      const told = issues ? validationEntries(issues, input).length : 0;
      const most = issues && what === 'mistakes' ? 2 * MOST_ISSUES : VISITS_OF_VALUE * valuesIn(input);
      if (seen > most + VISITS_OF_SCHEMA || (issues?.length ?? 0) > MOST_ISSUES || told > MOST_ENTRIES)
        missed.push(`${at}, ${what}: ${seen} visits, ${issues?.length ?? 0} issues, ${told} told`);
    }
  }
  assert.equal(missed, []);
  assert.ok(attacks > 1000, `${attacks} attacks`);
  assert.ok(attacked.size > 1000, `${attacked.size} schemas`);
});

Attacks.run();
