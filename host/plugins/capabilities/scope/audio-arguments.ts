import { AanaError } from '../../../core/errors.ts';
import type { AudioReference } from '../../../schemas/asr.ts';

/**
 * Returns the arguments of a call with each `{"$audio": n}` replaced by the nth audio. A guest cannot name samples in
 * another way, because a reference that the guest writes itself would let the deployment read any file of the host.
 */
export function withAudio(json: string, audio: readonly AudioReference[]): Record<string, unknown> {
  let args: unknown;
  try {
    args = JSON.parse(json);
  } catch (error) {
    throw invalid(`the arguments are not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw invalid('the arguments are not a JSON object');
  if (!mayNameAudio.test(json)) return { ...args };
  const found = { args: args as unknown };
  replaceAudio(found, audio);
  if (found.args !== args) throw invalid('the arguments are an audio handle; pass a JSON object that contains it');
  return { ...args };
}

/** Whether the text may contain one of these keys, plain or with escapes. */
const mayNameAudio = /\$audio|channels|\\u/;

/**
 * Replaces the audio in place. It uses neither recursion nor a reviver of `JSON.parse`, because arguments have up to
 * half a million values.
 */
function replaceAudio(root: object, audio: readonly AudioReference[]): void {
  const within: object[] = [root];
  for (let parent = within.pop(); parent; parent = within.pop()) {
    for (const key of Object.keys(parent)) {
      const value: unknown = (parent as Record<string, unknown>)[key];
      if (typeof value !== 'object' || value === null) continue;
      const index = audioIndex(value);
      if (index === undefined) {
        if (namesFiles(value))
          throw new AanaError(
            'InvalidArguments',
            'denied',
            'the arguments name files of the host; audio is passed as a handle: {"$audio": 0}',
          );
        within.push(value);
        continue;
      }
      const reference = audio[index];
      if (reference === undefined) throw invalid(`the arguments name audio ${index}, but ${audio.length} were given`);
      Object.defineProperty(parent, key, { value: reference }); // `__proto__` is an ordinary key
    }
  }
}

function audioIndex(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('$audio' in value) || Object.keys(value).length !== 1)
    return undefined;
  return typeof value.$audio === 'number' ? value.$audio : -1;
}

/** Whether a deployment could take the value for an `AudioReference`. */
function namesFiles(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('channels' in value) || !Array.isArray(value.channels))
    return false;
  return value.channels.some(
    (channel: unknown) =>
      typeof channel === 'object' && channel !== null && ('artifact' in channel || 'path' in channel),
  );
}

const invalid = (message: string): AanaError => new AanaError('InvalidArguments', 'invalid-input', message);
