import type { AnswerKind } from '../../../base/schemas/answer-kinds.ts';
import { isTypedAnswer } from '../capabilities/deployments.ts';
import { type Endpoint, endpointOf, type UnaryEndpoint } from '../endpoint.ts';
import { HostError } from '../host-error.ts';
import { type Form, type FormMismatch, inForm } from './form.ts';

/** The schemas of an endpoint as data. */
export interface EndpointFacts {
  readonly inputSchema: string;
  readonly outputSchema: string;
  readonly input: Form;
  readonly output: Form;
  /** The typed answers that match the output. */
  readonly answers: readonly AnswerKind[];
}

/**
 * Returns what a build puts into the place of `defineEndpoint` where data express the schemas. The host checks inputs
 * and outputs against the JSON Schemas. The guest makes the values that zod would make of them.
 */
export function describedBy({ input, output, answers, ...schemas }: EndpointFacts) {
  return (definition: Omit<UnaryEndpoint<never, never>, 'input' | 'output'>): Endpoint =>
    endpointOf(definition as UnaryEndpoint<never, never>, {
      ...schemas,
      accept: (value) => inForm(input, value, []),
      answer: (value) => (isTypedAnswer(answers, value) ? value : answerInForm(output, value)),
    });
}

function answerInForm(form: Form, value: unknown): unknown {
  const mismatches: FormMismatch[] = [];
  const made = inForm(form, value, mismatches);
  if (mismatches.length === 0) return made;
  const message = 'the output of the endpoint does not match its schema';
  throw new HostError('OutputError', 'internal', message, { data: mismatches });
}
