// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Base64 } from './types.ts';

/** The interface `crypto` as a guest sees it. A function that fails throws the record `error`. */
export interface Crypto {
  /**
   * Performs a method of `SubtleCrypto` (Web Cryptography API): `digest`, `sign`, `verify`, `encrypt`, `decrypt`,
   * `deriveBits`, `deriveKey`, `generateKey`, `importKey`, `exportKey`, `wrapKey` or `unwrapKey`.
   *
   * `args` is a JSON object with the method's arguments, at most 65,536 characters. Bytes in it are
   * `{"$bytes": base64}`. `data` has the bytes that the method works on, at most 8,388,608: the data of `digest`,
   * `sign`, `verify`, `encrypt` and `decrypt`, the key of `importKey` (except a JWK), the wrapped key of `unwrapKey`.
   * The arguments are `algorithm`, `key`, `signature`, `length` (bits), `derivedKeyType`, `extractable`, `keyUsages`,
   * `format`, `keyData` (a JWK), `wrappingKey`, `wrapAlgorithm`, `unwrappingKey` and `unwrapAlgorithm`, as the methods
   * have them.
   *
   * A key is an object with `type`, `extractable`, `algorithm`, `usages` and `data`, as the host returns it. `data` is
   * base64: the bytes of a secret key, SPKI of a public key, PKCS#8 of a private key.
   *
   * Returns base64 for bytes; JSON for a key, for a pair of keys (`publicKey`, `privateKey`) and for a JWK; `true` or
   * `false` for `verify`. Fails with `CryptoFailed`, whose data have the name of the standard's error as `name`, such
   * as `OperationError` or `TypeError`.
   */
  perform(method: string, args: string, data: Base64): string;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface CryptoCalls {
  'crypto.perform': { readonly args: readonly [method: string, args: string, data: Base64]; readonly value: string };
}
