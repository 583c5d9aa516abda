import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PluginManifest } from '../set/manifest.ts';
import { type BuildLimits, ContainedBuild } from './contained-build.ts';
import type { MadeComponent, Workshop } from './make-component.ts';

/** What a build needs beside the sources. */
export interface BuildPlan {
  readonly manifest: PluginManifest;
  readonly workshop: Workshop;
  readonly limits: BuildLimits;
}

/** A build that waits for the manifest of its plugin. */
export interface BegunBuild {
  finish(manifest: PluginManifest, signal?: AbortSignal): Promise<MadeComponent>;
}

/** Where a build may have been begun already, or is done in another way than in a process of its own. */
export interface BegunBuilds {
  /** Returns the build that fits, if there is one. It is then the caller's. */
  take(plan: BuildPlan): Promise<BegunBuild | undefined>;
}

/** A build that is begun before it is needed: the next one of a plugin whose author changes it. */
export class NextBuild implements BegunBuilds {
  #key = '';
  #begun: Promise<ContainedBuild> | undefined;

  /** Begins a build. Does nothing if the last one that it has begun is of this kind and waits. */
  async prepare(plan: BuildPlan): Promise<void> {
    const begun = await this.#begun?.catch(() => undefined);
    if (begun && !begun.hasEnded && this.#key === keyOf(plan)) return;
    await this.stop();
    this.#key = keyOf(plan);
    this.#begun = begin(plan);
    await this.#begun;
  }

  async take(plan: BuildPlan): Promise<ContainedBuild | undefined> {
    if (this.#key !== keyOf(plan)) return undefined;
    const begun = await this.#begun?.catch(() => undefined);
    if (!begun || begun.hasEnded) return undefined;
    this.#begun = undefined;
    return begun;
  }

  async stop(): Promise<void> {
    const begun = await this.#begun?.catch(() => undefined);
    this.#begun = undefined;
    await begun?.stop();
  }
}

/** Builds of one kind begin with the same. */
const keyOf = ({ manifest, workshop, limits }: BuildPlan): string => JSON.stringify([manifest.dir, workshop, limits]);

async function begin({ manifest, workshop, limits }: BuildPlan): Promise<ContainedBuild> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-build-'));
  return ContainedBuild.begin({ workshop, folder, limits, dir: manifest.dir, rehearse: manifest });
}
