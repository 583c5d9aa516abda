import { definitionOf, type ErrorName, PROGRAM_ERRORS, REQUEST_ERRORS } from '../../host/base/core/error-table.ts';
import { statusOf } from '../../host/base/core/errors.ts';
import { ORIGINAL_STATUS } from '../../host/apis/http/response/status.ts';

/** Returns `docs/errors.md`, made from the table of errors. */
export function renderErrorDocs(): string {
  const requests = (Object.keys(REQUEST_ERRORS) as ErrorName[]).map((name) => {
    const { kind, retry = kind === 'unavailable', original = ORIGINAL_STATUS, when, data = [] } = definitionOf(name);
    const keys = typeof data === 'string' ? data : data.map((key) => `\`${key.replace('?', '')}\``).join(', ');
    return `| \`${name}\` | ${statusOf(name)} | ${retry ? 'yes' : ''} | ${original} | ${when} | ${keys} |`;
  });
  const programs = Object.entries(PROGRAM_ERRORS).map(([name, { when }]) => `| \`${name}\` | ${when} |`);
  return `# Errors

<!-- Made by \`npm run docs\` from host/base/core/error-table.ts; do not edit. -->

Every error of this package, by the name in \`error\` of an [answer](http-api.md#errors). The errors that programs \
catch have the same text in \`name\`. Plugins, deployments and routers
can use other names. An error of foreign code has the name of its class and status 500.

## Errors of requests

\`retry\`: another attempt may succeed, and a task has one. \`original\` is the status with \`compat_status: \
original\` (\`AANA_COMPAT_STATUS=original\`), for clients that were written for the original
system. Names that are not in this list have 400. The statuses that a router of the application sets stay. Answers for \
unknown paths and methods then have \`detail\` as a fifth key.

| \`error\` | status | retry | original | when | keys of \`data\`, not all of which each error has |
| --- | --- | --- | --- | --- | --- |
${requests.join('\n')}

## Errors of programs and commands

| \`name\` | when |
| --- | --- |
${programs.join('\n')}
`;
}
