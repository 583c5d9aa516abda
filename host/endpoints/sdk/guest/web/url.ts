/**
 * `URL` and `URLSearchParams` for components whose code names them: the reference implementation, with `domain.ts` in
 * place of its tables.
 */
export { URL, URLSearchParams } from 'whatwg-url';
