import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApplyEvent, ChangePlan } from './api.ts';
import { WAYS } from './change-words.ts';
import { Dialog } from './dialog.tsx';
import { count } from './format.ts';
import { ActionButton, Badge, Problem, type Tone } from './parts.tsx';
import { useDashboard } from './state.ts';

/** The steps of a change: what to apply, what it would do, and what is done. */
type Step =
  | { readonly kind: 'choose' }
  | { readonly kind: 'plan'; readonly plan: ChangePlan }
  | { readonly kind: 'run'; readonly events: readonly ApplyEvent[]; readonly failure?: string };

/** Asks for a configuration, shows what it would change, and applies it. */
export function ApplyDialog({ close }: { readonly close: () => void }): JSX.Element {
  const { api } = useDashboard();
  const [text, setText] = useState('');
  return (
    <ChangeDialog
      title="Apply a configuration"
      close={close}
      plan={() => api.planConfiguration(parsed(text))}
      apply={(planId, tell) => api.applyConfiguration(parsed(text), planId, tell)}
    >
      <p>
        Paste a whole configuration, as in <code>aana.config.json</code>, or choose the file. Nothing is changed before
        you have seen what it would do.
      </p>
      <label class="stacked">
        Configuration
        <textarea
          rows={14}
          autofocus
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <label class="stacked">
        File
        <input
          type="file"
          accept=".json,application/json"
          onChange={({ currentTarget: { files } }) => void files?.[0]?.text().then(setText)}
        />
      </label>
    </ChangeDialog>
  );
}

/** Shows what going back to the configuration before would change, and does it. */
export function RollbackDialog({ close }: { readonly close: () => void }): JSX.Element {
  const { api } = useDashboard();
  return (
    <ChangeDialog
      title="Go back to the configuration before"
      close={close}
      plan={() => api.planRollback()}
      apply={(planId, tell) => api.rollBack(planId, tell)}
    >
      <p>This takes back the last configuration that was applied since the start. You see first what it would do.</p>
    </ChangeDialog>
  );
}

function ChangeDialog({
  title,
  close,
  plan,
  apply,
  children,
}: {
  readonly title: string;
  readonly close: () => void;
  readonly plan: () => Promise<ChangePlan>;
  readonly apply: (planId: string, tell: (event: ApplyEvent) => void) => Promise<void>;
  readonly children: JSX.Element | JSX.Element[];
}): JSX.Element {
  const [step, setStep] = useState<Step>({ kind: 'choose' });
  const run = async (planId: string): Promise<void> => {
    const events: ApplyEvent[] = [];
    const show = (failure?: string): void =>
      setStep({ kind: 'run', events: [...events], ...(failure !== undefined && { failure }) });
    try {
      await apply(planId, (event) => {
        events.push(event);
        show();
      });
    } catch (error) {
      if (events.length === 0) throw error; // the server refused it, so the plan stays
      show((error as Error).message);
    }
  };
  return (
    <Dialog title={title} step={step.kind} close={close}>
      {step.kind === 'choose' && (
        <>
          {children}
          <div class="actions">
            <ActionButton label="Show the plan" run={async () => setStep({ kind: 'plan', plan: await plan() })} />
          </div>
        </>
      )}
      {step.kind === 'plan' && (
        <>
          <Plan plan={step.plan} />
          <div class="actions">
            {step.plan.refused.length === 0 && step.plan.changes.length + step.plan.settings.length > 0 && (
              <ActionButton label="Apply" run={() => run(step.plan.id)} />
            )}
            <button type="button" onClick={() => setStep({ kind: 'choose' })}>
              Back
            </button>
          </div>
        </>
      )}
      {step.kind === 'run' && <Progress events={step.events} failure={step.failure} />}
    </Dialog>
  );
}

const SIGNS = { add: '+', change: '~', remove: '−' } as const;

function Plan({ plan: { changes, settings, refused, unchanged } }: { readonly plan: ChangePlan }): JSX.Element {
  return (
    <>
      {changes.length + settings.length + refused.length === 0 && (
        <p>Nothing changes: the application has this configuration.</p>
      )}
      {changes.length > 0 && (
        <ul class="plan" aria-label="Changes">
          {changes.map(({ kind, deployment, how, keys }) => (
            <li key={deployment}>
              <span aria-hidden="true">{SIGNS[kind]}</span> <b>{deployment}</b> {WAYS[how]}
              {keys.length > 0 && <span class="quiet">: {keys.join(', ')}</span>}
            </li>
          ))}
        </ul>
      )}
      {settings.length > 0 && (
        <ul class="plan" aria-label="Settings">
          {settings.map((key) => (
            <li key={key}>
              <span aria-hidden="true">{SIGNS.change}</span> <b>{key}</b>
            </li>
          ))}
        </ul>
      )}
      {refused.length > 0 && (
        <>
          <p class="problem">Nothing can be applied, because of these differences:</p>
          <ul class="plan" aria-label="Refused differences">
            {refused.map(({ key, reason }) => (
              <li key={key}>
                <b>{key}</b>: {reason}
              </li>
            ))}
          </ul>
        </>
      )}
      {unchanged > 0 && (
        <p class="quiet">
          {count(unchanged, 'deployment')} {unchanged === 1 ? 'stays as it is' : 'stay as they are'}.
        </p>
      )}
    </>
  );
}

const RESULTS: Readonly<Record<string, { readonly tone: Tone; readonly text: string }>> = {
  applied: { tone: 'good', text: 'applied' },
  'rolled-back': { tone: 'bad', text: 'taken back' },
};

function Progress({
  events,
  failure,
}: {
  readonly events: readonly ApplyEvent[];
  readonly failure: string | undefined;
}): JSX.Element {
  const last = events.at(-1);
  const result = RESULTS[last?.state ?? ''];
  return (
    <>
      <p role="status">
        {result ? <Badge tone={result.tone}>{result.text}</Badge> : <Badge tone="busy">is being applied</Badge>}{' '}
        {result && <span>{last?.text}</span>}
        {!result && <span class="quiet">It goes on when you close this.</span>}
      </p>
      <Problem text={failure} />
      <ol class="log" aria-label="What was done" tabIndex={0}>
        {events.map(({ deployment, state, text }, line) => (
          <li key={line} class={state === 'failed' ? 'error' : undefined}>
            <b>{deployment ?? 'all'}</b> {state === 'progress' ? '' : state} <span class="quiet">{text}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

function parsed(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`, { cause: error });
  }
}
