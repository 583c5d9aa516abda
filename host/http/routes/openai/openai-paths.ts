/** Whether errors of a path have the form of OpenAI's API: below `/v1`, which belongs to the host. */
export function isOpenAiPath(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}
