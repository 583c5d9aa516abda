import type * as z from 'zod/mini';
import { type AnswerKind, kindOf } from '../../../base/schemas/answer-kinds.ts';
import type {
  AsrBatchOutput,
  AsrOutput,
  BatchedWhisperParams,
  ChatDialogInput,
  ChatOutput,
  ChatOutputWithDetails,
  GenerationDetails,
  ImageReference,
  Overflow,
  ResponseFormat,
  SamplingParams,
  SpeakerDiarizationOutput,
  SpeakerDiarizationParams,
  TextChunk,
  ToolChoice,
  ToolDefinitionInput,
  VadParams,
  VadSegment,
  VadSegments,
  WhisperParams,
} from '../../../base/schemas/index.ts';
import { Audio, type HandleScope, Image, Stream } from './handles.ts';
import type { Chunks } from '../../../../wit/generated/world/deployments.ts';
import { preparedPromise } from '../guest/event-loop.ts';
import type { Audio as HostAudio, Image as HostImage } from '../../../../wit/generated/world/media.ts';
import type { Host } from '../host.ts';

/**
 * Results of typed methods with their kinds, so that an endpoint that returns such a result need not check an hour of
 * words again.
 */
const typedAnswers = new WeakMap<object, AnswerKind>();

function typed<T extends object>(kind: AnswerKind, answer: T): T {
  typedAnswers.set(answer, kind);
  return answer;
}

/** Whether a value is the unchanged result of a typed method of one of these kinds. */
export function isTypedAnswer(kinds: readonly AnswerKind[], value: unknown): boolean {
  if (kinds.length === 0 || typeof value !== 'object' || value === null) return false;
  const kind = typedAnswers.get(value);
  return kind !== undefined && kinds.includes(kind);
}

/** Returns the kinds of results that a schema, or a branch of a union, describes. */
export const answerKindsOf = (schema: z.ZodMiniType): readonly AnswerKind[] =>
  [schema, ...branchesOf(schema)].flatMap((one) => kindOf(one) ?? []);

function branchesOf(schema: z.ZodMiniType): readonly object[] {
  const { def } = schema._zod;
  return def.type === 'union' ? (def as z.core.$ZodUnionDef).options : [];
}

/** Arguments by name. They may contain an {@link Audio} or an {@link Image} at any depth. */
export type DeploymentArgs = Readonly<Record<string, unknown>>;

/** Options of all calls of a deployment. */
export interface DeploymentOptions {
  /** The model that the calls are for, of a deployment with many: 1 to 256 characters. */
  readonly multiplexedModelId?: string | undefined;
}

/** A deployed model of any kind. */
export class Deployment {
  readonly name: string;
  readonly #host: Host;
  readonly #scope: HandleScope;
  readonly #options: DeploymentOptions;

  constructor(name: string, host: Host, scope: HandleScope, options: DeploymentOptions = {}) {
    this.name = name;
    this.#host = host;
    this.#scope = scope;
    this.#options = options;
  }

  /** Returns the same deployment, whose calls have these options. */
  options(options: DeploymentOptions): this {
    const Class = this.constructor as new (...args: ConstructorParameters<typeof Deployment>) => this;
    return new Class(this.name, this.#host, this.#scope, { ...this.#options, ...options });
  }

  /** Calls a method. Resolves with its result. */
  call<T = unknown>(method: string, args: DeploymentArgs = {}): Promise<T> {
    return this.answer(method, args, (answer: T) => answer);
  }

  /** Calls a streaming method when its stream is first read. */
  stream<T = unknown, Returned = unknown>(method: string, args: DeploymentArgs = {}): Stream<T, Returned> {
    const { json, audio, images } = this.#encoded(args);
    const { deployments } = this.#host;
    const open = (): Chunks =>
      images.length === 0
        ? deployments.open(this.name, method, json, audio)
        : deployments.openWithImages(this.name, method, json, audio, images);
    return new Stream<T, Returned>(open, this.#scope);
  }

  /** Calls a method. Resolves with what `then` makes of its result. */
  protected answer<T, R>(method: string, args: DeploymentArgs, then: (answer: T) => R): Promise<R> {
    const { deployments } = this.#host;
    return preparedPromise(
      () => this.#encoded(args),
      ({ json, audio, images }) =>
        images.length === 0
          ? deployments.call(this.name, method, json, audio)
          : deployments.callWithImages(this.name, method, json, audio, images),
      (answer) => then(JSON.parse(answer) as T),
    );
  }

  #encoded(args: DeploymentArgs): ReturnType<typeof encodeArgs> {
    const { multiplexedModelId: model } = this.#options;
    return encodeArgs(model === undefined ? args : { ...args, ...{ $model: model } });
  }

  /** Calls a method whose result can be the output of an endpoint unchanged. */
  protected typed<T extends object>(method: string, args: DeploymentArgs, kind: AnswerKind): Promise<T> {
    return this.answer(method, args, (answer: T) => typed(kind, answer));
  }
}

/** Speech recognition. */
export class AsrDeployment extends Deployment {
  /** Transcribes. Audio of 0 seconds or without speech gives the language "silence" and no segments. */
  transcribe(audio: Audio, params?: Partial<WhisperParams> | null): Promise<AsrOutput> {
    return this.typed('transcribe', withoutAbsent({ audio, params }), 'transcript');
  }

  /** Transcribes. Each value has one segment, when it is final; the language may come last, without a segment. */
  transcribeStream(audio: Audio, params?: Partial<WhisperParams> | null): Stream<AsrOutput> {
    return this.stream<AsrOutput>('transcribe_stream', withoutAbsent({ audio, params }));
  }

  /** Transcribes several audios at the same time. The lists of the answer have one element for each. */
  transcribeBatch(audios: readonly Audio[], params?: Partial<WhisperParams> | null): Promise<AsrBatchOutput> {
    return this.typed('transcribe_batch', withoutAbsent({ audio_batch: audios, params }), 'transcripts');
  }

  /** Like `transcribeStream`, for segments of the audio: the given ones, or those with speech. */
  transcribeInChunks(audio: Audio, options: ChunksOptions = {}): Stream<AsrOutput> {
    return this.stream<AsrOutput>('transcribe_in_chunks', withoutAbsent({ audio, ...options }));
  }
}

export interface ChunksOptions {
  /** As `asrPreprocessVad` returns them. Default: the parts with speech. */
  readonly vad_segments?: readonly VadSegment[] | null | undefined;
  /** Most windows that are transcribed at the same time. Default: 4. */
  readonly batch_size?: number | undefined;
  readonly params?: Partial<BatchedWhisperParams> | null | undefined;
}

/** Voice activity detection. */
export class VadDeployment extends Deployment {
  /** Finds the parts with speech, and groups them to segments that are transcribed in one piece each. */
  asrPreprocessVad(audio: Audio, params?: Partial<VadParams> | null): Promise<VadSegments> {
    return this.typed('asr_preprocess_vad', withoutAbsent({ audio, params }), 'speech');
  }
}

/** Speaker diarization. */
export class DiarizationDeployment extends Deployment {
  /**
   * Finds who speaks when. Audio without speech has no segments. A speaker whose voice is that of one of
   * `knownSpeakers` has this one's name; its audio is at most 30 s of the person alone.
   */
  diarize(
    audio: Audio,
    params?: Partial<SpeakerDiarizationParams> | null,
    knownSpeakers?: readonly { readonly name: string; readonly audio: Audio }[] | null,
  ): Promise<SpeakerDiarizationOutput> {
    return this.typed('diarize', withoutAbsent({ audio, params, known_speakers: knownSpeakers }), 'speakers');
  }
}

/**
 * A part of a message: a text, an image or a video for a model that sees, or audio for one that hears. A video is a
 * list of frames, whose times in seconds the model reads; frames without times are images.
 */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly image: Image | ImageReference }
  | { readonly type: 'video'; readonly video: readonly (Image | { readonly time: number; readonly image: Image })[] }
  | { readonly type: 'audio'; readonly audio: Audio };

type MessageInput = ChatDialogInput['messages'][number];

/** A dialog. The content of a message is a text or a list of parts. */
export interface DialogInput {
  readonly messages: readonly (Omit<MessageInput, 'content'> & {
    readonly content?: string | readonly MessagePart[] | null | undefined;
  })[];
}

export interface ChatOptions {
  /** Absent and null parameters have the deployment's defaults. */
  readonly sampling_params?: SamplingParams | null | undefined;
  /** The beginning of the answer, which is part of it. */
  readonly assistant_prefix?: string | undefined;
  /** The form of the answer: text, a JSON object, or JSON that a schema takes. */
  readonly response_format?: ResponseFormat | undefined;
  /** Name of a LoRA adapter of the deployment. */
  readonly adapter?: string | undefined;
  /** What happens when the context has no room for the dialog or its answer. Default: "error". */
  readonly overflow?: Overflow | null | undefined;
  /** Functions that the model may call. Their calls are the `tool_calls` of the answer. */
  readonly tools?: readonly ToolDefinitionInput[] | null | undefined;
  /** Whether the model calls tools. Default: as it likes. */
  readonly tool_choice?: ToolChoice | null | undefined;
  /** Whether an answer may have several calls. */
  readonly parallel_tool_calls?: boolean | null | undefined;
  /** Arguments of the model's chat template, such as `{ enable_thinking: false }`. */
  readonly chat_template_kwargs?: Readonly<Record<string, unknown>> | null | undefined;
  /** "none" leaves reasoning in the text. Default: it is split off from the answer. */
  readonly reasoning_format?: 'auto' | 'none' | 'deepseek' | null | undefined;
}

export interface TokenCount {
  /** Tokens of the text, or of the dialog in the model's template. */
  readonly tokens: number;
  /** The size of the model's context, including the answer. */
  readonly max_tokens: number;
}

/** Text generation. */
export class LlmDeployment extends Deployment {
  chat(dialog: DialogInput, options?: ChatOptions): Promise<ChatOutput>;
  /** With `details`, the answer says why it ended and its tokens, where the deployment knows them. */
  chat(dialog: DialogInput, options: ChatOptions & { readonly details: true }): Promise<ChatOutputWithDetails>;
  chat(dialog: DialogInput, options: ChatOptions & { readonly details?: true } = {}): Promise<ChatOutputWithDetails> {
    return this.typed('chat', withoutAbsent({ dialog, ...options }), options.details ? 'chat with details' : 'chat');
  }

  /** `returned` of the stream has the details of the answer, where the deployment knows them. */
  chatStream(dialog: DialogInput, options: ChatOptions = {}): Stream<TextChunk, GenerationDetails> {
    return this.stream<TextChunk, GenerationDetails>('chat_stream', withoutAbsent({ dialog, ...options }));
  }

  countTokens(of: { readonly text: string } | { readonly dialog: DialogInput }): Promise<TokenCount> {
    return this.call<TokenCount>('count_tokens', { ...of });
  }
}

/** The methods of the usual deployment. Called with a name, it returns that deployment. */
export type Asr = ((deployment: string) => AsrDeployment) &
  Pick<AsrDeployment, 'transcribe' | 'transcribeStream' | 'transcribeBatch' | 'transcribeInChunks'>;
export type Vad = ((deployment: string) => VadDeployment) & Pick<VadDeployment, 'asrPreprocessVad'>;
export type Diarization = ((deployment: string) => DiarizationDeployment) & Pick<DiarizationDeployment, 'diarize'>;
export type Llm = ((deployment: string) => LlmDeployment) & Pick<LlmDeployment, 'chat' | 'chatStream' | 'countTokens'>;

function encodeArgs(args: DeploymentArgs): { json: string; audio: HostAudio[]; images: HostImage[] } {
  const audio: HostAudio[] = [];
  const images: HostImage[] = [];
  const json = JSON.stringify(args, (_key, value: unknown) => {
    if (value instanceof Audio) return { $audio: placeIn(audio, value.handle) };
    if (value instanceof Image) return { $image: placeIn(images, value.handle) };
    return value;
  });
  return { json, audio, images };
}

/** Returns the place of a handle in a list. Adds it when it is not there. */
function placeIn<T>(handles: T[], handle: T): number {
  const known = handles.indexOf(handle);
  return known >= 0 ? known : handles.push(handle) - 1;
}

/** Returns the arguments that are neither null nor undefined. */
export function withoutAbsent(args: DeploymentArgs): DeploymentArgs {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined && value !== null));
}
