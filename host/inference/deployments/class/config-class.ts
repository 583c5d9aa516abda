import type * as z from 'zod';
import { deepFreeze } from '../../../base/core/deep-freeze.ts';
import { check } from './check.ts';

/** An object of a configuration class, with the fields of the schema. */
export type ConfigObject<Schema extends z.core.$ZodType> = Readonly<z.core.output<Schema>> & {
  /** Returns the JSON of `user_config`. */
  toJSON(): z.core.output<Schema>;
};

/** A class whose objects are checked configurations: `new WhisperConfig({ model_size: 'base' })`. */
export interface ConfigClass<Schema extends z.core.$ZodType = z.core.$ZodType> {
  /** Fills in defaults. Throws `ValidationError`, which names the class and the unknown or invalid key. */
  new (values?: z.core.input<Schema>): ConfigObject<Schema>;
  readonly schema: Schema;
}

/**
 * Returns a base class for a configuration:
 *
 *     export class SentimentConfig extends configClass(z.strictObject({ threshold: z.number().default(0.5) })) {}
 */
export function configClass<Schema extends z.core.$ZodType>(schema: Schema): ConfigClass<Schema> {
  class Config {
    static readonly schema = schema;

    constructor(values: unknown = {}) {
      // An undefined field counts as absent, because JavaScript code often leaves fields out that way.
      const given =
        typeof values === 'object' && values !== null
          ? Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
          : values;
      Object.assign(this, deepFreeze(check(schema, given, new.target.name)));
      Object.freeze(this);
    }

    toJSON(): object {
      return structuredClone({ ...this });
    }
  }
  return Config as unknown as ConfigClass<Schema>;
}

interface AnyConfigClass {
  new (values?: never): object;
  readonly schema: z.core.$ZodType;
}

/** The `config` of a deployment class: a schema, or a configuration class. */
export type ConfigType = z.core.$ZodType | AnyConfigClass;

export type SchemaOf<Config extends ConfigType> = Config extends {
  readonly schema: infer Schema extends z.core.$ZodType;
}
  ? Schema
  : Config extends z.core.$ZodType
    ? Config
    : never;

export function schemaOf(config: ConfigType): z.core.$ZodType {
  return typeof config === 'function' ? config.schema : config;
}
