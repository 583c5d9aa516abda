export { generateClient } from './generate-client.ts';
