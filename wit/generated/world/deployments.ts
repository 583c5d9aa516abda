// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Audio, Image } from './media.ts';

/** A running stream of JSON values. */
export interface Chunks extends Disposable {
  /** Returns the values since the last call, at least one. Empty when the stream has ended. */
  next(): readonly string[];
  /**
   * The value that the method returned after its last one, in JSON. Empty until the stream has ended, and for a
   * method that returns none.
   */
  returned(): string;
}

/** The interface `deployments` as a guest sees it. A function that fails throws the record `error`. */
export interface Deployments {
  /**
   * Calls a method. `args` is a JSON object with its parameters by name. `{"$audio": n}` in it stands for `audio[n]`.
   * Its member `$model`, a text, is no parameter: it names the model of a deployment that has many.
   */
  call(deployment: string, method: string, args: string, audio: readonly Audio[]): string;
  /** Calls a streaming method. Dropping the stream cancels it. */
  open(deployment: string, method: string, args: string, audio: readonly Audio[]): Chunks;
  /** Calls a method as `call` does. `{"$image": n}` in the arguments stands for `images[n]`. */
  callWithImages(deployment: string, method: string, args: string, audio: readonly Audio[],
    images: readonly Image[]): string;
  /** Calls a streaming method as `open` does. `{"$image": n}` in the arguments stands for `images[n]`. */
  openWithImages(deployment: string, method: string, args: string, audio: readonly Audio[],
    images: readonly Image[]): Chunks;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface DeploymentsCalls {
  'deployments.next': { readonly args: readonly [chunks: number]; readonly value: readonly string[] };
  'deployments.returned': { readonly args: readonly [chunks: number]; readonly value: string };
  'deployments.call': { readonly args: readonly [deployment: string, method: string, args: string,
    audio: readonly number[]]; readonly value: string };
  'deployments.open': { readonly args: readonly [deployment: string, method: string, args: string,
    audio: readonly number[]]; readonly value: number };
  'deployments.call-with-images': { readonly args: readonly [deployment: string, method: string, args: string,
    audio: readonly number[], images: readonly number[]]; readonly value: string };
  'deployments.open-with-images': { readonly args: readonly [deployment: string, method: string, args: string,
    audio: readonly number[], images: readonly number[]]; readonly value: number };
}
