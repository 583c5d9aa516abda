/** The models of one replica, as the host knows them. */
export class HeldModels {
  #told: ReadonlySet<string> = new Set();
  /** Numbers of running calls by model. The replica loads these models, if it has not told them yet. */
  readonly #running = new Map<string, number>();

  /** Whether the replica has the model, or loads it. */
  has(id: string): boolean {
    return this.#told.has(id) || this.#running.has(id);
  }

  get size(): number {
    let size = this.#told.size;
    for (const id of this.#running.keys()) if (!this.#told.has(id)) size += 1;
    return size;
  }

  /** The ids that the replica has told, sorted. */
  get ids(): string[] {
    return [...this.#told].toSorted();
  }

  /** Called with what the replica tells. */
  told(ids: readonly string[]): void {
    this.#told = new Set(ids);
  }

  /** Called when a call for the model was sent. */
  begin(id: string): void {
    this.#running.set(id, (this.#running.get(id) ?? 0) + 1);
  }

  /** Called when the replica has let go of it. */
  end(id: string): void {
    const left = (this.#running.get(id) ?? 0) - 1;
    if (left > 0) this.#running.set(id, left);
    else this.#running.delete(id);
  }
}
