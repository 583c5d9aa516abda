/**
 * The progress of one invocation. It comes from the guest's reports and, between them, from the deployments that work
 * for the guest.
 */
export class InvocationProgress {
  readonly #listener: (fraction: number, text: string) => void;
  /** The guest's present step: what it covers of the progress. `until` is absent when the guest has not said. */
  #step: { readonly from: number; readonly until?: number | undefined; readonly text: string } = {
    from: 0,
    until: 1,
    text: '',
  };
  #shown = 0;

  constructor(listener: (fraction: number, text: string) => void) {
    this.#listener = listener;
  }

  /** Takes a report of the guest. The next step ends at `until`; if it is undefined, deployments move nothing. */
  report(fraction: number, text: string, until: number | undefined): void {
    this.#step = { from: fraction, until, text };
    this.#show(fraction);
  }

  /** Takes the progress of a call of a deployment. It only moves forward, also when the call is repeated. */
  onCall(fraction: number): void {
    const { from, until } = this.#step;
    if (until === undefined) return;
    const reached = from + (until - from) * fraction;
    if (reached > this.#shown) this.#show(reached);
  }

  #show(fraction: number): void {
    this.#shown = fraction;
    this.#listener(fraction, this.#step.text);
  }
}
