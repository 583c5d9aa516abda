import {
  type Attributes,
  type Gauge,
  type Histogram,
  noTelemetry,
  type Telemetry,
} from '../../../base/core/telemetry.ts';
import { type Work, type WorkKind, WorkTelemetry } from '../../../base/core/work-telemetry.ts';
import type { HostCall } from './protocol.ts';

/** One invocation, from its acceptance on. */
export interface InvocationRecord {
  /** The position of the invocation in the trace. */
  readonly traceparent: string | undefined;
  /** Called when the invocation begins in the plugin's process. */
  begin(): void;
  /** Called at the end, with the error and the milliseconds of computing. */
  end(result: { readonly error?: unknown; readonly cpuMs: number }): void;
}

interface InvocationKind {
  readonly attributes: Attributes;
  readonly work: WorkKind;
}

const nothing = (): void => {};

/**
 * Calls that are not reported: steps of a resource that an earlier call opened, of which a stream has one for each
 * batch, and what the host knows without work.
 */
const UNREPORTED: ReadonlySet<string> = new Set([
  'output.write',
  'deployments.next',
  'deployments.returned',
  'asr.next',
  'llm.next',
  'settings.get',
] satisfies HostCall['operation'][]);

/** Reports the invocations of one plugin and their host calls. */
export class PluginTelemetry {
  readonly #isOff: boolean;
  readonly #plugin: Attributes;
  readonly #invocations: WorkTelemetry;
  readonly #calls: WorkTelemetry;
  readonly #waits: Histogram;
  readonly #computed: Histogram;
  readonly #open: Gauge;
  /** By endpoint, and by operation. They are kept, because making attributes costs more than adding up values. */
  readonly #invocationKinds = new Map<string, InvocationKind>();
  readonly #callKinds = new Map<string, WorkKind>();
  #count = 0;

  constructor(plugin: string, telemetry: Telemetry) {
    this.#isOff = telemetry === noTelemetry;
    this.#plugin = { 'aana.plugin': plugin };
    const attributes = ['aana.plugin', 'aana.plugin.endpoint'];
    this.#invocations = new WorkTelemetry(telemetry, 'aana.plugin.invocation', {
      description: 'Time of an invocation, waiting for its turn included.',
      attributes,
    });
    this.#calls = new WorkTelemetry(telemetry, 'aana.plugin.call', {
      description: 'Time of a call of the host by a plugin.',
      attributes: ['aana.plugin', 'aana.operation'],
    });
    this.#waits = telemetry.histogram('aana.plugin.invocation.wait', {
      unit: 's',
      description: 'Time that an invocation waited for its turn.',
      attributes,
    });
    this.#computed = telemetry.histogram('aana.plugin.invocation.cpu', {
      unit: 's',
      description: 'Time that an invocation computed, and the host for it.',
      attributes,
    });
    this.#open = telemetry.gauge('aana.plugin.invocations.open', {
      unit: '{invocation}',
      description: 'Invocations that wait for their turn or run.',
      attributes: ['aana.plugin'],
    });
  }

  /**
   * @param endpoint the name of the endpoint, or `helper:<name>`. All helpers share one label, because guests choose
   * their names.
   */
  invocation(endpoint: string, parent: string | undefined): InvocationRecord {
    if (this.#isOff) return { traceparent: parent, begin: nothing, end: nothing };
    const { attributes, work } = this.#invocationKind(endpoint.startsWith('helper:') ? 'helper' : endpoint);
    this.#changeOpen(1);
    return new OpenInvocation(this, work.begin(parent), attributes);
  }

  /** Reports that an invocation begins, which waited for `seconds`. */
  begun(seconds: number, attributes: Attributes): void {
    this.#waits.record(seconds, attributes);
  }

  /** Reports the end of an invocation, which computed for `cpuS` seconds. */
  ended(cpuS: number, attributes: Attributes): void {
    this.#computed.record(cpuS, attributes);
    this.#changeOpen(-1);
  }

  /** Begins the report of a call. Returns undefined for calls that are not reported. */
  call(operation: HostCall['operation'], parent: string | undefined): Work | undefined {
    if (this.#isOff || UNREPORTED.has(operation)) return undefined;
    let kind = this.#callKinds.get(operation);
    if (!kind) {
      kind = this.#calls.ofKind({ ...this.#plugin, 'aana.operation': operation });
      this.#callKinds.set(operation, kind);
    }
    return kind.begin(parent);
  }

  #invocationKind(endpoint: string): InvocationKind {
    let kind = this.#invocationKinds.get(endpoint);
    if (!kind) {
      const attributes = { ...this.#plugin, 'aana.plugin.endpoint': endpoint };
      kind = { attributes, work: this.#invocations.ofKind(attributes) };
      this.#invocationKinds.set(endpoint, kind);
    }
    return kind;
  }

  #changeOpen(change: number): void {
    this.#count += change;
    this.#open.set(this.#count, this.#plugin);
  }
}

/** An invocation until its end. */
class OpenInvocation implements InvocationRecord {
  readonly traceparent: string | undefined;
  readonly #telemetry: PluginTelemetry;
  readonly #work: Work;
  readonly #attributes: Attributes;
  #hasBegun = false;

  constructor(telemetry: PluginTelemetry, work: Work, attributes: Attributes) {
    this.traceparent = work.traceparent;
    this.#telemetry = telemetry;
    this.#work = work;
    this.#attributes = attributes;
  }

  begin(): void {
    if (!this.#hasBegun) this.#telemetry.begun(this.#work.elapsed(), this.#attributes);
    this.#hasBegun = true;
  }

  end({ error, cpuMs }: { readonly error?: unknown; readonly cpuMs: number }): void {
    const cpuS = cpuMs / 1000;
    this.#work.end({ error, attributes: { 'aana.cpu_s': cpuS } });
    this.#telemetry.ended(cpuS, this.#attributes);
  }
}
