import * as z from 'zod';
import { isReserved } from '../../../base/core/secrets/given-settings.ts';

/** One setting in a manifest. */
const DeclaredSetting = z
  .strictObject({
    type: z.enum(['string', 'number', 'integer', 'boolean']),
    description: z.string().min(1).max(1000),
    secret: z.boolean().default(false),
    required: z.boolean().default(false),
    default: z.union([z.string(), z.number(), z.boolean()], 'must be a text, a number or a boolean').optional(),
  })
  .check(({ value: { type, secret, required, default: usual }, issues }) => {
    const refuse = (key: string, message: string): unknown =>
      issues.push({ code: 'custom', input: undefined, path: [key], message });
    if (secret && type !== 'string') refuse('secret', 'is for settings of the type "string"');
    if (usual === undefined) return;
    if (secret) refuse('default', 'everybody can read the default of a secret in plugin.json; leave it out');
    else if (required) refuse('default', 'is never used, because the setting is required');
    else if (!hasType(usual, type)) refuse('default', `must be ${inWords[type]}`);
  });
export type DeclaredSetting = z.output<typeof DeclaredSetting>;
type SettingType = DeclaredSetting['type'];

/** The settings that a manifest declares, by name. */
export const DeclaredSettings = z.record(
  z
    .string()
    .max(64)
    .regex(/^[a-z][a-z0-9_]*$/, 'must be lower-case words joined by "_"')
    .refine((name) => !isReserved(name), 'must not end with "_env" or "_file", which say where a value is'),
  DeclaredSetting,
);
export type DeclaredSettings = z.output<typeof DeclaredSettings>;

const inWords: Readonly<Record<SettingType, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
};

export type SettingValue = string | number | boolean;

/** Whether the value can be used. Without it there is a reason, which does not have the value. */
export type Checked = { readonly value: SettingValue } | { readonly problem: string };

/** Checks a value of the configuration. */
export function checkedValue(value: SettingValue, { type }: DeclaredSetting): Checked {
  return hasType(value, type) ? { value } : { problem: `the value is not ${inWords[type]}` };
}

/** Reads the value in the text of a variable or a file. */
export function parsedValue(text: string, declared: DeclaredSetting): Checked {
  if (declared.type === 'string') return { value: text };
  const trimmed = text.trim();
  const value = declared.type === 'boolean' ? booleans.get(trimmed) : Number(trimmed);
  return checkedValue(value ?? text, declared);
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

function hasType(value: SettingValue, type: SettingType): boolean {
  if (type === 'integer') return Number.isSafeInteger(value);
  return typeof value === type && (typeof value !== 'number' || Number.isFinite(value));
}
