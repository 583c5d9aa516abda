// Generated from wit/world.wit by `npm run generate`; do not edit.

export interface Info {
  /** Unique name, such as `transcribe_video`. */
  readonly name: string;
  /** URL path, such as `/video/transcribe`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** JSON Schema (2020-12) of the input object. Its keys are the parameters. */
  readonly inputSchema: string;
  /**
   * JSON Schema of the output, or of one streamed value. An object with `x-aana-text` in it is an answer that is
   * text of a media type, and one with `x-aana-bytes` an answer that is bytes.
   */
  readonly outputSchema: string;
  readonly streaming: boolean;
}

/** The interface `endpoint` as a guest sees it. A function that fails throws the record `error`. */
export interface Endpoint {
  /** Returns the endpoints of this component. Called once when it is loaded, in an instance of its own. */
  describe(): readonly Info[];
  /**
   * Runs the endpoint `name`, or a helper for `helper:<name>`. `input` is a JSON object that matches the input schema,
   * or any JSON for a helper. Returns the output as JSON. A streaming endpoint writes to `output` and returns `null`.
   */
  run(name: string, input: string): string;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface EndpointCalls {
  'endpoint.run': { readonly args: readonly [name: string, input: string]; readonly value: string };
}
