/** Whether errors of a path have the form of JSON-RPC: the route of the Model Context Protocol. */
export function isMcpPath(path: string): boolean {
  return path === '/mcp';
}
