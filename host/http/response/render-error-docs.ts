import { type CataloguedError, PROGRAM_ERRORS, REQUEST_ERRORS } from './error-catalogue.ts';
import { statusOf } from './status.ts';

const statusesOf = ({ as }: CataloguedError): number[] => [
  ...new Set(as.map((one) => (typeof one === 'number' ? one : statusOf(one)))),
];

/** Returns `docs/errors.md`, made from the catalogue. */
export function renderErrorDocs(): string {
  const requests = REQUEST_ERRORS.map((entry) => {
    const keys = entry.data === '' ? '' : `\`${entry.data.replaceAll(/, |; /g, (between) => `\`${between}\``)}\``;
    return `| \`${entry.name}\` | ${statusesOf(entry).join(', ')} | ${entry.original} | ${entry.when} | ${entry.data.startsWith('list of') ? entry.data : keys} |`;
  });
  const programs = PROGRAM_ERRORS.map(({ name, when }) => `| \`${name}\` | ${when} |`);
  return `# Errors

<!-- Made by \`aana-host docs errors > docs/errors.md\` from host/http/response/error-catalogue.ts; do not edit. -->

Every error of this package, by the name in \`error\` of an [answer](http-api.md#errors). The errors that programs catch have the same text in \`name\`. Plugins, deployments and routers
can use other names. An error of foreign code has the name of its class and status 500.

## Errors of requests

\`original\` is the status with \`compat_status: original\` (\`AANA_COMPAT_STATUS=original\`), for clients that were written for the original system. Names that are not in this list
have 400. The statuses that a router of the application sets stay. Answers for unknown paths and methods then have \`detail\` as a fifth key.

| \`error\` | status | original | when | keys of \`data\` |
| --- | --- | --- | --- | --- |
${requests.join('\n')}

## Errors of programs and commands

| \`name\` | when |
| --- | --- |
${programs.join('\n')}
`;
}
