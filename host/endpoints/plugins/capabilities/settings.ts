import type { SettingsCalls } from '../../../../wit/generated/world/settings.ts';
import type { CallsOf } from './scope/scope.ts';

/** The settings that the manifest declares. Every plugin has them. */
export const settingsCalls: CallsOf<keyof SettingsCalls> = {
  'settings.get': async ({ settings }, name) => settings.get(name),
};
