import { flatMapped } from '../../core/async/async-values.ts';
import type { Clock } from '../../core/clock.ts';
import { faultOf } from '../../core/errors.ts';
import type { Attributes, Histogram, Telemetry } from '../../core/telemetry.ts';
import type { GenerationOperation } from '../class/method.ts';
import { type GenerationUsage, usageOf } from './generation-usage.ts';

/** A call of a method that a model answers. */
export interface Generation {
  readonly operation: GenerationOperation;
  readonly deployment: string;
}

const ATTRIBUTES = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model'];
/** Provider of all models of a host, as the conventions allow for systems that they do not list. */
const PROVIDER = 'aana';

// Upper bounds of the buckets as OpenTelemetry's conventions for generative AI state them.
const REQUEST_SECONDS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);
const FIRST_TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/**
 * Reports the calls that models answer, with the names of OpenTelemetry's conventions for generative AI. Waits for a
 * replica and retries are part of the times. The model is the name of the deployment.
 */
export class GenerationTelemetry {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #durations: Histogram;
  readonly #firstTokens: Histogram;
  readonly #perToken: Histogram;
  readonly #tokens: Histogram;

  constructor(telemetry: Telemetry, clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#durations = telemetry.histogram('gen_ai.server.request.duration', {
      unit: 's',
      description: 'Time of a call that a model answers, waits and retries included.',
      attributes: [...ATTRIBUTES, 'error.type'],
      boundaries: REQUEST_SECONDS,
    });
    this.#firstTokens = telemetry.histogram('gen_ai.server.time_to_first_token', {
      unit: 's',
      description: 'Time of a streamed call until the first piece of the answer.',
      attributes: ATTRIBUTES,
      boundaries: FIRST_TOKEN_SECONDS,
    });
    this.#perToken = telemetry.histogram('gen_ai.server.time_per_output_token', {
      unit: 's',
      description: 'Mean time between the tokens of a streamed answer.',
      attributes: ATTRIBUTES,
      boundaries: TOKEN_SECONDS,
    });
    this.#tokens = telemetry.histogram('gen_ai.client.token.usage', {
      unit: '{token}',
      description: 'Tokens of prompts and of answers, of calls whose result tells them.',
      attributes: [...ATTRIBUTES, 'gen_ai.token.type'],
      boundaries: TOKENS,
    });
  }

  /** Runs and reports a call with one result. */
  async call(generation: Generation, run: () => Promise<unknown>): Promise<unknown> {
    const startedAt = this.#clock.now();
    try {
      const result = await run();
      this.#reportDuration(generation, startedAt);
      this.#reportTokens(generation, usageOf(result), { startedAt });
      return result;
    } catch (error) {
      this.#reportDuration(generation, startedAt, faultOf(error));
      throw error;
    }
  }

  /** Passes a stream on and reports it. A stream that its reader leaves counts as cancelled. */
  async *stream(
    generation: Generation,
    values: AsyncGenerator<unknown[], unknown, undefined>,
  ): AsyncGenerator<unknown[], unknown, undefined> {
    const startedAt = this.#clock.now();
    let firstAt: number | undefined;
    let outcome: string | undefined = 'cancelled';
    const noteFirst = (batch: unknown[]): [unknown[]] => {
      firstAt ??= this.#clock.now();
      return [batch];
    };
    try {
      const result = yield* flatMapped(values, noteFirst);
      outcome = undefined;
      this.#reportTokens(generation, usageOf(result), { startedAt, firstAt });
      return result;
    } catch (error) {
      outcome = faultOf(error);
      throw error;
    } finally {
      this.#reportDuration(generation, startedAt, outcome);
    }
  }

  #reportTokens(
    generation: Generation,
    { input, output }: GenerationUsage,
    { startedAt, firstAt }: { readonly startedAt: number; readonly firstAt?: number | undefined },
  ): void {
    const attributes = attributesOf(generation);
    if (input !== undefined) this.#tokens.record(input, { ...attributes, 'gen_ai.token.type': 'input' });
    if (output !== undefined) this.#tokens.record(output, { ...attributes, 'gen_ai.token.type': 'output' });
    if (firstAt === undefined) return;
    this.#firstTokens.record((firstAt - startedAt) / 1000, attributes);
    if (output !== undefined && output > 1)
      this.#perToken.record((this.#clock.now() - firstAt) / 1000 / (output - 1), attributes);
  }

  #reportDuration(generation: Generation, startedAt: number, errorType?: string): void {
    this.#durations.record((this.#clock.now() - startedAt) / 1000, {
      ...attributesOf(generation),
      ...(errorType !== undefined && { 'error.type': errorType }),
    });
  }
}

function attributesOf({ operation, deployment }: Generation): Attributes {
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': PROVIDER,
    'gen_ai.request.model': deployment,
  };
}
