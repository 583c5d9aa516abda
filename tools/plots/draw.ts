import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { installForBench } from '../../host/bench/install-npm.ts';

const PACKAGES = ['vega@6.4.0', 'vega-lite@6.5.0'];

interface Vega {
  parse(specification: object): object;
  resetSVGDefIds(): void;
  View: new (runtime: object, options: { renderer: 'none' }) => { toSVG(): Promise<string>; finalize(): void };
}
interface VegaLite {
  compile(specification: object): { spec: object };
}

/** Returns a function that draws a specification of Vega-Lite as SVG. Throws if npm cannot install Vega. */
export async function loadDrawing(cacheDir: string): Promise<(specification: object) => Promise<string>> {
  const { resolve } = createRequire(await installForBench(cacheDir, PACKAGES));
  const load = async (name: string): Promise<unknown> => import(pathToFileURL(resolve(name)).href);
  const vega = (await load('vega')) as Vega;
  const lite = (await load('vega-lite')) as VegaLite;
  return async (specification) => {
    const view = new vega.View(vega.parse(lite.compile(specification).spec), { renderer: 'none' });
    vega.resetSVGDefIds(); // otherwise a picture depends on those that were drawn before it
    const svg = await view.toSVG();
    view.finalize();
    return `${svg}\n`;
  };
}
