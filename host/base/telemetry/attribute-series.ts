import type { Attributes } from '../core/telemetry.ts';

/** The state of one combination of attributes. */
export interface Series<State> {
  readonly attributes: Attributes;
  readonly state: State;
}

/**
 * Most series of an instrument, as in OpenTelemetry's SDKs. Reports with further combinations of attributes count in
 * one more series, so that a mistake in the attributes cannot fill the memory.
 */
export const MAX_SERIES = 2000;

/** The attributes of the series for all further combinations. Source: OpenTelemetry's specification of the SDK. */
export const OVERFLOW: Attributes = { 'otel.metric.overflow': true };

type Value = Attributes[string];

/** A node of the tree of attributes: each name and value leads to the next attribute. */
interface Node<State> {
  readonly next: Map<string, Map<Value, Node<State>>>;
  series: Series<State> | undefined;
}

const newNode = <State>(): Node<State> => ({ next: new Map(), series: undefined });

/** Number of objects that are recognised. The busiest reports of an instrument use few. */
const RECENT = 8;

/**
 * Finds the state of a combination of attributes. An object that was given before is recognised, because frequent
 * reports give the same few objects. Else it goes through a tree of maps, because a text of all attributes as the key
 * takes five times as long to make.
 */
export class AttributeSeries<State> {
  readonly #newState: () => State;
  readonly #root: Node<State> = newNode();
  /** By a text that does not depend on the order of the attributes. */
  readonly #series = new Map<string, Series<State>>();
  #overflow: Series<State> | undefined;
  /** The objects that were given last, and their states at the same positions. */
  readonly #recent: Attributes[] = [];
  readonly #recentStates: State[] = [];
  #oldest = 0;

  constructor(newState: () => State) {
    this.#newState = newState;
  }

  /** Returns the state of the attributes, in any order. */
  of(attributes: Attributes): State {
    const recent = this.#recent;
    for (let at = 0; at < recent.length; at += 1) if (recent[at] === attributes) return this.#recentStates[at] as State;
    const state = this.#find(attributes);
    recent[this.#oldest] = attributes;
    this.#recentStates[this.#oldest] = state;
    this.#oldest = (this.#oldest + 1) % RECENT;
    return state;
  }

  /** Returns all series in the order of their first reports. */
  list(): Series<State>[] {
    return [...this.#series.values(), ...(this.#overflow ? [this.#overflow] : [])];
  }

  #find(attributes: Attributes): State {
    let node: Node<State> | undefined = this.#root;
    for (const name in attributes) {
      node = node.next.get(name)?.get(attributes[name] as Value);
      if (!node) break;
    }
    return (node?.series ?? this.#add(attributes)).state;
  }

  #add(attributes: Attributes): Series<State> {
    const key = JSON.stringify(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)));
    let series = this.#series.get(key);
    if (!series) {
      if (this.#series.size >= MAX_SERIES)
        return (this.#overflow ??= { attributes: OVERFLOW, state: this.#newState() });
      series = { attributes: { ...attributes }, state: this.#newState() };
      this.#series.set(key, series);
    }
    let node = this.#root;
    for (const [name, value] of Object.entries(attributes)) {
      const byValue = node.next.get(name) ?? new Map<Value, Node<State>>();
      node.next.set(name, byValue);
      const next = byValue.get(value) ?? newNode<State>();
      byValue.set(value, next);
      node = next;
    }
    node.series = series;
    return series;
  }
}
