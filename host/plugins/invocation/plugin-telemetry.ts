import { type Attributes, type Gauge, type Histogram, noTelemetry, type Telemetry } from '../../core/telemetry.ts';
import { type Work, WorkTelemetry } from '../../core/work-telemetry.ts';
import type { HostCall } from './protocol.ts';

/** One invocation, from the moment it asks for a place. */
export interface InvocationRecord {
  /** The place in the trace of what the invocation does. */
  readonly traceparent: string | undefined;
  /** A thread works on it now. */
  begin(): void;
  /** `error` is what it failed with; `cpuMs` are milliseconds that it computed. */
  end(result: { readonly error?: unknown; readonly cpuMs: number }): void;
}

const nothing = (): void => {};

/** Steps of what was opened before: a stream has one for each batch, which would be more than its call. */
const STEPS: ReadonlySet<string> = new Set([
  'output.write',
  'deployments.next',
  'asr.next',
  'llm.next',
] satisfies HostCall['operation'][]);

/** Reports the invocations of one plugin, and what they ask of the host. */
export class PluginTelemetry {
  readonly #isOff: boolean;
  readonly #plugin: Attributes;
  readonly #invocations: WorkTelemetry;
  readonly #calls: WorkTelemetry;
  readonly #waits: Histogram;
  readonly #computed: Histogram;
  readonly #open: Gauge;
  #count = 0;

  constructor(plugin: string, telemetry: Telemetry) {
    this.#isOff = telemetry === noTelemetry;
    this.#plugin = { 'aana.plugin': plugin };
    this.#invocations = new WorkTelemetry(
      telemetry,
      'aana.plugin.invocation',
      'Time of an invocation, waiting for its turn included.',
    );
    this.#calls = new WorkTelemetry(telemetry, 'aana.plugin.call', 'Time of a call of the host by a plugin.');
    this.#waits = telemetry.histogram('aana.plugin.invocation.wait', {
      unit: 's',
      description: 'Time that an invocation waited for its turn.',
    });
    this.#computed = telemetry.histogram('aana.plugin.invocation.cpu', {
      unit: 's',
      description: 'Time that an invocation computed, and the host for it.',
    });
    this.#open = telemetry.gauge('aana.plugin.invocations.open', {
      unit: '{invocation}',
      description: 'Invocations that wait for their turn or run.',
    });
  }

  /** `endpoint` is its name, or `helper:<name>`; helpers are one to the labels, because guests name them. */
  invocation(endpoint: string, parent: string | undefined): InvocationRecord {
    if (this.#isOff) return { traceparent: parent, begin: nothing, end: nothing };
    const attributes = {
      ...this.#plugin,
      'aana.plugin.endpoint': endpoint.startsWith('helper:') ? 'helper' : endpoint,
    };
    const work = this.#invocations.begin(attributes, parent);
    const cameAt = performance.now();
    let hasBegun = false;
    this.#changeOpen(1);
    return {
      traceparent: work.traceparent,
      begin: () => {
        if (!hasBegun) this.#waits.record((performance.now() - cameAt) / 1000, attributes);
        hasBegun = true;
      },
      end: ({ error, cpuMs }) => {
        this.#computed.record(cpuMs / 1000, attributes);
        work.end({ error, attributes: { 'aana.cpu_s': cpuMs / 1000 } });
        this.#changeOpen(-1);
      },
    };
  }

  /** Undefined for what is not reported. */
  call(operation: HostCall['operation'], parent: string | undefined): Work | undefined {
    return this.#isOff || STEPS.has(operation)
      ? undefined
      : this.#calls.begin({ ...this.#plugin, 'aana.operation': operation }, parent);
  }

  #changeOpen(change: number): void {
    this.#count += change;
    this.#open.set(this.#count, this.#plugin);
  }
}
