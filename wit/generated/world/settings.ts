// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The interface `settings` as a guest sees it. A function that fails throws the record `error`. */
export interface Settings {
  /**
   * Returns the value of a declared setting as JSON: a text, a number or a boolean. None when the operator gives none
   * and the manifest has no default. A value stays the same during an invocation. Fails with `SettingDenied` for a
   * setting that the manifest does not declare.
   */
  get(name: string): string | undefined;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface SettingsCalls {
  'settings.get': { readonly args: readonly [name: string]; readonly value: string | undefined };
}
