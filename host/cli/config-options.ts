import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import {
  CONFIG_FILE,
  type Config,
  loadConfig,
  type LoadOptions,
  setLoadDefaults,
  type Setting,
  SETTINGS,
} from '../base/config/index.ts';
import { createLogger, type Logger } from '../base/core/log/logger.ts';

/** Adds `--config` and the flags of all settings, or of those that matter to every command. */
export function addConfigOptions(command: Command, which: 'all' | 'common'): Command {
  command.option(
    '--config <file>',
    'configuration file (default: aana.config.json in the working directory, if there is one)',
  );
  command.option(
    '--env-file <file>',
    'file of lines NAME=value with variables that the environment has not (default: .env in the working directory, ' +
      'if there is one)',
  );
  command.option('--no-env-file', 'do not read .env');
  for (const { setting, option } of flags()) {
    if (which === 'all' || setting.isCommonFlag === true) command.addOption(option);
  }
  return command;
}

/** Returns the configuration from a command's flags, the environment and the file. */
export function configOf(options: Readonly<Record<string, unknown>>): Config {
  return loadConfig(loadOptionsOf(options));
}

/** Returns the configuration, and makes it the default of all applications that this process creates. */
export function configForApps(options: Readonly<Record<string, unknown>>): Config {
  const config = configOf(options);
  setLoadDefaults(loadOptionsOf(options));
  return config;
}

/** Returns the logger of a command, which writes to the standard error. */
export function loggerOf({ log }: Config, level: Config['log']['level'] = log.level): Logger {
  return createLogger({ level, format: log.format, write: (line) => process.stderr.write(line) });
}

/** Returns configuration files in `folders` that are ignored, because the command runs in another folder. */
export function unreadConfigs(folders: readonly string[]): string[] {
  return folders
    .filter((folder) => resolve(folder) !== process.cwd())
    .map((folder) => join(folder, CONFIG_FILE))
    .filter((file) => existsSync(file));
}

function loadOptionsOf(options: Readonly<Record<string, unknown>>): LoadOptions {
  const values = flags().map(({ setting, option }) => {
    const value = options[option.attributeName()];
    // The default of `--no-…` is true.
    return [setting.key, option.negate && value === true ? undefined : value] as const;
  });
  return {
    file: options['config'] as string | undefined,
    // True is the default of `--no-env-file`.
    envFile: options['envFile'] === true ? undefined : (options['envFile'] as string | false | undefined),
    flags: Object.fromEntries(values) as NonNullable<LoadOptions['flags']>,
  };
}

function flags(): { setting: Setting; option: Option }[] {
  return SETTINGS.flatMap((setting) => {
    if (setting.flag === undefined) return [];
    const option = new Option(setting.flag, setting.description);
    if (setting.kind === 'paths' || setting.kind === 'list')
      option.argParser((value, earlier: string[] | undefined) => [...(earlier ?? []), value]);
    return [{ setting, option }];
  });
}
