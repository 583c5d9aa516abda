import type { ConfigValue } from '../../base/config/index.ts';

/** Returns a line for each value that is not a default, or for all values. */
export function configText(values: readonly ConfigValue[], withDefaults: boolean): string {
  const shown = values.filter(({ origin }) => withDefaults || origin !== 'default');
  if (shown.length === 0) return 'every value is a default: --all prints them\n';
  return shown.map(({ key, value, origin }) => `${key} = ${JSON.stringify(value)}  (${origin})\n`).join('');
}

export function configJson(values: readonly ConfigValue[]): string {
  return `${JSON.stringify(values, undefined, 2)}\n`;
}
