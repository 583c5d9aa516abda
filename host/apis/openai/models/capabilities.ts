/** The types of deployments of language models. */
const LANGUAGE_MODEL =
  'a language model (LlamaTextGenerationDeployment, OpenAITextGenerationDeployment or TransformersDeployment)';

/** What a model can do for the routes below `/v1`, by the methods of its deployment. */
export const CAPABILITIES = {
  chat: {
    methods: ['chat', 'chat_stream'],
    deploy: LANGUAGE_MODEL,
  },
  completions: {
    methods: ['generate', 'generate_stream'],
    deploy: LANGUAGE_MODEL,
  },
  tokenize: {
    methods: ['tokenize', 'detokenize'],
    deploy: LANGUAGE_MODEL,
  },
  embeddings: {
    methods: ['embed_batch'],
    deploy: 'a model for embeddings (LlamaEmbeddingDeployment or TransformersDeployment)',
  },
  rerank: { methods: ['rerank'], deploy: 'a model that ranks documents (LlamaRerankDeployment)' },
  transcriptions: {
    methods: ['transcribe', 'transcribe_stream'],
    deploy: 'a model of speech to text (WhisperDeployment or TransformersDeployment)',
  },
  realtime: {
    methods: ['transcribe_live', 'transcribe_turns'],
    deploy: 'a model of speech to text (WhisperDeployment)',
  },
  diarization: { methods: ['diarize'], deploy: 'speaker diarization (SpeakerDiarizationDeployment)' },
} as const satisfies Readonly<Record<string, CapabilityFacts>>;

interface CapabilityFacts {
  /** Methods that the deployment needs, all of them. */
  readonly methods: readonly string[];
  /** What gives the application such a model. */
  readonly deploy: string;
}

/** A word for what a model can do, such as `chat`. */
export type Capability = keyof typeof CAPABILITIES;

/** Returns what a deployment with these methods can do. */
export function capabilitiesOf(methods: ReadonlySet<string>): Capability[] {
  return (Object.keys(CAPABILITIES) as Capability[]).filter((name) =>
    CAPABILITIES[name].methods.every((method) => methods.has(method)),
  );
}
