export type * from './binding.ts';
export { loadNative, manifestPath, nativeAddonPath, type LoadNativeOptions, type NativeManifest } from './load.ts';
