/**
 * Shuts an application down on SIGINT or SIGTERM; the second signal ends the process at once. The returned function
 * undoes this.
 */
export function stopOnSignals(app: { shutdown(): Promise<void> }): () => void {
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
    if (signals > 1) process.exit(130); // replicas end with their parent
    void app.shutdown(); // `app.stopped` reports the end
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return () => {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
}
