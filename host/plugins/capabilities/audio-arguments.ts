import { AanaError } from '../../core/errors.ts';
import type { AudioReference } from '../../schemas/asr.ts';

/** A call's arguments with each `{"$audio": n}` replaced by the nth audio. */
export function withAudio(json: string, audio: readonly AudioReference[]): Record<string, unknown> {
  let args: unknown;
  try {
    args = JSON.parse(json, (_key, value: unknown) => {
      const index = audioIndex(value);
      if (index === undefined) return value;
      const reference = audio[index];
      if (reference === undefined) throw invalid(`the arguments name audio ${index}, but ${audio.length} were given`);
      return reference;
    });
  } catch (error) {
    throw error instanceof AanaError ? error : invalid(`the arguments are not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof args !== 'object' || args === null || Array.isArray(args)) throw invalid('the arguments are not a JSON object');
  return Object.fromEntries(Object.entries(args));
}

function audioIndex(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('$audio' in value) || Object.keys(value).length !== 1) return undefined;
  return Number(value.$audio);
}

const invalid = (message: string): AanaError => new AanaError('InvalidArguments', 'invalid-input', message);
