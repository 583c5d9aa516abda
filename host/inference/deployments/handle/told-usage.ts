import { hasScores } from '../../../base/schemas/index.ts';
import type { MethodDefinition } from '../class/method.ts';

interface Details {
  readonly choices?: readonly object[] | null;
}

/**
 * Makes a call of a text model tell its tokens, for the usage of the request. Returns whether its caller did not ask
 * for that, and must not get it.
 */
export function tellUsage({ input, operation }: MethodDefinition, args: Record<string, unknown>): boolean {
  const { shape = {} } = input as { readonly shape?: object };
  if (operation === undefined || !('details' in shape) || args['details'] === true) return false;
  args['details'] = true;
  return true;
}

/**
 * Returns a result without what {@link tellUsage} asked for. Scores of tokens, which a caller asks for by other names,
 * stay.
 */
export function withoutUsage(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('details' in result)) return result;
  const all = [result.details ?? []].flat() as Details[];
  const isScored = all.some((one) => [one, ...(one?.choices ?? [])].some((told) => told !== null && hasScores(told)));
  if (isScored) return result;
  const { details: _, ...rest } = result;
  return rest;
}
