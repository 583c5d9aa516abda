import { isDeepStrictEqual } from 'node:util';
import { fail } from '../../../base/core/errors.ts';

/**
 * Returns the settings of the next configuration. Throws `NotReconfigurable` when it also changes the loaded model.
 */
export function nextSettings<Spec extends { readonly model_name: string; readonly settings: object }>(
  current: Spec,
  next: Spec,
): Spec['settings'] {
  const { settings, ...wanted } = next;
  const {
    settings: { ...keys },
    ...loaded
  } = current;
  if (isDeepStrictEqual(loaded, wanted)) return settings;
  throw fail(
    'NotReconfigurable',
    `only ${Object.keys(keys).join(', ')} of the loaded ${current.model_name} can be changed`,
  );
}
