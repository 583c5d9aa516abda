/** What one capability is, for everything that must know it. */
interface CapabilityDefinition {
  /** Names of its interface through which a guest gets to what it has. */
  readonly entryPoints: readonly string[];
  /** Functions for which a guest waits; each suspends it. */
  readonly suspending: readonly string[];
  /** Its exports in a guest that does not ask for it; `denied` is a function that throws the reason. */
  readonly absent: string;
  /** Whether its calls go to deployments, which a manifest names. */
  readonly callsDeployments?: boolean;
  /** Whether nobody gets it without a word of the operator. */
  readonly isWithheld?: boolean;
}

/**
 * The interfaces of the world that a plugin has only when it asks for them and the operator grants them, by name. This
 * is the only list of them: manifests, grants, the check of imports, the world of a build and the suspending functions
 * follow from it.
 */
const definitions = {
  media: {
    entryPoints: ['Video', 'Image'],
    suspending: ['[static]video.open', '[method]video.extract-audio', '[static]image.open', '[method]image.pixels'],
    absent: 'export const Video = { open: denied }, Image = Video;',
  },
  deployments: {
    entryPoints: ['call', 'open'],
    suspending: ['call', 'open', '[method]chunks.next'],
    absent: 'export { denied as call, denied as open };',
    callsDeployments: true,
  },
  asr: {
    entryPoints: ['transcribe', 'transcribeStream'],
    suspending: ['transcribe', 'transcribe-stream', '[method]transcriptions.next'],
    absent: 'export { denied as transcribe, denied as transcribeStream };',
    callsDeployments: true,
  },
  llm: {
    entryPoints: ['chat', 'chatStream', 'countDialogTokens', 'countTokens'],
    suspending: [
      'chat',
      'chat-stream',
      'count-dialog-tokens',
      'count-tokens',
      '[method]text-stream.next',
      '[method]text-stream.forward',
    ],
    absent: 'export { denied as chat, denied as chatStream, denied as countDialogTokens, denied as countTokens };',
    callsDeployments: true,
  },
  storage: {
    entryPoints: ['get', 'set', 'delete', 'list'],
    suspending: ['get', 'set', 'delete', 'list'],
    absent: 'export { denied as get, denied as set, denied as delete, denied as list };',
  },
  repositories: {
    entryPoints: [
      'mediaExists',
      'readVideo',
      'listVideos',
      'readCaption',
      'listCaptions',
      'readTranscript',
      'listTranscripts',
    ],
    suspending: [
      'media-exists',
      'read-video',
      'list-videos',
      'read-caption',
      'list-captions',
      'read-transcript',
      'list-transcripts',
    ],
    absent:
      'export { denied as mediaExists, denied as readVideo, denied as listVideos, denied as readCaption, denied as listCaptions, denied as readTranscript, denied as listTranscripts };',
  },
  'repositories-write': {
    entryPoints: [
      'createMedia',
      'saveVideo',
      'saveCaptions',
      'saveTranscript',
      'deleteMedia',
      'deleteCaption',
      'deleteTranscript',
    ],
    suspending: [
      'create-media',
      'save-video',
      'save-captions',
      'save-transcript',
      'delete-media',
      'delete-caption',
      'delete-transcript',
    ],
    absent:
      'export { denied as createMedia, denied as saveVideo, denied as saveCaptions, denied as saveTranscript, denied as deleteMedia, denied as deleteCaption, denied as deleteTranscript };',
    isWithheld: true,
  },
  http: { entryPoints: ['fetch'], suspending: ['fetch'], absent: 'export { denied as fetch };' },
  remote: {
    entryPoints: ['Task'],
    suspending: ['[static]task.start', '[method]task.wait'],
    absent: 'export const Task = { start: denied };',
  },
} satisfies Record<string, CapabilityDefinition>;

export type Capability = keyof typeof definitions;

export const capabilityNames = Object.keys(definitions) as readonly Capability[];
export const capabilityDefinitions: Readonly<Record<Capability, CapabilityDefinition>> = definitions;

/** Interfaces that every plugin has, each with the functions that suspend a guest. */
export const commonInterfaces: Readonly<Record<string, readonly string[]>> = {
  types: [],
  log: [],
  random: [],
  invocation: [],
  progress: [],
  output: ['write', 'forward'],
};

/** The functions of an interface of the world that suspend a guest; undefined when there is no such interface. */
export function suspendingFunctions(interfaceName: string): readonly string[] | undefined {
  if (Object.hasOwn(definitions, interfaceName)) return definitions[interfaceName as Capability].suspending;
  return Object.hasOwn(commonInterfaces, interfaceName) ? commonInterfaces[interfaceName] : undefined;
}
