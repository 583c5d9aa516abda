export {
  BackgroundResponses,
  type BackgroundResponsesOptions,
  type ResponseOrder,
  type UserBackground,
} from './background-responses.ts';
export { backgroundWork, type BackgroundWorkOptions } from './background-work.ts';
export { responseRow } from './response-row.ts';
