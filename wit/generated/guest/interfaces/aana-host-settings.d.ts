// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/settings@0.1.0' {
  /**
   * Returns the value of a declared setting as JSON: a text, a number or a boolean. None when the operator gives none
   * and the manifest has no default. A value stays the same during an invocation. Fails with `SettingDenied` for a
   * setting that the manifest does not declare.
   */
  export function get(name: string): string | undefined;
  export type Error = import('aana:host/types@0.1.0').Error;
}
