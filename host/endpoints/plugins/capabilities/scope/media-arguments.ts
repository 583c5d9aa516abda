import type { AanaError } from '../../../../base/core/errors.ts';
import { fail } from '../../../../base/core/errors.ts';
import { GrowingAudio } from '../../../../base/schemas/growing-audio.ts';
import type { AudioReference, ImageReference } from '../../../../base/schemas/media-references.ts';

/** What the handles of a call stand for. */
export interface HeldMedia {
  readonly audio: readonly (AudioReference | GrowingAudio)[];
  readonly images: readonly ImageReference[];
  /** Receives what completes the arguments: waits for audio that is being decoded and is part of an argument. */
  readonly waits: (() => Promise<unknown>)[];
}

/**
 * Returns the arguments of a call with each `{"$audio": n}` replaced by the nth audio, and each `{"$image": n}` by the
 * nth image. A guest cannot name samples or pixels in another way, because a reference that the guest writes itself
 * would let the deployment read any file of the host.
 */
export function withMedia(json: string, media: HeldMedia): Record<string, unknown> {
  let args: unknown;
  try {
    args = JSON.parse(json);
  } catch (error) {
    throw invalid(`the arguments are not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw invalid('the arguments are not a JSON object');
  if (!mayNameMedia.test(json)) return { ...args };
  const found = { args: args as unknown };
  replaceMedia(found, args, media);
  if (found.args !== args) throw invalid('the arguments are a handle of media; pass a JSON object that contains it');
  return { ...args };
}

/** Whether the text may contain one of these keys, plain or with escapes. */
const mayNameMedia = /\$audio|\$image|channels|pixels|\\u/;

/** The kinds of media by the key that stands for a handle of theirs. */
const kinds = { $audio: 'audio', $image: 'images' } as const satisfies Record<string, keyof HeldMedia>;

/**
 * Replaces the media in place. It uses neither recursion nor a reviver of `JSON.parse`, because arguments have up to
 * half a million values.
 */
function replaceMedia(root: object, args: object, media: HeldMedia): void {
  const within: object[] = [root];
  for (let parent = within.pop(); parent; parent = within.pop()) {
    for (const key of Object.keys(parent)) {
      const value: unknown = (parent as Record<string, unknown>)[key];
      if (typeof value !== 'object' || value === null) continue;
      const named = handleIn(value);
      if (named === undefined) {
        if (namesFiles(value))
          throw fail(
            'FilesDenied',
            'the arguments name files of the host; audio and images are passed as handles: {"$audio": 0}, ' +
              '{"$image": 0}',
          );
        within.push(value);
        continue;
      }
      const all = media[kinds[named.key]];
      const reference = all[named.index];
      if (reference === undefined)
        throw invalid(`the arguments name ${named.key.slice(1)} ${named.index}, but ${all.length} were given`);
      Object.defineProperty(parent, key, { value: reference }); // `__proto__` is an ordinary key
      // The call waits for a growing argument, if it has to, and not for parts of arguments.
      if (reference instanceof GrowingAudio && parent !== args)
        media.waits.push(async () => Object.defineProperty(parent, key, { value: await reference.complete }));
    }
  }
}

/** Returns what a value stands for. Its index is -1 when it is no number. */
function handleIn(value: object): { readonly key: keyof typeof kinds; readonly index: number } | undefined {
  const [key, ...others] = Object.keys(value);
  if ((key !== '$audio' && key !== '$image') || others.length > 0) return undefined;
  const index = (value as Record<string, unknown>)[key];
  return { key, index: typeof index === 'number' ? index : -1 };
}

/** Whether a deployment could take the value for an `AudioReference` or an `ImageReference`. */
function namesFiles(value: object): boolean {
  if ('pixels' in value && isFile(value.pixels)) return true;
  return 'channels' in value && Array.isArray(value.channels) && value.channels.some(isChannel);
}

const isFile = (value: unknown): boolean => typeof value === 'object' && value !== null && 'sha256' in value;

const isChannel = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && ('artifact' in value || 'path' in value);

const invalid = (message: string): AanaError => fail('InvalidArguments', message);
