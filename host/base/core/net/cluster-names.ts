/** The DNS name of the machines of a cluster, unless another one is configured. */
export const CLUSTER_NAME = 'cluster.aana.internal';
/** A DNS name, or the name of a machine. */
export const PLAIN_NAME: RegExp = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$/;
/** `10.0.0.5:8700`, `[fd00::5]:8700` or `gpu-1.example.org:8700`. */
export const TCP_ADDRESS: RegExp = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+):\d{1,5}$/i;

/** Splits a {@link TCP_ADDRESS}. */
export function tcpAddress(text: string): { readonly host: string; readonly port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replaceAll(/[[\]]/g, ''), port: Number(text.slice(colon + 1)) };
}
