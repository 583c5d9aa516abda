export { changedSettings, type ConfigValue, describeConfig } from './describe.ts';
export {
  authorityFiles,
  childEnvironment,
  CONFIG_FILE,
  type LoadOptions,
  loadConfig,
  parseConfigFile,
  reloadConfig,
} from './load.ts';
export { withEnvFile } from './env-file.ts';
export { type ServiceManagerAddress, takeServiceManager } from './service-manager.ts';
export { exposureOf } from './exposure.ts';
export { setLoadDefaults } from './process-defaults.ts';
export { redactorOf } from './redactor.ts';
export { type Config, type ConfigInput, DEFAULT_DEPLOYMENTS } from './schema.ts';
export { type Setting, SETTINGS } from './settings.ts';
