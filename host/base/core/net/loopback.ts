/** Whether only programs on this machine can connect to a server that listens on an address. */
export function isLoopback(address: string): boolean {
  return /^(127\.|::1$|localhost$)/i.test(address);
}
