import { fail } from '../../../../base/core/errors.ts';

const TOKENIZER = ['tokenizer.json', 'tokenizer_config.json'];
const PREPROCESSOR = ['preprocessor_config.json'];

/** The files of a model beside `config.json`. */
interface TaskFiles {
  readonly configuration: readonly string[];
  /**
   * Whether an encoder and a decoder are files of their own: always, or where the configuration says that the model has
   * both.
   */
  readonly generates?: 'always' | 'where stated';
}

const TEXT: TaskFiles = { configuration: TOKENIZER };
const IMAGE: TaskFiles = { configuration: PREPROCESSOR };

/** The tasks of pipelines. */
const TASKS = {
  'feature-extraction': TEXT,
  'text-classification': TEXT,
  'token-classification': TEXT,
  'zero-shot-classification': TEXT,
  'question-answering': TEXT,
  'text-generation': TEXT,
  'image-classification': IMAGE,
  'object-detection': IMAGE,
  'automatic-speech-recognition': { configuration: [...TOKENIZER, ...PREPROCESSOR], generates: 'where stated' },
  summarization: { configuration: TOKENIZER, generates: 'always' },
  translation: { configuration: TOKENIZER, generates: 'always' },
  'image-to-text': { configuration: [...TOKENIZER, ...PREPROCESSOR], generates: 'always' },
} as const satisfies Readonly<Record<string, TaskFiles>>;

export type TaskName = keyof typeof TASKS;
export const TASK_NAMES = Object.keys(TASKS) as TaskName[];

/**
 * Returns the names of the files that a model with this configuration has, and of its ONNX models without their
 * endings. Throws `ModelFormatError` for a model that another type of deployment runs.
 */
export function filesOf(
  task: TaskName,
  config: Readonly<Record<string, unknown>>,
  id: string,
): { readonly configuration: readonly string[]; readonly models: readonly string[] } {
  if (config['model_type'] === 'whisper')
    throw fail('ModelFormatError', `${id} is a Whisper model: use it with a WhisperDeployment`, { data: { file: id } });
  const { configuration, generates }: TaskFiles = TASKS[task];
  const hasBoth = config['is_encoder_decoder'] === true;
  if (generates === 'always' && !hasBoth)
    throw fail('ModelFormatError', `${id} has no encoder and decoder (is_encoder_decoder), so it is not for ${task}`, {
      data: { file: id },
    });
  if (generates === undefined || !hasBoth) return { configuration, models: ['model'] };
  return {
    configuration: [...configuration, 'generation_config.json'],
    models: ['encoder_model', 'decoder_model_merged'],
  };
}
