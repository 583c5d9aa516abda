import * as fc from 'fast-check';
import type { oas31 } from 'openapi3-ts';
import { type Operation, operationsOf, Resolver } from './document.ts';
import { type FuzzRequest, refusedRequestsOf, requestsOf } from './requests.ts';
import { curlLine, Sender } from './send.ts';
import { Judge } from './verdict.ts';

export interface FuzzOptions {
  readonly url: string;
  /** The same seed makes the same requests from the same document. */
  readonly seed: number;
  /** Number of requests for each operation, including requests that guards refuse. */
  readonly runs: number;
  /** Fuzz only the operations with these ids. */
  readonly only?: readonly string[] | undefined;
  /** Returns complaints from other sources about the last request, such as the server's log. */
  readonly otherwise?: (() => readonly string[]) | undefined;
  readonly onOperation?: ((operation: Operation, answers: Readonly<Record<string, number>>) => void) | undefined;
}

export interface Failure {
  readonly operation: string;
  /** The complaints about the smallest failing request. */
  readonly complaints: readonly string[];
  readonly curl: string;
}

/** Number of ids from earlier answers that later requests use: the newest ones. */
const KNOWN_IDS = 40;

/** Sends requests for every operation of a server's OpenAPI document, and checks the answers against it. */
export async function fuzz(options: FuzzOptions): Promise<Failure[]> {
  const { url, seed, runs, only, otherwise = () => [], onOperation } = options;
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as oas31.OpenAPIObject;
  const resolver = new Resolver(document as unknown as Record<string, unknown>);
  const judge = new Judge(document);
  using sender = new Sender(url);
  const failures: Failure[] = [];
  const ids = new Set<string>();
  for (const operation of inOrder(operationsOf(document, resolver))) {
    if (only && !only.includes(operation.id)) continue;
    const answers: Record<string, number> = {};
    const complaintsOf = async (request: FuzzRequest): Promise<string[]> => {
      try {
        const answer = await sender.send(request);
        answers[answer.status] = (answers[answer.status] ?? 0) + 1;
        for (const [, id = ''] of answer.text.matchAll(/"(?:\w+_)?id":"([^"]{1,64})"/g)) ids.add(id);
        for (const id of [...ids].slice(0, -KNOWN_IDS)) ids.delete(id);
        return [...judge.complaintsOf(operation, request, answer), ...otherwise()];
      } catch (error) {
        return [`no answer came: ${String(error)}`];
      }
    };
    const failing = fc.asyncProperty(
      requestsOf(operation, resolver, [...ids]),
      async (request) => (await complaintsOf(request)).length === 0,
    );
    const { failed, counterexample } = await fc.check(failing, {
      seed,
      numRuns: runs,
      examples: refusedRequestsOf(operation, resolver, seed).map((request): [FuzzRequest] => [request]),
    });
    onOperation?.(operation, answers);
    const [smallest] = counterexample ?? [];
    if (failed && smallest)
      failures.push({
        operation: operation.id,
        complaints: await complaintsOf(smallest),
        curl: curlLine(url, smallest),
      });
  }
  return failures;
}

/** Sorts operations that remove things to the end, so that the other operations find these things. */
function inOrder(operations: readonly Operation[]): Operation[] {
  const removes = ({ method, path }: Operation): boolean => method === 'DELETE' || path.includes('/delete/');
  return [...operations.filter((one) => !removes(one)), ...operations.filter(removes)];
}
