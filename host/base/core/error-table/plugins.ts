import type { Definitions } from './definition.ts';

/** Errors of plugins. */
export const PLUGINS = {
  PluginTrapError: {
    kind: 'plugin-failed',
    when: 'The plugin crashed, or exceeded its memory limit in another language than TypeScript.',
    data: ['plugin', 'endpoint'],
  },
  PluginUnavailable: {
    kind: 'unavailable',
    when: 'The plugin has too many waiting requests, is being replaced, or lost its process.',
  },
  PluginNotConfigured: {
    kind: 'unavailable',
    when: 'A setting that the plugin needs has no value, or one that cannot be used. `plugin_settings` gives it.',
    data: ['plugin?', 'settings'],
  },
  InvocationTimeout: {
    kind: 'deadline-exceeded',
    when: 'The plugin exceeded its time limit or its limit of computing time.',
    data: ['deadline_ms?', 'cpu_ms?', 'cpu_slice_ms?'],
  },
  OutputTooLarge: {
    kind: 'too-large',
    when:
      'The answer of the plugin exceeds `plugin_limits.output_bytes`, 2 million values or 256 levels of ' +
      'nesting, or its error has too much data.',
    data: ['limit'],
  },
  OutOfMemory: {
    kind: 'too-large',
    when:
      'The plugin exceeded its limit of memory (`memory_bytes`). A plugin in another language than TypeScript traps ' +
      'instead (`PluginTrapError`).',
    data: ['limit'],
  },
  TooManyHostCalls: { kind: 'too-large', when: 'The plugin exceeded its limit of calls of the host.', data: ['limit'] },
  TooManyHandles: {
    kind: 'too-large',
    when: 'The plugin exceeded its limit of open media, streams and helpers.',
    data: ['limit'],
  },
  ArgumentsTooLarge: {
    kind: 'too-large',
    when: 'The arguments of a call by the plugin are too large, too many, or nested deeper than 256 levels.',
    data: ['limit'],
  },
  HeldTooMuch: {
    kind: 'too-large',
    when: 'The inputs and results of the helpers that the plugin holds are together too large.',
    data: ['limit'],
  },
  ValueTooLarge: {
    kind: 'too-large',
    when: 'A value that the plugin wants to store is too large.',
    data: ['bytes', 'limit'],
  },
  ResponseTooLarge: {
    kind: 'too-large',
    when: 'The answer to a request by the plugin is too large.',
    data: ['max_bytes'],
  },
  CapabilityDenied: {
    kind: 'denied',
    when: 'The plugin uses a capability that it was not granted.',
    data: ['capability'],
  },
  SettingDenied: {
    kind: 'denied',
    when: 'The plugin reads a setting that its `plugin.json` does not declare.',
    data: ['setting'],
  },
  CryptoFailed: {
    kind: 'bad-request',
    when:
      'The plugin calls `crypto.perform` with what its method refuses. `name` is that of the error in the ' +
      'standard.',
    data: ['name'],
  },
  DeploymentDenied: {
    kind: 'denied',
    when: 'The plugin calls a deployment that it was not granted.',
    data: ['deployment'],
  },
  HostDenied: { kind: 'denied', when: 'The plugin sends a request to a host that it was not granted.', data: ['host'] },
  HelperError: {
    kind: 'internal',
    when:
      'A helper of the program cannot be imported, its process ends before it has a result, or its input or output ' +
      'does not match its schema.',
  },
  NestedHelper: { kind: 'denied', when: 'A helper tries to start a helper.' },
  InvalidArguments: { kind: 'invalid-input', when: 'The plugin calls the host with invalid arguments.' },
  FilesDenied: { kind: 'denied', when: 'The arguments of a call by the plugin name files of the host.' },
  InvalidHandle: { kind: 'bad-request', when: 'The plugin uses a handle that it does not hold.' },
  InvalidKey: { kind: 'invalid-input', when: 'The plugin uses a storage key that is empty or too long.' },
  StoredValueMismatch: {
    kind: 'conflict',
    when: 'A stored value is not what the plugin asks for: it is not a number, or not text.',
  },
  InvalidRequest: { kind: 'invalid-input', when: 'The plugin makes an invalid request.' },
  StreamNotEnded: { kind: 'conflict', when: 'A plugin asks how an answer ended before it has read it.' },
  NotStreaming: { kind: 'bad-request', when: 'The plugin writes a stream, but its endpoint does not stream.' },
} as const satisfies Definitions;
