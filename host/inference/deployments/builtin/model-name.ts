import { basename } from 'node:path';

/**
 * Returns the name of a model for errors and answers: its id, or the name of its file if the id is a path, because
 * clients should not learn the folders of the machine.
 */
export function modelName(id: string): string {
  return /^([~.]?[/\\]|\.\.[/\\]|[A-Za-z]:[/\\])/.test(id) ? basename(id) : id;
}
