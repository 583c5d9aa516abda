import { type JSX, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApplicationState } from './api.ts';
import { ConfigurationPage } from './pages/configuration.tsx';
import { DeploymentsPage } from './pages/deployments.tsx';
import { EndpointsPage } from './pages/endpoints.tsx';
import { KeysPage } from './pages/keys.tsx';
import { LogsPage } from './pages/logs.tsx';
import { ModelsPage } from './pages/models.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { RequestsPage } from './pages/requests.tsx';
import { TasksPage } from './pages/tasks.tsx';
import { WebhooksPage } from './pages/webhooks.tsx';
import { Problem, StateBadge } from './parts.tsx';
import { count } from './format.ts';
import { linkTo, useRoute } from './router.ts';
import { type Dashboard, DashboardContext, useSession } from './state.ts';

type Parts = ApplicationState['parts'];

interface PageEntry {
  readonly path: string;
  readonly title: string;
  readonly Page: () => JSX.Element;
  /** The part of the host that the page is about. Without it there is no page. */
  readonly part?: keyof Parts;
}

const PAGES: readonly PageEntry[] = [
  { path: '', title: 'Overview', Page: OverviewPage },
  { path: 'deployments', title: 'Deployments', Page: DeploymentsPage },
  { path: 'models', title: 'Models', Page: ModelsPage },
  { path: 'endpoints', title: 'Endpoints', Page: EndpointsPage },
  { path: 'tasks', title: 'Tasks', Page: TasksPage, part: 'tasks' },
  { path: 'requests', title: 'Requests', Page: RequestsPage, part: 'traces' },
  { path: 'webhooks', title: 'Webhooks', Page: WebhooksPage, part: 'webhooks' },
  { path: 'keys', title: 'API keys', Page: KeysPage, part: 'keys' },
  { path: 'configuration', title: 'Configuration', Page: ConfigurationPage },
  { path: 'logs', title: 'Logs', Page: LogsPage },
];

/** Parameters of a route that show another thing on the same page. */
const DETAILS = ['task', 'webhook', 'trace'];

function App({ title }: { readonly title: string }): JSX.Element {
  const session = useSession();
  if (session.kind === 'open') return <Opened title={title} dashboard={session.dashboard} />;
  return (
    <main class="locked">
      <h1>{title}</h1>
      {session.kind === 'connecting' ? <p>Connecting …</p> : <Unlock {...session} />}
    </main>
  );
}

function Unlock({
  reason,
  unlock,
}: {
  readonly reason: string | undefined;
  readonly unlock: (token: string) => void;
}): JSX.Element {
  const [token, setToken] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== '') unlock(token.trim());
      }}
    >
      <p>
        Open the address that the start printed, or that <code>aana-host dashboard</code> prints. Or enter its token, or
        the API key of an admin.
      </p>
      <label>
        Token or API key
        <input
          type="password"
          autocomplete="off"
          autofocus
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </label>
      <button type="submit">Open</button>
      <Problem text={reason} />
    </form>
  );
}

function Opened({ title, dashboard }: { readonly title: string; readonly dashboard: Dashboard }): JSX.Element {
  const { path, query } = useRoute();
  const detail = DETAILS.map((name) => query.get(name)).join();
  const { application, parts } = dashboard.state;
  const pages = PAGES.filter(({ part }) => part === undefined || parts[part]);
  const current = pages.find((page) => page.path === path) ?? pages[0]!;
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${current.title}: ${title}`;
    if (!isFirst.current) heading.current?.focus(); // keyboards and screen readers go on from the new page
    isFirst.current = false;
  }, [current, detail]);
  return (
    <DashboardContext.Provider value={dashboard}>
      <header>
        <a class="name" href={linkTo('')}>
          {title}
        </a>
        <StateBadge state={dashboard.away === undefined ? application.status : 'UNHEALTHY'} />
        <span class="facts">
          aana-host {application.version}, <a href={`${application.url}/docs`}>{application.url}</a>
        </span>
      </header>
      <nav aria-label="Pages">
        {pages.map((page) => (
          <a key={page.path} href={linkTo(page.path)} aria-current={page === current ? 'page' : undefined}>
            {page.title}
          </a>
        ))}
      </nav>
      <main>
        <p class="away" role="status" hidden={dashboard.away === undefined}>
          {dashboard.away}: the facts below are old
        </p>
        {application.controller.superseded !== null && (
          <p class="away" role="status">
            {application.controller.superseded}
          </p>
        )}
        {application.draining && (
          <p class="away" role="status">
            {drainingText(application.draining)}
          </p>
        )}
        <h1 ref={heading} tabIndex={-1}>
          {current.title}
        </h1>
        <current.Page />
      </main>
    </DashboardContext.Provider>
  );
}

function drainingText({ requests, tasks, calls }: NonNullable<ApplicationState['application']['draining']>): string {
  const running = [count(requests, 'request'), count(tasks, 'task'), count(calls, 'call')].join(', ');
  return `The application takes no new requests and tasks. Still running: ${running}.`;
}

const root = document.getElementById('app')!;
const { title = '' } = root.dataset;
root.replaceChildren();
render(<App title={title} />, root);
