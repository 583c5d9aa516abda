import * as z from 'zod';
import { ConfigSchema } from './schema.ts';
import { type SettingInfo, settings } from './registry.ts';
import type { SettingKind } from './values.ts';

/** One key of the configuration, as its section declares it. */
export interface Setting extends SettingInfo {
  readonly env: string;
  /** Path in the file, with dots. */
  readonly key: string;
  readonly kind: SettingKind;
  readonly description: string;
  readonly schema: z.core.$ZodType;
}

/** A section of the configuration. */
interface Section {
  readonly key: string;
  /** A variable that sets several of its keys. */
  readonly env: string | undefined;
}

const found: (Setting | Section)[] = [...declared(ConfigSchema, '', 'AANA_')];

/** All keys, in the order of the documentation. */
export const SETTINGS: readonly Setting[] = found.filter((one) => 'kind' in one);

export const SECTIONS: readonly Section[] = found.filter((one) => !('kind' in one));

/** Returns the name of the setting's flag, such as `--port`. */
export function flagName(setting: Setting): string | undefined {
  return setting.flag?.split(' ')[0];
}

/** Returns the sections and keys of a section. Variables of its keys begin with `prefix`. */
function* declared(section: z.core.$ZodObject, path: string, prefix: string): Generator<Setting | Section> {
  for (const [name, schema] of Object.entries(section._zod.def.shape)) {
    const key = `${path}${name}`;
    const layers = [...layersOf(schema)];
    const info = layers.map((layer) => settings.get(layer)).find((one) => one !== undefined) ?? {};
    const variable = `${prefix}${name.toUpperCase()}`;
    const inner = layers.at(-1) ?? schema;
    if (inner instanceof z.ZodObject && !layers.some((layer) => layer instanceof z.ZodNullable)) {
      yield { key, env: info.env };
      const joint = prefix.endsWith('__') ? '__' : '_';
      yield* declared(inner, `${key}.`, info.prefix ?? (info.env ? `${info.env}__` : `${variable}${joint}`));
      continue;
    }
    const texts = layers.map((layer) => z.globalRegistry.get(layer)?.description);
    const description = texts.find((text) => text !== undefined) ?? '';
    yield { env: variable, ...info, key, kind: kindOf(inner, info.isPath === true), description, schema };
  }
}

/** Returns a schema, and what is in its default, its nullability and the like. */
function* layersOf(schema: z.core.$ZodType): Generator<z.core.$ZodType> {
  yield schema;
  const { innerType } = schema._zod.def as { readonly innerType?: z.core.$ZodType };
  if (innerType) yield* layersOf(innerType);
}

function kindOf(schema: z.core.$ZodType, isPath: boolean): SettingKind {
  if (schema instanceof z.ZodNumber) return 'number';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodRecord || schema instanceof z.ZodObject) return 'json';
  if (!(schema instanceof z.ZodArray)) return isPath ? 'path' : 'text';
  if (schema.element instanceof z.ZodObject) return 'json';
  return isPath ? 'paths' : 'list';
}
