// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/endpoint@0.1.0' {
  /**
   * Returns the endpoints of this component. Called once when it is loaded, in an instance of its own.
   */
  export function describe(): Array<Info>;
  /**
   * Runs the endpoint `name`, or a helper for `helper:<name>`. `input` is a JSON object that matches the input schema,
   * or any JSON for a helper. Returns the output as JSON. A streaming endpoint writes to `output` and returns `null`.
   */
  export function run(name: string, input: string): string;
  export type Error = import('aana:host/types@0.1.0').Error;
  export interface Info {
    /**
     * Unique name, such as `transcribe_video`.
     */
    name: string,
    /**
     * URL path, such as `/video/transcribe`.
     */
    path: string,
    summary: string,
    description: string,
    /**
     * JSON Schema (2020-12) of the input object. Its keys are the parameters.
     */
    inputSchema: string,
    /**
     * JSON Schema of the output, or of one streamed value. An object with `x-aana-text` in it is an answer that is
     * text of a media type, and one with `x-aana-bytes` an answer that is bytes.
     */
    outputSchema: string,
    streaming: boolean,
  }
}
