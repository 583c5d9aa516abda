/** Returns a name or a file name as it was before a browser escaped what would end it. */
export const unescaped = (name: string): string =>
  name.replaceAll(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/**
 * Returns the name in `filename*=UTF-8''…`, which some clients send alone if the name is not ASCII. Returns an empty
 * text if it cannot be decoded.
 */
export function extendedName(disposition: string): string | null {
  const [, encoded] = /;\s*filename\*=utf-8'[\w-]*'([^\s;]*)/i.exec(disposition) ?? [];
  if (encoded === undefined) return null;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return '';
  }
}

/** Returns the last part of a file name, because some clients send a path. */
export const withoutFolders = (name: string): string => name.replace(/^.*[/\\]/s, '');
