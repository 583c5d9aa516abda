import * as z from 'zod';

/** What a key has besides its schema, its default and its text. */
export interface SettingInfo {
  /**
   * Environment variable. Lists of paths are separated as in PATH; other lists are JSON or separated by commas; objects
   * are JSON. An empty variable counts as unset. The variable of a section is a JSON object with some of its keys, and
   * the variables of these keys take precedence over it. Default: the prefix of the section and the name of the key.
   */
  readonly env?: string;
  /**
   * What the variables of a section's keys begin with. Default: the section's variable and `__`, or the path of the
   * section, such as `AANA_OPENAI_FILES_`.
   */
  readonly prefix?: string;
  /** Another common spelling of the variable. It takes precedence over `env`. */
  readonly alsoEnv?: string;
  /** Whether an empty variable is a value. */
  readonly isSetByEmpty?: boolean;
  /**
   * Variables of the original SDK with a folder that the key stands for, or that has it `within`. Later ones take
   * precedence over earlier ones, and `env` over all.
   */
  readonly folders?: readonly { readonly env: string; readonly within?: string }[];
  /** Flag of `serve`, in the syntax of the command line library. Flags of lists may be repeated. */
  readonly flag?: string;
  /** Whether every command with a configuration has the flag. */
  readonly isCommonFlag?: boolean;
  /** Whether texts are paths. Relative ones are resolved. */
  readonly isPath?: boolean;
  /** Whether a running host takes a new value at once when a configuration is applied (`Services.liveSections`). */
  readonly isLive?: boolean;
  /** Text of the default in the documentation, where it is not the value in the schema. */
  readonly defaultText?: string;
}

/**
 * Has the keys and sections of the configuration of which something is to be said. They are registered last, because
 * the other methods of a schema return new schemas.
 */
export const settings = z.registry<SettingInfo>();
