export { mcpError } from './errors.ts';
export { failedResult, resultOf, resultTooLarge } from './results.ts';
export { StreamedValues } from './streamed-values.ts';
export { type ToolRun, toolServer, type Toolbox } from './tool-server.ts';
