import { type AanaError, fail } from '../../../../base/core/errors.ts';

/** Limits of what a plugin computes in threads of the host, of which there are few. docs/plugins.md lists them. */
export const cryptoLimits = {
  /** Calls of one plugin that compute at a time. */
  atWork: 2,
  /** Calls of all plugins that compute at a time. Node has four threads, which also read files and resolve names. */
  atWorkInAll: 2,
  dataBytes: 8 * 1024 * 1024,
  /** Characters of the arguments. */
  argumentChars: 64 * 1024,
  /** A secret key, and a key in another form. */
  keyBytes: 16 * 1024,
  newModulusBits: 4096,
  modulusBits: 8192,
  /** Of an RSA key that is imported. */
  exponentBits: 256,
  derivedBytes: 64 * 1024,
  /** Iterations of PBKDF2, each for one digest. */
  iterations: 1_000_000,
} as const;

/** Returns an error of the standard, by its name. */
export function refuse(name: string, message: string): AanaError {
  return fail('CryptoFailed', message, { data: { name } });
}
