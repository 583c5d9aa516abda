// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/endpoint@0.1.0' {
  /**
   * The endpoints of this component; called once when it is loaded.
   */
  export function describe(): Array<Info>;
  /**
   * Runs the endpoint `name`, or the helper when it is `helper:<name>`. `input` is a JSON object that matches its input schema (for
   * a helper any JSON). Returns the output as JSON; a streaming endpoint writes to `output` instead and returns `null`.
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
     * JSON Schema (2020-12) of the input object; its keys are the parameters.
     */
    inputSchema: string,
    /**
     * JSON Schema of the output, or of one streamed value.
     */
    outputSchema: string,
    streaming: boolean,
  }
}
