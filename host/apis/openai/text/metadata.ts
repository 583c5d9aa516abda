import * as z from 'zod';
import { recordOf } from '../../../base/schemas/index.ts';

const text = (most: number): z.ZodString => z.string().max(most, `must have at most ${most} characters`);

/** Texts that a client stores with an object of OpenAI's API. */
export const Metadata = z.nullish(recordOf(text(64), text(512), 16));
