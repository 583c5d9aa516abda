import * as fc from 'fast-check';
import type { oas31 } from 'openapi3-ts';
import { type Operation, operationsOf, Resolver } from './document.ts';
import { type FuzzRequest, refusedRequestsOf, requestsOf } from './requests.ts';
import { curlLine, Sender } from './send.ts';
import { Judge } from './verdict.ts';

export interface FuzzOptions {
  readonly url: string;
  /** The same seed makes the same requests of the same document. */
  readonly seed: number;
  /** Requests for each operation, those among them that guards refuse. */
  readonly runs: number;
  /** Fuzz these operations alone, by their ids. */
  readonly only?: readonly string[] | undefined;
  /** Complaints from elsewhere about the request before, such as the server's log. */
  readonly otherwise?: (() => readonly string[]) | undefined;
  readonly onOperation?: ((operation: Operation, answers: Readonly<Record<string, number>>) => void) | undefined;
}

export interface Failure {
  readonly operation: string;
  /** Of the smallest request that was found. */
  readonly complaints: readonly string[];
  readonly curl: string;
}

/** What an earlier answer told of is asked for by later requests: the last so many. */
const KNOWN_IDS = 40;

/** Sends requests for every operation of a server's own document, and holds the answers against it. */
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
        return [`there is no answer: ${String(error)}`];
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

/** What removes things comes last, so that others find them. */
function inOrder(operations: readonly Operation[]): Operation[] {
  const removes = ({ method, path }: Operation): boolean => method === 'DELETE' || path.includes('/delete/');
  return [...operations.filter((one) => !removes(one)), ...operations.filter(removes)];
}
