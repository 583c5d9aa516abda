import * as z from 'zod';

interface Bounds {
  readonly min: number;
  readonly max?: number;
  readonly default: number;
}

/** A whole number with its default. */
export const whole = ({ min, max = Number.MAX_SAFE_INTEGER, default: value }: Bounds, description: string) =>
  z.int().min(min).max(max).default(value).describe(description);

/** A number with its default. */
export const amount = ({ min, max, default: value }: Required<Bounds>, description: string) =>
  z.number().min(min).max(max).default(value).describe(description);

/** Whether something is on, with its default. */
export const toggle = (value: boolean, description: string) => z.boolean().default(value).describe(description);

/** A text that is not empty, or `null`, which is the default. */
export const textOrNull = (description: string) => z.string().min(1).nullable().default(null).describe(description);
