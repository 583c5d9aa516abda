/** `crypto` as a whole, for components whose code names more than a member of it. */
import { getRandomValues, randomUUID } from './random-values.ts';
import { subtle } from './subtle.ts';

export const crypto = { getRandomValues, randomUUID, subtle };
