import * as z from 'zod';

export const GIB = 1024 ** 3;
export const MIB = 1024 ** 2;

export const positiveBytes = (bytes: number, description: string) =>
  z.int().min(1).default(bytes).describe(description);

export const seconds = (value: number, description: string) =>
  z.number().positive().max(604_800).default(value).describe(description);

/** A path at which files are made. /proc and /sys are refused because Node tries endlessly to make a folder there. */
export const writablePath = () =>
  z
    .string()
    .min(1)
    .refine(
      (path) => !/^\/(proc|sys)(\/|$)/.test(path),
      'is in /proc or /sys, where no file can be made; choose another folder',
    );
