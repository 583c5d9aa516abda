import type { PluginStatus } from '../../apis/http/index.ts';

/** Returns a line for each setting of a plugin: how it is given, and no value. */
export function settingLines(settings: PluginStatus['settings']): [key: string, text: string][] {
  return (settings ?? []).map(({ name, type, description, secret, required, state, origin, problem }) => {
    const kind = [type, secret && 'secret', required && 'required'].filter(Boolean).join(', ');
    const how = [origin, problem].filter(Boolean).join(': ');
    const given = `${state}${how && ` (${how})`}`;
    return ['setting', [`${name}: ${given}`, kind, description].filter(Boolean).join('; ')];
  });
}
