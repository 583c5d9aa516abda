import { flatMapped } from '../../../base/core/async/async-values.ts';
import type { Clock } from '../../../base/core/clock.ts';
import { cancelledError, faultOf } from '../../../base/core/errors.ts';
import type { Attributes, Histogram, Span, SpanAttributes, Telemetry } from '../../../base/core/telemetry.ts';
import { isNotice, type TextChunk } from '../../../base/schemas/index.ts';
import type { GenerationOperation } from '../class/method.ts';
import { answerContent, promptContent, StreamedContent } from './generation-content.ts';
import { finishReasonsOf, type GenerationPhases, phasesOf, usageOf } from './generation-usage.ts';

/** A call of a method that a model answers. */
export interface Generation {
  readonly operation: GenerationOperation;
  readonly deployment: string;
  /** The checked arguments. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The `traceparent` of the caller. */
  readonly traceparent: string | undefined;
}

/** A generation that has begun. Times are those of the clock. */
interface Running {
  readonly attributes: Attributes;
  readonly span: Span;
  readonly startedAt: number;
  firstAt: number | undefined;
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
 * Reports the calls that models answer, as metrics and spans, with the names of OpenTelemetry's conventions for
 * generative AI. Waits for a replica and retries are part of the times. The model is the name of the deployment.
 */
export class GenerationTelemetry {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #telemetry: Pick<Telemetry, 'span' | 'takesContent'>;
  readonly #durations: Histogram;
  readonly #firstTokens: Histogram;
  readonly #perToken: Histogram;
  readonly #tokens: Histogram;

  constructor(telemetry: Telemetry, clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#telemetry = telemetry;
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

  /** Runs and reports a call with one result. `run` gets its place in the trace. */
  async call(generation: Generation, run: (traceparent: string | undefined) => Promise<unknown>): Promise<unknown> {
    const running = this.#begin(generation);
    try {
      const result = await run(running.span.traceparent);
      this.#succeed(running, result, this.#telemetry.takesContent ? answerContent(result) : undefined);
      return result;
    } catch (error) {
      this.#fail(running, error);
      throw error;
    }
  }

  /**
   * Passes the stream on that `open` returns for a place in the trace, and reports it. A stream that its reader leaves
   * counts as cancelled.
   */
  async *stream(
    generation: Generation,
    open: (traceparent: string | undefined) => AsyncGenerator<unknown[], unknown, undefined>,
  ): AsyncGenerator<unknown[], unknown, undefined> {
    const running = this.#begin(generation);
    const content = this.#telemetry.takesContent ? new StreamedContent() : undefined;
    const note = (batch: unknown[]): [unknown[]] => {
      if (running.firstAt === undefined && batch.some((chunk) => !isNotice(chunk as TextChunk))) {
        running.firstAt = this.#clock.now();
        running.span.event('first token');
      }
      content?.add(batch);
      return [batch];
    };
    let hasEnded = false;
    try {
      const result = yield* flatMapped(open(running.span.traceparent), note);
      hasEnded = true;
      this.#succeed(running, result, content?.attribute(result));
      return result;
    } catch (error) {
      hasEnded = true;
      this.#fail(running, error);
      throw error;
    } finally {
      if (!hasEnded) this.#fail(running, cancelledError('the reader left the stream'));
    }
  }

  #begin({ operation, deployment, args, traceparent: parent }: Generation): Running {
    const attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': PROVIDER,
      'gen_ai.request.model': deployment,
    };
    const span = this.#telemetry.span(`${operation} ${deployment}`, {
      ...{ parent, kind: 'client' as const },
      attributes: this.#telemetry.takesContent ? { ...attributes, ...promptContent(args) } : attributes,
    });
    return { attributes, span, startedAt: this.#clock.now(), firstAt: undefined };
  }

  #succeed(running: Running, result: unknown, content: SpanAttributes | undefined): void {
    const { attributes, span, startedAt, firstAt } = running;
    const { input, output } = usageOf(result);
    if (input !== undefined) this.#tokens.record(input, { ...attributes, 'gen_ai.token.type': 'input' });
    if (output !== undefined) this.#tokens.record(output, { ...attributes, 'gen_ai.token.type': 'output' });
    if (firstAt !== undefined) this.#firstTokens.record((firstAt - startedAt) / 1000, attributes);
    if (firstAt !== undefined && output !== undefined && output > 1)
      this.#perToken.record((this.#clock.now() - firstAt) / 1000 / (output - 1), attributes);
    this.#durations.record((this.#clock.now() - startedAt) / 1000, attributes);
    this.#reportPhases(span, phasesOf(result));
    const reasons = finishReasonsOf(result);
    span.end({
      attributes: {
        ...(input !== undefined && { 'gen_ai.usage.input_tokens': input }),
        ...(output !== undefined && { 'gen_ai.usage.output_tokens': output }),
        ...(reasons.length > 0 && { 'gen_ai.response.finish_reasons': reasons }),
        ...content,
      },
    });
  }

  #fail({ attributes, span, startedAt }: Running, error: unknown): void {
    this.#durations.record((this.#clock.now() - startedAt) / 1000, { ...attributes, 'error.type': faultOf(error) });
    span.end({ error });
  }

  /** Reports the phases in the engine, of which the result tells the lengths. The last one ends now. */
  #reportPhases(call: Span, phases: GenerationPhases): void {
    const { traceparent: parent } = call;
    let startedAt = call.now() - phases.reduce((sum, [, ms]) => sum + ms, 0);
    for (const [name, ms] of phases) {
      this.#telemetry.span(`aana.engine.${name}`, { parent, startedAt }).end({ endedAt: startedAt + ms });
      startedAt += ms;
    }
  }
}
