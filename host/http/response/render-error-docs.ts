import { type CataloguedError, PROGRAM_ERRORS, REQUEST_ERRORS } from './error-catalogue.ts';
import { statusOf } from './status.ts';

const statusesOf = ({ as }: CataloguedError): number[] => [
  ...new Set(as.map((one) => (typeof one === 'number' ? one : statusOf(one)))),
];

/** `docs/errors.md`, made from the catalogue. */
export function renderErrorDocs(): string {
  const requests = REQUEST_ERRORS.map((entry) => {
    const keys = entry.data === '' ? '' : `\`${entry.data.replaceAll(/, |; /g, (between) => `\`${between}\``)}\``;
    return `| \`${entry.name}\` | ${statusesOf(entry).join(', ')} | ${entry.original} | ${entry.when} | ${entry.data.startsWith('list of') ? entry.data : keys} |`;
  });
  const programs = PROGRAM_ERRORS.map(({ name, when }) => `| \`${name}\` | ${when} |`);
  return `# Errors

<!-- Made by \`aana-host docs errors > docs/errors.md\` from host/http/response/error-catalogue.ts; do not edit. -->

Every error that this package makes itself, by the name in \`error\` of an [answer](http-api.md#errors), which is also \`name\` of what programs catch. Plugins, deployments and
routers have names of their own besides; an error of code that is not ours has the name of its class and status 500.

## Errors of requests

\`original\` is the status with \`compat_status: original\` (\`AANA_COMPAT_STATUS=original\`), for clients that were written against the original system: 400 for all that is not
listed otherwise, also for names that this list does not have. Statuses that a router of the application gives itself stay. Unknown paths and methods then have \`detail\` as a fifth key.

| \`error\` | status | original | when | keys of \`data\` |
| --- | --- | --- | --- | --- |
${requests.join('\n')}

## Errors of programs and commands

| \`name\` | when |
| --- | --- |
${programs.join('\n')}
`;
}
