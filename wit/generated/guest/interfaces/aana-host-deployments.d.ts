// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-media.d.ts" />
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/deployments@0.1.0' {
  /**
   * Calls a method. `args` is a JSON object with its parameters by name. `{"$audio": n}` in it stands for `audio[n]`.
   * Its member `$model`, a text, is no parameter: it names the model of a deployment that has many.
   */
  export function call(deployment: string, method: string, args: string, audio: Array<Audio>): string;
  /**
   * Calls a streaming method. Dropping the stream cancels it.
   */
  export function open(deployment: string, method: string, args: string, audio: Array<Audio>): Chunks;
  /**
   * Calls a method as `call` does. `{"$image": n}` in the arguments stands for `images[n]`.
   */
  export function callWithImages(deployment: string, method: string, args: string, audio: Array<Audio>,
    images: Array<Image>): string;
  /**
   * Calls a streaming method as `open` does. `{"$image": n}` in the arguments stands for `images[n]`.
   */
  export function openWithImages(deployment: string, method: string, args: string, audio: Array<Audio>,
    images: Array<Image>): Chunks;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type Audio = import('aana:host/media@0.1.0').Audio;
  export type Image = import('aana:host/media@0.1.0').Image;

  export class Chunks implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Returns the values since the last call, at least one. Empty when the stream has ended.
    */
    next(): Array<string>;
    /**
    * The value that the method returned after its last one, in JSON. Empty until the stream has ended, and for a
    * method that returns none.
    */
    returned(): string;
    [Symbol.dispose](): void;
  }
}
