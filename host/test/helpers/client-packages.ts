import { npmPackages, pythonPackages } from './installed-packages.ts';

/** Clients of the language models' APIs from npm: the newest versions that run on Node 20. */
const NPM = {
  '@ai-sdk/anthropic': '3.0.140',
  '@ai-sdk/openai': '3.0.141',
  '@ai-sdk/openai-compatible': '2.0.92',
  '@langchain/anthropic': '1.5.1',
  '@langchain/core': '1.4.0',
  '@langchain/openai': '1.5.8',
  ai: '6.0.325',
  openai: '6.49.0',
  zod: '4.6.7',
};

const PYTHON = ['anthropic==2.14.0', 'openai==3.57.0', 'pydantic-ai-slim[anthropic,openai]==2.68.0'];

export const OPENAI_FOR_NODE = NPM.openai;

/** Returns a folder with the clients for Node in `node_modules`, or undefined where npm cannot install them. */
export const nodeClients = (): Promise<string | undefined> => npmPackages('test-clients', NPM);

/** Returns a folder with the clients for Python in `lib`, or undefined where pip cannot install them. */
export const pythonClients = (): Promise<string | undefined> => pythonPackages('test-clients-python', ...PYTHON);
